"""A session: one log, its write position, and everything that may be done with them.

Every change appends. Appends pass one lock, so ids, parents and bytes are decided one at a time in the order of the
calls; reads never wait for it. A write that fails fails alone.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, TypeVar, cast

import anyio
from msgspec import UNSET

from piserver.entries.messages import InvalidEntryError
from piserver.entries.text import one_line, trim
from piserver.entries.types import (
    BranchSummaryDraft,
    CompactionDraft,
    ContextEditDraft,
    Draft,
    LabelDraft,
    LeafDraft,
    Replacement,
    SessionInfoDraft,
)
from piserver.session.changes import (
    CLIENT,
    EXTERNAL,
    Appended,
    BranchSummary,
    Change,
    Durability,
    Listener,
    Moved,
    Navigated,
    Origin,
)
from piserver.session.drafts import checked, free_ids, is_structure, place
from piserver.session.errors import StaleLeafError
from piserver.session.preview import message_text
from piserver.session.reader import CURRENT, Current, SessionReader
from piserver.session.view import View
from piserver.storage import Storage, StorageError
from piserver.tree import Node

T = TypeVar("T")


def _now() -> int:
    return time.time_ns() // 1_000_000


def _random_id() -> str:
    return secrets.token_hex(4)


class Session(SessionReader):
    """An open session over a storage. `clock` gives milliseconds since 1970, `new_id` candidates for entry ids."""

    def __init__(
        self,
        storage: Storage,
        *,
        durability: Durability = "structure",
        clock: Callable[[], int] = _now,
        new_id: Callable[[], str] = _random_id,
    ) -> None:
        super().__init__(storage)
        self.durability: Durability = durability
        self._clock = clock
        self._new_id = new_id
        self._lock = anyio.Lock(fast_acquire=True)
        self._listeners: list[Listener] = []
        self._epoch = storage.epoch
        self._told = storage.revision  # up to here listeners know the log

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every change, in order, on the thread of the event loop; returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # Appending

    async def append(
        self, *drafts: Draft, expected_leaf: str | None | Current = CURRENT, origin: Origin = CLIENT
    ) -> Appended:
        """Append entries in one write, all or none; each becomes the leaf, a `LeafDraft` makes its target the leaf.

        They are as durable as the setting says when this returns. Raises InvalidEntryError, EntryNotFoundError,
        StaleLeafError (nothing written), ReadOnlyError, LeaseHeldError, StorageError.
        """
        drafts = tuple(checked(draft, self._clock()) for draft in drafts)
        async with self._lock:
            await self._look(expected_leaf)
            for draft in drafts:
                self._check_targets(draft)
            async with self._writing():
                newer = self.newer_leaf
                nodes = self._write(drafts, self._free_ids(len(drafts)), origin)
                leaf = self.leaf
        if newer is not None and self.storage.tree.is_ancestor(newer, leaf):
            newer = None
        await self._settle(nodes)
        return Appended(nodes, leaf, newer, self._warnings(nodes))

    async def move_to(
        self,
        entry_id: str | None,
        summary: BranchSummary | None = None,
        *,
        expected_leaf: str | None | Current = CURRENT,
        origin: Origin = CLIENT,
    ) -> Moved:
        """Move the leaf to an entry, None for before the first, and record that; optionally hang a summary there.

        Moving to where the leaf is writes no jump. Raises as `append`.
        """
        async with self._lock:
            await self._look(expected_leaf)
            target = None if entry_id is None else self.node(entry_id)
            moved = await self._move(target, summary, None, origin)
        await self._settle([node for node in (moved.leaf_entry, moved.summary_entry) if node])
        return Moved(moved.leaf, moved.leaf_entry, moved.summary_entry)

    async def navigate(
        self,
        entry_id: str,
        *,
        summary: BranchSummary | None = None,
        label: str | None = None,
        expected_leaf: str | None | Current = CURRENT,
        origin: Origin = CLIENT,
    ) -> Navigated:
        """Go to an entry as a tree view does.

        For a user message (or `custom_message`) the leaf becomes its parent and its text is returned, so that sending
        it again grows a branch beside it; for any other entry the leaf becomes that entry. `label` names the summary
        if there is one, else the target. Raises as `append`.
        """
        async with self._lock:
            await self._look(expected_leaf)
            node = self.node(entry_id)
            text: str | None = None
            target: Node | None = node
            if node.role == "user" or node.type == "custom_message":
                [entry] = await self.storage.read([node])
                source = entry.value if node.type == "custom_message" else entry.value["message"]
                text, target = message_text(cast("dict[str, Any]", source)), node.parent
            moved = await self._move(target, summary, LabelDraft(target_id=node.id, label=trim(label or "")), origin)
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
        kept = cast("str | list[dict[str, Any]]", content) if isinstance(content, str | list) else []
        return await self.edit_context(entry_id, kept, **options)

    async def refresh(self) -> None:
        """Take in what other programs have added to the log; the leaf stays. Raises StorageError."""
        async with self._lock:
            await self._refresh()

    async def rewrite(self, work: Callable[[], Awaitable[T]]) -> T:
        """Let `work` put another file in the log's place while changes wait, and take that in. Answers its result."""
        async with self._lock:
            result = await work()
            await self._refresh()
            return result

    async def _refresh(self, *, closely: bool = True) -> None:
        await self.storage.refresh(closely=closely)
        self._tell_of_others()

    def _tell_of_others(self) -> None:
        """Make known what the storage has taken in from other writers since the last change."""
        reset = self.storage.epoch != self._epoch
        if reset:
            self._epoch, self._told = self.storage.epoch, 0
            self._view = View(self.storage)
            self.leaf = (self.storage.get(self.leaf.id) if self.leaf else None) or self.storage.leaf
        nodes = self.storage.entries_since(self._told)
        if nodes or reset:
            self._tell(Change(nodes, EXTERNAL, self.leaf, reset))

    async def _look(self, expected_leaf: str | None | Current) -> None:
        """Take in what others wrote, and check the caller's idea of the leaf; nothing is written."""
        await self._refresh(closely=False)
        if not isinstance(expected_leaf, Current) and expected_leaf != self.leaf_id:
            raise StaleLeafError(expected_leaf, self.leaf_id)

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[None]:
        """Make the log writable, once it is certain that there is something to write; our other servers wait."""
        epoch = self.storage.epoch
        await self.storage.prepare()
        try:
            self._tell_of_others()
            if epoch != self.storage.epoch:
                raise StorageError("the log was replaced at this moment; nothing was written")
            yield
        finally:
            self.storage.release()

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

    def _free_ids(self, count: int) -> list[str]:
        return free_ids(count, self._new_id, self.storage.tree)

    def _write(self, drafts: Sequence[Draft], ids: Sequence[str], origin: Origin) -> list[Node]:
        """Write drafts at the leaf in one go, under these ids, and move the leaf."""
        if not drafts:
            return []
        lines, leaf_id = place(drafts, ids, self.leaf_id, self._clock())
        added = self.storage.write(lines)
        self.leaf = None if leaf_id is None else self.node(leaf_id)
        own = frozenset(ids)
        # Another program may have written at the same moment: its entries stand among ours.
        for is_own, nodes in groupby(added, lambda node: node.id in own):
            self._tell(Change(list(nodes), origin if is_own else EXTERNAL, self.leaf))
        return [self.node(id) for id in ids]

    async def _move(
        self, target: Node | None, summary: BranchSummary | None, label: LabelDraft | None, origin: Origin
    ) -> Navigated:
        """Write all that a move consists of in one go. A label goes to the summary, if there is one."""
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
        named = len(drafts) - 1
        if label is not None and label.label:
            drafts.append(label)
        drafts = [checked(draft, self._clock()) for draft in drafts]
        if not drafts:
            return Navigated(self.leaf)
        async with self._writing():
            ids = self._free_ids(len(drafts))
            if summary is not None and isinstance(drafts[-1], LabelDraft):
                drafts[-1] = LabelDraft(target_id=ids[named], label=drafts[-1].label)
            written = {node.type: node for node in self._write(drafts, ids, origin)}
        jump, made, named_by = (written.get(kind) for kind in ("leaf", "branch_summary", "label"))
        return Navigated(self.leaf, jump, made, None, named_by)

    async def _settle(self, nodes: Sequence[Node]) -> None:
        if self.durability == "never" or not nodes:
            return
        if self.durability == "always" or any(map(is_structure, nodes)):
            await self.storage.sync()

    def _warnings(self, nodes: Sequence[Node]) -> list[str]:
        return [
            f"the result {node.id} follows no answer on its path: it will be left out of the context"
            for node in nodes
            if node.role == "toolResult"
            and (node.parent is None or node.parent.role not in ("assistant", "toolResult"))
        ]

    def _tell(self, change: Change) -> None:
        self._told += len(change.nodes)
        for listener in list(self._listeners):
            listener(change)

    async def aclose(self) -> None:
        """Wait for the writes under way and let go of the log."""
        async with self._lock:
            await self.storage.aclose()
