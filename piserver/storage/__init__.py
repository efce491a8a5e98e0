"""Where a session's log lies. Only this room opens session files, and only its append makes one longer."""

from piserver.storage.base import ReadOnlyError, Storage, StorageError
from piserver.storage.jsonl import JsonlStorage
from piserver.storage.lease import Lease, LeaseHeldError, Owner
from piserver.storage.memory import MemoryStorage

__all__ = [
    "JsonlStorage",
    "Lease",
    "LeaseHeldError",
    "MemoryStorage",
    "Owner",
    "ReadOnlyError",
    "Storage",
    "StorageError",
]
