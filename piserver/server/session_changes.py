"""The methods that change a session. Each appends; see `session.Session` for what that means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType

from piserver.protocol import sessions as p
from piserver.protocol.errors import RequestError
from piserver.server import views
from piserver.server.desk import Desk, at, chosen
from piserver.server.dispatch import Request
from piserver.server.open_sessions import OpenSession
from piserver.session import Appended, BranchSummary, Moved, Origin, Session
from piserver.tree import Node


class ChangeMethods:
    """Handlers that append."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def append(self, params: p.AppendParams, request: Request) -> p.ChangeResult:
        if (params.entry is UNSET) == (params.entries is UNSET):
            raise RequestError("invalid-params", "give either entry or entries", data={"field": "entries"})
        drafts = [params.entry] if params.entry is not UNSET else chosen(params.entries) or []
        return await self._change(params, request, lambda s: partial(s.append, *drafts))

    async def rename(self, params: p.RenameParams, request: Request) -> p.ChangeResult:
        return await self._change(params, request, lambda s: partial(s.set_name, params.name))

    async def set_label(self, params: p.SetLabelParams, request: Request) -> p.ChangeResult:
        return await self._change(params, request, lambda s: partial(s.set_label, params.entry_id, params.label))

    async def edit_context(self, params: p.EditContextParams, request: Request) -> p.ChangeResult:
        if params.restore == (params.replacement is not UNSET):
            raise RequestError("invalid-params", "give either replacement or restore", data={"field": "replacement"})
        replacement = params.replacement
        if replacement is UNSET:
            return await self._change(params, request, lambda s: partial(s.restore_context, params.entry_id))
        content = None if replacement is None else replacement.content
        return await self._change(params, request, lambda s: partial(s.edit_context, params.entry_id, content))

    async def _change(
        self, params: p.ChangeParams, request: Request, change: Callable[[Session], Callable[..., Awaitable[Appended]]]
    ) -> p.ChangeResult:
        async def apply(opened: OpenSession) -> p.ChangeResult:
            session = opened.session
            done = await change(session)(expected_leaf=at(params.expected_leaf_id), origin=Origin("client", request.id))
            if any(node.type == "session_info" for node in done.nodes):
                self._desk.repository.catalogue.made(opened.path, session.id)
                self._desk.tell_list("renamed", await self._desk.info(opened))
            return p.ChangeResult(
                **_after(session, opened.handle, done.nodes, done.leaf),
                entry_ids=[node.id for node in done.nodes],
                newer_leaf_id=done.newer_leaf.id if done.newer_leaf else UNSET,
                warnings=list(done.warnings) or UNSET,
            )

        opened = await self._desk.open_sessions.get(params.session_id)
        return await opened.answers.once(chosen(params.idempotency_key), lambda: apply(opened))

    async def move_to(self, params: p.MoveToParams, request: Request) -> p.MoveResult:
        async def move(opened: OpenSession) -> p.MoveResult:
            moved = await opened.session.move_to(
                params.entry_id,
                _summary(params.summary),
                expected_leaf=at(params.expected_leaf_id),
                origin=Origin("client", request.id),
            )
            return p.MoveResult(**_moved(opened, moved))

        opened = await self._desk.open_sessions.get(params.session_id)
        return await opened.answers.once(chosen(params.idempotency_key), lambda: move(opened))

    async def navigate(self, params: p.NavigateParams, request: Request) -> p.NavigateResult:
        async def navigate(opened: OpenSession) -> p.NavigateResult:
            moved = await opened.session.navigate(
                params.target_id,
                summary=_summary(params.summary),
                label=chosen(params.label),
                expected_leaf=at(params.expected_leaf_id),
                origin=Origin("client", request.id),
            )
            return p.NavigateResult(
                **_moved(opened, moved),
                editor_text=moved.editor_text,
                label_entry_id=moved.label_entry.id if moved.label_entry else UNSET,
            )

        opened = await self._desk.open_sessions.get(params.session_id)
        return await opened.answers.once(chosen(params.idempotency_key), lambda: navigate(opened))


def _summary(params: p.SummaryParams | UnsetType) -> BranchSummary | None:
    if not isinstance(params, p.SummaryParams):
        return None
    return BranchSummary(params.summary, params.details, params.usage, params.from_hook)


def _after(session: Session, handle: str, nodes: Sequence[Node], leaf: Node | None) -> dict[str, Any]:
    """The position right after a change, though later ones may have been made before this one was durable."""
    revision = nodes[-1].index + 1 if nodes else session.revision
    leaf_id = leaf.id if leaf else None
    return views.position(session, handle) | {"revision": revision, "leaf_id": leaf_id}


def _moved(opened: OpenSession, moved: Moved) -> dict[str, Any]:
    nodes = [node for node in (moved.leaf_entry, moved.summary_entry) if node]
    return _after(opened.session, opened.handle, nodes, moved.leaf) | {
        "leaf_entry_id": moved.leaf_entry.id if moved.leaf_entry else UNSET,
        "summary_entry_id": moved.summary_entry.id if moved.summary_entry else UNSET,
    }
