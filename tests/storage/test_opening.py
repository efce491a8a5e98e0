"""Opening reads; it changes no byte, makes no file, and holds nothing back."""

import hashlib
import os
from pathlib import Path

import pytest

from piserver.entries.header import InvalidSessionError
from piserver.session import Session
from piserver.storage import JsonlStorage, ReadOnlyError, StorageError
from piserver.storage.glance import glance, peek
from tests.storage.log import answer, entry, header, jump, label, line, log, user

BASE = (header(), user("u1", None), answer("a2", "u1"))
V1 = log(header(None), line(type="message", message={"role": "user", "content": "x"}))

READABLE = {
    "plain": log(*BASE),
    "version 1": V1,
    "version 2": log(header(2), user("u1", None)),
    "version 1, torn": V1 + b'{"type":"mess',
    "newer": log(header(4), user("u1", None)),
    "torn": log(*BASE) + b'{"type":"mess',
    "malformed middle": log(*BASE[:2], b"{", BASE[2]),
    "duplicate id": log(*BASE, user("u1", "a2")),
    "lost leaf target": log(*BASE, jump("j3", "a2", "ghost")),
    "missing parent": log(*BASE, user("u3", "ghost")),
    "cycle": log(*BASE, user("u3", "u4"), user("u4", "u3")),
    "no object": log(*BASE, b"[1]", b"7"),
    "no id": log(*BASE, b'{"type":"message"}'),
    "absent parent": log(header(), b'{"type":"custom","id":"c","customType":"x"}'),
    "leaf without target": log(*BASE, entry("leaf", "j3", "a2")),
    "unterminated": log(*BASE)[:-1],
    "second header": log(*BASE, header()),
    "unknown type": log(*BASE, entry("alien", "x3", "a2")),
    "header without cwd": log(header(cwd=None), user("u1", None)),
    "odd label": log(*BASE, entry("label", "l3", "a2", targetId="u1", label=7)),
    "no message": log(*BASE, entry("message", "m3", "a2")),
    "bad edit": log(*BASE, entry("context_edit", "c3", "a2", targetId="a2", replacement={})),
    "NaN": log(*BASE, b'{"type":"custom","id":"c","parentId":"a2","timestamp":"","data":NaN}'),
    "BOM, CRLF, blanks": b"\xef\xbb\xbf" + b"\r\n\r\n".join(BASE) + b"\r\n",
    "separators": log(
        header(), '{"type":"custom","id":"c","parentId":null,"timestamp":"","d":"a\u2028b\u2029c\x85d"}'.encode()
    ),
    "lone surrogate": log(*BASE, user("u3", "a2", "\ud83d")),
    "ill-formed": log(*BASE, user("u3", "a2", "?").replace(b"?", b"\xc3\x28")),
    "NUL": log(*BASE, b"\0" * 400, label("l3", "a2", "a2", "x")),
    "header alone": log(header()),
    "unterminated header": header(),
}
REFUSED = {
    "empty": b"",
    "blank": b"\n\r\n",
    "event log": log(b'{"type":"event"}') * 1000,
    "no JSON": b"hello\nworld\n",
    "random": bytes(range(256)) * 40,
    "array": b"[1,2]\n",
    "header without id": log(line(type="session", version=3)),
    "torn header": header()[:-4],
}


def picture(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file's content and time of modification."""
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "", path.stat().st_mtime_ns)
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE.keys())
async def test_nothing_changes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    before = picture(tmp_path)
    storage = await JsonlStorage.open(path)
    session = Session(storage)
    for node in storage.tree.nodes:
        await session.build_context(node.id)
    await session.rows(filter="all", query="u")
    await session.refresh()
    _ = session.diagnostics
    glance(path), peek(path)
    await session.aclose()
    assert picture(tmp_path) == before


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_no_session_is_refused_untouched(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    before = picture(tmp_path)
    with pytest.raises(InvalidSessionError):
        await JsonlStorage.open(path)
    assert glance(path).broken
    assert picture(tmp_path) == before


async def test_a_folder_a_pipe_and_nothing_are_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("folder.jsonl", "pipe.jsonl"):
        with pytest.raises(InvalidSessionError):
            await JsonlStorage.open(tmp_path / name)
        assert glance(tmp_path / name).broken == "not a file"
    with pytest.raises(FileNotFoundError):
        await JsonlStorage.open(tmp_path / "gone.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.jsonl", "pipe.jsonl"]


async def test_a_file_that_must_not_be_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(*BASE))
    storage = await JsonlStorage.open(path)
    path.chmod(0o400)
    with pytest.raises(ReadOnlyError, match="mode forbids"):  # for root too, whom the system would let
        await storage.prepare()
    assert await storage.lines(storage.tree.nodes) == list(BASE[1:])
    await storage.aclose()
    with pytest.raises(StorageError, match="closed"):
        await storage.refresh()


async def test_progress_is_told_and_ends_at_the_size(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(header(), *(user(f"u{n}", None, "x" * 100_000) for n in range(20))))
    told: list[tuple[int, int]] = []
    storage = await JsonlStorage.open(path, lambda done, size: told.append((done, size)))
    await storage.aclose()
    size = path.stat().st_size
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert {total for _, total in told} == {size}
    assert size - 400_000 < told[-1][0] <= size
