"""What a line of a session file is: entry types, message shapes, the codec and the migration of old versions.

Synchronous and pure: bytes and plain values in, bytes and plain values out.
"""
