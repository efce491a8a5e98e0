"""The server's public face and its life: from `start` to the exit code.

    server = Server("piserver", __version__)

    @server.method("session/rename", RenameParams)
    def rename(params: RenameParams, request: Request) -> RenameResult: ...

    server.start()

A handler is a plain function, run at once and in order, or a coroutine function, run in its own task and cancellable.
Methods that change the same thing should be plain functions or pass one queue: with several messages in one read, a
later plain handler runs before an earlier coroutine's first step.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar, overload

import anyio
import msgspec
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from piserver.protocol.errors import RequestError
from piserver.server import stdio
from piserver.server.channel import Channel, End
from piserver.server.dispatch import Method, Protocol, Request
from piserver.server.framing import MAX_FRAME_BYTES, LineFraming, LspFraming
from piserver.server.logs import ClientLog, LogMessageParams, log_to_stderr

__all__ = ["FramingName", "Protocol", "Request", "Server"]

log = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

FramingName = Literal["lsp", "lines"]

# The end of input and the parent's death must lead to the process's end within two seconds.
EOF_PATIENCE = 1.2
STOP_SECONDS = 0.5
CALLBACK_SECONDS = 2.0
FLUSH_PATIENCE = 2.0
PARENT_POLL_SECONDS = 1.0


class Server(LanguageServer):
    """A language server with methods of its own.

    `experimental` is what `initialize` announces under `capabilities.experimental`; a subclass may compute it instead.
    Frames over `max_frame_bytes` are refused. Other arguments go to pygls.
    """

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]  # made from `protocol_cls`, once

    def __init__(
        self,
        name: str,
        version: str,
        *,
        experimental: dict[str, Any] | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        **pygls: Any,
    ) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._experimental = experimental
        self._shutdown_callbacks: list[Callable[[], Awaitable[object]]] = []
        self._channel: Channel | None = None
        self._client_log = ClientLog(self._push_log)
        self._decoder: LspFraming | LineFraming | None = None
        self._ended = asyncio.Event()
        self._urgent = asyncio.Event()  # ended, and nothing is worth waiting for
        self._how: End | Literal["exit", "parent", "signal"] = "eof"
        self._exit_code = 0
        # pygls' *args are not typed
        super().__init__(name, version, protocol_cls=Protocol, **pygls)  # pyright: ignore[reportUnknownMemberType]

    # --- what subclasses may override ---

    def on_initialize(self, params: lsp.InitializeParams) -> None:
        """Called before `initialize` is answered; `params.initialization_options` are the client's settings.

        A RequestError raised here refuses the connection; the client may try again.
        """

    def experimental_capabilities(self, params: lsp.InitializeParams) -> dict[str, Any] | None:
        """What is announced under `capabilities.experimental`."""
        return self._experimental

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A notification's handler has failed: logged, rather than put before the user's eyes as pygls would."""
        log.error("%s: %s", getattr(source, "__name__", source), error)

    # --- for handlers ---

    def method(self, name: str, params: type[P]) -> Callable[[Callable[[P, Request], R]], Callable[[P, Request], R]]:
        """Registers `handler(params, request)` for a method of our own; a coroutine function may be cancelled.

        Parameters are validated strictly as `params`, a struct (see `protocol.base.Params`). The result is a struct,
        `msgspec.Raw`, a dict or None. A RequestError is answered as it is, TimeoutError as `timed-out`, and any other
        exception as an internal error. Raises ValueError if the name is taken.
        """
        if name in self.protocol.methods:
            raise ValueError(f"method {name} is registered twice")

        def register(handler: Callable[[P, Request], R]) -> Callable[[P, Request], R]:
            self.protocol.methods[name] = Method(handler, params)
            return handler

        return register

    def push(self, method: str, params: msgspec.Struct | dict[str, Any]) -> None:
        """Sends a notification. From any thread.

        It is queued without limit if the client does not read; see `backlog`, `congested` and `drained`.
        """
        self.protocol.peer.push(method, params)

    @overload
    async def ask(self, method: str, params: msgspec.Struct | dict[str, Any] | None, result_type: type[R]) -> R: ...
    @overload
    async def ask(
        self, method: str, params: msgspec.Struct | dict[str, Any] | None, result_type: None = None
    ) -> Any: ...
    async def ask(
        self, method: str, params: msgspec.Struct | dict[str, Any] | None = None, result_type: type[R] | None = None
    ) -> Any:
        """Sends a request to the client and returns its result: as `result_type`, or as it came.

        Raises RequestError: the kind of the client's error, `client-failed` for other errors and for a result of the
        wrong type, `cancelled` when the client is gone or the server shuts down. Cancelling it tells the client.
        """
        result = await self.protocol.peer.ask(method, params)
        if result_type is None:
            return result
        try:
            return msgspec.convert(result, result_type, strict=True)
        except msgspec.ValidationError as error:
            raise RequestError("client-failed", f"The client's answer to {method} is invalid: {error}.") from error

    def spawn(
        self, function: Callable[..., Awaitable[object]], *args: object, finish: bool = False
    ) -> anyio.CancelScope:
        """Starts work that outlives its request; returns the scope that cancels it. A failure is logged.

        Shutdown cancels it. With `finish`, an end of input waits for it as for a request that was asked.
        """
        return self.protocol.work.spawn(function, *args, asked_for=finish)

    def on_shutdown(self, callback: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
        """Registers what must happen before the server ends, however it ends (flushing storage). Usable as a decorator.

        Callbacks run once, in order, after all requests have ended and before `shutdown` is answered.
        """
        self._shutdown_callbacks.append(callback)
        return callback

    @property
    def backlog(self) -> int:
        """Bytes sent that the client has not taken yet."""
        return self._channel.backlog if self._channel else 0

    @property
    def congested(self) -> bool:
        """Whether the client is behind; notifications that can be merged or dropped should be."""
        return self._channel is not None and self._channel.congested

    async def drained(self) -> None:
        """Waits until the client is no longer behind."""
        if self._channel:
            await self._channel.drained()

    def add_drain_callback(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, on the loop, when the client is no longer behind; soon, if it is not."""
        if self._channel:
            self._channel.add_drain_callback(callback)

    # --- life ---

    def start(self, framing: FramingName = "lsp", fds: tuple[int, int] | None = None) -> None:
        """Serves one client on the descriptors (reading, writing), by default stdio, and ends the process.

        The exit code is 0 after `shutdown` and `exit`, after the end of input and after SIGTERM; 1 after `exit` alone,
        broken framing, a client that has gone or a parent that has died; 130 after an interrupt.
        """
        descriptors = fds or stdio.claim()
        asyncio.run(self._serve_and_exit(framing, descriptors))

    def start_io(self, stdin: Any = None, stdout: Any = None) -> None:
        """The name that pygls has for `start`. Streams cannot be given."""
        if stdin is not None or stdout is not None:
            raise ValueError("use start(fds=...)")
        self.start()

    async def serve(self, framing: FramingName, fds: tuple[int, int]) -> int:
        """Serves one client until its connection ends; returns the exit code."""
        log_to_stderr()
        decoder = LineFraming(self.max_frame_bytes) if framing == "lines" else LspFraming(self.max_frame_bytes)
        self._decoder = decoder
        self._channel = channel = Channel(fds, decoder, self.protocol.receive, self._end_of_channel)
        self.protocol.peer.open(channel, decoder)
        self._watch_signals()
        watch = asyncio.ensure_future(self._watch_parent())
        channel.start()
        await self._ended.wait()
        if self._how in ("eof", "broken"):
            self.protocol.peer.leave()
            await self._finish(None if framing == "lines" else EOF_PATIENCE)
        elif self._how == "exit" and self.protocol.shutting_down is not None:
            await asyncio.wait({self.protocol.shutting_down}, timeout=CALLBACK_SECONDS + STOP_SECONDS)
        channel.stop_reading()
        await self.protocol.cancel_all(STOP_SECONDS)
        await self.run_shutdown_callbacks()
        if self._how != "lost":
            gone = self._how in ("parent", "signal")
            await channel.flush(0.1 if gone else None if framing == "lines" else FLUSH_PATIENCE)
        watch.cancel()
        return self._exit_code

    def end_by_exit(self, *, clean: bool) -> None:
        """The client has sent `exit`."""
        if self._channel:
            self._channel.stop_reading()
        self._end("exit", 0 if clean else 1)

    async def run_shutdown_callbacks(self) -> None:
        """Runs what `on_shutdown` has registered and forgets it. A failure is logged and does not stop the others."""
        callbacks, self._shutdown_callbacks = self._shutdown_callbacks, []
        for callback in callbacks:
            try:
                await asyncio.wait_for(callback(), CALLBACK_SECONDS)
            except Exception:
                log.exception("a shutdown callback failed")

    def forward_logs(self) -> None:
        """From now on the client gets log records of `piserver` as `window/logMessage`."""
        logging.getLogger("piserver").addHandler(self._client_log)

    def set_log_level(self, level: int) -> None:
        """From which level on the client gets log records; `logging.CRITICAL + 1` for none."""
        self._client_log.setLevel(level)
        # The logger must let through what the client wants; stderr has a level of its own.
        logging.getLogger("piserver").setLevel(min(level, logging.WARNING))

    def set_max_frame_bytes(self, limit: int) -> None:
        """Refuse larger messages from now on."""
        self.max_frame_bytes = limit
        if self._decoder is not None:
            self._decoder.limit = limit

    def _push_log(self, params: LogMessageParams) -> None:
        if not self.congested and self.protocol.state == "running":
            self.push(lsp.WINDOW_LOG_MESSAGE, params)

    async def _serve_and_exit(self, framing: FramingName, fds: tuple[int, int]) -> None:
        try:
            code = await self.serve(framing, fds)
        except BaseException:
            log.exception("the server failed")
            code = 1
        logging.shutdown()
        sys.stderr.flush()
        os._exit(code)  # worker threads that were given up must not hold the process

    async def _finish(self, patience: float | None) -> None:
        """Lets work in flight end by itself, for `patience` seconds and as long as nothing more urgent happens."""
        work = asyncio.ensure_future(self.protocol.finish())
        urgent = asyncio.ensure_future(self._urgent.wait())
        await asyncio.wait({work, urgent}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        urgent.cancel()

    def _end(self, how: End | Literal["exit", "parent", "signal"], code: int) -> None:
        self._how = how
        self._exit_code = code
        if how not in ("eof", "broken"):
            self._urgent.set()
        self._ended.set()

    def _end_of_channel(self, how: End) -> None:
        if not self._ended.is_set() or (how == "lost" and self._how == "eof"):
            self._end(how, 0 if how == "eof" else 1)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name, code in (("SIGTERM", 0), ("SIGHUP", 0), ("SIGINT", 130)):
            try:
                loop.add_signal_handler(getattr(signal, name), self._end, "signal", code)
            except (AttributeError, NotImplementedError, RuntimeError, ValueError):
                log.debug("%s cannot be handled here", name)

    async def _watch_parent(self) -> None:
        """Ends the server when the process that the client named has died, even if its pipes are held open."""
        parent = os.getppid()
        while sys.platform != "win32":  # there, signal 0 is not a question
            await asyncio.sleep(PARENT_POLL_SECONDS)
            pid = self.protocol.client_process_id
            if pid is None:
                continue
            orphaned = pid == parent and os.getppid() != parent  # it may still be there as a zombie
            if orphaned or not _alive(pid):
                return self._end("parent", 1)
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
