"""A session log in a JSONL file.

Opening only reads. The first append opens the file for writing and, where needed, migrates it or moves a torn tail
aside. An append is one `write` on a kept descriptor, after a look at whether somebody else has made the file longer;
from the look to the end of the write our other servers are kept out by a lock.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import anyio.from_thread
import anyio.to_thread

from piserver.entries.header import VERSION, Header, InvalidSessionError, compose_header
from piserver.storage.base import ReadOnlyError, Storage, StorageError
from piserver.storage.clock import SYSTEM_CLOCK, Clock
from piserver.storage.files import append_aside, make_folder, write_whole
from piserver.storage.lease import Lease
from piserver.storage.loader import Loader
from piserver.storage.locking import acquire, release
from piserver.storage.pause import collector_paused
from piserver.storage.rewrite import migrate
from piserver.storage.sync import GroupCommit
from piserver.tree import Diagnostic, Node

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Told, in a worker thread, how many bytes of how many have been read."""

_RUN = 256 * 1024
"""Bytes after which a run of neighbouring entries is read in another piece."""
_LINE_FEED = 0x0A
_SLICE = 256 * 1024
"""Bytes after which the reading thread lets others run."""
_INLINE = 1024 * 1024
"""Bodies beyond this many bytes are read in a worker thread."""
_SETTLE = 1.0
"""Seconds for which a torn tail must have stood unchanged before it is taken for a crash's and not a writer's."""
_MARK = 64
"""Bytes at the end of what was read by which the file is known again."""


