"""Old versions: migrated in memory when opened, in the file before the first append."""

import hashlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from piserver.storage import JsonlStorage, StorageError
from tests.storage.log import TIME, header, line, log, message, user

Open = Callable[..., Awaitable[JsonlStorage]]


def said(text: str) -> bytes:
    return line(type="message", timestamp=TIME, message={"role": "user", "content": text})


OLD = (
    header(None),
    said("one"),
    said("two"),
    line(type="compaction", timestamp=TIME, summary="S", firstKeptEntryIndex=2),
)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def append(storage: JsonlStorage, *lines: bytes) -> None:
    await storage.prepare()
    storage.write(lines)


async def facts(storage: JsonlStorage) -> list[object]:
    """All that a reader sees, but for byte places."""
    nodes = storage.tree.nodes
    return [
        [(n.id, n.parent_id, n.type, n.role, n.line) for n in nodes],
        await storage.lines(nodes),
        storage.leaf.id if storage.leaf else None,
        [(d.kind, d.line) for d in storage.diagnostics],
        storage.header,
    ]


VARIANTS = {
    "plain": log(*OLD),
    "version 2": log(header(2), user("u1", None), message("m2", "u1", "hookMessage", "x", customType="c")),
    "unterminated": log(*OLD)[:-1],
    "torn": log(*OLD) + b'{"type":"message","mess',
    "malformed": log(*OLD[:2], b"{nope", *OLD[2:]),
    "damaged with an entry": log(header(2), user("u1", None), b"\0\0" + user("m2", "u1"), user("u3", "m2")),
    "damaged with two entries": log(header(2), user("u1", None), user("m2", "u1") + user("m3", "u1"), user("u4", "m3")),
    "CRLF": log(*OLD).replace(b"\n", b"\r\n"),
    "blank lines": b"\n".join([b"", b" ", *OLD, b"", b"\t", b""]),
    "BOM": b"\xef\xbb\xbf" + log(*OLD),
    "BOM and a blank line": b"\xef\xbb\xbf\r\n" + log(*OLD),
    "header alone": log(OLD[0]),
    "unterminated header": OLD[0],
    "second header": log(*OLD, OLD[0]),
    "duplicate": log(header(2), user("u1", None), user("u1", None, "again")),
}


@pytest.mark.parametrize("data", VARIANTS.values(), ids=VARIANTS.keys())
async def test_the_first_append_migrates(tmp_path: Path, open_file: Open, data: bytes) -> None:
    storage = await open_file(data=data)
    path = tmp_path / "session.jsonl"
    assert files(tmp_path) == {"session.jsonl": data}
    before = await storage.lines(storage.tree.nodes)
    leaf = storage.leaf.id if storage.leaf else None
    await append(storage, user("new", leaf))
    assert files(tmp_path).keys() == {"session.jsonl", "session.jsonl.bak"}
    assert (tmp_path / "session.jsonl.bak").read_bytes() == data
    assert path.stat().st_mode & 0o777 == 0o600
    assert (await storage.lines(storage.tree.nodes))[:-1] == before, "ids and bytes stay those of before"
    again = await open_file(path)
    assert await facts(again) == await facts(storage)
    assert again.header.version == 3
    assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    await append(storage, user("newer", "new"))
    assert files(tmp_path).keys() == {"session.jsonl", "session.jsonl.bak"}, "migrated once"


async def test_what_was_torn_is_kept_and_reported(tmp_path: Path, open_file: Open) -> None:
    torn = b'{"type":"message","mess'
    storage = await open_file(data=log(*OLD) + torn)
    assert [d.kind for d in storage.diagnostics] == ["torn-tail"]
    await append(storage, user("new", None))
    assert [(d.kind, d.line) for d in storage.diagnostics] == [("malformed-line", 5)]
    assert torn in (tmp_path / "session.jsonl").read_bytes().split(b"\n")


async def test_a_failed_rename_leaves_the_old_file(
    tmp_path: Path, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_file(data=log(*OLD))
    before = await facts(storage)

    def fail(source: object, target: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        for _ in range(2):
            with pytest.raises(StorageError, match="Input/output error"):
                await storage.prepare()
    assert files(tmp_path) == {"session.jsonl": log(*OLD), "session.jsonl.bak": log(*OLD)}
    assert await facts(storage) == before
    await append(storage, user("new", None))
    assert files(tmp_path).keys() == {"session.jsonl", "session.jsonl.bak"}
    assert (tmp_path / "session.jsonl.bak").read_bytes() == log(*OLD)


async def test_a_backup_of_before_is_never_replaced(tmp_path: Path, open_file: Open) -> None:
    (tmp_path / "session.jsonl.bak").write_bytes(b"precious")
    storage = await open_file(data=log(*OLD))
    await append(storage, user("new", None))
    assert (tmp_path / "session.jsonl.bak").read_bytes() == b"precious"
    assert (tmp_path / "session.jsonl.bak2").read_bytes() == log(*OLD)


async def test_lines_added_meanwhile_are_migrated_too(tmp_path: Path, open_file: Open) -> None:
    storage = await open_file(data=log(*OLD))
    with (tmp_path / "session.jsonl").open("ab") as file:
        file.write(log(said("three")))
    await storage.prepare()
    assert [node.type for node in storage.tree.nodes] == ["message", "message", "compaction", "message"]
    again = await open_file(tmp_path / "session.jsonl")
    assert await facts(again) == await facts(storage)
    assert storage.tree.nodes[-1].parent is storage.tree.nodes[-2]


async def test_a_link_stays_a_link(tmp_path: Path, open_file: Open) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s.jsonl").write_bytes(log(*OLD))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real" / "s.jsonl")
    storage = await open_file(tmp_path / "link.jsonl")
    await append(storage, user("new", None))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert b'"id":"new"' in (tmp_path / "real" / "s.jsonl").read_bytes()


async def test_the_new_form_is_on_the_medium_before_it_takes_the_name(
    open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_file(data=log(*OLD))
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noting_fsync(fd: int) -> None:
        steps.append("fsync")
        fsync(fd)

    def noting_replace(source: Path, target: Path) -> None:
        steps.append(f"replace {hashlib.sha256(source.read_bytes()).hexdigest()}")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    await storage.prepare()
    digest = hashlib.sha256(Path(storage.path or "").read_bytes()).hexdigest()
    assert steps == ["fsync", f"replace {digest}", "fsync"], "content, name, folder"
