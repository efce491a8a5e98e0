"""A session log in a JSONL file.

Opening only reads. The first append opens the file for writing and, where needed, migrates it or moves a torn tail
aside. An append is one `write` on a kept descriptor, after a look at whether somebody else has made the file longer.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import anyio
import anyio.from_thread
import anyio.to_thread

from piserver.entries.header import VERSION, Header, InvalidSessionError, compose_header
from piserver.entries.migration import replace_members
from piserver.storage.base import ReadOnlyError, Storage, StorageError
from piserver.storage.files import keep_backup, make_folder, write_whole
from piserver.storage.loader import BYTE_ORDER_MARK, Loader
from piserver.storage.sync import GroupCommit
from piserver.tree import Diagnostic, Node

Progress = Callable[[int, int], None]
"""Told, in a worker thread, how many bytes of how many have been read."""

_SLICE = 256 * 1024
"""Bytes after which the reading thread lets others run."""
_INLINE = 1024 * 1024
"""Bodies beyond this many bytes are read in a worker thread."""
_SETTLE = 1.0
"""Seconds for which a torn tail must have stood unchanged before it is taken for a crash's and not a writer's."""


class JsonlStorage(Storage):
    """One session file. Make it with `open` or `create`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = str(path)
        self._path = path
        self._file = file
        self._write_fd: int | None = None
        self._commit = GroupCommit()
        self._loader = Loader()
        self._end = 0
        self._torn_by_us = False
        self._replaced = 0

    # Opening and creating

    @classmethod
    async def open(cls, path: str | Path, progress: Progress | None = None) -> JsonlStorage:
        """Read a session file; not a byte of it changes.

        Raises FileNotFoundError, InvalidSessionError (not a session), StorageError (cannot be read).
        """
        path = Path(path)
        return await anyio.to_thread.run_sync(cls._open, path, progress, abandon_on_cancel=True)

    @classmethod
    def _open(cls, path: Path, progress: Progress | None) -> JsonlStorage:
        try:
            # A pipe would block in open(), and a folder is no session either.
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise InvalidSessionError(f"{path} is not a file")
            file = open(path, "rb", buffering=_INLINE)  # noqa: SIM115 - kept for as long as the storage
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from error
        storage = cls(path, file)
        try:
            storage._load(progress)
        except BaseException:
            file.close()
            raise
        return storage

    @classmethod
    async def create(
        cls, path: str | Path, header: Header, lines: Sequence[bytes] = (), *, replace: bool = False
    ) -> JsonlStorage:
        """Write a new session file with its header and, for a fork, its first entries; it is on disk when this returns.

        Raises FileExistsError unless `replace`, StorageError if it cannot be written (then there is no file).
        """
        path = Path(path)

        def write() -> None:
            make_folder(path.parent)
            write_whole(path, (line + b"\n" for line in (compose_header(header), *lines)), replace=replace)

        try:
            await anyio.to_thread.run_sync(write)
        except FileExistsError:
            raise
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
        return await cls.open(path)

    def _load(self, progress: Progress | None = None) -> None:
        """Read the file from the start into a fresh tree. Runs in a worker thread."""
        loader = Loader()
        self._file.seek(0)
        status = os.fstat(self._file.fileno())
        offset = reported = 0
        try:
            for line in self._file:
                loader.feed(line, offset)
                offset += len(line)
                if offset - reported >= _SLICE:
                    reported = offset
                    # Give way: one long turn in this thread would make every request on the loop wait for it.
                    time.sleep(0)
                    anyio.from_thread.check_cancelled()
                    if progress:
                        progress(offset, max(offset, status.st_size))
            header = loader.finish()
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        self._loader, self._end = loader, offset
        self.header, self.tree = header, loader.tree
        self.epoch = f"{status.st_ino:x}.{self._replaced}"
        newer = header.version > VERSION
        self.read_only = f"the file has the newer format version {header.version:g}" if newer else None

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self._loader.diagnostics

    # Reading

    async def lines(self, nodes: Sequence[Node]) -> list[bytes]:
        lengths = self._loader.lengths
        if sum([lengths[node.index] for node in nodes]) <= _INLINE:
            return self._lines(nodes)
        return await anyio.to_thread.run_sync(self._lines, nodes)

    def _lines(self, nodes: Sequence[Node]) -> list[bytes]:
        offsets, lengths, upgraded = self._loader.offsets, self._loader.lengths, self._loader.upgraded
        if upgraded:
            return [upgraded[node.index] for node in nodes]
        fd = self._file.fileno()
        lines: list[bytes] = []
        try:
            for node in nodes:
                length = lengths[node.index]
                line = os.pread(fd, length, offsets[node.index])
                if len(line) < length:
                    raise StorageError(f"{self.path} was cut short underneath: entry {node.id} is gone")
                lines.append(line.strip(b" \t\r\n"))
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        return lines

    async def refresh(self) -> list[Node]:
        try:
            status = os.stat(self._path)
        except OSError as error:
            raise StorageError(f"{self.path} was deleted or moved: {error.strerror}") from error
        if status.st_size == self._end and status.st_ino == os.fstat(self._file.fileno()).st_ino:
            return []
        if status.st_size < self._end or status.st_ino != os.fstat(self._file.fileno()).st_ino:
            await anyio.to_thread.run_sync(self._reload)
            return list(self.tree.nodes)
        return self._read_tail()

    def _reload(self) -> None:
        """Another file, or a shorter one, lies where ours was: begin again with it."""
        self._replaced += 1
        self._close_writer()
        self._file.close()
        self._file = open(self._path, "rb", buffering=_INLINE)  # noqa: SIM115
        self._load()

    def _read_tail(self) -> list[Node]:
        """Take in what another writer has added since we last looked."""
        loader, before = self._loader, self.revision
        start = self._end
        if loader.torn is not None:
            start, _ = loader.torn
            loader.torn, self._torn_by_us = None, False
        if loader.unterminated:
            loader.line -= 1  # what comes first still belongs to the last physical line
        self._file.seek(start)
        for line in self._file:
            loader.feed(line, start)
            start += len(line)
        self._end = start
        return self.entries_since(before)

    # Writing

    async def prepare(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"{self.path} is read-only: {self.read_only}")
        try:
            if self._loader.migration is not None:
                await anyio.to_thread.run_sync(self._migrate)
            if self._write_fd is None:
                self._write_fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            if self._loader.torn is not None:
                await self._move_torn_tail()
        except OSError as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _migrate(self) -> None:
        """Put the upgraded entries in the file's place, the original kept as `.bak`."""
        loader = self._loader
        kept = _lines_by_number(self._file)
        chunks = [replace_members(kept[1].removeprefix(BYTE_ORDER_MARK), {"version"}, {"version": VERSION})]
        places: list[tuple[int, int]] = []
        offset = len(chunks[0]) + 1
        by_line = {node.line: node.index for node in self.tree.nodes}
        for number in range(2, len(kept)):
            index = by_line.get(number)
            # What could not be read is kept too: it is the user's.
            line = kept[number] if index is None else loader.upgraded[index]
            if index is not None:
                places.append((offset, len(line)))
            chunks.append(line)
            offset += len(line) + 1
        keep_backup(self._path)
        write_whole(self._path, (chunk + b"\n" for chunk in chunks), replace=True)
        self._file.close()
        self._file = open(self._path, "rb", buffering=_INLINE)  # noqa: SIM115
        loader.offsets = [place[0] for place in places]
        loader.lengths = [place[1] for place in places]
        loader.upgraded, loader.migration = [], None
        loader.torn, loader.unterminated = None, False
        self._end = offset

    async def _move_torn_tail(self) -> None:
        """Move what a crash left of a line to `.torn` and cut it off."""
        while not self._torn_by_us and (age := time.time() - os.stat(self._path).st_mtime) < _SETTLE:
            await anyio.sleep(max(0.05, _SETTLE - age))
            await self.refresh()
            if self._loader.torn is None:
                return
        assert self._loader.torn is not None and self._write_fd is not None
        offset, data = self._loader.torn
        aside = os.open(f"{self.path}.torn", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(aside, data.rstrip(b"\n") + b"\n")
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(self._write_fd, offset)
        self._end = offset
        self._loader.torn, self._torn_by_us = None, False
        # The rest of that line, if entries were found on it, has no end yet.
        self._loader.unterminated = os.pread(self._write_fd, 1, offset - 1) != b"\n"
        self._loader.line -= 0 if self._loader.unterminated else 1

    def write(self, lines: Sequence[bytes]) -> list[Node]:
        fd, before = self._write_fd, self.revision
        assert fd is not None, "prepare() comes first"
        start = b"\n" if self._loader.unterminated else b""
        data = start + b"".join([line + b"\n" for line in lines])
        self._write_all(fd, data)
        if os.fstat(fd).st_size != self._end + len(data):
            # Somebody wrote between our look and our write. Everything is in the file: read it as it lies there.
            return self._read_tail()
        offset = self._end + len(start)
        self._loader.unterminated = False
        for line in lines:
            self._loader.feed(line + b"\n", offset)
            offset += len(line) + 1
        self._end = offset
        return self.entries_since(before)

    def _write_all(self, fd: int, data: bytes) -> None:
        """One write; what it leaves undone is taken back, so that the file is as before."""
        written = 0
        try:
            while written < len(data):
                written += os.write(fd, memoryview(data)[written:])
        except OSError as error:
            if written:
                self._take_back(fd, data[:written])
            raise StorageError(f"{self.path} cannot be written: {error.strerror}") from error

    def _take_back(self, fd: int, written: bytes) -> None:
        if os.fstat(fd).st_size != self._end + len(written):
            return  # somebody else's bytes stand behind ours: reading will sort them out
        try:
            os.ftruncate(fd, self._end)
        except OSError:
            self._loader.torn, self._torn_by_us = (self._end, written), True
            self._loader.line += 1
            self._loader.unterminated = True
            self._end += len(written)

    async def sync(self) -> None:
        if self._write_fd is None:
            return
        try:
            await self._commit.flush(self._write_fd)
        except OSError as error:
            reason = f"{self.path} was written but could not be made durable: {error.strerror}"
            raise StorageError(reason, landed=True) from error

    def _close_writer(self) -> None:
        if self._write_fd is not None:
            os.close(self._write_fd)
            self._write_fd = None

    async def aclose(self) -> None:
        if self._write_fd is not None:
            await self.sync()
        self._close_writer()
        self._file.close()


def _lines_by_number(file: BinaryIO) -> list[bytes]:
    """The physical lines without their ends, such that the index is the line's number."""
    file.seek(0)
    return [b"", *(line.rstrip(b"\r\n") for line in file)]
