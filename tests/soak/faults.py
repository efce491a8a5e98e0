"""A disk that stops, as if the process were killed, at the n-th of the steps by which `piserver.storage` changes it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from typing import Any, Literal

import pytest

How = Literal["before", "halfway", "error"]
"""What happens at the chosen step: the end before it, the end when half of a write is done, or an error, once."""


class Stopped(BaseException):
    """The process is as good as dead: nothing that it does afterwards reaches the disk."""


class Disk:
    """Counts steps, and stops at number `at` (from 0; None: never) by calling `stop`, which does not come back.

    A step is one system call that changes files. `steps` are the names of those that were begun.
    """

    def __init__(self, at: int | None = None, how: How = "before", stop: Callable[[], Any] | None = None) -> None:
        self.steps: list[str] = []
        self._at, self._how, self._stop = at, how, stop
        self.reached = self._stopped = False
        self._write = os.write

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put this disk under the storage, for as long as the patch lasts."""
        for name in ("fsync", "replace", "ftruncate", "link", "unlink", "mkdir"):
            patch.setattr(os, name, self._counted(name, getattr(os, name)))
        make = os.open

        def open_file(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            if flags & os.O_CREAT:
                return self._step("create", lambda: make(path, flags, *rest, **options))
            return make(path, flags, *rest, **options)

        def open_aside(path: Any, mode: str = "r", opener: Any = None, **options: Any) -> Any:
            if "a" in mode:
                return _File(self, opener(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
            return open(path, mode, opener=opener, **options)

        patch.setattr(os, "open", open_file)
        patch.setattr(os, "write", self.write)
        patch.setattr(os, "fdopen", lambda fd, mode: _File(self, fd))
        for module in ("jsonl", "files"):
            patch.setattr(f"piserver.storage.{module}.open", open_aside, raising=False)
        patch.setattr("piserver.storage.sync._flush", self._counted("fdatasync", os.fsync))

    def write(self, fd: int, data: bytes | memoryview) -> int:
        half = len(data) // 2
        return self._step("write", lambda: self._write(fd, data), lambda: self._write(fd, data[:half]))

    def _counted(self, name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: self._step(name, lambda: do(*args, **options))

    def _step(self, name: str, do: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        if self._stopped:
            raise Stopped
        self.steps.append(name)
        if len(self.steps) - 1 == self._at:
            again, self.reached = self.reached, True
            if self._how == "error":
                if half is None or again:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                self._at = len(self.steps)  # a system call either says how far it came or fails: the next one fails
                return half()
            if self._how == "halfway" and half is not None:
                half()
            self._stopped = True
            if self._stop:
                self._stop()
            raise Stopped
        return do()


class _File:
    """A file object whose bytes go to the disk when it is flushed."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk, self._fd = disk, fd
        self._pending = b""

    def write(self, data: bytes) -> None:
        self._pending += data

    def writelines(self, chunks: Iterable[bytes]) -> None:
        self._pending += b"".join(chunks)

    def flush(self) -> None:
        data, self._pending = self._pending, b""
        while data:
            data = data[self._disk.write(self._fd, data) :]

    def fileno(self) -> int:
        return self._fd

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        finally:
            os.close(self._fd)
