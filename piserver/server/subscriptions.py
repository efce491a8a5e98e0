"""Who watches what, and what they are told.

Each change of a watched session becomes one `session/treeChanged`. While the client does not keep up, changes of one
session are put together; when too many have piled up they are replaced by one notification that says: start afresh.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from piserver.protocol.encoding import encode
from piserver.protocol.sessions import TreeChanged
from piserver.protocol.shapes import ChangeOrigin, EntrySummary
from piserver.protocol.upkeep import LeaseChanged
from piserver.server import views
from piserver.server.open_sessions import OpenSession
from piserver.session import Change, Session
from piserver.storage import Owner, StorageError
from piserver.tree import Node

if TYPE_CHECKING:
    from piserver.server.wire import Server

log = logging.getLogger(__name__)

_LIMIT = 48_000
"""Bytes of one notification, which some editors read slowly."""
_BUDGET = 28_000
"""Bytes of summaries in one notification; what is over is sent as ids."""
_MOST_ENTRIES = 500
"""Entries of one notification; more are replaced by a `reset`."""
_MOST_CHANGES = 1_000
"""Changes that may wait for a slow client before they are put together."""


@dataclass(slots=True)
class _Pending:
    """One change, or several put together, that the client has not been told of."""

    nodes: Sequence[Node]
    leaf: Node | None
    newer_leaf: Node | None
    origin: ChangeOrigin
    reset: bool


@dataclass(slots=True)
class _Watch:
    """A watched session: what the client knows (`sent`, a revision), and what it is still to be told."""

    opened: OpenSession
    sent: int
    pending: list[_Pending] = field(default_factory=list[_Pending])


class Subscriptions:
    """Sends changes of watched sessions to the client, in order and without gaps."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._watches: dict[str, _Watch] = {}
        self._flushing = False

    def attach(self, opened: OpenSession) -> None:
        """Hear of every change of a session that was just opened."""
        opened.session.listen(lambda change: self._changed(opened, change))
        if (lease := opened.session.storage.lease) is not None:
            lease.listener = lambda owner, lost: self._lease_changed(opened, owner, lost)

    def watch(self, opened: OpenSession) -> None:
        """The client has been sent the session as it is at this moment: tell it what comes after."""
        self._watches[opened.handle] = _Watch(opened, opened.session.revision)

    def unwatch(self, handle: str) -> None:
        """Send no more changes of a session."""
        self._watches.pop(handle, None)

    def _lease_changed(self, opened: OpenSession, owner: Owner | None, lost: bool) -> None:
        """Tell who has a session now: the client that watches it, and in any case the one that has lost it."""
        if not lost and opened.handle not in self._watches:
            return
        told = None if owner is None else views.lease_owner(owner)
        self._server.push(
            "session/leaseChanged", LeaseChanged(session_id=opened.handle, owner=told, lost=views.flag(lost))
        )

    def _changed(self, opened: OpenSession, change: Change) -> None:
        watch = self._watches.get(opened.handle)
        if watch is None:
            return
        origin = ChangeOrigin(kind=change.origin.kind, request_id=views.given(change.origin.id))
        if change.reset:  # what was to be told of the log of before means nothing any more
            watch.pending.clear()
        if len(watch.pending) >= _MOST_CHANGES:
            _merge(watch)
        newer = opened.session.newer_leaf
        watch.pending.append(_Pending(change.nodes, change.leaf, newer, origin, change.reset))
        self._schedule()

    def _schedule(self) -> None:
        if not self._flushing:
            self._flushing = True
            self._server.spawn(self._flush, finish=True)

    async def _flush(self) -> None:
        """Send what waits; while the client is behind, wait and let it pile up into fewer notifications."""
        try:
            while ready := [w for w in self._watches.values() if w.pending]:
                if self._server.congested:
                    await self._server.drained()
                    for watch in ready:
                        _merge(watch)
                for watch in ready:
                    if watch.pending:
                        await self._send(watch, watch.pending.pop(0))
        finally:
            self._flushing = False

    async def _send(self, watch: _Watch, change: _Pending) -> None:
        session = watch.opened.session
        nodes = [node for node in change.nodes if node.index >= watch.sent]
        if not nodes and not change.reset:
            return  # a reset has told of them already
        changed = TreeChanged(
            session_id=watch.opened.handle,
            epoch=session.storage.epoch,
            revision=nodes[-1].index + 1 if nodes else session.revision,
            leaf_id=change.leaf.id if change.leaf else None,
            from_revision=watch.sent,
            appended=[],
            appended_ids=[],
            labels={},
            newer_leaf_id=change.newer_leaf.id if change.newer_leaf else None,
            origin=change.origin,
            reset=views.flag(change.reset),
        )
        if not change.reset:
            await _describe(changed, session, nodes)
        if changed.reset:
            changed.revision, changed.leaf_id = session.revision, session.leaf_id
        if self._watches.get(watch.opened.handle) is not watch or changed.epoch != session.storage.epoch:
            return  # closed, opened anew or replaced while the entries were read
        watch.sent = changed.revision
        self._server.push("session/treeChanged", changed)


def _merge(watch: _Watch) -> None:
    """Put the pending changes of a session together into one."""
    if len(watch.pending) < 2:
        return
    first, last = watch.pending[0], watch.pending[-1]
    nodes = [node for change in watch.pending for node in change.nodes]
    reset = any(change.reset for change in watch.pending) or len(nodes) > _MOST_ENTRIES
    same = all(change.origin == first.origin for change in watch.pending)
    origin = first.origin if same else ChangeOrigin(kind="mixed")
    watch.pending[:] = [_Pending([] if reset else nodes, last.leaf, last.newer_leaf, origin, reset)]


async def _describe(changed: TreeChanged, session: Session, nodes: Sequence[Node]) -> None:
    """Say what is new, or that it is too much to be said in a notification."""
    changed.labels, changed.name = told(session, nodes)
    if len(nodes) <= _MOST_ENTRIES:
        try:
            changed.appended, changed.appended_ids = await _fitting(session, nodes)
        except StorageError as error:
            log.warning("%s", error)
            changed.appended_ids = [node.id for node in nodes]
    if len(nodes) > _MOST_ENTRIES or len(encode(changed)) > _LIMIT:
        changed.appended, changed.appended_ids, changed.labels, changed.name = [], [], {}, UNSET
        changed.reset = True


async def _fitting(session: Session, nodes: Sequence[Node]) -> tuple[list[EntrySummary], list[str]]:
    """Summaries of the first entries as far as the budget goes, ids of the rest."""
    summaries = [views.summary(entry) for entry in await session.summaries(nodes)]
    size = 0
    for count, summary in enumerate(summaries):
        size += len(encode(summary)) + 1
        if size > _BUDGET:
            return summaries[:count], [node.id for node in nodes[count:]]
    return summaries, []


def told(session: Session, nodes: Sequence[Node]) -> tuple[dict[str, str], str | UnsetType]:
    """What new entries say of labels ("": cleared) and of the name (UNSET: nothing), as it stands now."""
    labels: dict[str, str] = {}
    name: str | UnsetType = UNSET
    for node in nodes:
        if node.type == "label" and isinstance(target := node.head.target_id, str):
            labels[target] = session.storage.label(target) or ""
        elif node.type == "session_info":
            name = session.name or ""
    return labels, name
