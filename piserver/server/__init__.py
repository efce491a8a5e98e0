"""The only room that knows JSON-RPC and pygls: stdio, framing, dispatch, cancellation and life cycle.

Nothing is imported here: `piserver.server.stdio` must be able to run before pygls and everything it prints.
"""
