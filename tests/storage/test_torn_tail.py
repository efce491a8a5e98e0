"""What a crash left of a line goes to `.torn` before the next append, once nobody can be writing it any more."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from piserver.storage import JsonlStorage, StorageError
from tests.storage.clock import ManualClock
from tests.storage.log import answer, header, log, user

Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))
TORN = b'{"type":"message","id":"x","message":{"ro'


async def append(storage: JsonlStorage, *lines: bytes) -> None:
    await storage.refresh()
    await storage.prepare()
    storage.write(lines)


async def test_an_old_one_is_moved_aside_at_once(tmp_path: Path, open_file: Open, clock: ManualClock) -> None:
    storage = await open_file(data=WHOLE + TORN)
    clock.time += 60
    await append(storage, user("u3", "a2"))
    assert clock.slept == []
    path = tmp_path / "session.jsonl"
    assert path.read_bytes() == WHOLE + log(user("u3", "a2"))
    assert path.with_name("session.jsonl.torn").read_bytes() == TORN + b"\n"
    assert path.with_name("session.jsonl.torn").stat().st_mode & 0o777 == 0o600
    assert [node.id for node in storage.path_to(storage.leaf)] == ["u1", "a2", "u3"]
    assert storage.tree.nodes[-1].line == 4
    assert storage.diagnostics == []


async def test_a_fresh_one_must_stand_unchanged_for_a_second(
    tmp_path: Path, open_file: Open, clock: ManualClock
) -> None:
    storage = await open_file(data=WHOLE + TORN)
    await append(storage, user("u3", "a2"))
    assert clock.slept == [1.0]
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE + log(user("u3", "a2"))


async def test_what_another_wrote_after_cutting_it_off_too_stays(
    tmp_path: Path, open_file: Open, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE + TORN)
    clock.time += 60
    flush = os.fsync

    def others_are_quicker(fd: int) -> None:
        path.write_bytes(WHOLE + log(user("theirs", "a2")))
        flush(fd)

    monkeypatch.setattr(os, "fsync", others_are_quicker)
    await append(storage, user("u3", "a2"))
    assert path.read_bytes() == WHOLE + log(user("theirs", "a2"), user("u3", "a2"))
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "theirs", "u3"]


async def test_a_date_in_the_future_delays_no_longer(tmp_path: Path, open_file: Open, clock: ManualClock) -> None:
    storage = await open_file(data=WHOLE + TORN)
    clock.time -= 86_400
    await append(storage, user("u3", "a2"))
    assert clock.slept == [1.0]


async def test_the_line_of_a_slow_writer_is_not_cut(tmp_path: Path, open_file: Open, clock: ManualClock) -> None:
    path = tmp_path / "session.jsonl"
    theirs = user("x", "a2", "a long message of somebody else")
    storage = await open_file(data=WHOLE + theirs[:30])
    pieces = [theirs[30:50], theirs[50:] + b"\n"]

    def write_on() -> None:
        with path.open("ab") as file:
            file.write(pieces.pop(0))
        os.utime(path, (clock.time, clock.time))

    clock.during_sleep = write_on
    await append(storage, user("u3", "a2"))
    assert clock.slept == [1.0, 1.0]
    assert path.read_bytes() == WHOLE + theirs + b"\n" + log(user("u3", "a2"))
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "x", "u3"]
    assert not path.with_name("session.jsonl.torn").exists()
    assert [(n.line, storage.tree.nodes.index(n)) for n in storage.tree.nodes] == [(2, 0), (3, 1), (4, 2), (5, 3)]


async def test_another_server_may_have_mended_it_and_gone_on(
    tmp_path: Path, open_file: Open, clock: ManualClock
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE + TORN)
    other = await open_file(path)
    clock.time += 60
    await append(other, user("u3", "a2"))
    assert [node.id for node in await storage.refresh()] == ["u3"]
    assert storage.diagnostics == []
    await append(storage, user("u4", "u3"))
    assert path.read_bytes() == WHOLE + log(user("u3", "a2"), user("u4", "u3"))
    assert path.with_name("session.jsonl.torn").read_bytes() == TORN + b"\n"


async def test_what_has_replaced_it_is_not_cut_even_if_it_is_as_long(
    tmp_path: Path, open_file: Open, clock: ManualClock
) -> None:
    path = tmp_path / "session.jsonl"
    theirs = user("u3", "a2") + b"\n"
    storage = await open_file(data=WHOLE + theirs[:-1].replace(b"}", b"]"))
    assert [d.kind for d in storage.diagnostics] == ["torn-tail"]
    path.write_bytes(WHOLE + theirs)
    os.truncate(path, len(WHOLE + theirs) - 1)
    clock.time += 60
    await append(storage, user("u4", "u3"))
    assert path.read_bytes() == WHOLE + theirs + log(user("u4", "u3"))
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "u3", "u4"]


async def test_only_the_tail_goes_where_whole_entries_stand_before_it(
    tmp_path: Path, open_file: Open, clock: ManualClock
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE + TORN + user("u3", "a2") + TORN)
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "u3"]
    clock.time += 60
    await append(storage, user("u4", "u3"))
    assert path.read_bytes() == WHOLE + TORN + user("u3", "a2") + b"\n" + log(user("u4", "u3"))
    again = await open_file(path)
    assert [(n.id, n.line) for n in again.tree.nodes] == [(n.id, n.line) for n in storage.tree.nodes]
    assert await again.lines(again.tree.nodes) == await storage.lines(storage.tree.nodes)


async def test_several_crashes_collect_in_one_file(tmp_path: Path, open_file: Open, clock: ManualClock) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE + b'{"first')
    clock.time += 60
    await append(storage, user("u3", "a2"))
    with path.open("ab") as file:
        file.write(b'{"second')
    clock.time += 60
    await append(storage, user("u4", "u3"))
    assert path.with_name("session.jsonl.torn").read_bytes() == b'{"first\n{"second\n'
    assert [json.loads(line)["id"] for line in path.read_bytes().splitlines()[1:]] == ["u1", "a2", "u3", "u4"]


async def test_it_is_cut_only_once_it_is_kept(
    tmp_path: Path, open_file: Open, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_file(data=WHOLE + TORN)
    clock.time += 60

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="No space left"):
            await storage.prepare()
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE + TORN
    await append(storage, user("u3", "a2"))
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE + log(user("u3", "a2"))
