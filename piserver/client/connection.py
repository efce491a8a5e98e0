"""One JSON-RPC connection: requests that wait for their replies, notifications for whoever listens, cancellation."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, overload

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream
from msgspec import UNSET, Raw, UnsetType

from piserver.client.decoding import Message, decode, decode_message
from piserver.client.errors import ConnectionLost, as_exception
from piserver.client.frames import FrameError, FrameReader, Framing, frame
from piserver.entries.json import JSONError
from piserver.protocol.base import Params, Shape
from piserver.protocol.encoding import encode
from piserver.protocol.registry import NOTIFICATIONS

__all__ = ["Connection", "Notification", "Notifications", "PartialCallback", "Progress", "ProgressCallback"]

log = logging.getLogger(__name__)

T = TypeVar("T")

METHOD_NOT_FOUND = -32601
_PARTIAL = "partial-"
"""What a request's id becomes its token for partial results with."""


class Progress(Shape):
    """A report on a request's work: `begin` once with a title, `report` on the way, `end` once."""

    kind: Literal["begin", "report", "end"]
    title: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    percentage: int | UnsetType = UNSET


ProgressCallback = Callable[[Progress], object]
PartialCallback = Callable[[Any], object]


class Notification(msgspec.Struct, frozen=True):
    """A notification; `params` as the type that the registry has for the method, else as plain values."""

    method: str
    params: Any


class Notifications:
    """Notifications from the moment on at which this was asked for, to be iterated over with `async for`.

    The iteration ends with the connection, or by `close`. What is not taken is kept without limit.
    """

    def __init__(self, stop: Callable[[Notifications], None]) -> None:
        self._stop = stop
        self._waiting: deque[Notification] = deque()
        self._changed = anyio.Event()
        self._ended = False

    def put(self, notification: Notification) -> None:
        """Adds one; called by the connection."""
        self._waiting.append(notification)
        self._changed.set()

    def end(self) -> None:
        """Nothing more will come; called by the connection."""
        self._ended = True
        self._changed.set()

    def close(self) -> None:
        """Stops listening; the iteration ends after what has come already."""
        self._stop(self)
        self.end()

    def __aiter__(self) -> Notifications:
        return self

    async def __anext__(self) -> Notification:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._changed = anyio.Event()
            await self._changed.wait()
        return self._waiting.popleft()


class _Pending:
    """A request on its way: done, with a reply or without one if the connection is lost."""

    __slots__ = ("done", "kind", "partial", "progress", "reply")

    def __init__(self, progress: ProgressCallback | None, partial: PartialCallback | None, kind: Any) -> None:
        self.done = anyio.Event()
        self.progress = progress
        self.partial = partial
        self.kind = kind  # of the result and of its parts
        self.reply: Message | None = None


