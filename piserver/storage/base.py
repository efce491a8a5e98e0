"""The interface on which a session depends.

A storage keeps lines and feeds each into a `Tree`, which answers every question about structure. A new kind (say a
database) brings its own ways to read and to write, feeds the same tree, and passes the same conformance suite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from piserver.entries.codec import clean
from piserver.entries.entry import Entry
from piserver.entries.header import Header
from piserver.tree import Diagnostic, Node, Statistics, Tree

if TYPE_CHECKING:
    from piserver.storage.lease import Lease


class StorageError(OSError):
    """The log could not be read or written. `landed` says whether the entries are in the log all the same."""

    def __init__(self, message: str, *, landed: bool = False) -> None:
        super().__init__(message)
        self.landed = landed


class ReadOnlyError(Exception):
    """The log must not be written; the text says why."""


class Storage(ABC):
    """One open session log: its header, the tree over its entries, their bodies, and the way to add more."""

    header: Header
    tree: Tree
    path: str | None = None
    """The file, for storages that have one."""
    epoch: str = "0"
    """Changes when the log was replaced underneath, so that revisions of before mean nothing any more."""
    read_only: str | None = None
    """Why the log must not be written, or None."""

    @property
    def lease(self) -> Lease | None:
        """Who has the log for itself, where others may write to it as well."""
        return None

    @property
    def leaf(self) -> Node | None:
        """The write position that the log itself records."""
        return self.tree.leaf

    @property
    def revision(self) -> int:
        """How many entries are indexed, whoever wrote them."""
        return len(self.tree)

    @property
    def name(self) -> str | None:
        """The session's name."""
        return self.tree.name

    @property
    def statistics(self) -> Statistics:
        """Totals over all entries of the log."""
        return self.tree.statistics

    def label(self, entry_id: str) -> str | None:
        """The label of an entry."""
        label = self.tree.labels.get(entry_id)
        return label.text if label else None

    def get(self, entry_id: str) -> Node | None:
        """The entry with this id."""
        return self.tree.get(entry_id)

    def entries_since(self, revision: int) -> list[Node]:
        """The entries that were added after the log had `revision` of them, in file order."""
        return self.tree.nodes[revision:]

    def path_to(self, leaf: Node | None) -> list[Node]:
        """The entries from the root to `leaf`."""
        return self.tree.path(leaf)

    def query(self, leaf: Node | None, types: Iterable[str], limit: int | None = None) -> list[Node]:
        """The entries of some types on the path of `leaf`, newest first, at most `limit`."""
        return self.tree.query(leaf, frozenset(types), limit)

    @property
    @abstractmethod
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the log."""

    async def read(self, nodes: Sequence[Node]) -> list[Entry]:
        """The entries with their bodies, in the order asked for. Raises StorageError."""
        lines = await self.lines(nodes)
        return [Entry(node.id, node.type, clean(line)) for node, line in zip(nodes, lines, strict=True)]

    @abstractmethod
    def size_of(self, node: Node) -> int:
        """How many bytes an entry's line has."""

    @abstractmethod
    async def lines(self, nodes: Sequence[Node]) -> list[bytes]:
        """The entries' lines (without their ends), byte for byte as stored. Raises StorageError."""

    @abstractmethod
    async def refresh(self, *, closely: bool = True) -> list[Node]:
        """Take in what other writers have added; answers the new entries. Raises StorageError.

        Not `closely`: a log that has the size and the time of the last look is taken to be the same.
        """

    @abstractmethod
    def write(self, lines: Sequence[bytes]) -> list[Node]:
        """Add entries (one line each, without its end) in one write, all or none, and index them.

        Not yet safe from a power failure: that is `sync`. Raises ReadOnlyError, StorageError.
        """

    @abstractmethod
    async def prepare(self) -> None:
        """Make the log ready for `write`: migrate an old version, cut off a torn tail.

        What other writers have added is taken in. Our other servers wait from then on until `write` or `release`.
        Raises as `write` does, and LeaseHeldError if another server has the log for itself.
        """

    @abstractmethod
    def release(self) -> None:
        """Let our other servers write again, if `write` was not called after `prepare`. Idempotent."""

    @abstractmethod
    async def sync(self) -> None:
        """Return when all that was written before is safe on the medium. Raises StorageError(landed=True)."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of the log. Idempotent."""
