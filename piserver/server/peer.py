"""What goes to the client: answers, errors, notifications, requests of our own, traces.

Everything runs on the event loop's thread, except `send` and `push`, which may be called from any.
"""

import asyncio
import logging
import time
from functools import partial
from threading import get_ident
from typing import Any, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from piserver.protocol.encoding import encode
from piserver.protocol.errors import RequestError, is_error_kind
from piserver.server.channel import Channel
from piserver.server.envelope import Id
from piserver.server.framing import Framing

__all__ = ["INTERNAL_ERROR", "Peer"]

log = logging.getLogger(__name__)

INTERNAL_ERROR = -32603
LARGE = 64 << 10  # bytes of a result from which joining it into one frame costs more than writing it in parts


class Peer:
    """The client, seen from here. What is sent before `open` or after the client has gone is dropped."""

    def __init__(self) -> None:
        self.trace: lsp.TraceValue = lsp.TraceValue.Off
        self._channel: Channel | None = None
        self._framing: Framing | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._last_asked = 0
        self._gone = False
        self._traced: dict[Id, tuple[str, float]] = {}

    def open(self, channel: Channel, framing: Framing) -> None:
        """Connects the transport; called once, in the running loop, before the channel starts."""
        self._channel = channel
        self._framing = framing
        self._loop = asyncio.get_running_loop()
        self._thread = get_ident()

    def send(self, *parts: bytes) -> None:
        """Sends one JSON text, given in one or more parts."""
        if self._channel is None or self._framing is None or self._loop is None:
            return
        if get_ident() != self._thread:
            self._loop.call_soon_threadsafe(partial(self.send, *parts))
        elif len(parts) == 1:
            self._channel.write(self._framing.encode(parts[0]))
        else:
            self._channel.write(*self._framing.pieces(list(parts)))

    def push(self, method: str, params: Any) -> None:
        """Sends a notification. Raises what `encode` raises."""
        self.send(b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params)))

    # --- answers ---

    def answer(self, id: Id | None, result: Any) -> None:
        """Answers a request; a result that is not JSON becomes an internal error. Nothing for a notification."""
        if id is None:
            return
        try:
            body = encode(result)
        except Exception as error:
            log.exception("the result of request %r cannot be sent", id)
            self.error(id, INTERNAL_ERROR, f"The result cannot be written as JSON: {type(error).__name__}: {error}")
            return
        head = b'{"jsonrpc":"2.0","id":%b,"result":' % encode(id)
        if len(body) < LARGE:
            self.send(head + body + b"}")
        else:
            self.send(head, body, b"}")
        if self._traced:
            self._trace_end(id, None)

    def fail(self, id: Id | None, error: BaseException) -> None:
        """Answers with what an exception means to the client; logs what is unexpected or cannot be answered."""
        error = _unwrapped(error)
        if isinstance(error, asyncio.CancelledError):
            error = RequestError("cancelled", "The request was cancelled.")
        elif isinstance(error, TimeoutError):
            error = RequestError("timed-out", str(error) or "The work took too long.", retryable=True)
        if isinstance(error, RequestError) and id is not None:
            self.error(id, error.code, error.message, error.wire_data())
        elif isinstance(error, JsonRpcException) and id is not None:
            self.error(id, error.code or INTERNAL_ERROR, error.message)  # pygls puts a traceback into its data
        else:
            log.error("a handler failed (request %r)", id, exc_info=error)
            self.refuse(id, INTERNAL_ERROR, f"{type(error).__name__}: {error}")

    def refuse(self, id: Id | None, code: int, message: str) -> None:
        """An error for a request; nothing for a notification."""
        if id is not None:
            self.error(id, code, message)

    def error(self, id: Id | None, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        """Sends an error reply; with id None, one to a message whose id is not known."""
        error: dict[str, Any] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        try:
            body = encode({"jsonrpc": "2.0", "id": id, "error": error})
        except Exception:
            log.exception("the data of an error cannot be sent")
            body = encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        self.send(body)
        if self._traced and id is not None:
            self._trace_end(id, message)

    # --- requests to the client ---

    async def ask(self, method: str, params: Any) -> Any:
        """Sends a request and returns the raw result; see `Server.ask`."""
        if self._gone:
            raise RequestError("cancelled", f"The client can no longer be asked for {method}.")
        self._last_asked += 1
        id = self._last_asked
        head = b'{"jsonrpc":"2.0","id":%d,"method":%b' % (id, encode(method))
        body = head + b"}" if params is None else b'%b,"params":%b}' % (head, encode(params))
        future = self._asked[id] = asyncio.get_running_loop().create_future()
        try:
            self.send(body)
            return await future
        except asyncio.CancelledError:
            self.push(lsp.CANCEL_REQUEST, {"id": id})
            raise
        finally:
            del self._asked[id]

    def take_reply(self, message: dict[str, Any]) -> bool:
        """Gives a reply to whoever waits for it; false if it is to no request of `ask`."""
        id: Any = message.get("id")
        future = self._asked.get(id) if type(id) is int else None
        if future is None:
            return False
        if not future.done():
            if "error" in message:
                future.set_exception(_as_exception(message["error"]))
            else:
                future.set_result(message.get("result"))
        return True

    def leave(self) -> None:
        """The client can no longer reply: whoever waits for it learns so, and it will not be asked again."""
        self._gone = True
        for future in self._asked.values():
            if not future.done():
                future.set_exception(RequestError("cancelled", "The client is gone or going."))

    # --- trace ---

    def trace_request(self, id: Id | None, method: str, params: Any) -> None:
        """Tells a client that asked for traces (`$/setTrace`) of a request or notification that is being handled."""
        if self.trace is lsp.TraceValue.Off:
            return
        if id is not None:
            self._traced[id] = (method, time.perf_counter())
        trace = {"message": f"Received {'notification' if id is None else 'request'} {method} ({id})."}
        if self.trace is lsp.TraceValue.Verbose:
            trace["verbose"] = encode(params)[:4096].decode("utf-8", "replace")
        self.push(lsp.LOG_TRACE, trace)

    def _trace_end(self, id: Id, failure: str | None) -> None:
        if (traced := self._traced.pop(id, None)) is not None:
            method, since = traced
            how = "Answered" if failure is None else "Refused"
            trace = {"message": f"{how} {method} ({id}) after {(time.perf_counter() - since) * 1e3:.1f} ms."}
            if failure is not None and self.trace is lsp.TraceValue.Verbose:
                trace["verbose"] = failure
            self.push(lsp.LOG_TRACE, trace)


def _unwrapped(error: BaseException) -> BaseException:
    """The one exception inside the groups that anyio's task groups make."""
    while isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        if len(members) != 1:
            break
        error = members[0]
    return cast("BaseException", error)


def _as_exception(error: Any) -> RequestError:
    """A client's error reply as an exception: its kind if that is one of ours, else client-failed."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    data: Any = fields.get("data")
    kind: Any = cast("dict[str, Any]", data).get("kind") if isinstance(data, dict) else None
    if not is_error_kind(kind):
        kind = "cancelled" if fields.get("code") == -32800 else "client-failed"
    return RequestError(kind, str(fields.get("message", "The client failed.")), data={"clientCode": fields.get("code")})
