"""From an incoming message to its handler, on top of pygls.

pygls keeps what it is good at, the Language Server Protocol's own methods with their types. Its loop, its JSON and its
dispatch of custom methods are replaced, because they lose data: parameters of custom methods here are msgspec structs,
and results are encoded once.
"""

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from piserver.protocol.encoding import encode
from piserver.protocol.errors import RequestError
from piserver.server.envelope import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Id,
    MessageError,
    invalid_params,
    open_envelope,
    take_params,
)
from piserver.server.framing import Body, Event, TooLarge
from piserver.server.peer import Peer
from piserver.server.progress import Progress, ProgressParams, ProgressToken
from piserver.server.work import Work

if TYPE_CHECKING:
    from piserver.server.wire import Server

__all__ = ["Handler", "Method", "Protocol", "Request"]

log = logging.getLogger(__name__)

METHOD_NOT_FOUND = -32601
NOT_INITIALIZED = -32002
CANCEL_SECONDS = 2.0  # how long cancelled work may take to come to an end before `shutdown` is answered


class Request:
    """What a handler knows of its request beside the parameters. `id` is None for a notification."""

    __slots__ = ("id", "method", "partial_result_token", "progress", "then")

    def __init__(
        self, id: Id | None, method: str, progress: Progress, partial_result_token: ProgressToken | None
    ) -> None:
        self.id = id
        self.method = method
        self.progress = progress
        self.partial_result_token = partial_result_token
        self.then: Callable[[], None] | None = None

    def after_answer(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once the result is on its way, so that what it sends comes behind; not after a failure."""
        self.then = callback


Handler = Callable[[Any, Request], Any]


class Method:
    """One of our own methods: its handler and the type of its parameters."""

    __slots__ = ("handler", "is_async", "params")

    def __init__(self, handler: Handler, params: type[Any]) -> None:
        self.handler = handler
        self.params = params
        self.is_async = inspect.iscoroutinefunction(handler)


class Protocol(LanguageServerProtocol):
    """Dispatch between one client and the handlers. `Server` is the public face."""

    def __init__(self, server: "Server", converter: Any) -> None:
        self._host = server
        self.methods: dict[str, Method] = {}
        self.peer = Peer()
        self.work = Work()
        self.state: Literal["new", "running", "shutdown"] = "new"
        self.shutting_down: asyncio.Task[None] | None = None
        self.client_process_id: int | None = None
        super().__init__(server, converter)

    def receive(self, event: Event) -> None:
        """Takes one event of the framing. Every event that wants an answer gets one; nothing is raised."""
        if isinstance(event, Body):
            try:
                message = open_envelope(event.data)
            except MessageError as refusal:
                return self.peer.error(refusal.id, refusal.code, refusal.message, refusal.data)
            try:
                return self._dispatch(message)
            except Exception as error:  # a fault of ours or of pygls; the request must not stay unanswered
                return self.peer.fail(message.get("id"), error)
        if isinstance(event, TooLarge):
            limit = self._host.max_frame_bytes
            size = "" if event.length is None else f" of {event.length} bytes"
            error = RequestError(
                "too-large", f"The message{size} is over the limit of {limit} bytes.", data={"limit": limit}
            )
            return self.peer.error(event.id, error.code, error.message, error.wire_data())
        return self.peer.error(None, PARSE_ERROR, f"Framing error: {event.reason}.")

    def _dispatch(self, message: dict[str, Any]) -> None:
        name: str | None = message.get("method")
        if name is None:
            return self._take_reply(message)
        id: Id | None = message.get("id")
        if name == lsp.EXIT:
            return self._host.end_by_exit(clean=self.state == "shutdown")
        if self.state == "shutdown":
            return self.peer.refuse(id, INVALID_REQUEST, "The server is shutting down.")
        if self.state == "new" and name != lsp.INITIALIZE:
            return self.peer.refuse(id, NOT_INITIALIZED, "The server has not been initialized yet.")
        if id is not None and (id in self.work or id in self._request_futures):
            return self.peer.refuse(id, INVALID_REQUEST, f"A request with the id {id!r} is being answered already.")
        params: Any = message.get("params")
        method = self.methods.get(name)
        if method is not None:
            return self._call(id, name, method, params)
        if name == lsp.INITIALIZE and self.state == "running":
            return self.peer.refuse(id, INVALID_REQUEST, "The server has been initialized already.")
        if name == lsp.SHUTDOWN and id is not None:
            self.state = "shutdown"
            self.shutting_down = asyncio.ensure_future(self._shut_down(id))
            return None
        if id is not None and name in (lsp.CANCEL_REQUEST, lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL):
            return self.peer.refuse(id, METHOD_NOT_FOUND, f"{name} is a notification.")
        if name == lsp.CANCEL_REQUEST:
            return self._cancel(_member(params, "id"))
        if name == lsp.WINDOW_WORK_DONE_PROGRESS_CANCEL and self.work.cancel_by_token(_member(params, "token")):
            return None
        return self._call_pygls(id, name, params)

    def _call(self, id: Id | None, name: str, method: Method, raw_params: Any) -> None:
        """Runs one of our own methods: a plain function at once, a coroutine function in its own task."""
        peer = self.peer
        peer.trace_request(id, name, raw_params)
        try:
            fields, token, partial_token = take_params(raw_params)
            params: Any = msgspec.convert(fields, method.params, strict=True)
        except msgspec.ValidationError as error:
            return peer.fail(id, invalid_params(error))
        except UnicodeEncodeError:  # msgspec compares the names of fields, and words to choose from, as UTF-8
            reason = "A field's name, or a word to choose from, holds half of a surrogate pair."
            return peer.fail(id, RequestError("invalid-params", reason))
        except RequestError as error:
            return peer.fail(id, error)
        progress = Progress(token, self._send_progress)
        request = Request(id, name, progress, partial_token)
        if method.is_async:
            done = partial(self._done, request)
            return self.work.start(id, token, partial(method.handler, params, request), done)
        try:
            result = method.handler(params, request)
        except Exception as error:
            return self._done(request, None, error)
        return self._done(request, result, None)

    def _done(self, request: Request, result: object, failure: BaseException | None) -> None:
        request.progress.end()
        if failure is not None:
            return self.peer.fail(request.id, failure)
        self.peer.answer(request.id, result)
        if request.then is not None:
            request.then()
        return None

    def _send_progress(self, params: ProgressParams) -> None:
        self.peer.push(lsp.PROGRESS, params)

    def _cancel(self, id: Any) -> None:
        if id is not None and not self.work.cancel(id) and (future := self._request_futures.get(id)) is not None:
            future.cancel()

    def _take_reply(self, message: dict[str, Any]) -> None:
        if self.peer.take_reply(message):
            return
        id: Any = message.get("id")
        if not isinstance(id, str) or id not in self._result_types:
            if self.state == "running":
                log.warning("a reply to no request of ours: %s", encode(message)[:200].decode("utf-8", "replace"))
            return
        try:  # to one that pygls sent
            self.handle_message(cast("Any", self.structure_message(message)))
        except Exception as error:
            if (future := self._request_futures.pop(id, None)) is not None:
                future.set_exception(error)
        self._result_types.pop(id, None)  # pygls forgets to, after an error

    # --- the end of work ---

    async def finish(self) -> None:
        """Waits until everything that was asked for has been answered, including what that work starts."""
        while waiting := self.work.tasks(asked_for=True) | self._pygls_futures():
            await asyncio.wait(waiting)

    async def cancel_all(self, seconds: float = CANCEL_SECONDS) -> None:
        """Cancels everything in flight and waits for it to end; after `seconds` it is left to itself.

        Nobody waits for the client here: what it was asked counts as not answered.
        """
        self.peer.leave()
        self.work.cancel_all()
        waiting = self.work.tasks() | self._pygls_futures()
        for future in list(self._request_futures.values()):
            future.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)

    async def _shut_down(self, id: Id) -> None:
        try:
            await self.cancel_all()
            await self._host.run_shutdown_callbacks()
        except Exception as error:
            return self.peer.fail(id, error)
        return self.peer.answer(id, None)

    def _pygls_futures(self) -> set[asyncio.Future[Any]]:
        return {asyncio.wrap_future(f) for id, f in self._request_futures.items() if id not in self._result_types}

    # --- what remains pygls' own ---

    def _call_pygls(self, id: Id | None, name: str, params: Any) -> None:
        features: Any = self.fm  # whose dictionaries are not typed
        if name not in features.builtin_features and name not in features.features:
            return self.peer.refuse(id, METHOD_NOT_FOUND, f"There is no method {name}.")
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": name, "params": params}
        if id is not None:
            message["id"] = id
        try:
            typed: Any = self.structure_message(message)
        except JsonRpcException:
            if id is None:
                return log.warning("the parameters of notification %s are invalid", name)
            return self.peer.fail(id, RequestError("invalid-params", f"The parameters of {name} are invalid."))
        context = contextvars.copy_context()
        if id is None:
            return context.run(self._handle_notification, name, getattr(typed, "params", None))
        return context.run(self._handle_request, id, name, getattr(typed, "params", None))

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Any,
        callback: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        def done(future: "Future[Any]") -> None:
            self._request_futures.pop(msg_id, None)  # pygls keeps those of notifications for ever
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _send_handler_result(self, future: "Future[Any]", *, msg_id: Any) -> None:
        if future.cancelled():
            self.peer.fail(msg_id, asyncio.CancelledError())
        elif (error := future.exception()) is not None:
            self.peer.fail(msg_id, error)
        else:
            self.peer.answer(msg_id, self._converter.unstructure(future.result()))

    def _send_data(self, data: Any) -> None:
        """Everything that pygls itself sends: notifications and requests in lsprotocol's types."""
        self.peer.send(encode(self._converter.unstructure(data)))

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Any:
        self._host.on_initialize(params)
        result: lsp.InitializeResult = yield from super().lsp_initialize(params)
        result.capabilities.experimental = self._host.experimental_capabilities(params)
        self.client_process_id = params.process_id
        self.trace = self.peer.trace = params.trace or lsp.TraceValue.Off
        self.state = "running"
        return result

    @lsp_method(lsp.INITIALIZED)
    def lsp_initialized(self, *args: Any) -> Any:
        self._host.forward_logs()
        yield from cast("Any", super()).lsp_initialized(*args)

    @lsp_method(lsp.SET_TRACE)
    def lsp_set_trace(self, params: lsp.SetTraceParams) -> Any:
        self.peer.trace = params.value
        yield from super().lsp_set_trace(params)


def _member(params: Any, name: str) -> Any:
    """An id or token from the parameters of a notification; None if there is none."""
    value: Any = cast("dict[str, Any]", params).get(name) if isinstance(params, dict) else None
    return value if isinstance(value, int | str) else None
