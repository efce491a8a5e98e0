"""The sessions on a person's disk: create, open, list, latest, delete, fork, clone."""

from piserver.repository.fork import InvalidForkTargetError
from piserver.repository.layout import list_cache, sessions_root
from piserver.repository.listing import ListFilter
from piserver.repository.repository import Forked, Repository, SessionNotFoundError, SessionTooLargeError
from piserver.storage.glance import SessionInfo

__all__ = [
    "Forked",
    "InvalidForkTargetError",
    "ListFilter",
    "Repository",
    "SessionInfo",
    "SessionNotFoundError",
    "SessionTooLargeError",
    "list_cache",
    "sessions_root",
]
