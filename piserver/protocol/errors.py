"""Errors that are expected, as the client sees them: a JSON-RPC code, a sentence, and `data` with the kind.

The kind is the contract; clients switch on it. The code only sorts errors into the classes that JSON-RPC and the
Language Server Protocol know. The message is written for the person who has to act on it.
"""

from typing import Any, Literal, TypeGuard, get_args

__all__ = ["ErrorKind", "RequestError", "is_error_kind"]

ErrorKind = Literal[
    "cancelled",
    "client-failed",
    "entry-not-found",
    "invalid-entry",
    "invalid-fork-target",
    "invalid-params",
    "invalid-session",
    "lease-held",
    "read-only",
    "session-not-found",
    "stale-cursor",
    "stale-leaf",
    "storage-failed",
    "timed-out",
    "too-large",
]

REQUEST_FAILED = -32803
INVALID_PARAMS = -32602
REQUEST_CANCELLED = -32800

_KINDS = frozenset(get_args(ErrorKind))
_CODES: dict[str, int] = {"invalid-params": INVALID_PARAMS, "cancelled": REQUEST_CANCELLED}


def is_error_kind(word: object) -> TypeGuard[ErrorKind]:
    """Whether a word from the wire is one of our kinds."""
    return isinstance(word, str) and word in _KINDS


class RequestError(Exception):
    """A request that failed for a reason that its client should know about.

    `retryable` says whether the same request may succeed later without anything being changed. `data` are further
    fields for the client beside `kind` and `retryable`; they must be JSON.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, retryable: bool = False, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retryable = retryable
        self.data: dict[str, Any] = data or {}

    @property
    def code(self) -> int:
        """The JSON-RPC code: -32602 for invalid-params, -32800 for cancelled, else -32803 (request failed)."""
        return _CODES.get(self.kind, REQUEST_FAILED)

    def wire_data(self) -> dict[str, Any]:
        """The `data` member of the error object: kind, retryable, and the further fields."""
        return {"kind": self.kind, "retryable": self.retryable, **self.data}
