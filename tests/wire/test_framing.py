"""The decoders by themselves: any split of the stream gives the same events."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.server.framing import Body, Broken, Event, Framing, LineFraming, LspFraming, TooLarge, sniff_id

LIMIT = 40


def decode(framing: Framing, chunks: Iterable[bytes]) -> list[Event]:
    events: list[Event] = []
    for chunk in chunks:
        events += framing.feed(chunk)
    return [*events, *framing.end()]


def frame(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


HEADERS = st.sampled_from(
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"CONTENT-LENGTH:   %d  \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"X-Other: 1\r\nContent-Length: %d\r\n\r\n",
    ]
)
JUNK = st.sampled_from(
    [
        b"junk\n",
        b"junk\r\n\r\n",
        b"\r\n",
        b"{}",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 1234567890123456\r\n\r\n",
        b"Content-Length: 9\n\n",
        b"A: b\r\n\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"X: " + b"x" * 17000 + b"\r\n\r\n",
        b"X: " + b"x" * 16380 + b"\n\r\n\r\n",
    ]
)
FRAMES = st.builds(frame, st.binary(max_size=2 * LIMIT), HEADERS)
LINES = st.builds(lambda line, end: line + end, st.binary(max_size=2 * LIMIT), st.sampled_from([b"\n", b"\r\n", b""]))
CUTS = st.lists(st.integers(min_value=0, max_value=1 << 16), max_size=30)


@given(st.lists(FRAMES | JUNK, max_size=8), CUTS)
def test_any_split_of_lsp_frames_gives_the_same_events(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frames)
    whole = decode(LspFraming(LIMIT), [stream])
    assert decode(LspFraming(LIMIT), split(stream, cuts)) == whole
    if len(stream) < 2000:
        assert decode(LspFraming(LIMIT), [stream[i : i + 1] for i in range(len(stream))]) == whole


@given(st.lists(LINES, max_size=8), CUTS)
def test_any_split_of_lines_gives_the_same_events(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(lines)
    whole = decode(LineFraming(LIMIT), [stream])
    assert decode(LineFraming(LIMIT), split(stream, cuts)) == whole
    assert decode(LineFraming(LIMIT), [stream[i : i + 1] for i in range(len(stream))]) == whole


@given(st.lists(st.builds(frame, st.binary(max_size=LIMIT), HEADERS), max_size=8))
def test_every_frame_comes_out_as_it_went_in(frames: list[bytes]) -> None:
    bodies = [frame.split(b"\r\n\r\n", 1)[1] for frame in frames]
    assert decode(LspFraming(LIMIT), [b"".join(frames)]) == [Body(body) for body in bodies]


@given(st.lists(st.binary(max_size=LIMIT).map(lambda body: body.replace(b"\n", b" ").replace(b"\r", b" ")), max_size=8))
def test_encoded_bodies_decode_to_themselves(bodies: list[bytes]) -> None:
    for framing, kept in ((LspFraming(LIMIT), bodies), (LineFraming(LIMIT), [b for b in bodies if b.strip()])):
        stream = b"".join(map(framing.encode, bodies))
        assert stream == b"".join(b"".join(framing.pieces([b[:3], b[3:]])) for b in bodies)
        assert decode(framing, [stream]) == [Body(body) for body in kept]


def test_an_oversized_frame_is_skipped_and_the_next_one_read() -> None:
    body = b'{"jsonrpc":"2.0","id":"seven","method":"m","params":{"id":8,"x":"' + b"x" * 5000 + b'"}}'
    assert decode(LspFraming(LIMIT), [frame(body), frame(b"next")]) == [TooLarge(len(body), "seven"), Body(b"next")]


def test_the_id_is_reported_before_the_skipped_body_has_ended() -> None:
    framing = LspFraming(LIMIT)
    assert list(framing.feed(b"Content-Length: 10000000000\r\n\r\n")) == []
    assert framing.awaiting_head
    assert list(framing.feed(b'{"id":7,"method":"m","params":"' + b"x" * 2000)) == [TooLarge(10**10, 7)]
    assert not framing.awaiting_head


def test_what_is_known_of_an_oversized_frame_can_be_had_at_any_time() -> None:
    framing = LspFraming(LIMIT)
    assert list(framing.give_up_head()) == []
    assert list(framing.feed(b"Content-Length: 10000000000\r\n\r\n")) == []
    assert list(framing.give_up_head()) == [TooLarge(10**10, None)]
    assert list(framing.feed(b"x" * 2000)) == []


def test_lines_end_in_lf_or_cr_lf_and_blank_ones_are_ignored() -> None:
    assert decode(LineFraming(), [b"1\r\n\n  \n\r\n2\n3"]) == [Body(b"1"), Body(b"2"), Body(b"3")]


def test_a_line_of_exactly_the_limit_is_read_and_one_more_byte_is_not() -> None:
    fits, over = b"x" * LIMIT, b"x" * (LIMIT + 1)
    expected = [Body(fits), Body(fits), TooLarge(None, None), Body(b"1")]
    assert decode(LineFraming(LIMIT), [fits + b"\n" + fits + b"\r\n" + over + b"\n1\n"]) == expected


def test_an_encoded_line_holds_no_line_end() -> None:
    pretty = b'{\n  "a": 1,\r\n  "b": "\\n"\n}'
    encoded = LineFraming().encode(pretty)
    assert encoded == b'{   "a": 1,    "b": "\\n" }\n'
    assert b"".join(LineFraming().pieces([pretty[:10], pretty[10:]])) == encoded


@pytest.mark.parametrize(
    ("stream", "word"),
    [
        (b"Content-Length: 5\n\nhello", "CR LF"),
        (b"hello", "ended"),
        (b"{", "expected"),
        (b"no colon\r\n\r\n", "colon"),
        (b"Content-Type: x\r\n\r\n", "without"),
        (b"Content-Length: five\r\n\r\n", "senseless"),
        (b"Content-Length: -1\r\n\r\n", "senseless"),
        (b"Content-Length: 9999999999999999\r\n\r\n", "senseless"),
        (b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", "twice"),
        (b"X: " + b"x" * (17 << 10), "over"),
        (frame(b"whole")[:-1], "ended"),
    ],
)
def test_a_stream_that_cannot_be_followed_is_broken_once_and_for_all(stream: bytes, word: str) -> None:
    events = decode(LspFraming(), [stream, frame(b"later")]) if word != "ended" else decode(LspFraming(), [stream])
    (event,) = events
    assert isinstance(event, Broken)
    assert word in event.reason


@pytest.mark.parametrize(
    ("head", "id"),
    [
        (b'{"id":12,"method":"m"', 12),
        (b'{"jsonrpc": "2.0", "id" : "a\\u00e9\\"" , "params": {}', 'aé"'),
        (b'{"params":{"id":1}},"id":2', None),
        (b'{"method":"\\"id\\":3","params":{}', None),
        (b'{"id":1', None),  # perhaps not all of it
        (b'{"id":null,"method":"m"}', None),
    ],
)
def test_sniff_id(head: bytes, id: int | str | None) -> None:
    assert sniff_id(head) == id
