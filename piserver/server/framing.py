"""Where one message ends and the next begins: two decoders without I/O, and their encoders.

`LspFraming` is the base protocol of the Language Server Protocol (header block, blank line, body counted in bytes);
`LineFraming` is one JSON text a line. Both are fed whatever a read returned and yield the same events for every way
of splitting the stream. Neither looks into a body, with one exception: a body over the limit is thrown away as it
comes, and its first kilobyte is searched for the request id, so that the refusal can be matched to its request.
"""

import json
import re
from collections.abc import Generator, Iterator
from typing import Protocol

import msgspec

__all__ = ["MAX_FRAME_BYTES", "Body", "Broken", "Event", "Framing", "LineFraming", "LspFraming", "TooLarge", "sniff_id"]

MAX_FRAME_BYTES = 64 << 20
MAX_HEADER_BYTES = 16 << 10
HEAD_BYTES = 1 << 10  # how much of an oversized body is searched for its id

_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.){0,256}"|-?\d{1,19}(?=\s*[,}]))')
_PARAMS = re.compile(rb'"(?:params|result)"\s*:')
_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Body(msgspec.Struct, frozen=True):
    """One message's bytes, not yet looked at."""

    data: bytes


class TooLarge(msgspec.Struct, frozen=True):
    """A message over the limit, being skipped. `length` in bytes if it was announced; `id` if it could be seen."""

    length: int | None
    id: int | str | None


class Broken(msgspec.Struct, frozen=True):
    """The stream cannot be followed any further; nothing is yielded after it. `reason` is for a person."""

    reason: str


Event = Body | TooLarge | Broken


def sniff_id(head: bytes | bytearray) -> int | str | None:
    """Finds the request id in the first bytes of a message that is not parsed; None when it is not before `params`."""
    if params := _PARAMS.search(head):
        head = head[: params.start()]
    if (found := _ID.search(head)) is None:
        return None
    try:
        return json.loads(found[1])
    except ValueError:
        return None


class Framing(Protocol):
    """What a channel needs of a framing."""

    @property
    def awaiting_head(self) -> bool:
        """Whether a `TooLarge` is held back until the body's first kilobyte has come."""
        ...

    def feed(self, data: bytes) -> Iterator[Event]:
        """Takes the next bytes and yields what they complete. Exhaust the iterator before feeding again."""
        ...

    def give_up_head(self) -> Iterator[Event]:
        """Yields the `TooLarge` that is held back, with what is known by now."""
        ...

    def end(self) -> Iterator[Event]:
        """Yields what the end of input makes of the bytes that are left."""
        ...

    def encode(self, body: bytes) -> bytes:
        """The frame around one JSON text."""
        ...

    def pieces(self, parts: list[bytes]) -> list[bytes]:
        """The same for a large JSON text in parts, which are not copied."""
        ...


