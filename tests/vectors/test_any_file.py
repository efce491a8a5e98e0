"""No content makes a session file unreadable but a wrong header, and nothing in it hangs or breaks a question."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from piserver.entries.header import Header, InvalidSessionError, compose_header
from piserver.storage import MemoryStorage
from tests.vectors.answers import CASES, append, ask, open_session

HEADER = compose_header(Header("s", "2025-03-01T10:00:00.000Z", "/home/dev"))
LINES = [line for file in sorted(CASES.glob("*.jsonl")) for line in file.read_bytes().split(b"\n") if len(line) < 2000]
DAMAGE = st.sampled_from(
    [b"", b"\n", b"\0", b"\xff", b"{", b"}", b'"', b"\\", b"]", b",", b"null", b"1e999", b"\\ud800"]
)


async def answer_everything(data: bytes) -> None:
    try:
        storage = MemoryStorage(data)
    except InvalidSessionError:
        return
    session = open_session(storage)
    await ask(session)
    if storage.read_only is None:
        await append(session)
        await ask(session)


@settings(max_examples=60)
@given(st.binary(max_size=200), st.sampled_from([b"", HEADER + b"\n", HEADER]))
async def test_any_bytes(data: bytes, start: bytes) -> None:
    await answer_everything(start + data)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(LINES), max_size=12), st.sampled_from([b"", HEADER, HEADER.replace(b"3", b"1", 1)]))
async def test_lines_of_any_files_in_any_order(lines: list[bytes], header: bytes) -> None:
    await answer_everything(b"\n".join([header, *lines]))


@settings(max_examples=60)
@given(st.sampled_from(sorted(CASES.glob("*.jsonl"))), st.floats(0, 1), st.integers(0, 40), DAMAGE)
async def test_damage_anywhere(file: Path, place: float, length: int, damage: bytes) -> None:
    data = file.read_bytes()
    start = int(place * len(data))

    await answer_everything(data[:start] + damage + data[start + length :])


@pytest.mark.parametrize("levels", [2000, 20_000])
async def test_depth_beyond_every_parser(levels: int) -> None:
    nested = b'{"type":"custom","id":"a","parentId":null,"timestamp":"t","customType":"c","data":%s1%s}'
    message = (
        b'{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"x","d":%s1%s}}'
    )
    deep = (b"[" * levels, b"]" * levels)
    storage = MemoryStorage(b"\n".join([HEADER, nested % deep, message % deep]))
    session = open_session(storage)

    assert [node.id for node in session.path()] == ["a", "b"]
    assert session.diagnostics == []
    [only] = (await session.build_context()).messages
    assert only.value["content"] == "x"
    assert only.raw in message % deep
    assert only.tokens == 1


async def test_one_line_of_many_megabytes() -> None:
    text = "x" * 13_000_000
    line = b'{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"%s"}}'
    session = open_session(MemoryStorage(b"\n".join([HEADER, line % text.encode()])))

    [only] = (await session.build_context()).messages

    assert only.tokens == 3_250_000
    assert session.diagnostics == []


async def test_entries_in_reverse_order() -> None:
    count = 1000
    lines = [
        b'{"type":"message","id":"e%d","parentId":%s,"timestamp":"t","message":{"role":"user","content":"x"}}'
        % (number, b'"e%d"' % (number - 1) if number else b"null")
        for number in reversed(range(count))
    ]
    storage = MemoryStorage(b"\n".join([HEADER, *lines]))

    assert [node.depth for node in storage.tree.nodes] == list(reversed(range(count)))
    assert storage.diagnostics == []
