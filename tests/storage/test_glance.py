"""What a list shows of a file agrees with what opening it shows."""

from pathlib import Path

import pytest

from piserver.storage import MemoryStorage
from piserver.storage.glance import glance, peek
from tests.storage.log import CWD, SESSION_ID, TIME, answer, header, line, log, message, name, user


def test_a_session_in_a_list(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    data = log(
        header(parentSession="/w/p.jsonl"),
        message("s0", None, "system", "rules"),
        answer("a1", None),
        message("u2", "a1", "user", [{"type": "text", "text": " two\nlines "}, {"type": "image", "data": ""}]),
        user("u3", "u2"),
        name("n4", "u3", "a\nname "),
    )
    path.write_bytes(data)
    info = glance(path)
    assert (info.id, info.cwd, info.created, info.parent_session) == (SESSION_ID, CWD, TIME, "/w/p.jsonl")
    assert (info.name, info.first_message, info.message_count) == ("a name", "two lines", 4)
    assert (info.size, info.broken, info.path) == (len(data), None, str(path))
    assert info.modified.startswith("2")
    assert info.modified.endswith("Z")
    assert (peek(path).id, peek(path).name, peek(path).message_count) == (SESSION_ID, None, None)


DAMAGED = {
    "malformed": log(header(), b"{", user("u1", None), b"\0\0"),
    "half, then whole": log(header(), b'{"type":"mess' + user("u1", None), answer("a2", "u1")),
    "two on a line": log(header(), user("u1", None) + answer("a2", "u1")),
    "torn": log(header(), user("u1", None)) + b'{"type":"mess',
    "lone surrogate": log(header(), user("u1", None, "\ud83d"), b'{"message":{"role":"user","content":[]}}'),
    "deep": log(header(), b"[" * 20_000 + b"]" * 20_000, user("u1", None)),
    "BOM and blank lines": b"\xef\xbb\xbf\r\n" + log(header(), b"", user("u1", None)),
    "version 1": log(header(None), line(type="message", message={"role": "user", "content": "x"})),
    "cleared name": log(header(), user("u1", None), name("n2", "u1", "x"), name("n3", "n2", " ")),
    "no message": log(header(), line(type="message", id="m", parentId=None)),
    "odd shapes": log(header(), message("m1", None, "user", 7), message("m2", "m1", "user", [1, {"text": 2}])),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_changes_nothing_else(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    info, storage = glance(path), MemoryStorage(data)
    assert info.broken is None
    assert info.name == storage.name
    assert info.message_count == sum(node.role is not None for node in storage.tree.nodes)
    assert (info.first_message is not None) == any(
        node.role == "user" and node.id not in ("m1", "m2") for node in storage.tree.nodes
    )


def test_a_long_first_message_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(header(), user("u1", None, "word " * 1_000)))
    first = glance(path).first_message
    assert first is not None
    assert len(first) == 200
    assert first.endswith("…")


def test_a_file_that_is_gone_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        glance(tmp_path / "gone.jsonl")
