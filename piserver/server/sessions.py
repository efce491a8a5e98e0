"""The methods `session/*`: parameters in, session called, result out. What they mean stands in the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio.to_thread
from msgspec import UNSET, Raw, UnsetType

from piserver.context import (
    Context,
    TargetModel,
    convert_to_llm,
    estimate_context_tokens,
    estimate_tokens,
    project,
    replay,
)
from piserver.entries import json
from piserver.entries.text import format_timestamp
from piserver.protocol import sessions as p
from piserver.protocol import shapes
from piserver.protocol.base import Empty
from piserver.protocol.errors import RequestError
from piserver.protocol.registry import METHODS
from piserver.repository import Repository, SessionNotFoundError
from piserver.server import views
from piserver.server.dispatch import Request
from piserver.server.failures import as_request_error
from piserver.server.open_sessions import Answers, OpenSession, OpenSessions
from piserver.server.progress import Progress
from piserver.server.subscriptions import Subscriptions, told
from piserver.server.wire import Server
from piserver.session import (
    Appended,
    BranchSummary,
    Durability,
    Moved,
    Origin,
    Session,
    StaleCursorError,
    StaleLeafError,
)
from piserver.session.session import CURRENT
from piserver.storage.glance import SessionInfo, glance, message_line

P = TypeVar("P")
R = TypeVar("R")

_MOST_DIAGNOSTICS = 100
_LOOP_ENTRIES = 500
"""Entries of a context beyond which it is computed in a worker thread."""


class SessionMethods:
    """Handlers over one repository for one client."""

    def __init__(self, server: Server, repository: Repository) -> None:
        self._server = server
        self._repository = repository
        self._subscriptions = Subscriptions(server)
        self.open_sessions = OpenSessions(repository, server.spawn, self._subscriptions.attach)
        self._created = Answers()

    def register(self) -> None:
        """Make every method of the registry known to the server."""
        for name, spec in METHODS.items():
            word = name.removeprefix("session/")
            handler = getattr(self, "_" + "".join(f"_{c.lower()}" if c.isupper() else c for c in word))
            self._server.method(name, spec.params)(_guarded(handler))

    def set_durability(self, durability: Durability) -> None:
        """Apply a changed setting to the sessions that are open."""
        for opened in self.open_sessions.all():
            opened.session.durability = durability

    # Repository

    async def _create(self, params: p.CreateParams, request: Request) -> p.Snapshot:
        async def create() -> OpenSession:
            opened = self.open_sessions.adopt(
                await self._repository.create(
                    params.cwd,
                    name=params.name or None,
                    metadata=params.metadata or None,
                    path=params.path or None,
                )
            )
            await self._list_changed("created", opened)
            return opened

        opened = await self._created.once(params.idempotency_key or None, create)
        return await self._snapshot(opened, request, p.RowsParams())

    async def _open(self, params: p.OpenParams, request: Request) -> p.Snapshot:
        if (params.path is UNSET) == (params.session_id is UNSET):
            raise RequestError("invalid-params", "give either sessionId or path", data={"field": "path"})
        if isinstance(params.session_id, str):
            opened = self.open_sessions.find(params.session_id)
            if opened is None:
                opened = await self._read(await self._repository.find(params.session_id.partition("@")[0]), request)
        else:
            opened = await self._open_path(Path(str(params.path)), params.create, request)
        rows = params.rows if isinstance(params.rows, p.RowsParams) else p.RowsParams()
        if params.at_leaf and opened.session.leaf_id is not None:
            rows.around = opened.session.leaf_id
        return await self._snapshot(opened, request, rows, subscribe=params.subscribe)

    async def _open_path(self, path: Path, create: str | UnsetType, request: Request) -> OpenSession:
        if isinstance(create, str) and path.is_file() and path.stat().st_size == 0:
            opened = self.open_sessions.adopt(await self._repository.create(create, path=path))
            await self._list_changed("created", opened)
            return opened
        return await self._read(path, request)

    async def _read(self, path: Path, request: Request) -> OpenSession:
        progress = request.progress
        progress.begin(f"Reading {path.name}", percentage=0)
        report: Callable[[int, int], None] | None = None
        if progress.wanted:
            report = partial(_report_bytes, asyncio.get_running_loop(), progress)
        return await self.open_sessions.open(path, report)

    async def _close(self, params: p.CloseParams, request: Request) -> Empty:
        self._subscriptions.unwatch(params.session_id)
        opened = self.open_sessions.find(params.session_id)
        if opened is not None:
            await self.open_sessions.close(opened)
        return Empty()

    async def _list(self, params: p.ListParams, request: Request) -> p.ListResult:
        request.progress.begin("Listing sessions", percentage=0)

        def report(done: int, total: int) -> None:
            request.progress.report(f"{done} of {total}", 100 * done // max(total, 1))

        streaming = request.partial_result_token is not None
        skip = _cursor(params.cursor)
        found: list[shapes.SessionInfo] = []
        batch: list[shapes.SessionInfo] = []
        count = 0
        more = False
        async for item in self._repository.list(params.cwd or None, report):
            count += 1
            if count <= skip:
                continue
            if len(found) >= params.limit:
                more = True
                break
            opened = self.open_sessions.at(Path(item.path))
            found.append(views.info(item, opened.handle if opened else None))
            batch.append(found[-1])
            if streaming and len(batch) >= 32:
                self._send_batch(request, batch)
                batch = []
        next_cursor = str(skip + len(found)) if more else None
        if streaming:
            self._send_batch(request, batch)
            found = []
        return p.ListResult(sessions=found, next_cursor=next_cursor)

    def _send_batch(self, request: Request, batch: list[shapes.SessionInfo]) -> None:
        if batch:
            value = p.ListResult(sessions=batch, next_cursor=None)
            self._server.push("$/progress", {"token": request.partial_result_token, "value": value})

    async def _latest(self, params: p.LatestParams, request: Request) -> p.LatestResult:
        try:
            return p.LatestResult(info=views.info(await self._repository.latest(params.cwd)))
        except SessionNotFoundError:
            return p.LatestResult(info=None)

    async def _delete(self, params: p.DeleteParams, request: Request) -> p.DeleteResult:
        if (params.path is UNSET) == (params.session_id is UNSET):
            raise RequestError("invalid-params", "give either sessionId or path", data={"field": "path"})
        if isinstance(params.session_id, str):
            opened = self.open_sessions.find(params.session_id)
            path = opened.path if opened else await self._repository.find(params.session_id)
        else:
            path = Path(str(params.path)).expanduser().resolve()
            opened = self.open_sessions.at(path)
        try:
            id = opened.handle if opened else (await anyio.to_thread.run_sync(glance, path)).id
        except FileNotFoundError:
            raise SessionNotFoundError(f"there is no file {path}") from None
        await self._repository.delete(path, permanent=params.permanent)
        if opened is not None:
            self._subscriptions.unwatch(opened.handle)
            await self.open_sessions.close(opened)
        self._server.push("session/listChanged", p.ListChanged(reason="deleted", session_id=id, path=str(path)))
        return p.DeleteResult(path=str(path))

    async def _rename(self, params: p.RenameParams, request: Request) -> p.ChangeResult:
        result = await self._change(params, request, lambda s, **how: s.set_name(params.name, **how))
        await self._list_changed("renamed", await self.open_sessions.get(params.session_id))
        return result

    async def _fork(self, params: p.ForkParams, request: Request) -> p.ForkResult:
        async def fork(opened: OpenSession) -> p.ForkResult:
            _check_leaf(opened.session, params)
            cwd = params.cwd or None
            forked = await self._repository.fork(opened.session, params.entry_id, params.position, cwd)
            return await self._made(opened, forked.session, forked.editor_text)

        opened = await self.open_sessions.get(params.session_id)
        return await opened.answers.once(params.idempotency_key or None, lambda: fork(opened))

    async def _clone(self, params: p.CloneParams, request: Request) -> p.ForkResult:
        async def clone(opened: OpenSession) -> p.ForkResult:
            _check_leaf(opened.session, params)
            return await self._made(opened, await self._repository.clone(opened.session), None)

        opened = await self.open_sessions.get(params.session_id)
        return await opened.answers.once(params.idempotency_key or None, lambda: clone(opened))

    async def _made(self, source: OpenSession, made: Session, text: str | None) -> p.ForkResult:
        """Tell of a new file; it is not kept open, the client may never want it."""
        info = views.info(await _info(made))
        await made.aclose()
        self._server.push(
            "session/listChanged", p.ListChanged(reason="created", session_id=info.id, path=info.path, info=info)
        )
        return p.ForkResult(source_session_id=source.handle, info=info, editor_text=text)

    async def _list_changed(self, reason: Any, opened: OpenSession) -> None:
        info = views.info(await _info(opened.session), opened.handle)
        self._server.push(
            "session/listChanged",
            p.ListChanged(reason=reason, session_id=opened.handle, path=info.path, info=info),
        )

    async def _snapshot(
        self, opened: OpenSession, request: Request, rows: p.RowsParams, *, subscribe: bool = True
    ) -> p.Snapshot:
        session = opened.session
        if subscribe:
            self._subscriptions.watch(opened)
        while True:
            revision = session.revision
            window = await self._window(session, rows)
            info = await _info(session)
            if revision == session.revision:
                break
        if subscribe:
            request.after_answer(lambda: self._subscriptions.begin(opened, revision))
        diagnostics = session.diagnostics
        newer = session.newer_leaf
        return p.Snapshot(
            **views.position(session, opened.handle),
            info=views.info(info, opened.handle),
            newer_leaf_id=newer.id if newer else None,
            read_only=session.storage.read_only,
            state=views.state(session.select().state),
            statistics=views.statistics(session.storage.statistics),
            diagnostics=[views.diagnostic(found) for found in diagnostics[:_MOST_DIAGNOSTICS]],
            diagnostics_total=len(diagnostics),
            rows=window,
        )

    # Changes

    async def _append(self, params: p.AppendParams, request: Request) -> p.ChangeResult:
        if (params.entry is UNSET) == (params.entries is UNSET):
            raise RequestError("invalid-params", "give either entry or entries", data={"field": "entries"})
        drafts = [params.entry] if params.entry is not UNSET else params.entries or []
        return await self._change(params, request, lambda s, **how: s.append(*drafts, **how))

    async def _set_label(self, params: p.SetLabelParams, request: Request) -> p.ChangeResult:
        return await self._change(params, request, lambda s, **how: s.set_label(params.entry_id, params.label, **how))

    async def _edit_context(self, params: p.EditContextParams, request: Request) -> p.ChangeResult:
        if params.restore == (params.replacement is not UNSET):
            raise RequestError("invalid-params", "give either replacement or restore", data={"field": "replacement"})
        replacement = params.replacement
        if replacement is UNSET:
            return await self._change(params, request, lambda s, **how: s.restore_context(params.entry_id, **how))
        content = None if replacement is None else replacement.content
        return await self._change(params, request, lambda s, **how: s.edit_context(params.entry_id, content, **how))

    async def _change(
        self, params: p.ChangeParams, request: Request, change: Callable[..., Awaitable[Appended]]
    ) -> p.ChangeResult:
        async def apply(opened: OpenSession) -> p.ChangeResult:
            session = opened.session
            done = await change(session, expected_leaf=_expected(params), origin=Origin("client", request.id))
            return p.ChangeResult(
                **_after(session, opened.handle, done.nodes, done.leaf),
                entry_ids=[node.id for node in done.nodes],
                newer_leaf_id=done.newer_leaf.id if done.newer_leaf else UNSET,
                warnings=list(done.warnings) or UNSET,
            )

        opened = await self.open_sessions.get(params.session_id)
        return await opened.answers.once(params.idempotency_key or None, lambda: apply(opened))

    async def _move_to(self, params: p.MoveToParams, request: Request) -> p.MoveResult:
        async def move(opened: OpenSession) -> p.MoveResult:
            moved = await opened.session.move_to(
                params.entry_id,
                _summary(params.summary),
                expected_leaf=_expected(params),
                origin=Origin("client", request.id),
            )
            return p.MoveResult(**_moved(opened, moved))

        opened = await self.open_sessions.get(params.session_id)
        return await opened.answers.once(params.idempotency_key or None, lambda: move(opened))

    async def _navigate(self, params: p.NavigateParams, request: Request) -> p.NavigateResult:
        async def navigate(opened: OpenSession) -> p.NavigateResult:
            moved = await opened.session.navigate(
                params.target_id,
                summary=_summary(params.summary),
                label=params.label or None,
                expected_leaf=_expected(params),
                origin=Origin("client", request.id),
            )
            return p.NavigateResult(
                **_moved(opened, moved),
                editor_text=moved.editor_text,
                label_entry_id=moved.label_entry.id if moved.label_entry else UNSET,
            )

        opened = await self.open_sessions.get(params.session_id)
        return await opened.answers.once(params.idempotency_key or None, lambda: navigate(opened))

    # Reading

    async def _get_tree(self, params: p.GetTreeParams, request: Request) -> p.GetTreeResult:
        opened = await self.open_sessions.get(params.session_id)
        window = await self._window(opened.session, params)
        return p.GetTreeResult(**views.position(opened.session, opened.handle), window=window)

    async def _window(self, session: Session, params: p.RowsParams) -> shapes.RowWindow:
        window = await session.rows(
            filter=params.filter,
            query=params.query,
            collapsed=frozenset(params.collapsed),
            offset=params.offset,
            limit=params.limit,
            around=params.around or None,
        )
        return views.window(window, params.filter)

    async def _get_entries(self, params: p.GetEntriesParams, request: Request) -> p.GetEntriesResult:
        opened = await self.open_sessions.get(params.session_id)
        entries: list[Raw] = []
        size = 0
        for start in range(0, len(params.ids), 100):
            for entry in await opened.session.entries(params.ids[start : start + 100]):
                if entries and size + len(entry.raw) > params.max_bytes:
                    size = params.max_bytes
                    break
                size += len(entry.raw)
                entries.append(Raw(entry.raw))
            if len(entries) < min(start + 100, len(params.ids)):
                break
        return p.GetEntriesResult(
            **views.position(opened.session, opened.handle), entries=entries, remaining=params.ids[len(entries) :]
        )

    async def _get_path(self, params: p.GetPathParams, request: Request) -> p.GetPathResult:
        opened = await self.open_sessions.get(params.session_id)
        session = opened.session
        path = session.path(CURRENT if params.entry_id is UNSET else params.entry_id)
        page = path[params.offset : params.offset + params.limit]
        place = views.position(session, opened.handle)
        entries = [views.summary(entry) for entry in await session.summaries(page)]
        return p.GetPathResult(**place, total=len(path), offset=params.offset, entries=entries)

    async def _changes(self, params: p.ChangesParams, request: Request) -> p.ChangesResult:
        opened = await self.open_sessions.get(params.session_id)
        session = opened.session
        try:
            nodes = session.changes_since(params.since, params.epoch)
        except StaleCursorError as error:
            snapshot = await self._snapshot(opened, request, p.RowsParams(), subscribe=False)
            raise RequestError("stale-cursor", str(error), data={"snapshot": snapshot}) from None
        page = nodes[: params.limit]
        place, newer = views.position(session, opened.handle), session.newer_leaf
        labels, name = told(session, page)
        return p.ChangesResult(
            **place,
            since=params.since,
            through=params.since + len(page),
            appended=[views.summary(entry) for entry in await session.summaries(page)],
            labels=labels,
            name=name,
            newer_leaf_id=newer.id if newer else None,
        )

    async def _build_context(self, params: p.BuildContextParams, request: Request) -> p.BuildContextResult:
        opened = await self.open_sessions.get(params.session_id)
        session = opened.session
        selection = session.select(CURRENT if params.entry_id is UNSET else params.entry_id)
        place = views.position(session, opened.handle)
        entries = await session.storage.read(selection.nodes)

        def build() -> p.BuildContextResult:
            context = project(selection, entries)
            result = p.BuildContextResult(
                **place,
                entry_id=selection.leaf.id if selection.leaf else None,
                form=params.form,
                state=views.state(context.state),
                messages=[],
                tokens=None,
                excluded=[],
                changes=[],
                diagnostics=[views.diagnostic(found) for found in context.diagnostics],
            )
            if params.excluded:
                left_out = [*selection.not_selected(), *context.excluded]
                result.excluded = [
                    shapes.ExcludedEntry(entry_id=item.node.id, reason=item.reason)
                    for item in sorted(left_out, key=lambda item: item.node.index)
                ]
            if params.form == "llm":
                _fill_llm(result, context, params)
            else:
                result.messages = views.messages(context, estimates=params.estimates)
                if params.estimates:
                    sources = [message.node.id for message in context.messages]
                    result.tokens = views.tokens(estimate_context_tokens(context.values, context.stale_before), sources)
            return result

        # Small contexts are quicker than the way to a thread and back.
        return build() if len(entries) <= _LOOP_ENTRIES else await anyio.to_thread.run_sync(build)

    async def _stats(self, params: p.StatsParams, request: Request) -> p.StatsResult:
        opened = await self.open_sessions.get(params.session_id)
        session = opened.session
        at = CURRENT if params.entry_id is UNSET else params.entry_id
        path = session.statistics(at)
        place = views.position(session, opened.handle)
        file = views.statistics(session.storage.statistics)
        context = await session.build_context(at)
        estimate = await anyio.to_thread.run_sync(lambda: estimate_context_tokens(context.values, context.stale_before))
        return p.StatsResult(
            **place,
            file=file,
            path=views.statistics(path),
            context=views.tokens(estimate, [message.node.id for message in context.messages]),
            window=None,
            percent=None,
        )


def _fill_llm(result: p.BuildContextResult, context: Context, params: p.BuildContextParams) -> None:
    """The messages as a provider takes them, and what was changed for that."""
    target: TargetModel | None = None
    if isinstance(params.model, p.TargetModel):
        model = params.model
        target = TargetModel(model.provider, model.api, model.model_id, model.images)
    replayed, changes = replay([convert_to_llm(message.value) for message in context.messages], target)
    sources = [context.messages[item.index] for item in replayed]
    result.messages = [
        shapes.ContextMessage(
            message=Raw(json.dumps(item.message)),
            entry_id=source.node.id,
            reason=source.reason,
            tokens=estimate_tokens(item.message) if params.estimates else UNSET,
        )
        for item, source in zip(replayed, sources, strict=True)
    ]
    result.changes = [
        shapes.ContextChange(
            kind=change.kind, entry_id=context.messages[change.index].node.id, detail=views.given(change.detail)
        )
        for change in changes
    ]
    if params.estimates:
        fresh = [item.index for item in replayed]
        stale_before = sum(index < context.stale_before for index in fresh)
        estimate = estimate_context_tokens([item.message for item in replayed], stale_before)
        result.tokens = views.tokens(estimate, [source.node.id for source in sources])


def _guarded(handler: Callable[[P, Request], Awaitable[R]]) -> Callable[[P, Request], Awaitable[R]]:
    """The handler with every expected failure turned into an error of the protocol."""

    async def guarded(params: P, request: Request) -> R:
        try:
            return await handler(params, request)
        except Exception as error:
            raise as_request_error(error) from error

    return guarded


def _expected(params: p.ChangeParams) -> Any:
    return CURRENT if params.expected_leaf_id is UNSET else params.expected_leaf_id


def _check_leaf(session: Session, params: p.ChangeParams) -> None:
    if params.expected_leaf_id is not UNSET and params.expected_leaf_id != session.leaf_id:
        raise StaleLeafError(params.expected_leaf_id, session.leaf_id)


def _summary(params: p.SummaryParams | UnsetType) -> BranchSummary | None:
    if not isinstance(params, p.SummaryParams):
        return None
    return BranchSummary(params.summary, params.details, params.usage, params.from_hook)


def _after(session: Session, handle: str, nodes: Sequence[Any], leaf: Any) -> dict[str, Any]:
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


def _cursor(cursor: str | UnsetType) -> int:
    if cursor is UNSET:
        return 0
    if not cursor.isdecimal():
        raise RequestError("stale-cursor", f"{cursor!r} is no cursor of a list", data={"field": "cursor"})
    return int(cursor)


async def _info(session: Session) -> SessionInfo:
    """What a list shows of a session, from what is known of it anyhow."""
    storage = session.storage
    assert storage.path is not None
    first = next((node for node in storage.tree.nodes if node.role == "user"), None)
    [line] = await storage.lines([first]) if first else [None]
    status = Path(storage.path).stat()
    return SessionInfo(
        id=session.id,
        path=storage.path,
        cwd=session.header.cwd,
        created=session.header.timestamp,
        modified=format_timestamp(status.st_mtime_ns // 1_000_000),
        size=status.st_size,
        name=session.name,
        first_message=message_line(line) or None if line else None,
        message_count=storage.statistics.messages,
        parent_session=session.header.parent_session,
    )


def _report_bytes(loop: asyncio.AbstractEventLoop, progress: Progress, done: int, total: int) -> None:
    """Report from the thread that reads."""
    loop.call_soon_threadsafe(progress.report, None, 100 * done // max(total, 1))
