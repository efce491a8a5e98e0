"""What is known of session files from the last time they were looked at.

The cache saves reading files that have not changed. It is disposable: a file that differs in size or time is read
again, and a cache that is missing, damaged or of another version is begun anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from piserver.storage.files import make_folder, write_whole
from piserver.storage.glance import SessionInfo

_VERSION = 1


class _Known(Struct, array_like=True):
    """A file's facts, and the size and time (ns) for which they hold."""

    size: int
    modified_ns: int
    info: SessionInfo


class _File(Struct):
    version: int
    known: dict[str, _Known]


class ListCache:
    """Facts of session files by path. `path` is the cache's own file; None keeps it in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, _Known] = {}
        self._changed = False
        if path is not None:
            try:
                file = msgspec.json.decode(path.read_bytes(), type=_File)
                self._known = file.known if file.version == _VERSION else {}
            except (OSError, msgspec.MsgspecError):
                pass

    def get(self, path: str, status: os.stat_result) -> SessionInfo | None:
        """What is known of a file that still has this size and time."""
        known = self._known.get(path)
        if known is None or (known.size, known.modified_ns) != (status.st_size, status.st_mtime_ns):
            return None
        return known.info

    def put(self, path: str, status: os.stat_result, info: SessionInfo) -> None:
        """Remember a file's facts."""
        self._known[path] = _Known(status.st_size, status.st_mtime_ns, info)
        self._changed = True

    def save(self, present: set[str] | None = None) -> None:
        """Write the cache if it has changed; with `present`, forget the files that are not among those paths."""
        if present is not None and self._known.keys() - present:
            self._known = {path: known for path, known in self._known.items() if path in present}
            self._changed = True
        if self._path is None or not self._changed:
            return
        try:
            make_folder(self._path.parent)
            write_whole(self._path, [msgspec.json.encode(_File(_VERSION, self._known))], replace=True)
            self._changed = False
        except OSError:
            pass  # a list without a cache is only slower
