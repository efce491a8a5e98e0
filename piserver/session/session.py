"""A session: one log, its write position, and everything that may be done with them.

Every change appends. Appends pass one lock, so ids, parents and bytes are decided one at a time in the order of the
calls; reads never wait for it. A write that fails fails alone.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import anyio
from msgspec import UNSET, UnsetType

from piserver.context import Context, Projector, Selection, Transform, project, select
from piserver.entries import codec
from piserver.entries.entry import Entry
from piserver.entries.header import Header
from piserver.entries.messages import InvalidEntryError, check_finite, check_message
from piserver.entries.text import format_timestamp, one_line, trim
from piserver.entries.types import (
    BranchSummaryDraft,
    CompactionDraft,
    ContextEditDraft,
    Draft,
    LabelDraft,
    LeafDraft,
    MessageDraft,
    Replacement,
    SessionInfoDraft,
)
from piserver.session.errors import EntryNotFoundError, StaleCursorError, StaleLeafError
from piserver.session.preview import message_text
from piserver.session.rows import EntrySummary, Filter, RowWindow, summarise
from piserver.session.view import View
from piserver.storage import Storage, StorageError
from piserver.tree import Diagnostic, Node, Statistics, statistics_of

Durability = Literal["structure", "always", "never"]
"""What is flushed to the medium before an append returns: user and assistant messages and everything that shapes the
tree or its state (the default), every entry, or none."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who caused a change: a client's request, an agent run, or another program. `id` names the request or run."""

    kind: Literal["client", "agent", "external"]
    id: str | int | None = None


CLIENT = Origin("client")


