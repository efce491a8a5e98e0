"""A client that sends bytes and reads frames, and waits for nothing without a deadline."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DEADLINE = 20.0
ROOT = Path(__file__).parents[2]

Message = dict[str, Any]


class Client:
    """One server process and what it has said so far. `body` is the last message that was read, as it came."""

    program: tuple[str, ...] = (str(ROOT / "tests/wire/echo_server.py"),)
    environment: Mapping[str, str] = {}

    def __init__(self, folder: Path, *arguments: str, framing: str = "lsp", stdin: Any = None) -> None:
        self.framing = framing
        self.errors = folder / "stderr"
        self.notifications: list[Message] = []
        self.asked: list[Message] = []
        self._replies: list[Message] = []
        self._received = bytearray()
        self._last_id = 0
        self.body = b""
        command = [sys.executable, *self.program, "--framing", framing, *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | self.environment
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=stdin or subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
        assert self.process.stdout
        self._output = self.process.stdout.fileno()
        self._input = -1
        if self.process.stdin:
            self._input = self.process.stdin.fileno()
            os.set_blocking(self._input, False)

    # --- bytes ---

    def send_bytes(self, data: bytes, *, read: bool = True) -> None:
        """Writes everything; meanwhile takes what the server says, unless it plays a client that does not read."""
        deadline = time.monotonic() + DEADLINE
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self._output] if read else [], [self._input], [], 1)
            if readable:
                self._receive()
            if writable:
                view = view[os.write(self._input, view[: 1 << 16]) :]
            assert time.monotonic() < deadline, "the server does not read"

    def _receive(self) -> bool:
        data = os.read(self._output, 1 << 20)
        self._received += data
        return bool(data)

    def frame(self, message: Any) -> bytes:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        if self.framing == "lines":
            return body + b"\n"
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def read(self, seconds: float = DEADLINE) -> Message | None:
        """The next message; None at the end of the server's output."""
        body = self.read_body(seconds)
        return None if body is None else json.loads(body, parse_constant=_refuse)

    def read_body(self, seconds: float = DEADLINE) -> bytes | None:
        """The next message as it came, which is in `body` as well; None at the end of the server's output."""
        deadline = time.monotonic() + seconds
        while (body := self._next_body()) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"no answer; stderr: {self.errors.read_text()}"
            readable, _, _ = select.select([self._output], [], [], left)
            if readable and not self._receive():
                assert not self._received, "the output ends inside a frame"
                return None
        self.body = body
        return body

    def _next_body(self) -> bytes | None:
        if self.framing == "lines":
            end = self._received.find(b"\n")
            start, stop = 0, end + 1
        else:
            blank = self._received.find(b"\r\n\r\n")
            if blank < 0:
                return None
            name, _, length = bytes(self._received[:blank]).partition(b": ")
            assert name == b"Content-Length"
            start, end = blank + 4, blank + 4 + int(length)
            stop = end
        if end < 0 or len(self._received) < end:
            return None
        body = bytes(self._received[start:end])
        del self._received[:stop]
        return body

    # --- messages ---

    def send(self, message: Any) -> None:
        self.send_bytes(self.frame(message))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any = None, **members: Any) -> int:
        """Sends a request and returns its id, without waiting."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params} | members)
        return self._last_id

    def messages(self) -> Iterator[Message]:
        while (message := self.read()) is not None:
            yield message

    def next_reply(self) -> Message:
        """The next reply in the order of arrival; what else comes is kept in `notifications` and `asked`."""
        if self._replies:
            return self._replies.pop(0)
        for message in self.messages():
            if self._sort(message):
                return message
        raise AssertionError(f"the server has ended; stderr: {self.errors.read_text()}")

    def reply(self, id: int | str | None) -> Message:
        """The reply to one request; others are kept."""
        for message in self._replies:
            if message["id"] == id:
                self._replies.remove(message)
                return message
        for message in self.messages():
            if self._sort(message):
                if message["id"] == id:
                    return message
                self._replies.append(message)
        raise AssertionError(f"the server has ended; stderr: {self.errors.read_text()}")

    def _sort(self, message: Message) -> bool:
        if "method" not in message:
            return True
        (self.asked if "id" in message else self.notifications).append(message)
        return False

    def call(self, method: str, params: Any = None) -> Any:
        """Sends a request and returns its result."""
        reply = self.reply(self.request(method, params))
        assert "error" not in reply, reply
        return reply["result"]

    def error(self, method: str, params: Any = None) -> Any:
        """Sends a request and returns its error."""
        return self.reply(self.request(method, params))["error"]

    def until(self, method: str) -> Message:
        """The next notification or request of this method."""
        for seen in (self.notifications, self.asked):
            for message in seen:
                if message["method"] == method:
                    seen.remove(message)
                    return message
        for message in self.messages():
            if message.get("method") == method:
                return message
            if self._sort(message):
                self._replies.append(message)
        raise AssertionError(f"the server has ended; stderr: {self.errors.read_text()}")

    # --- life ---

    def initialize(self, **params: Any) -> Any:
        result = self.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}} | params)
        self.notify("initialized", {})
        return result

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def close_output(self) -> None:
        assert self.process.stdout
        self.process.stdout.close()

    def wait(self, seconds: float = DEADLINE) -> int:
        """The exit code."""
        return self.process.wait(seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")
