"""Other programs append to, replace, shorten and delete the file while it is open."""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from piserver.storage import JsonlStorage, StorageError
from tests.storage.log import answer, header, log, user

Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))


def write(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def append(storage: JsonlStorage, *lines: bytes) -> list[str]:
    await storage.refresh()
    await storage.prepare()
    return [node.id for node in storage.write(lines)]


def ids(storage: JsonlStorage) -> list[str]:
    return [node.id for node in storage.tree.nodes]


async def test_what_others_append_is_found_once(tmp_path: Path, open_file: Open) -> None:
    storage = await open_file(data=WHOLE)
    path = tmp_path / "session.jsonl"
    write(path, log(user("x3", "a2"), answer("x4", "x3")))
    assert [node.id for node in await storage.refresh()] == ["x3", "x4"]
    assert await storage.refresh() == []
    assert await append(storage, user("u5", "x4")) == ["u5"]
    write(path, log(user("x6", "u5")))
    assert await append(storage, user("u7", "u5")) == ["u7"]
    assert ids(storage) == ["u1", "a2", "x3", "x4", "u5", "x6", "u7"]
    again = await open_file(path)
    assert [(n.id, n.line, n.parent_id) for n in again.tree.nodes] == [
        (n.id, n.line, n.parent_id) for n in storage.tree.nodes
    ]
    assert await again.lines(again.tree.nodes) == await storage.lines(storage.tree.nodes)


async def test_between_the_look_and_the_write_too(tmp_path: Path, open_file: Open) -> None:
    storage = await open_file(data=WHOLE)
    await storage.prepare()
    write(tmp_path / "session.jsonl", log(user("x3", "a2")))
    assert [node.id for node in storage.write([user("u4", "a2")])] == ["x3", "u4"]
    assert await storage.lines(storage.tree.nodes[2:]) == [user("x3", "a2"), user("u4", "a2")]


async def test_an_end_for_an_unterminated_line_may_come_from_elsewhere(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE[:-1])
    write(path, b"\n" + log(user("x3", "a2")))
    assert await append(storage, user("u4", "x3")) == ["u4"]
    assert path.read_bytes() == WHOLE + log(user("x3", "a2"), user("u4", "x3"))
    assert [node.line for node in storage.tree.nodes] == [2, 3, 4, 5]


async def test_a_deleted_file_is_not_made_again(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    for written_before in (False, True):
        storage = await open_file(data=WHOLE)
        if written_before:
            await append(storage, user("u3", "a2"))
        path.unlink()
        with pytest.raises(StorageError, match="deleted"):
            await append(storage, user("u4", "a2"))
        assert list(tmp_path.iterdir()) == []
        assert len(await storage.lines(storage.tree.nodes)) == len(storage.tree.nodes), "it can still be read"


async def test_a_file_that_comes_back_can_be_written_again(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    epoch = storage.epoch
    path.rename(tmp_path / "away")
    with pytest.raises(StorageError):
        await storage.refresh()
    (tmp_path / "away").rename(path)
    assert await append(storage, user("u3", "a2")) == ["u3"]
    assert storage.epoch == epoch


@pytest.mark.parametrize("how", ["replaced", "shortened", "rewritten"])
async def test_another_content_starts_a_new_epoch(tmp_path: Path, open_file: Open, how: str) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    await append(storage, user("u3", "a2"))
    epoch, old = storage.epoch, storage.tree.nodes[0]
    data = log(header(), user("n1", None), user("n2", "n1"), user("n3", "n2"), user("n4", "n3"), answer("n5", "n4"))
    match how:
        case "replaced":
            (tmp_path / "new").write_bytes(data)
            os.replace(tmp_path / "new", path)
        case "shortened":
            data = log(header(), user("n1", None))
            path.write_bytes(data)
        case _:
            assert len(data) > path.stat().st_size
            path.write_bytes(data)
    found = await storage.refresh()
    assert [node.id for node in found] == ids(storage) == [json.loads(line)["id"] for line in data.splitlines()[1:]]
    assert storage.epoch != epoch
    assert await append(storage, user("u9", "n1")) == ["u9"]
    assert path.read_bytes() == data + log(user("u9", "n1"))
    with pytest.raises(StorageError, match="replaced"):
        await storage.lines([old])


async def test_something_else_in_its_place_is_refused_and_left_alone(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    (tmp_path / "new").write_bytes(b"no session\n")
    os.replace(tmp_path / "new", path)
    with pytest.raises(StorageError, match="replaced by something else"):
        await append(storage, user("u3", "a2"))
    assert path.read_bytes() == b"no session\n"
    assert await storage.lines(storage.tree.nodes) == [user("u1", None), answer("a2", "u1")]


async def test_two_storages_take_turns(tmp_path: Path, open_file: Open) -> None:
    first = await open_file(data=WHOLE)
    second = await open_file(tmp_path / "session.jsonl")
    leaf = "a2"
    for number in range(50):
        await append((first, second)[number % 2], user(f"v{number}", leaf))
        leaf = f"v{number}"
    await first.refresh()
    await second.refresh()
    assert ids(first) == ids(second) == ["u1", "a2", *(f"v{number}" for number in range(50))]
    assert len(first.path_to(first.leaf)) == 52
    assert first.diagnostics == second.diagnostics == []


WRITER = """
import sys
import anyio
from piserver.entries.types import CustomDraft
from piserver.session import Session
from piserver.storage import JsonlStorage

async def main(path, name):
    session = Session(await JsonlStorage.open(path), durability="never")
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for number in range(300):
        await session.append(CustomDraft(custom_type=name, data=number))
    await session.aclose()

anyio.run(main, *sys.argv[1:])
"""


async def test_two_processes_append_at_once(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(WHOLE)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert path.read_bytes().startswith(WHOLE)
    assert len({entry["id"] for entry in entries[1:]}) == 602
    for name in ("one", "two"):
        own = [entry for entry in entries if entry.get("customType") == name]
        assert [entry["data"] for entry in own] == list(range(300))
        assert [entry["parentId"] for entry in own] == ["a2", *(entry["id"] for entry in own[:-1])]
    storage = await open_file(path)
    assert storage.diagnostics == []


async def test_another_end_of_the_same_length_is_noticed(
    tmp_path: Path, open_file: Open, caplog: pytest.LogCaptureFixture
) -> None:
    storage = await open_file(data=WHOLE)
    epoch = storage.epoch
    [first, second] = user("x2", "u1"), answer("a2", "u1")
    changed = log(header(), user("u1", None), first + b" " * (len(second) - len(first)))
    assert len(changed) == len(WHOLE)
    (tmp_path / "session.jsonl").write_bytes(changed)
    await storage.refresh()
    assert ids(storage) == ["u1", "x2"]
    assert storage.epoch != epoch
    assert "changed underneath" in caplog.text
