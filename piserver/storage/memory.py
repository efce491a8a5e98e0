"""A session log in memory: for tests, for sessions that nobody wants to keep, and as the smallest example."""

from __future__ import annotations

from collections.abc import Sequence

from piserver.entries.header import VERSION, Header, compose_header
from piserver.storage.base import ReadOnlyError, Storage
from piserver.storage.loader import Loader
from piserver.tree import Diagnostic, Node


class MemoryStorage(Storage):
    """A log that lasts as long as the object."""

    def __init__(self, data: bytes) -> None:
        """Read the content of a session file. Raises InvalidSessionError."""
        self._loader = Loader()
        self._bodies: list[bytes] = []
        offset = 0
        for line in _split(data):
            self._feed(line, offset)
            offset += len(line)
        self.header, self.tree = self._loader.finish(), self._loader.tree
        if self.header.version > VERSION:
            self.read_only = f"the log has the newer format version {self.header.version:g}"

    @classmethod
    def create(cls, header: Header, lines: Sequence[bytes] = ()) -> MemoryStorage:
        """A new log with its header and, for a fork, its first entries."""
        return cls(b"".join(line + b"\n" for line in (compose_header(header), *lines)))

    def _feed(self, line: bytes, offset: int) -> None:
        before = len(self._loader.tree)
        self._loader.feed(line, offset)
        for index in range(before, len(self._loader.tree)):
            if self._loader.upgraded:
                raw = self._loader.upgraded[index]
            else:
                start = self._loader.offsets[index] - offset
                raw = line[start : start + self._loader.lengths[index]]
            self._bodies.append(raw.strip(b" \t\r\n"))

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self._loader.diagnostics

    def size_of(self, node: Node) -> int:
        return len(self._bodies[node.index])

    async def lines(self, nodes: Sequence[Node]) -> list[bytes]:
        return [self._bodies[node.index] for node in nodes]

    async def refresh(self, *, closely: bool = True) -> list[Node]:
        return []

    async def prepare(self) -> None:
        if self.read_only:
            raise ReadOnlyError(f"the log is read-only: {self.read_only}")
        if self._loader.migration is not None:
            self._loader.migrated(self._loader.offsets, self._loader.lengths)
            self.header = self._loader.finish()
        if self._loader.torn is not None:
            self._loader.drop_torn(terminated=True)

    def release(self) -> None:
        return None

    def write(self, lines: Sequence[bytes]) -> list[Node]:
        before = self.revision
        self._loader.unterminated = False
        for line in lines:
            self._feed(line + b"\n", 0)
        return self.entries_since(before)

    async def sync(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


def _split(data: bytes) -> list[bytes]:
    """Lines end at LF only."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
