"""A write that fails fails alone: the file and what is known of it stay as they were."""

import errno
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from piserver.entries.header import Header
from piserver.storage import JsonlStorage, StorageError
from tests.storage.log import CWD, SESSION_ID, TIME, answer, header, log, user

Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))


class Disk:
    """A disk that takes only so many more bytes; `stuck` also refuses to give any back."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        self.stuck = False
        self._write, self._truncate = os.write, os.ftruncate
        patch.setattr(os, "write", self.write)
        patch.setattr(os, "ftruncate", self.truncate)

    def write(self, fd: int, data: memoryview) -> int:
        if self.room is None:
            return self._write(fd, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = data[: self.room]
        self.room -= len(part)
        return self._write(fd, part)

    def truncate(self, fd: int, length: int) -> None:
        if self.stuck:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._truncate(fd, length)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def append(storage: JsonlStorage, *lines: bytes) -> None:
    await storage.refresh()
    await storage.prepare()
    storage.write(lines)


@pytest.mark.parametrize("room", [0, 1, 30, len(user("u3", "a2")), len(user("u3", "a2")) + 5])
async def test_a_full_disk_costs_the_whole_batch_and_nothing_else(
    tmp_path: Path, open_file: Open, disk: Disk, room: int
) -> None:
    storage = await open_file(data=WHOLE)
    disk.room = room
    with pytest.raises(StorageError, match="No space left") as failure:
        await append(storage, user("u3", "a2"), user("u4", "u3"))
    assert not failure.value.landed
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE
    assert storage.revision == 2
    assert storage.leaf is storage.get("a2")
    disk.room = None
    await append(storage, user("u5", "a2"))
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE + log(user("u5", "a2"))
    assert not (tmp_path / "session.jsonl.torn").exists()


async def test_an_unterminated_last_line_gets_no_end_twice(tmp_path: Path, open_file: Open, disk: Disk) -> None:
    storage = await open_file(data=WHOLE[:-1])
    disk.room = 10
    with pytest.raises(StorageError):
        await append(storage, user("u3", "a2"))
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE[:-1]
    disk.room = None
    await append(storage, user("u3", "a2"))
    assert (tmp_path / "session.jsonl").read_bytes() == WHOLE + log(user("u3", "a2"))


async def test_what_cannot_be_taken_back_is_cut_off_before_the_next_append(
    tmp_path: Path, open_file: Open, disk: Disk, clock: object
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    disk.room, disk.stuck = 30, True
    with pytest.raises(StorageError):
        await append(storage, user("u3", "a2"))
    assert path.read_bytes() == WHOLE + user("u3", "a2")[:30]
    assert storage.revision == 2
    disk.room, disk.stuck = None, False
    await append(storage, user("u4", "a2"))
    assert path.read_bytes() == WHOLE + log(user("u4", "a2"))
    assert path.with_name("session.jsonl.torn").read_bytes() == user("u3", "a2")[:30] + b"\n"
    assert vars(clock)["slept"] == [], "it is ours, so nobody has to be waited for"


async def test_what_others_wrote_behind_a_failed_write_is_kept(
    tmp_path: Path, open_file: Open, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.jsonl"
    storage = await open_file(data=WHOLE)
    await storage.prepare()
    disk.room = 30
    spaced = disk.write

    def others_come_first(fd: int, data: memoryview) -> int:
        if disk.room == 0:
            with path.open("ab") as file:
                file.write(log(user("theirs", "a2")))
        return spaced(fd, data)

    monkeypatch.setattr(os, "write", others_come_first)
    with pytest.raises(StorageError):
        storage.write([user("u3", "a2")])
    disk.room = None
    assert path.read_bytes() == WHOLE + user("u3", "a2")[:30] + log(user("theirs", "a2"))
    await append(storage, user("u4", "a2"))
    assert [node.id for node in storage.tree.nodes] == ["u1", "a2", "theirs", "u4"]


async def test_a_new_file_that_does_not_fit_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="No space left"):
        await JsonlStorage.create(tmp_path / "new.jsonl", Header(SESSION_ID, TIME, CWD))
    assert list(tmp_path.iterdir()) == []


async def test_a_flush_that_fails_says_that_the_entry_landed(
    tmp_path: Path, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_file(data=WHOLE)
    await append(storage, user("u3", "a2"))

    def fail(fd: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr("piserver.storage.sync._flush", fail)
        with pytest.raises(StorageError, match="durable") as failure:
            await storage.sync()
    assert failure.value.landed
    assert storage.revision == 3
    await storage.sync()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "piserver-test", str(folder)], capture_output=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_real_disk_that_is_full(tiny_disk: Path) -> None:
    path = tiny_disk / "s.jsonl"
    storage = await JsonlStorage.create(path, Header(SESSION_ID, TIME, CWD))
    failure: StorageError | None = None
    while failure is None:
        try:
            await append(storage, user(f"u{storage.revision}", storage.leaf and storage.leaf.id, "x" * 3_000))
        except StorageError as error:
            failure = error
    assert "No space left" in str(failure)
    assert path.read_bytes().endswith(b"\n")
    written = storage.revision
    assert written > 10
    await append(storage, user("small", storage.leaf and storage.leaf.id))
    await storage.aclose()
    again = await JsonlStorage.open(path)
    assert (again.revision, again.diagnostics) == (written + 1, [])
    assert len(again.path_to(again.leaf)) == written + 1
    await again.aclose()
