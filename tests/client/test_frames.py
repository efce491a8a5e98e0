from itertools import pairwise

import anyio
import pytest
from anyio.abc import ByteReceiveStream
from hypothesis import given
from hypothesis import strategies as st

from piserver.client.frames import FrameError, FrameReader, Framing, frame


class Pieces(ByteReceiveStream):
    """A stream that gives what was cut, piece by piece."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = [piece for piece in pieces if piece]

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if not self.pieces:
            raise anyio.EndOfStream
        piece = self.pieces.pop(0)
        if len(piece) > max_bytes:
            self.pieces.insert(0, piece[max_bytes:])
        return piece[:max_bytes]

    async def aclose(self) -> None:
        pass


async def read_all(framing: Framing, *pieces: bytes) -> list[bytes]:
    reader = FrameReader(Pieces(*pieces), framing)
    bodies: list[bytes] = []
    while True:
        try:
            bodies.append(await reader.receive())
        except anyio.EndOfStream:
            return bodies


@given(
    bodies=st.lists(st.binary(min_size=1, max_size=40).filter(lambda b: b"\n" not in b and b.strip())),
    cuts=st.lists(st.integers(0, 400)),
    framing=st.sampled_from(["lsp", "lines"]),
)
def test_messages_come_whole_however_the_stream_is_cut(bodies: list[bytes], cuts: list[int], framing: Framing) -> None:
    stream = b"".join(frame(body, framing) for body in bodies)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(places)]

    assert anyio.run(read_all, framing, *pieces) == bodies


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2",
        b"content-length:2",
        b"Content-Type: x\r\nCONTENT-LENGTH:\t2 ",
        b"Content-Length: 2\r\nX: y",
    ],
)
async def test_header_names_come_in_any_case_and_in_company(header: bytes) -> None:
    assert await read_all("lsp", header + b"\r\n\r\n{}") == [b"{}"]


@pytest.mark.parametrize(
    "stream",
    [
        b"hello\n",
        b"Content-Length: 5\r\n\r\n{}",
        b"Content-Length: 5\r\n",
        b"Content-Type: x\r\n\r\n{}",
        b"Content-Length: two\r\n\r\n{}",
        b"x" * 20_000,
    ],
)
async def test_a_stream_that_is_not_made_of_frames_is_an_error(stream: bytes) -> None:
    with pytest.raises(FrameError):
        await read_all("lsp", stream)


async def test_blank_lines_are_no_messages_and_a_cut_line_is_an_error() -> None:
    assert await read_all("lines", b"\n{}\r\n\n[]\n") == [b"{}\r", b"[]"]
    with pytest.raises(FrameError):
        await read_all("lines", b"{}\n{")
