"""Group commit: whoever writes while a flush is under way shares the next one."""

import os
import threading
from pathlib import Path

import anyio
import pytest

from piserver.storage import sync
from piserver.storage.sync import GroupCommit


async def test_a_hundred_writers_wait_for_two_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    flushes: list[int] = []

    def slow(fd: int) -> None:
        flushes.append(fd)
        began.set()
        assert go_on.wait(30)

    monkeypatch.setattr(sync, "_flush", slow)
    commit = GroupCommit()
    done: list[int] = []

    async def writer(number: int) -> None:
        await commit.flush(7)
        done.append(number)

    async with anyio.create_task_group() as group:
        group.start_soon(writer, 0)
        assert await anyio.to_thread.run_sync(began.wait, 30)
        for number in range(1, 100):
            group.start_soon(writer, number)
        await anyio.wait_all_tasks_blocked()
        assert done == []
        go_on.set()
    assert sorted(done) == list(range(100))
    assert flushes == [7, 7]


async def test_a_failure_reaches_those_who_waited_for_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[Exception | None] = [OSError(5, "Input/output error"), None]

    def flush(fd: int) -> None:
        result = results.pop(0)
        if result:
            raise result

    monkeypatch.setattr(sync, "_flush", flush)
    commit = GroupCommit()
    with pytest.raises(OSError, match="Input/output"):
        await commit.flush(7)
    await commit.flush(7)


async def test_a_waiter_that_gives_up_does_not_disturb_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slow(fd: int) -> None:
        began.set()
        assert go_on.wait(30)

    monkeypatch.setattr(sync, "_flush", slow)
    commit = GroupCommit()
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(commit.flush, 7)
            assert await anyio.to_thread.run_sync(began.wait, 30)
            scope.cancel()
            await commit.flush(7)
        assert scope.cancelled_caught
        go_on.set()
    await commit.flush(7)


async def test_the_real_flush(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "f", os.O_WRONLY | os.O_CREAT)
    await GroupCommit().flush(fd)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        await GroupCommit().flush(fd)
