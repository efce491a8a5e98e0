"""What is known of session files from the last time they were looked at.

The cache saves reading files that have not changed. It is disposable: a file that differs in size or time is read
again, and a cache that is missing, damaged or of another version is begun anew.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import RLock

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
        self._facts: dict[str, _Known] | None = None
        self._changed = False
        self._lock = RLock()  # lists run in worker threads, several at a time

    @property
    def _known(self) -> dict[str, _Known]:
        """All facts; the file is read when the first is asked for."""
        with self._lock:
            if self._facts is None:
                self._facts = {}
                if self._path is not None:
                    with suppress(OSError, ValueError, RecursionError):
                        file = msgspec.json.decode(self._path.read_bytes(), type=_File)
                        self._facts = file.known if file.version == _VERSION else {}
            return self._facts

    def get(self, path: str, status: os.stat_result) -> SessionInfo | None:
        """What is known of a file that still has this size and time."""
        known = self._known.get(path)
        if known is None or (known.size, known.modified_ns) != (status.st_size, status.st_mtime_ns):
            return None
        return known.info

    def last(self, path: str) -> SessionInfo | None:
        """What was last known of a file, whether or not it still holds."""
        known = self._known.get(path)
        return known.info if known else None

    def put(self, path: str, status: os.stat_result, info: SessionInfo) -> None:
        """Remember a file's facts; not those of a broken one, which may be mended without a change of its time."""
        known = _Known(status.st_size, status.st_mtime_ns, info)
        if info.broken is not None or not _is_json(path, known):
            return
        with self._lock:
            self._known[path] = known
            self._changed = True

    def save(self, root: Path, present: set[str]) -> None:
        """Write the cache if it has changed; files under `root` that are not `present` are forgotten."""
        start = f"{root}{os.sep}"
        with self._lock:
            gone = [path for path in self._known if path.startswith(start) and path not in present]
            for path in gone:
                del self._known[path]
            if self._path is None or not (self._changed or gone):
                return
            with suppress(OSError):  # a list without a cache is only slower
                make_folder(self._path.parent)
                write_whole(self._path, [msgspec.json.encode(_File(_VERSION, self._known))], replace=True)
                self._changed = False


def _is_json(path: str, known: _Known) -> bool:
    """Whether facts can be written; a file's name need not be text."""
    try:
        msgspec.json.encode((path, known))
    except UnicodeEncodeError:
        return False
    return True