class JsonlStorage(Storage):
    """One session file. Make it with `open` or `create`."""

    def __init__(self, path: Path, file: BinaryIO, clock: Clock) -> None:
        self.path = self._place = str(path)
        self._path = path
        self._file = file
        self._clock = clock
        self._lease = Lease(path, clock)
        self._write_fd: int | None = None
        self._locked = False
        self._commit = GroupCommit()
        self._loader = Loader()
        self._end = 0
        self._mark = b""  # the last bytes before the torn tail or, without one, before the end
        self._failed_at: int | None = None  # where a write of ours left a torn tail
        self._replaced = 0
        self._modified = 0  # when it was last changed, as far as we know (ns)
        self._identity = (0, 0)  # of the file that was read: device and inode

    # Opening and creating

    @classmethod
    async def open(
        cls, path: str | Path, progress: Progress | None = None, *, clock: Clock = SYSTEM_CLOCK
    ) -> JsonlStorage:
        """Read a session file; not a byte of it changes.

        Raises FileNotFoundError, InvalidSessionError (not a session), StorageError (cannot be read).
        """
        path = Path(path)
        return await anyio.to_thread.run_sync(cls._open, path, progress, clock, abandon_on_cancel=True)

    @classmethod
    def _open(cls, path: Path, progress: Progress | None, clock: Clock) -> JsonlStorage:
        try:
            # A pipe would block in open(), and a folder is no session either.
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise InvalidSessionError(f"{path} is not a file")
            file = _open_file(path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from error
        storage = cls(path, file, clock)
        try:
            storage._load(file, progress)
        except BaseException:
            file.close()
            raise
        return storage

    @classmethod
    async def create(
        cls,
        path: str | Path,
        header: Header,
        lines: Sequence[bytes] = (),
        *,
        replace: bool = False,
        clock: Clock = SYSTEM_CLOCK,
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
        return await cls.open(path, clock=clock)

    def _load(self, file: BinaryIO, progress: Progress | None = None) -> None:
        """Read a file from the start into a fresh tree. Runs in a worker thread."""
        loader = Loader()
        offset = 0
        try:
            status = os.fstat(file.fileno())
            with collector_paused():
                for lines in batches(file):
                    offset = loader.feed_all(lines, offset)
                    # Give way: one long turn in this thread would make every request on the loop wait for it.
                    time.sleep(0)
                    anyio.from_thread.check_cancelled()
                    if progress:
                        progress(offset, max(offset, status.st_size))
                header = loader.finish()
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        self._file, self._loader = file, loader
        self._identity, self._modified = (status.st_dev, status.st_ino), status.st_mtime_ns
        self._read_up_to(offset)
        self.header, self.tree = header, loader.tree
        self.epoch = f"{status.st_ino:x}.{self._replaced}"
        newer = header.version > VERSION
        self.read_only = f"the file has the newer format version {header.version:g}" if newer else None

    def _read_up_to(self, end: int) -> None:
        """Remember how far the file has been read, and by which bytes to know it again."""
        self._end = end
        settled = self._settled
        start = max(0, settled - _MARK)
        self._mark = os.pread(self._file.fileno(), settled - start, start)

    @property
    def _settled(self) -> int:
        """Where the part of the file ends that nobody has a reason to change: before a torn tail."""
        return self._end if self._loader.torn is None else self._loader.torn[0]

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self._loader.diagnostics

    @property
    def lease(self) -> Lease:
        return self._lease

    # Reading

    def size_of(self, node: Node) -> int:
        return self._loader.lengths[node.index]

    async def lines(self, nodes: Sequence[Node]) -> list[bytes]:
        if self._file.closed:
            raise StorageError(f"{self.path} is closed")
        known, lengths = self.tree.nodes, self._loader.lengths
        if any(node.index >= len(known) or known[node.index] is not node for node in nodes):
            raise StorageError(f"{self.path} was replaced underneath: these entries are of before")
        if sum([lengths[node.index] for node in nodes]) <= _INLINE:
            return self._lines(nodes, self._loader, self._file.fileno())
        # A descriptor of its own: the file may be closed or replaced while the thread reads.
        fd = os.dup(self._file.fileno())
        try:
            return await anyio.to_thread.run_sync(self._lines, nodes, self._loader, fd)
        finally:
            os.close(fd)

    def _lines(self, nodes: Sequence[Node], loader: Loader, fd: int) -> list[bytes]:
        if loader.upgraded:
            return [loader.upgraded[node.index] for node in nodes]
        lines: list[bytes] = []
        try:
            for run in _runs(nodes, loader):
                start = loader.offsets[run[0].index]
                last = run[-1].index
                data = os.pread(fd, loader.offsets[last] + loader.lengths[last] - start, start)
                for node in run:
                    place = loader.offsets[node.index] - start
                    line = data[place : place + loader.lengths[node.index]]
                    if len(line) < loader.lengths[node.index]:
                        raise StorageError(f"{self.path} was cut short underneath: entry {node.id} is gone")
                    lines.append(line.strip(b" \t\r\n"))
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        return lines

    async def refresh(self, *, closely: bool = True) -> list[Node]:
        if self._file.closed:
            raise StorageError(f"{self.path} is closed")
        try:
            status = os.stat(self._place)
            same = (status.st_dev, status.st_ino) == self._identity
            if same and not closely and (status.st_size, status.st_mtime_ns) == (self._end, self._modified):
                return []
            if same and self._stands():
                self._modified = status.st_mtime_ns
                return [] if status.st_size == self._end else self._read_tail()
            cause = "replaced" if not same else "cut short" if status.st_size < self._end else "changed"
            await anyio.to_thread.run_sync(self._reload)
            log.warning("%s was %s underneath and is read anew", self.path, cause)
        except FileNotFoundError as error:
            raise StorageError(f"{self.path} was deleted or moved") from error
        except InvalidSessionError as error:
            raise StorageError(f"{self.path} was replaced by something else: {error}") from error
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error
        return list(self.tree.nodes)

    def _stands(self) -> bool:
        """Whether the file still holds what was read, as far as its last bytes tell."""
        return os.pread(self._file.fileno(), len(self._mark), self._settled - len(self._mark)) == self._mark

    def _reload(self) -> None:
        """Another file, or another content, lies where ours was: begin again with it."""
        file, old = _open_file(self._path), self._file
        self._replaced += 1
        try:
            self._load(file)
        except BaseException:
            file.close()
            raise
        self._close_writer()
        self._failed_at = None
        old.close()

    def _read_tail(self) -> list[Node]:
        """Take in what another writer has added since we last looked, a torn tail once more from its start."""
        loader, before, offset = self._loader, self.revision, self._settled
        if loader.torn is not None:
            loader.drop_torn(terminated=self._mark.endswith(b"\n"))
        # The file was opened with a buffer, which may hold bytes that have been cut off and written anew since.
        with open(self._file.fileno(), "rb", closefd=False) as file:
            file.seek(offset)
            for lines in batches(file):
                offset = loader.feed_all(lines, offset)
        self._read_up_to(offset)
        return self.entries_since(before)

    # Writing

    async def prepare(self) -> None:
        try:
            while True:
                fd = await self._lock()
                await self.refresh(closely=False)
                if fd != self._write_fd:  # another file lies there now, and that one is not locked
                    continue
                self._lease.check()
                if self._loader.migration is not None:
                    await anyio.to_thread.run_sync(self._migrate)
                elif self._loader.torn is None:
                    return
                elif await self._is_left_behind(self._loader.torn) and fd == self._write_fd:
                    self._cut_off(fd, *self._loader.torn)
        except BaseException as error:
            self.release()
            if isinstance(error, OSError) and not isinstance(error, StorageError):
                gone = isinstance(error, FileNotFoundError)
                reason = "was deleted or moved" if gone else f"cannot be written: {error.strerror or error}"
                raise StorageError(f"{self.path} {reason}") from error
            raise

    async def _lock(self) -> int:
        """The descriptor to write on, opened and locked if it is not."""
        if self.read_only:
            raise ReadOnlyError(f"{self.path} is read-only: {self.read_only}")
        if self._write_fd is None:
            if not os.stat(self._path).st_mode & 0o222:  # root could write all the same
                raise ReadOnlyError(f"{self.path} is read-only: its mode forbids writing")
            self._write_fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        if not self._locked:
            await acquire(self._write_fd, self._path, self._clock)
            self._locked = True
        return self._write_fd

    def release(self) -> None:
        if self._locked and self._write_fd is not None:
            release(self._write_fd)
        self._locked = False

    def _migrate(self) -> None:
        """Rewrite a file of an old version, unless it is not as it was read any more. Runs in a worker thread."""
        path = self._path.resolve()  # a link stays one
        data = path.read_bytes()
        if len(data) != self._end:
            return
        end = migrate(path, data, self._loader)
        file, old = _open_file(path), self._file
        status = os.fstat(file.fileno())
        self._identity = status.st_dev, status.st_ino
        self._file, self.header = file, self._loader.finish()
        old.close()
        self._close_writer()  # it leads to the file of before
        self._read_up_to(end)

    async def _is_left_behind(self, torn: tuple[int, bytes]) -> bool:
        """Whether nobody is writing the torn tail any more: it is ours, or has stood unchanged for a while."""
        if self._failed_at is not None and torn[0] >= self._failed_at:
            return True
        if self._clock.now() - os.stat(self._path).st_mtime >= _SETTLE:
            return True
        await self._clock.sleep(_SETTLE)
        await self.refresh()
        return self._loader.torn == torn

    def _cut_off(self, fd: int, offset: int, data: bytes) -> None:
        """Move what a crash left of a line to `.torn`, unless something else stands there now."""
        if os.pread(fd, len(data) + 1, offset) != data:
            self._read_tail()
            return
        append_aside(self._path, "torn", [data.rstrip(b"\n") + b"\n"])
        # Another server may have cut it off too while the disk was busy, and written what must stay.
        if os.pread(fd, len(data) + 1, offset) != data:
            self._read_tail()
            return
        os.ftruncate(fd, offset)
        self._loader.drop_torn(terminated=self._mark.endswith(b"\n"))
        self._failed_at = None
        self._end = offset

    def write(self, lines: Sequence[bytes]) -> list[Node]:
        fd = self._write_fd
        assert fd is not None, "prepare() comes first"
        try:
            return self._append(fd, lines)
        finally:
            self.release()

    def _append(self, fd: int, lines: Sequence[bytes]) -> list[Node]:
        before = self.revision
        start = b"\n" if self._loader.unterminated else b""
        data = start + b"".join([line + b"\n" for line in lines])
        self._write_all(fd, data)
        status = os.fstat(fd)
        if status.st_size != self._end + len(data):
            # Somebody wrote between our look and our write. Everything is in the file: read it as it lies there.
            return self._read_tail()
        offset = self._end + len(start)
        self._loader.unterminated = False
        for line in lines:
            self._loader.feed(line + b"\n", offset)
            offset += len(line) + 1
        self._end, self._mark, self._modified = offset, (self._mark + data)[-_MARK:], status.st_mtime_ns
        return self.entries_since(before)

    def _write_all(self, fd: int, data: bytes) -> None:
        """One write; what it leaves undone is taken back, so that the file is as before."""
        written = 0
        try:
            while written < len(data):
                written += os.write(fd, memoryview(data)[written:])
        except OSError as error:
            if written:
                self._take_back(fd, written)
            raise StorageError(f"{self.path} cannot be written: {error.strerror}") from error

    def _take_back(self, fd: int, written: int) -> None:
        """Cut off what a failed write has left. Where that cannot be, the next look finds it as a torn tail."""
        try:
            if os.fstat(fd).st_size == self._end + written:  # else somebody else's bytes stand behind ours
                os.ftruncate(fd, self._end)
                return
        except OSError:
            pass
        self._failed_at = self._end

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
            os.close(self._write_fd)  # and with it the lock
            self._write_fd, self._locked, self._commit = None, False, GroupCommit()

    async def aclose(self) -> None:
        try:
            await self.sync()
        finally:
            self._close_writer()
            self._file.close()
            if self._lease.is_ours:
                with suppress(StorageError):  # it ends with this process in any case
                    await self._lease.release()


def batches(file: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a file in lists of about `_SLICE` bytes, up to its end as it is met first.

    A line without its end is the last: another program may be writing it, and going on would give its rest as a line.
    """
    lines: list[bytes] = []
    size = 0
    for line in file:
        lines.append(line)
        size += len(line)
        if line[-1] != _LINE_FEED:
            break
        if size >= _SLICE:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def _runs(nodes: Sequence[Node], loader: Loader) -> Iterator[list[Node]]:
    """The entries in runs that lie side by side in the file, each to be read at once."""
    run: list[Node] = []
    end = size = 0
    for node in nodes:
        offset, length = loader.offsets[node.index], loader.lengths[node.index]
        if run and (offset != end or size > _RUN):
            yield run
            run, size = [], 0
        run.append(node)
        end, size = offset + length, size + length
    if run:
        yield run


def _open_file(path: Path) -> BinaryIO:
    """The file to read from, kept for as long as the storage."""
    return open(path, "rb", buffering=_INLINE)
