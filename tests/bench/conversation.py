"""A server as a child process, spoken to with as little as possible in between: bytes in, bytes out."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, Self

_READ = 1 << 20

Framing = Literal["lsp", "lines"]


class Conversation:
    """One server. `lsp` is JSON-RPC in frames; `lines` are the terminal agent's commands, one a line.

    Bodies are given back as they came: what a client makes of them is not measured.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], framing: Framing = "lsp") -> None:
        self._framing = framing
        self._id = 0
        self._read = bytearray()
        self._started = perf_counter()
        self._process = subprocess.Popen(
            command,
            env=env,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def initialize(self) -> None:
        """Begin the life cycle. piserver is told not to flush files."""
        options = {"piserver": {"durability": "never"}}
        params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": options}
        self.ask("initialize", params)
        self.send(self.message("initialized", {}, notification=True))

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return perf_counter() - self._started

    def message(self, method: str, params: Mapping[str, Any] | None = None, *, notification: bool = False) -> bytes:
        """The bytes of a request, with the next id."""
        if self._framing == "lines":
            return json.dumps({"id": "1", "type": method}).encode() + b"\n"
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notification:
            self._id += 1
            body["id"] = self._id
        data = json.dumps(body).encode()
        return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)

    def send(self, data: bytes) -> None:
        """Write, and wait until it is taken."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._input, view) :]

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> bytes:
        """A request's answer; what is not one is passed over. Raises RuntimeError for an error."""
        self.send(self.message(method, params))
        return self.answer()

    def timed(self, method: str, params: Mapping[str, Any] | None = None) -> tuple[float, bytes]:
        """The seconds from a request to the last byte of its answer, and that."""
        request = self.message(method, params)
        start = perf_counter()
        self.send(request)
        answer = self.answer()
        return perf_counter() - start, answer

    def pipelined(self, requests: Iterable[bytes]) -> float:
        """The seconds from the first of many requests to the last answer; they are sent without waiting."""
        together = list(requests)
        writer = threading.Thread(target=lambda: self.send(b"".join(together)))
        start = perf_counter()
        writer.start()
        for _ in together:
            self.answer()
        seconds = perf_counter() - start
        writer.join()
        return seconds

    def answer(self) -> bytes:
        """The next answer. Raises RuntimeError if it is an error."""
        receive = self._frame if self._framing == "lsp" else self._line
        while True:
            body = receive()
            start = bytes(body[:100])
            if b'"method"' in start or (self._framing == "lines" and b'"response"' not in start):
                continue
            if b'"error":' in start or b'"success":false' in start:
                raise RuntimeError(body[:500].decode())
            return body

    def _frame(self) -> bytes:
        while (head := self._read.find(b"\r\n\r\n")) < 0:
            self._more()
        fields = (field.split(b":") for field in bytes(self._read[:head]).split(b"\r\n"))
        length = next(int(value) for name, value in fields if name.lower() == b"content-length")
        return self._take(head + 4, length)

    def _line(self) -> bytes:
        searched = 0
        while (end := self._read.find(b"\n", searched)) < 0:
            searched = len(self._read)
            self._more()
        return self._take(0, end + 1)

    def _take(self, start: int, length: int) -> bytes:
        while len(self._read) < start + length:
            self._more()
        body = bytes(memoryview(self._read)[start : start + length])
        del self._read[: start + length]
        return body

    def _more(self) -> None:
        data = os.read(self._output, _READ)
        if not data:
            raise RuntimeError(f"the server has ended with exit code {self._process.wait()}")
        self._read += data

    def cpu_seconds(self) -> float | None:
        """The processor time that the server has used; None where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
