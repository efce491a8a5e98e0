"""A session tree server for coding agents: JSON-RPC 2.0 with the life cycle of the Language Server Protocol."""

__version__ = "0.1.0"
