"""Where a session's log lies. Only this room opens session files, and only its append makes one longer."""

from piserver.storage.base import ReadOnlyError, Storage, StorageError
from piserver.storage.jsonl import JsonlStorage
from piserver.storage.memory import MemoryStorage

__all__ = ["JsonlStorage", "MemoryStorage", "ReadOnlyError", "Storage", "StorageError"]
