"""Which error of the protocol each failure of the floors below is."""

from __future__ import annotations

from piserver.entries.header import InvalidSessionError
from piserver.entries.messages import InvalidEntryError
from piserver.protocol.errors import RequestError
from piserver.repository import InvalidForkTargetError, SessionNotFoundError, SessionTooLargeError
from piserver.server import views
from piserver.session import EntryNotFoundError, StaleLeafError
from piserver.storage import LeaseHeldError, ReadOnlyError, StorageError


def as_request_error(error: Exception) -> Exception:
    """The error to answer with; one that nobody expects comes back as it is, and becomes an internal error."""
    message = str(error)
    match error:
        case EntryNotFoundError():
            return RequestError("entry-not-found", message, data={"entryId": error.entry_id})
        case SessionNotFoundError():
            return RequestError("session-not-found", message)
        case SessionTooLargeError():
            return RequestError("too-large", message, data={"size": error.size, "limit": error.limit})
        case InvalidSessionError():
            return RequestError("invalid-session", message, data={"line": error.line})
        case InvalidEntryError():
            return RequestError("invalid-entry", message, data={"field": error.field} if error.field else None)
        case InvalidForkTargetError():
            return RequestError("invalid-fork-target", message)
        case StaleLeafError():
            return RequestError("stale-leaf", message, data={"leafId": error.leaf_id})
        case ReadOnlyError():
            return RequestError("read-only", message)
        case LeaseHeldError():
            owner = views.lease_owner(error.owner)
            return RequestError("lease-held", message, retryable=True, data={"owner": owner})
        case StorageError():
            return RequestError("storage-failed", message, retryable=True, data={"landed": error.landed})
        case OSError() if not isinstance(error, TimeoutError):
            return RequestError("storage-failed", message, data={"landed": False})
        case _:
            return error
