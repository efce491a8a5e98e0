"""Asynchronous work in flight: one cancel scope each, and the ways in which it ends.

pygls cancels a task natively, which goes through anyio's shields and leaves threads and child processes behind. A
scope of our own is cancelled instead. It exists before its task does, because a cancellation may stand in the same
batch of messages as its request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio

from piserver.protocol.errors import RequestError
from piserver.server.envelope import Id
from piserver.server.progress import ProgressToken

__all__ = ["Work"]

log = logging.getLogger(__name__)


class Work:
    """The table of running requests and background work."""

    def __init__(self) -> None:
        self._scopes: dict[object, anyio.CancelScope] = {}  # by request id; work without one by its own scope
        self._by_token: dict[ProgressToken, anyio.CancelScope] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._asked_for: set[asyncio.Task[None]] = set()  # those that an end of input in line mode waits for

    def __contains__(self, id: Id) -> bool:
        return id in self._scopes

    def start(
        self,
        id: Id | None,
        token: ProgressToken | None,
        function: Callable[[], Awaitable[object]],
        done: Callable[[object, BaseException | None], None],
    ) -> None:
        """Runs a request's `function` in its own task; `done(result, failure)` is called once, whatever happens.

        A request that was cancelled fails with RequestError (cancelled), unless its function has chosen otherwise.
        """
        scope = anyio.CancelScope()
        key = scope if id is None else id

        async def run() -> None:
            result: object = None
            failure: BaseException | None = RequestError("cancelled", "The request was cancelled.")
            try:
                if not scope.cancel_called:  # cancelled before its turn: must not begin
                    with scope:
                        result = await function()
                        failure = None
            except BaseException as error:  # also a native cancellation: a request is never left without an answer
                failure = error
            del self._scopes[key]
            if token is not None:
                self._by_token.pop(token, None)
            done(result, failure)

        self._scopes[key] = scope
        if token is not None:
            self._by_token[token] = scope
        self._launch(run(), asked_for=True)

    def spawn(self, function: Callable[..., Awaitable[object]], *args: object, asked_for: bool) -> anyio.CancelScope:
        """Runs work that belongs to no request; see `Server.spawn`."""
        scope = anyio.CancelScope()

        async def run() -> None:
            try:
                if not scope.cancel_called:
                    with scope:
                        await function(*args)
            except Exception:
                log.exception("background work failed")
            finally:
                del self._scopes[scope]

        self._scopes[scope] = scope
        self._launch(run(), asked_for=asked_for)
        return scope

    def cancel(self, id: Id) -> bool:
        """Cancels a request; false if it is not here."""
        return _cancel(self._scopes.get(id))

    def cancel_by_token(self, token: ProgressToken) -> bool:
        """Cancels the request that carried this `workDoneToken`; false if it is not here."""
        return _cancel(self._by_token.get(token))

    def cancel_all(self) -> None:
        for scope in list(self._scopes.values()):
            scope.cancel()

    def tasks(self, *, asked_for: bool = False) -> set[asyncio.Future[Any]]:
        """What is running now: all of it, or only what a client has asked for."""
        return {*(self._asked_for if asked_for else self._tasks)}

    def _launch(self, coroutine: Coroutine[Any, Any, None], *, asked_for: bool) -> None:
        task = asyncio.ensure_future(coroutine)
        for tasks in (self._tasks, self._asked_for) if asked_for else (self._tasks,):
            tasks.add(task)
            task.add_done_callback(tasks.discard)


def _cancel(scope: anyio.CancelScope | None) -> bool:
    if scope is not None:
        scope.cancel()
    return scope is not None
