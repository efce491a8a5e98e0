"""Bytes in and out of two file descriptors, on the event loop, without ever blocking it.

Reading is one `os.read` whenever the descriptor is ready, or a thread where readiness does not exist (regular files).
Writing happens on the loop's thread only, so that frames cannot interleave; what the client does not take is queued.
A client that does not read is not read either, above `HIGH_WATER` queued bytes, until it has come down to `LOW_WATER`.
"""

import asyncio
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal

from piserver.server.framing import Broken, Event, Framing

__all__ = ["HIGH_WATER", "LOW_WATER", "Channel", "End"]

HIGH_WATER = 8 << 20
LOW_WATER = 1 << 20
READ_BYTES = 1 << 18
SLICE_SECONDS = 0.005  # how long one batch of messages may keep the loop before other work gets its turn
HEAD_SECONDS = 0.25  # how long the body of a refused message may take to show its id

End = Literal["eof", "broken", "lost"]


class Channel:
    """The transport under one connection.

    `on_event` gets every event of the framing, in order, on the loop's thread. `on_end` is called once: "eof" when the
    input has ended, "broken" when it cannot be followed any further (after the `Broken` event), "lost" when the client
    no longer takes what is written. It must be created inside the running loop.
    """

    def __init__(
        self,
        fds: tuple[int, int],
        framing: Framing,
        on_event: Callable[[Event], None],
        on_end: Callable[[End], None],
    ) -> None:
        self._reading, self._writing = fds
        self._framing = framing
        self._on_event = on_event
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._events: Iterator[Event] | None = None  # what the last read still has to yield
        self._pollable = True
        self._watching = False  # whether the loop tells us about readiness
        self._may_read = threading.Event()  # the same permission, for the reading thread
        self._over = False  # no more input will be taken
        self._eof = False
        self._ended = False  # `on_end` has been called
        self._queue: deque[memoryview] = deque()
        self._backlog = 0
        self._lost = False
        self._congested = False
        self._drain_callbacks: list[Callable[[], None]] = []
        mode = os.fstat(self._writing).st_mode
        # a file or terminal takes everything at once, and its descriptor may be shared with the shell: leave it alone
        self._nonblocking = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        if self._nonblocking:
            os.set_blocking(self._writing, False)
        if stat.S_ISFIFO(mode):
            # a pipe whose reader has gone reports an error to whoever polls it: notice without having to write
            self._loop.add_reader(self._writing, self._lose)

    # --- reading ---

    def start(self) -> None:
        """Begins to read."""
        try:
            self._loop.add_reader(self._reading, self._readable)
            self._watching = True
        except (PermissionError, NotImplementedError):  # a regular file; a platform without readiness for pipes
            self._pollable = False
            self._may_read.set()
            threading.Thread(target=self._read_in_thread, name="piserver-stdin", daemon=True).start()

    def stop_reading(self) -> None:
        """Takes no further message, not even of those that have been received."""
        self._over = True
        self._events = None
        self._pause()

    def _readable(self) -> None:
        try:
            data = os.read(self._reading, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._received(data)

    def _read_in_thread(self) -> None:
        while True:
            self._may_read.wait()
            self._may_read.clear()
            try:
                data = os.read(self._reading, READ_BYTES)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._received, data)
            except RuntimeError:  # the loop has closed
                return
            if not data:
                return

    def _received(self, data: bytes) -> None:
        if self._over:
            return
        if data:
            self._events = self._framing.feed(data)
        else:
            self._over = self._eof = True
            self._events = self._framing.end()
        self._process()

    def _process(self) -> None:
        """Hands out events until they are used up, the time slice is over, or the client has to read first."""
        deadline = time.monotonic() + SLICE_SECONDS
        while (events := self._events) is not None:
            if self._congested:
                return self._pause()  # `_relieve` comes back here
            if (event := next(events, None)) is None:
                self._events = None
                break
            self._on_event(event)
            if type(event) is Broken:
                self.stop_reading()
                return self._end("broken")
            if time.monotonic() > deadline:
                self._pause()
                self._loop.call_soon(self._process)
                return None
        if self._over:
            self._pause()
            return self._end("eof") if self._eof else None
        if self._framing.awaiting_head:
            self._loop.call_later(HEAD_SECONDS, self._give_up_head)
        if self._congested:
            self._pause()
        else:
            self._resume()
        return None

    def _give_up_head(self) -> None:
        if not self._over and self._events is None:
            for event in self._framing.give_up_head():
                self._on_event(event)

    def _pause(self) -> None:
        if self._watching:
            self._loop.remove_reader(self._reading)
            self._watching = False

    def _resume(self) -> None:
        if not self._pollable:
            self._may_read.set()
        elif not self._watching:
            self._loop.add_reader(self._reading, self._readable)
            self._watching = True

    def _end(self, how: End) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(how)

    # --- writing ---

    @property
    def backlog(self) -> int:
        """Bytes that the client has not taken yet."""
        return self._backlog

    @property
    def congested(self) -> bool:
        """Whether the client is so far behind that it is not read either; notifications should wait or be merged."""
        return self._congested

    def write(self, *parts: bytes) -> None:
        """Sends bytes, now if the client takes them, else later in order. Large parts are queued without copying.

        Only on the loop's thread. What is written after the client has gone is dropped.
        """
        if self._lost:
            return None
        if self._queue:
            return self._enqueue(parts)
        data = parts[0] if len(parts) == 1 else b"".join(parts) if sum(map(len, parts)) < READ_BYTES else None
        if data is None:
            self._enqueue(parts)
            return self._writable()
        try:
            sent = os.write(self._writing, data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return self._lose()
        if sent < len(data):
            self._enqueue((data,), sent)
            if not self._nonblocking:
                self._writable()
        return None

    def add_drain_callback(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once, soon, when the client has caught up (or has gone)."""
        if self._congested:
            self._drain_callbacks.append(callback)
        else:
            self._loop.call_soon(callback)

    async def drained(self) -> None:
        """Waits until the client is no longer behind; at once if it is not, or has gone."""
        if self._congested:
            caught_up = asyncio.Event()
            self._drain_callbacks.append(caught_up.set)
            await caught_up.wait()

    async def flush(self, patience: float | None) -> None:
        """Waits until everything is written; gives up after `patience` seconds without progress (None: never)."""
        before, since = self._backlog, time.monotonic()
        while self._queue and not self._lost:
            await asyncio.sleep(0.01)
            if self._backlog != before:
                before, since = self._backlog, time.monotonic()
            elif patience is not None and time.monotonic() - since > patience:
                return

    def _enqueue(self, parts: tuple[bytes, ...], start: int = 0) -> None:
        if not self._queue and self._nonblocking:
            self._loop.add_writer(self._writing, self._writable)
        for part in parts:
            if view := memoryview(part)[start:]:
                self._queue.append(view)
                self._backlog += len(view)
        if self._backlog > HIGH_WATER and not self._congested:
            self._congested = True
            self._pause()

    def _writable(self) -> None:
        queue = self._queue
        try:
            while queue:
                view = queue[0]
                sent = os.write(self._writing, view)
                self._backlog -= sent
                if sent == len(view):
                    queue.popleft()
                else:
                    queue[0] = view[sent:]
                    if self._nonblocking:
                        break
        except BlockingIOError:
            pass
        except OSError:
            return self._lose()
        if not queue and self._nonblocking:
            self._loop.remove_writer(self._writing)
        if self._congested and self._backlog <= LOW_WATER:
            self._relieve()
        return None

    def _relieve(self) -> None:
        self._congested = False
        callbacks, self._drain_callbacks = self._drain_callbacks, []
        for callback in callbacks:
            self._loop.call_soon(callback)
        if self._events is not None:
            self._loop.call_soon(self._process)
        elif not self._over:
            self._resume()

    def _lose(self) -> None:
        """The client has closed its end: nothing can be said any more, so nothing need be heard either."""
        self._lost = True
        self._queue.clear()
        self._backlog = 0
        if self._nonblocking:
            self._loop.remove_writer(self._writing)
            self._loop.remove_reader(self._writing)
        self.stop_reading()
        self._relieve()
        self._end("lost")
