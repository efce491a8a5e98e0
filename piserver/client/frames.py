"""Messages out of a byte stream and into one, as `Content-Length` frames or as lines, of any size."""

import re
import sys
from typing import Literal

from anyio import DelimiterNotFound, EndOfStream, IncompleteRead
from anyio.abc import ByteReceiveStream
from anyio.streams.buffered import BufferedByteReceiveStream

__all__ = ["FrameError", "FrameReader", "Framing", "frame"]

Framing = Literal["lsp", "lines"]

_MAX_HEADER_BYTES = 16 << 10
_LENGTH = re.compile(rb"^Content-Length:[ \t]*(\d{1,15})[ \t]*$", re.IGNORECASE | re.MULTILINE)


class FrameError(Exception):
    """The stream is not made of frames, or it ends inside one: nothing that follows could be understood."""


class FrameReader:
    """Takes whole messages from a stream. There is no limit to a body: the server is ours."""

    def __init__(self, stream: ByteReceiveStream, framing: Framing = "lsp") -> None:
        self._stream = BufferedByteReceiveStream(stream)
        self._next = self._next_frame if framing == "lsp" else self._next_line

    async def receive(self) -> bytes:
        """The JSON text of the next message. Raises anyio.EndOfStream at the stream's end and FrameError."""
        try:
            return await self._next()
        except IncompleteRead:
            rest = self._stream.buffer
            if rest.strip():
                raise FrameError(f"the output ends inside a message: {rest[:80]!r}") from None
            raise EndOfStream from None

    async def _next_frame(self) -> bytes:
        try:
            header = await self._stream.receive_until(b"\r\n\r\n", _MAX_HEADER_BYTES)
        except DelimiterNotFound:
            raise FrameError(f"a header was expected, not {self._stream.buffer[:80]!r}") from None
        length = _LENGTH.search(header.replace(b"\r\n", b"\n"))
        if length is None:
            raise FrameError(f"a header without Content-Length: {header[:80]!r}")
        try:
            return await self._stream.receive_exactly(int(length[1]))
        except IncompleteRead:
            raise FrameError("the output ends inside a message") from None

    async def _next_line(self) -> bytes:
        while not (line := await self._stream.receive_until(b"\n", sys.maxsize)).strip():
            pass
        return line


def frame(body: bytes, framing: Framing = "lsp") -> bytes:
    """One JSON text without line ends as it goes over the wire."""
    if framing == "lines":
        return body + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