class LspFraming:
    """Header block and counted body. `limit` is the largest body that is accepted.

    Header names come in any case, other headers are ignored. A header block over 16 KB, a bare line feed in it, a line
    without a colon, a missing, repeated or senseless Content-Length is `Broken`: what follows cannot be trusted.
    """

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self.limit = max_frame_bytes
        self._buffer = bytearray()
        self._need: int | None = None  # length of the body that is being collected
        self._skip = 0  # bytes of an oversized body still to throw away
        self._oversize = 0
        self._head: bytearray | None = None  # its first bytes, until they are reported
        self._broken = False

    @property
    def awaiting_head(self) -> bool:
        return self._head is not None

    def feed(self, data: bytes) -> Iterator[Event]:
        if self._broken:
            return
        if self._skip:
            data = yield from self._discard(data)
        buffer = self._buffer
        buffer += data
        position = 0
        while position < len(buffer) or self._need == 0:
            if self._need is None:
                end = buffer.find(b"\r\n\r\n", position)
                if (fault := self._read_header(position, end)) is not None:
                    self._broken = True
                    buffer.clear()
                    yield Broken(fault)
                    return
                if end < 0:
                    break
                position = end + 4
                if self._skip:
                    rest = yield from self._discard(bytes(buffer[position:]))
                    buffer[:] = rest
                    position = 0
                continue
            if len(buffer) - position < self._need:
                break
            end = position + self._need
            with memoryview(buffer) as view:  # one copy instead of two
                body = bytes(view[position:end])
            self._need = None
            position = end
            yield Body(body)
        if position:
            del buffer[:position]

    def give_up_head(self) -> Iterator[Event]:
        if (head := self._head) is not None:
            self._head = None
            yield TooLarge(self._oversize, sniff_id(head))

    def end(self) -> Iterator[Event]:
        yield from self.give_up_head()
        if not self._broken and (self._buffer or self._need is not None or self._skip):
            self._broken = True
            self._buffer.clear()
            yield Broken("the input ended inside a message")

    def encode(self, body: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def pieces(self, parts: list[bytes]) -> list[bytes]:
        return [b"Content-Length: %d\r\n\r\n" % sum(map(len, parts)), *parts]

    def _read_header(self, start: int, end: int) -> str | None:
        """Reads the header block `[start:end]`, or what there is of it (end < 0); returns what is wrong with it.

        The checks come in an order in which a later byte cannot change an earlier verdict, so that the answer does
        not depend on how the stream was split.
        """
        buffer = self._buffer
        if buffer[start] not in _TOKEN:
            return "a header was expected"
        limit = start + MAX_HEADER_BYTES
        block = bytes(buffer[start : limit if end < 0 else min(end + 2, limit)])
        if block.count(b"\n") != block.count(b"\r\n"):
            return "header lines must end in CR LF"
        if (len(buffer) - 4 if end < 0 else end) > limit:
            return f"header block over {MAX_HEADER_BYTES} bytes"
        if end < 0:
            return None
        length: bytes | None = None
        for line in bytes(buffer[start:end]).split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon:
                return f"header line without a colon: {line[:40]!r}"
            if name.strip().lower() == b"content-length":
                if length is not None:
                    return "Content-Length given twice"
                length = value.strip()
        if length is None:
            return "header without Content-Length"
        if not length.isdigit() or len(length) > 15:
            return f"senseless Content-Length {length[:40]!r}"
        if int(length) <= self.limit:
            self._need = int(length)
        else:
            self._skip = self._oversize = int(length)
            self._head = bytearray()
        return None

    def _discard(self, data: bytes) -> Generator[Event, None, bytes]:
        """Throws away what of `data` belongs to the oversized body; returns the rest."""
        if self._head is not None:
            self._head += data[: min(HEAD_BYTES - len(self._head), self._skip)]
        taken = min(self._skip, len(data))
        self._skip -= taken
        if self._head is not None and (len(self._head) >= HEAD_BYTES or not self._skip):
            yield from self.give_up_head()
        return data[taken:]


class LineFraming:
    """One JSON text a line, ended by LF or CR LF; blank lines are ignored. `limit` is the longest line."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self.limit = max_frame_bytes
        self._buffer = bytearray()
        self._seen = 0  # bytes of the buffer known to hold no line end
        self._skipping = False

    @property
    def awaiting_head(self) -> bool:
        return False

    def feed(self, data: bytes) -> Iterator[Event]:
        if self._skipping:
            end = data.find(b"\n")
            if end < 0:
                return
            self._skipping = False
            data = data[end + 1 :]
        buffer = self._buffer
        buffer += data
        start = 0
        while (end := buffer.find(b"\n", max(start, self._seen))) >= 0:
            line = bytes(buffer[start:end])
            start = end + 1
            yield from self._line(line)
        if len(buffer) - start > self.limit + 1:  # one more for the CR of a line that just fits
            yield self._too_long(buffer[start : start + HEAD_BYTES])
            self._skipping = True
            buffer.clear()
        else:
            del buffer[:start]
        self._seen = len(buffer)

    def give_up_head(self) -> Iterator[Event]:
        return iter(())

    def end(self) -> Iterator[Event]:
        line = bytes(self._buffer)
        self._buffer.clear()
        self._seen = 0
        yield from self._line(line)  # a last line without its line end is a line

    def encode(self, body: bytes) -> bytes:
        return _one_line(body) + b"\n"

    def pieces(self, parts: list[bytes]) -> list[bytes]:
        return [*map(_one_line, parts), b"\n"]

    def _line(self, line: bytes) -> Iterator[Event]:
        line = line.removesuffix(b"\r")
        if len(line) > self.limit:
            yield self._too_long(line[:HEAD_BYTES])
        elif line.strip():
            yield Body(line)

    def _too_long(self, head: bytes | bytearray) -> TooLarge:
        return TooLarge(None, sniff_id(head[: self.limit]))


def _one_line(text: bytes) -> bytes:
    """Line ends between the tokens of a JSON text made into spaces; inside strings there are none."""
    if b"\n" in text or b"\r" in text:
        return text.replace(b"\n", b" ").replace(b"\r", b" ")
    return text
