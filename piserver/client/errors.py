"""What can go wrong between a client and its server, beside the errors with a kind (`RequestError`)."""

from typing import Any, cast

from piserver.client.decoding import ErrorObject
from piserver.protocol.errors import RequestError, is_error_kind

__all__ = ["ConnectionLost", "RequestError", "ServerError", "as_error_object", "as_exception"]


class ConnectionLost(Exception):  # noqa: N818  # it names what has happened, as `anyio.EndOfStream` does
    """The server has ended, or what it says cannot be understood. What was asked of it may or may not have happened."""


class ServerError(Exception):
    """An error without a kind of ours: an unknown method, an internal error. `code` is JSON-RPC's."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def as_exception(error: ErrorObject) -> RequestError | ServerError:
    """The exception for an error reply."""
    given: Any = error.data
    data = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    kind = data.get("kind")
    if not is_error_kind(kind):
        return ServerError(error.code, error.message, given)
    further = {name: value for name, value in data.items() if name not in ("kind", "retryable")}
    return RequestError(kind, error.message, retryable=data.get("retryable") is True, data=further)


def as_error_object(error: RequestError | ServerError) -> ErrorObject:
    """The error reply from which an exception was made."""
    data = error.wire_data() if isinstance(error, RequestError) else error.data
    return ErrorObject(error.code, error.message, data)