@dataclass(frozen=True, slots=True)
class Change:
    """What listeners are told: new entries in file order, and where the leaf is now. `reset`: the log was replaced."""

    nodes: Sequence[Node]
    origin: Origin
    leaf: Node | None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Appended:
    """The entries that an append wrote. `newer_leaf` is set where another program has gone on elsewhere."""

    nodes: Sequence[Node]
    leaf: Node | None
    newer_leaf: Node | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """A ready-made summary of the branch that a move leaves."""

    summary: str
    details: Any = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a move has led, and the entries that record it (None where none was needed)."""

    leaf: Node | None
    leaf_entry: Node | None = None
    summary_entry: Node | None = None


@dataclass(frozen=True, slots=True)
class Navigated(Moved):
    """A move as a tree view does it; `editor_text` is the text of the chosen message, to be edited and sent again."""

    editor_text: str | None = None
    label_entry: Node | None = None


class _Current:
    """The default of parameters that mean the present leaf, where None means before the first entry."""


CURRENT = _Current()
Listener = Callable[[Change], None]


def _now() -> int:
    return time.time_ns() // 1_000_000


def _random_id() -> str:
    return secrets.token_hex(4)


@dataclass(slots=True)
class _Ids:
    """Gives ids that the log does not have."""

    new_id: Callable[[], str]
    taken: set[str] = field(default_factory=set[str])

    def next(self, storage: Storage) -> str:
        for _ in range(100):
            id = self.new_id()
            if id not in storage.tree and id not in self.taken:
                break
        else:
            id = str(uuid.uuid4())
        self.taken.add(id)
        return id


class Session:
    """An open session over a storage. `clock` gives milliseconds since 1970, `new_id` candidates for entry ids."""

    def __init__(
        self,
        storage: Storage,
        *,
        durability: Durability = "structure",
        clock: Callable[[], int] = _now,
        new_id: Callable[[], str] = _random_id,
    ) -> None:
        self.storage = storage
        self.durability: Durability = durability
        self.leaf: Node | None = storage.leaf
        self._clock = clock
        self._new_id = new_id
        self._lock = anyio.Lock(fast_acquire=True)
        self._listeners: list[Listener] = []
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
        """A newer message on another branch than the one where the log ends."""
        newer = self.storage.tree.newer_leaf
        return None if newer is None or self.storage.tree.is_ancestor(newer, self.leaf) else newer

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change, in order, on the thread of the event loop; returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def node(self, entry_id: str) -> Node:
        """The entry with this id. Raises EntryNotFoundError."""
        node = self.storage.get(entry_id)
        if node is None:
            raise EntryNotFoundError(entry_id)
        return node

    # Appending

    async def append(
        self, *drafts: Draft, expected_leaf: str | None | _Current = CURRENT, origin: Origin = CLIENT
    ) -> Appended:
        """Append entries in one write, all or none; each becomes the leaf, a `LeafDraft` makes its target the leaf.

        They are as durable as the setting says when this returns. Raises InvalidEntryError, EntryNotFoundError,
        StaleLeafError (nothing written), ReadOnlyError, StorageError.
        """
        drafts = tuple(_checked(draft, self._clock) for draft in drafts)
        async with self._lock:
            await self._ready(expected_leaf)
            for draft in drafts:
                self._check_targets(draft)
            nodes = self._write(drafts, origin)
            newer = self.newer_leaf
        await self._settle(nodes)
        return Appended(nodes, self.leaf, newer, self._warnings(nodes))

    async def move_to(
        self,
        entry_id: str | None,
        summary: BranchSummary | None = None,
        *,
        expected_leaf: str | None | _Current = CURRENT,
        origin: Origin = CLIENT,
    ) -> Moved:
        """Move the leaf to an entry, None for before the first, and record that; optionally hang a summary there.

        Moving to where the leaf is writes no jump. Raises as `append`.
        """
        async with self._lock:
            await self._ready(expected_leaf)
            target = None if entry_id is None else self.node(entry_id)
            moved = self._move(target, summary, None, origin)
        await self._settle([node for node in (moved.leaf_entry, moved.summary_entry) if node])
        return Moved(moved.leaf, moved.leaf_entry, moved.summary_entry)

    async def navigate(
        self,
        entry_id: str,
        *,
        summary: BranchSummary | None = None,
        label: str | None = None,
        expected_leaf: str | None | _Current = CURRENT,
        origin: Origin = CLIENT,
    ) -> Navigated:
        """Go to an entry as a tree view does.

        For a user message (or `custom_message`) the leaf becomes its parent and its text is returned, so that sending
        it again grows a branch beside it; for any other entry the leaf becomes that entry. `label` names the summary
        if there is one, else the target. Raises as `append`.
        """
        async with self._lock:
            await self._ready(expected_leaf)
            node = self.node(entry_id)
            text: str | None = None
            target: Node | None = node
            if node.role == "user" or node.type == "custom_message":
                [entry] = await self.storage.read([node])
                source = entry.value if node.type == "custom_message" else entry.value["message"]
                text, target = message_text(cast("dict[str, Any]", source)), node.parent
            moved = self._move(target, summary, (node.id, label) if label else None, origin)
        await self._settle([n for n in (moved.leaf_entry, moved.summary_entry, moved.label_entry) if n])
        return Navigated(moved.leaf, moved.leaf_entry, moved.summary_entry, text, moved.label_entry)

    async def set_label(self, entry_id: str, label: str | None, **options: Any) -> Appended:
        """Name an entry, or clear its name with None or blank text. Raises as `append`."""
        text = trim(label or "")
        return await self.append(LabelDraft(target_id=entry_id, label=text or UNSET), **options)

    async def set_name(self, name: str | None, **options: Any) -> Appended:
        """Name the session, or clear its name with None or blank text. Raises as `append`."""
        text = one_line(name or "")
        return await self.append(SessionInfoDraft(name=text or UNSET), **options)

    async def edit_context(self, entry_id: str, content: str | list[dict[str, Any]] | None, **options: Any) -> Appended:
        """Leave an entry out of the context (None), or put other content in its place there. Raises as `append`."""
        replacement = None if content is None else Replacement(content=content)
        return await self.append(ContextEditDraft(target_id=entry_id, replacement=replacement), **options)

    async def restore_context(self, entry_id: str, **options: Any) -> Appended:
        """Take back what `edit_context` did to an entry. Raises as `append`."""
        [entry] = await self.storage.read([self.node(entry_id)])
        source = entry.value.get("message") if entry.type == "message" else entry.value
        content = cast("dict[str, Any]", source).get("content") if isinstance(source, dict) else None
        # The latest edit counts, so the way back is an edit that says what the entry itself says.
        return await self.edit_context(entry_id, content if isinstance(content, str | list) else "", **options)

    async def _ready(self, expected_leaf: str | None | _Current) -> None:
        """Take in what others wrote, check the caller's idea of the leaf, and make the log writable."""
        await self._refresh()
        if not isinstance(expected_leaf, _Current) and expected_leaf != self.leaf_id:
            raise StaleLeafError(expected_leaf, self.leaf_id)
        await self.storage.prepare()

    async def refresh(self) -> None:
        """Take in what other programs have added to the log; the leaf stays. Raises StorageError."""
        async with self._lock:
            await self._refresh()

    async def _refresh(self) -> None:
        epoch = self.storage.epoch
        foreign = await self.storage.refresh()
        reset = epoch != self.storage.epoch
        if reset:
            self._view = View(self.storage)
            self.leaf = (self.storage.get(self.leaf.id) if self.leaf else None) or self.storage.leaf
        if foreign or reset:
            self._tell(Change(foreign, Origin("external"), self.leaf, reset))

    def _check_targets(self, draft: Draft) -> None:
        match draft:
            case LabelDraft() | ContextEditDraft():
                self.node(draft.target_id)
            case LeafDraft(target_id=str(target)):
                self.node(target)
            case CompactionDraft(first_kept_entry_id=str(first)):
                if not self.storage.tree.is_ancestor(self.node(first), self.leaf):
                    raise InvalidEntryError(f"entry {first} is not on the path of the leaf", "firstKeptEntryId")
            case _:
                pass

    def _write(self, drafts: Sequence[Draft], origin: Origin) -> list[Node]:
        """Give drafts their places, write them in one go and move the leaf."""
        ids = _Ids(self._new_id)
        parent = self.leaf_id
        timestamp = format_timestamp(self._clock())
        lines: list[bytes] = []
        own: list[str] = []
        for draft in drafts:
            own.append(ids.next(self.storage))
            lines.append(codec.compose(draft, own[-1], parent, timestamp))
            parent = draft.target_id if isinstance(draft, LeafDraft) else own[-1]
        added = self.storage.write(lines)
        self.leaf = None if parent is None else self.node(parent)
        self._tell(Change(added, origin, self.leaf))
        return added if len(added) == len(own) else [self.node(id) for id in own]

    def _move(
        self, target: Node | None, summary: BranchSummary | None, label: tuple[str, str] | None, origin: Origin
    ) -> Navigated:
        drafts: list[Draft] = []
        if target is not self.leaf:
            drafts.append(LeafDraft(target_id=target.id if target else None))
        if summary is not None:
            drafts.append(
                BranchSummaryDraft(
                    from_id=target.id if target else "root",
                    summary=summary.summary,
                    details=summary.details,
                    usage=summary.usage,
                    from_hook=summary.from_hook,
                )
            )
            check_finite(summary.usage)
            check_finite(summary.details)
        nodes = self._write(drafts, origin) if drafts else []
        jump = next((node for node in nodes if node.type == "leaf"), None)
        summarised = next((node for node in nodes if node.type == "branch_summary"), None)
        labelled: Node | None = None
        if label is not None and trim(label[1]):
            name = LabelDraft(target_id=summarised.id if summarised else label[0], label=trim(label[1]))
            [labelled] = self._write([name], origin)
        return Navigated(self.leaf, jump, summarised, None, labelled)

    async def _settle(self, nodes: Sequence[Node]) -> None:
        if self.durability == "never" or not nodes:
            return
        if self.durability == "always" or any(map(_is_structure, nodes)):
            await self.storage.sync()

    def _warnings(self, nodes: Sequence[Node]) -> list[str]:
        return [
            f"the result {node.id} follows no answer on its path: it will be left out of the context"
            for node in nodes
            if node.role == "toolResult"
            and (node.parent is None or node.parent.role not in ("assistant", "toolResult"))
        ]

    def _tell(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)

    # Reading

    async def entries(self, ids: Sequence[str]) -> list[Entry]:
        """Whole entries, in the order asked for. Raises EntryNotFoundError, StorageError."""
        return await self.storage.read([self.node(id) for id in ids])

    def path(self, entry_id: str | None | _Current = CURRENT) -> list[Node]:
        """The entries from the root to an entry, by default the leaf. Raises EntryNotFoundError."""
        return self.storage.path_to(self._at(entry_id))

    def changes_since(self, revision: int, epoch: str) -> list[Node]:
        """The entries added since a revision of this epoch. Raises StaleCursorError for one that cannot be served."""
        if epoch != self.storage.epoch or not 0 <= revision <= self.revision:
            raise StaleCursorError(f"revision {revision} of {epoch} is not one of this log: ask for a snapshot")
        return self.storage.entries_since(revision)

    async def summaries(self, nodes: Sequence[Node]) -> list[EntrySummary]:
        """Entries in brief, in the order given."""
        entries = await self.storage.read(nodes)
        return [summarise(self.storage, node, entry) for node, entry in zip(nodes, entries, strict=True)]

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

    def statistics(self, entry_id: str | None | _Current = CURRENT) -> Statistics:
        """Totals over the path to an entry; those over the whole file are `storage.statistics`."""
        return statistics_of(self.path(entry_id))

    def select(self, entry_id: str | None | _Current = CURRENT) -> Selection:
        """Which entries would make the context at an entry, by default the leaf. Raises EntryNotFoundError."""
        return select(self.storage.tree, self._at(entry_id))

    async def build_context(
        self,
        entry_id: str | None | _Current = CURRENT,
        *,
        transforms: Sequence[Transform] = (),
        projectors: Mapping[str, Projector] | None = None,
    ) -> Context:
        """What a model is given at an entry, by default the leaf. Raises EntryNotFoundError, StorageError."""
        selection = self.select(entry_id)
        entries = await self.storage.read(selection.nodes)
        return project(selection, entries, transforms=transforms, projectors=projectors)

    def _at(self, entry_id: str | None | _Current) -> Node | None:
        if isinstance(entry_id, _Current):
            return self.leaf
        return None if entry_id is None else self.node(entry_id)

    async def aclose(self) -> None:
        """Wait for the writes under way and let go of the log."""
        async with self._lock:
            await self.storage.aclose()


def _checked(draft: Draft, clock: Callable[[], int]) -> Draft:
    """The draft, fit to be written. Raises InvalidEntryError."""
    for name in draft.__struct_fields__:
        value = getattr(draft, name)
        if isinstance(value, dict | list | float):
            check_finite(value)
    if isinstance(draft, MessageDraft):
        check_message(draft.message)
        if "timestamp" not in draft.message:
            return MessageDraft(message=draft.message | {"timestamp": clock()})
    if isinstance(draft, SessionInfoDraft) and isinstance(draft.name, str):
        return SessionInfoDraft(name=one_line(draft.name) or UNSET)
    return draft


_RELAXED_ROLES = frozenset({"toolResult", "bashExecution", "custom", "system"})


def _is_structure(node: Node) -> bool:
    """Whether losing this entry to a power failure would lose a person's words, an answer, or the tree's shape."""
    return node.role not in _RELAXED_ROLES if node.type == "message" else node.type not in ("custom", "usage")


__all__ = [
    "CLIENT",
    "CURRENT",
    "Appended",
    "BranchSummary",
    "Change",
    "Durability",
    "InvalidEntryError",
    "Listener",
    "Moved",
    "Navigated",
    "Origin",
    "Session",
    "StorageError",
]
