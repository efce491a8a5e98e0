"""One of our servers at a time is between the look at the file's end and the end of its write."""

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import portalocker
import pytest

from piserver.entries.types import CustomDraft
from piserver.session import Session
from piserver.storage import JsonlStorage, ReadOnlyError, StorageError
from tests.storage.clock import ManualClock
from tests.storage.log import answer, header, line, log, user

Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))
TORN = b'{"type":"message","id":"x","message":{"ro'
HOLDER = """
import sys, portalocker
file = open(sys.argv[1], "rb")
portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
print("held", flush=True)
sys.stdin.readline()
"""


class Holder:
    """Another process that holds the lock of a file until it is told to let go."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"

    def let_go(self) -> None:
        self.process.communicate("\n", timeout=20)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def hold() -> Iterator[Callable[[Path], Holder]]:
    holders: list[Holder] = []

    def start(path: Path) -> Holder:
        holders.append(Holder(path))
        return holders[-1]

    yield start
    for holder in holders:
        holder.kill()


async def append(storage: JsonlStorage, *lines: bytes) -> None:
    await storage.refresh()
    await storage.prepare()
    storage.write(lines)


@pytest.mark.parametrize("end", ["let_go", "kill"])
async def test_an_append_waits_until_the_other_process_has_done_or_died(
    tmp_path: Path, open_file: Open, clock: ManualClock, hold: Callable[[Path], Holder], end: str
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    holder = hold(path)

    def third_time() -> None:
        assert path.read_bytes() == WHOLE
        if len(clock.slept) == 3:
            with path.open("ab") as file:
                file.write(log(user("theirs", "a2")))
            getattr(holder, end)()

    clock.during_sleep = third_time
    await append(storage, user("u3", "a2"))
    assert len(clock.slept) == 3
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "theirs", "u3"]
    assert path.read_bytes() == WHOLE + log(user("theirs", "a2"), user("u3", "a2"))


async def test_a_lock_that_is_never_given_back_is_an_error_that_passes(
    tmp_path: Path, open_file: Open, clock: ManualClock, hold: Callable[[Path], Holder]
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    holder = hold(path)
    with pytest.raises(StorageError, match="locked for writing by another program") as failure:
        await append(storage, user("u3", "a2"))
    assert not failure.value.landed
    assert 4 < sum(clock.slept) < 6
    assert path.read_bytes() == WHOLE
    assert len(await storage.lines(storage.tree.nodes)) == 2, "reading waits for nobody"
    holder.let_go()
    await append(storage, user("u3", "a2"))
    assert path.read_bytes() == WHOLE + log(user("u3", "a2"))


async def test_it_is_held_from_prepare_to_the_write(tmp_path: Path, open_file: Open, clock: ManualClock) -> None:
    first = await open_file(data=WHOLE)
    second = await open_file(tmp_path / "session.jsonl")
    await first.prepare()
    with pytest.raises(StorageError, match="locked"):
        await second.prepare()
    first.write([user("u3", "a2")])
    await append(second, user("u4", "u3"))
    await first.prepare()
    first.release()
    await append(second, user("u5", "u4"))
    assert [node.id for node in await first.refresh()] == ["u5"]
    assert [node.id for node in first.tree.nodes] == ["u1", "a2", "u3", "u4", "u5"]


async def test_a_change_that_fails_before_it_is_written_gives_it_back(tmp_path: Path, open_file: Open) -> None:
    def no_id() -> str:
        raise RuntimeError("no more ids")

    failing = Session(await open_file(data=WHOLE), new_id=no_id)
    with pytest.raises(RuntimeError, match="no more ids"):
        await failing.append(CustomDraft(custom_type="c"))
    other = await open_file(tmp_path / "session.jsonl")
    await append(other, user("u3", "a2"))


async def test_a_write_that_fails_gives_it_back(
    tmp_path: Path, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_file(data=WHOLE)
    other = await open_file(tmp_path / "session.jsonl")

    def full(fd: int, data: memoryview) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StorageError, match="No space"):
            await append(storage, user("u3", "a2"))
    await append(other, user("u3", "a2"))


async def test_a_torn_tail_is_cut_under_it(
    tmp_path: Path, open_file: Open, clock: ManualClock, hold: Callable[[Path], Holder]
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE + TORN)
    clock.time += 60
    holder = hold(path)
    clock.during_sleep = lambda: path.read_bytes() == WHOLE + TORN and holder.let_go()
    await append(storage, user("u3", "a2"))
    assert len(clock.slept) == 1
    assert path.read_bytes() == WHOLE + log(user("u3", "a2"))


async def test_what_has_replaced_the_file_meanwhile_is_locked_itself(
    tmp_path: Path, open_file: Open, clock: ManualClock
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    new = WHOLE + log(user("n3", "a2"))
    with path.open("rb") as old:
        portalocker.lock(old, portalocker.LockFlags.EXCLUSIVE)

        def replace() -> None:
            if len(clock.slept) == 1:
                path.with_suffix(".new").write_bytes(new)
                os.replace(path.with_suffix(".new"), path)
                portalocker.unlock(old)

        clock.during_sleep = replace
        await storage.prepare()
    other = await open_file(path)
    with pytest.raises(StorageError, match="locked"):
        await other.prepare()
    storage.write([user("u4", "n3")])
    assert path.read_bytes() == new + log(user("u4", "n3"))


async def test_two_servers_upgrade_an_old_file_once(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    old = log(header(None), line(type="message", message={"role": "user", "content": "one"}))
    first = await open_file(data=old)
    second = await open_file(path)
    await append(first, user("u2", first.tree.nodes[0].id))
    await append(second, user("u3", "u2"))
    assert [node.id for node in second.path_to(second.leaf)] == [first.tree.nodes[0].id, "u2", "u3"]
    assert path.with_name("session.jsonl.bak").read_bytes() == old
    assert sorted(file.name for file in tmp_path.iterdir()) == ["session.jsonl", "session.jsonl.bak"]


async def test_a_read_only_old_file_is_not_upgraded(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=log(header(None), line(type="message", message={"role": "user", "content": "x"})))
    before = path.read_bytes()
    path.chmod(0o444)
    with pytest.raises(ReadOnlyError, match="mode"):
        await storage.prepare()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
