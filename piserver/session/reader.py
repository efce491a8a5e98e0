"""What a session answers without changing anything. None of it waits for a change that is being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio.to_thread

from piserver.context import Context, ContextTokens, Projector, Selection, Transform, project, select
from piserver.entries.codec import MessageHead
from piserver.entries.entry import Entry
from piserver.entries.header import Header
from piserver.session.errors import EntryNotFoundError, StaleCursorError
from piserver.session.rows import EntrySummary, Filter, RowWindow, summarise
from piserver.session.view import View
from piserver.storage import Storage
from piserver.tree import Diagnostic, Node, Statistics, statistics_of


class Current:
    """The default of parameters that mean the present leaf, where None means before the first entry."""


CURRENT = Current()
_INLINE = 256 * 1024
"""Bytes of entries beyond which their estimate is made in a worker thread."""


class SessionReader:
    """The reading half of a session: its log, its write position, and every question about them."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.leaf: Node | None = storage.leaf
        self._view = View(storage)

    @property
    def id(self) -> str:
        """The session's id, from its header."""
        return self.storage.header.id

    @property
    def header(self) -> Header:
        """The session's header."""
        return self.storage.header

    @property
    def name(self) -> str | None:
        """The session's name."""
        return self.storage.name

    @property
    def leaf_id(self) -> str | None:
        """Id of the write position; None before the first entry."""
        return self.leaf.id if self.leaf else None

    @property
    def revision(self) -> int:
        """Count of indexed entries."""
        return self.storage.revision

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the log."""
        return self.storage.diagnostics

    @property
    def newer_leaf(self) -> Node | None:
        """A newer message on another branch: the log ends in bookkeeping here, or another program has gone on there."""
        tree, end = self.storage.tree, self.storage.leaf
        newer = tree.newer_leaf
        if newer is None and end is not self.leaf:
            newer = next((node for node in tree.ancestors(end) if node.type == "message"), None)
            if newer is not None and self.leaf is not None and newer.index < self.leaf.index:
                newer = None
        return None if newer is None or tree.is_ancestor(newer, self.leaf) else newer

    def node(self, entry_id: str) -> Node:
        """The entry with this id. Raises EntryNotFoundError."""
        node = self.storage.get(entry_id)
        if node is None:
            raise EntryNotFoundError(entry_id)
        return node

    async def entries(self, ids: Sequence[str]) -> list[Entry]:
        """Whole entries, in the order asked for. Raises EntryNotFoundError, StorageError."""
        return await self.storage.read([self.node(id) for id in ids])

    def path(self, entry_id: str | None | Current = CURRENT) -> list[Node]:
        """The entries from the root to an entry, by default the leaf. Raises EntryNotFoundError."""
        return self.storage.path_to(self._at(entry_id))

    def changes_since(self, revision: int, epoch: str) -> list[Node]:
        """The entries added since a revision of this epoch. Raises StaleCursorError for one that cannot be served."""
        if epoch != self.storage.epoch or not 0 <= revision <= self.revision:
            raise StaleCursorError(f"revision {revision} of {epoch} is not one of this log: ask for a snapshot")
        return self.storage.entries_since(revision)

    async def summaries(self, nodes: Sequence[Node]) -> list[EntrySummary]:
        """Entries in brief, in the order given."""
        previews = await self._view.previews(nodes)
        return [summarise(self.storage, node, text) for node, text in zip(nodes, previews, strict=True)]

    async def rows(
        self,
        *,
        filter: Filter = "default",
        query: str = "",
        collapsed: frozenset[str] = frozenset(),
        offset: int = 0,
        limit: int = 200,
        around: str | None = None,
    ) -> RowWindow:
        """A window of the tree's rows; `around` centres it on an entry instead of beginning at `offset`.

        `query` keeps the rows whose text holds all its words, in any case. Raises EntryNotFoundError.
        """
        centre = None if around is None else self.node(around)
        return await self._view.rows(self.leaf, filter, query, collapsed, offset, limit, centre)

    def statistics(self, entry_id: str | None | Current = CURRENT) -> Statistics:
        """Totals over the path to an entry; those over the whole file are `storage.statistics`."""
        return statistics_of(self.path(entry_id))

    def select(self, entry_id: str | None | Current = CURRENT) -> Selection:
        """Which entries would make the context at an entry, by default the leaf. Raises EntryNotFoundError."""
        return select(self.storage.tree, self._at(entry_id))

    async def build_context(
        self,
        entry_id: str | None | Current = CURRENT,
        *,
        transforms: Sequence[Transform] = (),
        projectors: Mapping[str, Projector] | None = None,
    ) -> Context:
        """What a model is given at an entry, by default the leaf. Raises EntryNotFoundError, StorageError."""
        selection = self.select(entry_id)
        entries = await self.storage.read(selection.nodes)
        return project(selection, entries, transforms=transforms, projectors=projectors)

    async def context_tokens(self, entry_id: str | None | Current = CURRENT) -> tuple[ContextTokens, Node | None]:
        """An estimate of the context at an entry, and the answer whose reported usage it starts from, if there is one.

        Only what came after that answer is read. Raises EntryNotFoundError, StorageError.
        """
        selection = self.select(entry_id)
        place = selection.last_usage()
        later = selection.since(0 if place is None else place + 1)
        entries = await self.storage.read(later.nodes)

        def estimate() -> int:
            return sum(message.tokens for message in project(later, entries).messages)

        few = sum(map(self.storage.size_of, later.nodes)) < _INLINE
        trailing = estimate() if few else await anyio.to_thread.run_sync(estimate)
        if place is None:
            return ContextTokens(trailing, 0, trailing, None), None
        answer = selection.nodes[place]
        usage = answer.detail.usage if isinstance(answer.detail, MessageHead) else None
        used = int(usage.total) if usage else 0
        return ContextTokens(used + trailing, used, trailing, place), answer

    def _at(self, entry_id: str | None | Current) -> Node | None:
        if isinstance(entry_id, Current):
            return self.leaf
        return None if entry_id is None else self.node(entry_id)
