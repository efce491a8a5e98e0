"""What an entry shows, as parts: read for people, drawn by exports and editors."""
