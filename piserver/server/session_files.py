"""The methods that make, find and remove sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

import anyio.to_thread
from msgspec import UNSET, UnsetType

from piserver.entries.text import parse_timestamp
from piserver.protocol import sessions as p
from piserver.protocol import shapes
from piserver.protocol.base import Empty
from piserver.protocol.errors import RequestError
from piserver.repository import ListFilter, SessionInfo, SessionNotFoundError
from piserver.server import views
from piserver.server.desk import Desk, chosen, file_at, named, session_info
from piserver.server.dispatch import Request
from piserver.server.open_sessions import Answers, OpenSession, unbroken
from piserver.server.progress import Progress
from piserver.session import Session, StaleLeafError
from piserver.storage import Lease, StorageError
from piserver.storage.glance import peek

_BATCH = 32
"""Sessions in one partial result."""


class FileMethods:
    """Handlers over the repository."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._created = Answers()

    async def create(self, params: p.CreateParams, request: Request) -> p.Snapshot:
        cwd = named(params.cwd, "cwd")
        path = None if params.path is UNSET else file_at(params.path)
        make = partial(
            self._desk.repository.create, cwd, name=chosen(params.name), metadata=chosen(params.metadata), path=path
        )

        async def create() -> OpenSession:
            with self._desk.repository.catalogue.own_change():
                try:
                    made = await make()
                except FileExistsError:
                    message = f"{path} exists already: it stays as it is."
                    raise RequestError("storage-failed", message, data={"landed": False}) from None
                opened = self._desk.open_sessions.adopt(made)
                await self._tell_created(made)
            return opened

        opened = await self._created.once(chosen(params.idempotency_key), create)
        return await self._desk.snapshot(opened, request, p.RowsParams())

    async def open(self, params: p.OpenParams, request: Request) -> p.Snapshot:
        if (params.path is UNSET) == (params.session_id is UNSET):
            raise RequestError("invalid-params", "give either sessionId or path", data={"field": "path"})
        if isinstance(params.session_id, str):
            opened = self._desk.open_sessions.find(params.session_id)
            if opened is None:
                path = await self._desk.open_sessions.locate(params.session_id)
                opened = await self._desk.open_sessions.open(path, partial(self._read, UNSET, request))
        else:
            path = file_at(str(params.path))
            opened = await self._desk.open_sessions.open(path, partial(self._read, params.create, request))
        await _look(opened)
        rows = params.rows if isinstance(params.rows, p.RowsParams) else p.RowsParams()
        if params.at_leaf and opened.session.leaf_id is not None:
            rows.around = opened.session.leaf_id
        return await self._desk.snapshot(opened, request, rows, subscribe=params.subscribe)

    async def _read(self, create: str | UnsetType, request: Request, path: Path) -> Session:
        """Read a file, or make an empty one a session of the working directory `create`."""
        if create is not UNSET and path.is_file() and path.stat().st_size == 0:
            with self._desk.repository.catalogue.own_change():
                made = await self._desk.repository.create(named(create, "create"), path=path)
                await self._tell_created(made)
            return made
        progress = request.progress
        progress.begin(f"Reading {path.name}", percentage=0)
        report: Callable[[int, int], None] | None = None
        if progress.wanted:
            report = partial(_report_bytes, asyncio.get_running_loop(), progress)
        return await self._desk.repository.open(path, report)

    async def close(self, params: p.CloseParams, request: Request) -> Empty:
        self._desk.subscriptions.unwatch(params.session_id)
        opened = self._desk.open_sessions.find(params.session_id)
        if opened is not None:
            await self._desk.open_sessions.close(opened)
        return Empty()

    async def list_sessions(self, params: p.ListParams, request: Request) -> p.ListResult:
        request.progress.begin("Listing sessions", percentage=0)

        def report(done: int, total: int) -> None:
            request.progress.report(f"{done} of {total}", 100 * done // max(total, 1))

        skip = _cursor(params.cursor)
        streaming = request.partial_result_token is not None
        wanted = ListFilter(
            chosen(params.cwd), chosen(params.query) or "", _time(params.since, "since"), _time(params.until, "until")
        )
        if streaming:
            await self._stream(request, (await self._desk.repository.list_at_once(wanted))[skip : skip + params.limit])
        found: list[SessionInfo] = []
        sent = count = 0
        more = False
        async with aclosing(self._desk.repository.list(progress=report, filter=wanted)) as listing:
            async for item in listing:
                count += 1
                if count <= skip:
                    continue
                if len(found) >= params.limit:
                    more = True
                    break
                found.append(item)
                if streaming and len(found) - sent >= _BATCH:
                    await self._stream(request, found[sent:])
                    sent = len(found)
        if streaming:
            await self._stream(request, found[sent:])
        return p.ListResult(
            sessions=[] if streaming else [self._info(item) for item in found],
            next_cursor=str(skip + len(found)) if more else None,
        )

    def _info(self, found: SessionInfo) -> shapes.SessionInfo:
        """A file of the list, under the id by which it is known if it is open."""
        opened = self._desk.open_sessions.at(Path(found.path))
        return views.info(found, opened.handle if opened else None)

    async def _stream(self, request: Request, items: Sequence[SessionInfo]) -> None:
        """Send sessions as partial results, as fast as the client takes them."""
        for start in range(0, len(items), _BATCH):
            value = p.ListResult(
                sessions=[self._info(item) for item in items[start : start + _BATCH]], next_cursor=None
            )
            self._desk.server.push("$/progress", {"token": request.partial_result_token, "value": value})
            await self._desk.server.drained()

    async def latest(self, params: p.LatestParams, request: Request) -> p.LatestResult:
        try:
            latest = await self._desk.repository.latest(params.cwd)
        except SessionNotFoundError:
            return p.LatestResult(info=None)
        return p.LatestResult(info=self._info(latest))

    async def delete(self, params: p.DeleteParams, request: Request) -> p.DeleteResult:
        if (params.path is UNSET) == (params.session_id is UNSET):
            raise RequestError("invalid-params", "give either sessionId or path", data={"field": "path"})
        if isinstance(params.session_id, str):
            opened = self._desk.open_sessions.find(params.session_id)
            path = opened.path if opened else await self._desk.open_sessions.locate(params.session_id)
        else:
            path = file_at(str(params.path))
            opened = self._desk.open_sessions.at(path)
        try:
            id = opened.handle if opened else (await anyio.to_thread.run_sync(peek, path)).id
        except FileNotFoundError:
            raise SessionNotFoundError(f"there is no file {path}") from None

        async def delete() -> p.DeleteResult:
            Lease(path).check()
            with self._desk.repository.catalogue.own_change():
                await self._desk.repository.delete(path, permanent=params.permanent)
                if opened is not None:
                    self._desk.subscriptions.unwatch(opened.handle)
                    await self._desk.open_sessions.close(opened)
                self._desk.repository.catalogue.forget(path)
            self._desk.tell_deleted(id, path)
            return p.DeleteResult(path=str(path))

        return await unbroken(delete)

    async def fork(self, params: p.ForkParams, request: Request) -> p.ForkResult:
        async def fork(opened: OpenSession) -> p.ForkResult:
            _check_leaf(opened.session, params)
            cwd = None if params.cwd is UNSET else named(params.cwd, "cwd")
            with self._desk.repository.catalogue.own_change():
                forked = await self._desk.repository.fork(opened.session, params.entry_id, params.position, cwd)
                return await self._made(opened, forked.session, forked.editor_text)

        opened = await self._desk.open_sessions.get(params.session_id)
        return await opened.answers.once(chosen(params.idempotency_key), lambda: fork(opened))

    async def clone(self, params: p.CloneParams, request: Request) -> p.ForkResult:
        async def clone(opened: OpenSession) -> p.ForkResult:
            _check_leaf(opened.session, params)
            with self._desk.repository.catalogue.own_change():
                return await self._made(opened, await self._desk.repository.clone(opened.session), None)

        opened = await self._desk.open_sessions.get(params.session_id)
        return await opened.answers.once(chosen(params.idempotency_key), lambda: clone(opened))

    async def _tell_created(self, made: Session) -> shapes.SessionInfo:
        info = views.info(await session_info(made))
        self._desk.repository.catalogue.made(Path(info.path), made.id)
        self._desk.tell_list("created", info)
        return info

    async def _made(self, source: OpenSession, made: Session, text: str | None) -> p.ForkResult:
        """Tell of a new file; it is not kept open, the client may never want it."""
        info = await self._tell_created(made)
        await made.aclose()
        return p.ForkResult(source_session_id=source.handle, info=info, editor_text=text)


async def _look(opened: OpenSession) -> None:
    """Take in what other programs have done to the file. Raises SessionNotFoundError if it is gone."""
    try:
        await opened.session.refresh()
    except StorageError:
        if opened.path.exists():
            raise
        raise SessionNotFoundError(f"there is no file {opened.path} any more") from None


def _check_leaf(session: Session, params: p.ChangeParams) -> None:
    if params.expected_leaf_id is not UNSET and params.expected_leaf_id != session.leaf_id:
        raise StaleLeafError(params.expected_leaf_id, session.leaf_id)


def _time(text: str | UnsetType, field: str) -> int | None:
    if text is UNSET:
        return None
    time = parse_timestamp(text)
    if time is None:
        raise RequestError("invalid-params", f"`{field}` is no ISO-8601 time.", data={"field": field})
    return time


def _cursor(cursor: str | UnsetType) -> int:
    if cursor is UNSET:
        return 0
    if not cursor.isdecimal():
        raise RequestError("stale-cursor", f"{cursor!r} is no cursor of a list", data={"field": "cursor"})
    return int(cursor)


def _report_bytes(loop: asyncio.AbstractEventLoop, progress: Progress, done: int, total: int) -> None:
    """Report from the thread that reads."""
    loop.call_soon_threadsafe(progress.report, None, 100 * done // max(total, 1))