class Connection:
    """The client's end. `read` and `write` must run in tasks of their own for as long as it is used.

    `why` tells, when the server's output has ended, what became of the server.
    """

    def __init__(
        self,
        output: ByteReceiveStream,
        input: ByteSendStream,
        framing: Framing,
        why: Callable[[], Any],
    ) -> None:
        self._reader = FrameReader(output, framing)
        self._input = input
        self._framing: Framing = framing
        self._why = why
        self._to_send, self._outbox = anyio.create_memory_object_stream[bytes](math.inf)
        self._pending: dict[int, _Pending] = {}
        self._last_id = 0
        self._callbacks: dict[str, list[Callable[[Any], object]]] = {}
        self._listening: list[Notifications] = []
        self._lost: ConnectionLost | None = None

    @property
    def lost(self) -> bool:
        """Whether nothing can be asked any more."""
        return self._lost is not None

    # --- requests ---

    @overload
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None,
        result_type: type[T],
        *,
        progress: ProgressCallback | None = ...,
        partial: PartialCallback | None = ...,
    ) -> T: ...
    @overload
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None = ...,
        result_type: None = None,
        *,
        progress: ProgressCallback | None = ...,
        partial: PartialCallback | None = ...,
    ) -> Any: ...
    async def request(
        self,
        method: str,
        params: Params | Mapping[str, Any] | None = None,
        result_type: Any = None,
        *,
        progress: ProgressCallback | None = None,
        partial: PartialCallback | None = None,
    ) -> Any:
        """Sends a request and returns its result; see `Client.request`.

        Cancelling it tells the server, and does not wait for what the server makes of that.
        Raises RequestError, ServerError, ConnectionLost, and msgspec.ValidationError for a result of another type.
        """
        if self._lost is not None:
            raise ConnectionLost(*self._lost.args)
        self._last_id = id = self._last_id + 1
        kind: Any = Any if result_type is None else result_type
        pending = self._pending[id] = _Pending(progress, partial, kind)
        tokens: dict[str, Any] = {} if progress is None else {"workDoneToken": id}
        if partial is not None:
            tokens["partialResultToken"] = f"{_PARTIAL}{id}"
        if tokens:
            fields: dict[str, Any] = msgspec.to_builtins(params) if isinstance(params, Params) else dict(params or {})
            params = fields | tokens
        try:
            self._post({"jsonrpc": "2.0", "id": id, "method": method}, params)
            await pending.done.wait()
        except anyio.get_cancelled_exc_class():
            self.notify("$/cancelRequest", {"id": id})
            raise
        finally:
            del self._pending[id]
        if pending.reply is None:
            raise ConnectionLost(*self._lost.args if self._lost else ())
        if pending.reply.error is not UNSET:
            raise as_exception(pending.reply.error)
        result = pending.reply.result
        return decode(b"null" if result is UNSET else result, kind)

    def notify(self, method: str, params: Params | Mapping[str, Any] | None = None) -> None:
        """Sends a notification; dropped if the connection is lost."""
        self._post({"jsonrpc": "2.0", "method": method}, params)

    def _post(self, message: dict[str, Any], params: object) -> None:
        if self._lost is None:
            body = encode(message if params is None else message | {"params": params})
            self._to_send.send_nowait(frame(body, self._framing))

    # --- notifications ---

    def on(self, method: str, callback: Callable[[Any], object]) -> Callable[[], None]:
        """Calls `callback` with the parameters of every notification of this method; returns how to stop that.

        It is called between two messages, in their order, and must not block; what it raises is logged.
        """
        callbacks = self._callbacks.setdefault(method, [])
        callbacks.append(callback)
        return lambda: callbacks.remove(callback)

    def notifications(self) -> Notifications:
        """All notifications from now on."""
        listening = Notifications(self._listening.remove)
        self._listening.append(listening)
        return listening

    # --- tasks ---

    async def read(self) -> None:
        """Takes what the server says until its output ends; then everybody who waits is told."""
        try:
            while True:
                self._take(decode_message(await self._reader.receive()))
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.end(ConnectionLost(await self._why()))
        except (FrameError, JSONError, msgspec.ValidationError) as error:
            self.end(ConnectionLost(f"What the server says is no protocol: {error}."))

    async def write(self) -> None:
        """Sends what is posted until the end, then closes the server's input.

        A server that no longer reads is noticed by `read`.
        """
        async with self._outbox, self._input:
            async for data in self._outbox:
                try:
                    await self._input.send(data)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                    return

    def end(self, lost: ConnectionLost) -> None:
        """Tells everybody who waits that nothing more will come. The first reason stays."""
        if self._lost is not None:
            return
        self._lost = lost
        self._to_send.close()  # `write` ends when everything is sent
        for pending in self._pending.values():
            pending.done.set()
        for listening in self._listening:
            listening.end()

    def _take(self, message: Message) -> None:
        if message.method is UNSET:
            pending = self._pending.get(message.id) if isinstance(message.id, int) else None
            if pending is not None and not pending.done.is_set():
                pending.reply = message
                pending.done.set()
            elif message.id is None and message.error is not UNSET:
                log.error("the server refuses a message of ours: %s", message.error.message)
            # else it is to a request that was cancelled, or the second one
        elif message.id is not UNSET:
            self._refuse(message.id, message.method)
        elif message.method == "$/progress":
            self._report(message.params)
        else:
            self._tell(message.method, message.params)

    def _refuse(self, id: int | str | None, method: str) -> None:
        """The server may ask for nothing yet."""
        error = {"code": METHOD_NOT_FOUND, "message": f"This client does not know {method}."}
        self._post({"jsonrpc": "2.0", "id": id, "error": error}, None)

    def _report(self, params: Raw | UnsetType) -> None:
        if params is UNSET:
            return
        try:
            report = decode(params, _ProgressParams)
            id = report.token.removeprefix(_PARTIAL) if isinstance(report.token, str) else report.token
            pending = self._pending.get(int(id)) if isinstance(id, int) or id.isdecimal() else None
            if pending is None:
                return
            if isinstance(report.token, str) and pending.partial is not None:
                _call(pending.partial, decode(report.value, pending.kind))
            elif isinstance(report.token, int) and pending.progress is not None:
                _call(pending.progress, decode(report.value, Progress))
        except msgspec.ValidationError as error:
            log.error("a report does not fit its type: %s", error)

    def _tell(self, method: str, params: Raw | UnsetType) -> None:
        callbacks = self._callbacks.get(method, [])
        if not callbacks and not self._listening:
            return
        try:
            value: Any = None if params is UNSET else decode(params, NOTIFICATIONS.get(method, Any))
        except msgspec.ValidationError as error:
            log.error("a notification %s does not fit its type: %s", method, error)
            return
        for callback in list(callbacks):
            _call(callback, value)
        for listening in self._listening:
            listening.put(Notification(method, value))


class _ProgressParams(Shape):
    token: int | str
    value: Raw


def _call(callback: Callable[[Any], object], value: Any) -> None:
    try:
        callback(value)
    except Exception:
        log.exception("a callback failed")
