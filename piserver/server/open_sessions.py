"""The sessions that this server has open, each once, whoever asked for it and however it was named."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio
import anyio.to_thread

from piserver.repository import Repository, SessionNotFoundError
from piserver.session import Session
from piserver.storage.glance import peek

T = TypeVar("T")

Read = Callable[[Path], Awaitable[Session]]
"""Makes a session of a file."""

_REMEMBERED = 1000
"""Idempotency keys kept for each session."""


class Spawn(Protocol):
    """Starts work that outlives its request; the scope cancels it."""

    def __call__(
        self, function: Callable[..., Awaitable[object]], *args: object, finish: bool = False
    ) -> anyio.CancelScope: ...


async def unbroken(work: Callable[[], Awaitable[T]]) -> T:
    """The result of a change. Once begun it is finished: "cancelled" must mean that nothing was written."""
    with anyio.CancelScope(shield=True):
        return await work()
    raise AssertionError("nobody cancels this scope")


class Answers:
    """Results by idempotency key, so that a repeated request changes nothing."""

    def __init__(self) -> None:
        self._results: OrderedDict[str, asyncio.Future[Any]] = OrderedDict()

    async def once(self, key: str | None, work: Callable[[], Awaitable[T]]) -> T:
        """The result of a change, or of the first call that had the same key; a failed call is forgotten."""
        if key is None:
            return await unbroken(work)
        if key in self._results:
            return await asyncio.shield(self._results[key])
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # never "was not retrieved"
        self._results[key] = future
        try:
            result = await unbroken(work)
        except BaseException as error:
            del self._results[key]
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        future.set_result(result)
        if len(self._results) > _REMEMBERED:
            self._results.popitem(last=False)
        return result


@dataclass(slots=True)
class OpenSession:
    """A session under the id by which clients know it."""

    handle: str
    session: Session
    path: Path
    answers: Answers = field(default_factory=Answers)


@dataclass(slots=True)
class _Opening:
    """A file that is being read, and how many requests wait for it."""

    done: asyncio.Future[OpenSession]
    scope: anyio.CancelScope | None = None
    waiting: int = 0


class OpenSessions:
    """Opens sessions on demand and keeps them until they are closed."""

    def __init__(self, repository: Repository, spawn: Spawn, opened: Callable[[OpenSession], None]) -> None:
        self.repository = repository
        self._spawn = spawn
        self._opened = opened
        self._by_handle: dict[str, OpenSession] = {}
        self._by_path: dict[Path, OpenSession] = {}
        self._paths: dict[str, Path] = {}  # of every handle ever given out: a file keeps its own
        self._turns: dict[str, anyio.Lock] = {}
        self._opening: dict[Path, _Opening] = {}
        self._closing: dict[Path, asyncio.Future[None]] = {}

    async def get(self, handle: str) -> OpenSession:
        """The session with this id; opened if it is not. Raises as `Repository.find` and `Repository.open`.

        Requests for one session get it in the order in which they asked, so that what they change keeps that order.
        """
        if (found := self._by_handle.get(handle)) is not None and handle not in self._turns:
            return found
        turn = self._turns.setdefault(handle, anyio.Lock(fast_acquire=True))
        async with turn:
            try:
                return await self._get(handle)
            finally:
                if not turn.statistics().tasks_waiting:
                    self._turns.pop(handle, None)

    async def _get(self, handle: str) -> OpenSession:
        if (found := self._by_handle.get(handle)) is not None:
            return found
        try:
            path = await self.locate(handle)
        except SessionNotFoundError:
            # A request may name the session that one before it is still opening, or has opened meanwhile.
            while (found := self._by_handle.get(handle)) is None and self._opening:
                await asyncio.wait([opening.done for opening in self._opening.values()])
            if found is None:
                raise
            return found
        return await self.open(path, self.repository.open)

    async def locate(self, handle: str) -> Path:
        """The file of a session that is not open. Raises SessionNotFoundError."""
        id, _, name = handle.partition("@")
        file = Path(name) if Path(name).is_absolute() else None
        known = self._paths.get(handle) or file
        if known is not None and await anyio.to_thread.run_sync(_holds, known, id if file else handle):
            return known
        return await self.repository.find(handle)

    async def open(self, path: Path, read: Read) -> OpenSession:
        """The session in this file; `read` makes it unless it is open.

        Two calls at once read it once; it is given up when all of them are cancelled.
        """
        path = path.resolve()
        while path in self._closing:
            await asyncio.wait([self._closing[path]])
        if path in self._by_path:
            return self._by_path[path]
        opening = self._opening.get(path)
        if opening is None:
            opening = self._opening[path] = _Opening(asyncio.get_running_loop().create_future())
            opening.scope = self._spawn(self._read, path, opening, read, finish=True)
        opening.waiting += 1
        try:
            return await asyncio.shield(opening.done)
        finally:
            opening.waiting -= 1
            if not opening.waiting and not opening.done.done() and opening.scope is not None:
                self._forget(path, opening)
                opening.scope.cancel()

    async def _read(self, path: Path, opening: _Opening, read: Read) -> None:
        try:
            session = await read(path)
            if opening.done.done():  # given up: somebody else may be reading the file anew
                await session.aclose()
            else:
                opening.done.set_result(self.adopt(session))
        except Exception as error:
            if not opening.done.done():
                opening.done.set_exception(error)
        finally:
            self._forget(path, opening)

    def _forget(self, path: Path, opening: _Opening) -> None:
        """Whoever asks for the file from now on does not wait for this reading of it."""
        if self._opening.get(path) is opening:
            del self._opening[path]
        opening.done.cancel()

    def adopt(self, session: Session) -> OpenSession:
        """Keep a session that was just made or opened."""
        assert session.storage.path is not None
        path = Path(session.storage.path).resolve()
        handle = session.id
        other = self._paths.get(handle)
        if other is not None and other != path and (handle in self._by_handle or other.exists()):
            # Two files may share an id, a copy for instance. The later one is known by its file as well.
            handle = f"{session.id}@{path}"
        opened = OpenSession(handle, session, path)
        self._by_handle[handle] = self._by_path[path] = opened
        self._paths[handle] = path
        self._opened(opened)
        return opened

    async def close(self, opened: OpenSession) -> None:
        """Let go of a session's file, once the changes that were asked for before are written."""
        self._by_handle.pop(opened.handle, None)
        self._by_path.pop(opened.path, None)
        closed = self._closing[opened.path] = asyncio.get_running_loop().create_future()
        try:
            await unbroken(opened.session.aclose)
        finally:
            if self._closing.get(opened.path) is closed:
                del self._closing[opened.path]
            closed.set_result(None)

    def find(self, handle: str) -> OpenSession | None:
        """The session with this id, if it is open."""
        return self._by_handle.get(handle)

    def at(self, path: Path) -> OpenSession | None:
        """The session in this file, if it is open."""
        return self._by_path.get(path.resolve())

    def all(self) -> list[OpenSession]:
        """Every session that is open."""
        return list(self._by_handle.values())

    async def close_all(self) -> None:
        """Let go of all files; what was acknowledged is in them already."""
        for opened in self.all():
            await self.close(opened)


def _holds(path: Path, id: str) -> bool:
    """Whether the session in a file has this id."""
    try:
        info = peek(path)
    except (OSError, ValueError):
        return False
    return info.broken is None and info.id == id
