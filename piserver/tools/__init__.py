"""What a model may do: read, write, edit, bash, grep, find, ls."""
