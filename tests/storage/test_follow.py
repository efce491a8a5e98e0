"""What other programs do in a folder is told within a second or so."""

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from piserver.storage.follow import changes

Found = AsyncGenerator[frozenset[Path] | None]


async def told(found: Found, wanted: Callable[[frozenset[Path] | None], bool]) -> None:
    with anyio.fail_after(20):
        async for paths in found:
            if wanted(paths):
                return


async def begun(found: Found) -> None:
    """Everything is to be looked at once the system tells of changes."""
    await told(found, lambda paths: paths is None)


def never(reason: str) -> None:
    raise AssertionError(reason)


def of(path: Path) -> Callable[[frozenset[Path] | None], bool]:
    return lambda paths: paths is not None and path in paths


async def test_what_comes_changes_and_goes_is_told(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    async with aclosing(changes(lambda: [tmp_path], never)) as found:
        await begun(found)
        path.write_text("x")
        await told(found, of(path))
        with path.open("a") as file:
            file.write("y")
            file.flush()
            await told(found, of(path))
        path.rename(other)
        await told(found, of(other))
        other.unlink()
        await told(found, of(other))


async def test_a_burst_is_put_together(tmp_path: Path) -> None:
    async with aclosing(changes(lambda: [tmp_path], never)) as found:
        await begun(found)
        for number in range(2_000):
            with (tmp_path / "a").open("a") as file:
                file.write(f"{number}\n")
        count = 0
        with anyio.fail_after(20):
            async for paths in found:
                count += bool(paths)
                if count and not paths:
                    break
        assert 1 <= count < 100


async def test_a_look_is_asked_for_when_nothing_changes(tmp_path: Path) -> None:
    async with aclosing(changes(lambda: [tmp_path], never)) as found:
        await begun(found)
        await told(found, lambda paths: paths == frozenset())


async def test_only_the_folders_themselves_are_watched(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    async with aclosing(changes(lambda: [tmp_path], never)) as found:
        await begun(found)
        (deep / "c").write_text("x")
        (tmp_path / "last").write_text("x")
        seen: set[Path] = set()

        def collect(paths: frozenset[Path] | None) -> bool:
            seen.update(paths or ())
            return tmp_path / "last" in seen

        await told(found, collect)
        assert deep / "c" not in seen


async def test_folders_may_come_and_be_exchanged(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    async with aclosing(changes(lambda: [folder], never)) as found:
        await begun(found)  # there is no folder
        folder.mkdir()
        (folder / "a").write_text("x")
        await begun(found)
        # From here on it may take the folder's arrival for the beginning once more, but the file is told of.
        with anyio.fail_after(20):
            while True:
                (folder / "b").write_text("x")
                if of(folder / "b")(await anext(found)):
                    break
        os.rename(folder, tmp_path / "old")
        folder.mkdir()
        await begun(found)
        with anyio.fail_after(20):
            while True:
                (folder / "c").write_text("x")
                if of(folder / "c")(await anext(found)):
                    break


async def test_what_is_to_be_watched_may_become_more(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    folders = [tmp_path / "a"]
    async with aclosing(changes(lambda: folders, never)) as found:
        await begun(found)
        folders.append(tmp_path / "b")
        await begun(found)
        with anyio.fail_after(20):
            while True:
                (tmp_path / "b" / "x").write_text("x")
                if of(tmp_path / "b" / "x")(await anext(found)):
                    break


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("too many open files")])
async def test_without_the_system_everything_is_looked_at_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*paths: Any, **options: Any) -> Any:
        raise error

    monkeypatch.setattr("watchfiles.watch", full)
    reasons: list[str] = []
    async with aclosing(changes(lambda: [tmp_path], reasons.append)) as found:
        for _ in range(3):
            await begun(found)
    assert reasons == [str(error)]


async def test_it_ends_at_once_when_it_is_cancelled(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks, aclosing(changes(lambda: [tmp_path], never)) as found:
        await begun(found)

        async def follow() -> None:
            async for _ in found:
                pass

        tasks.start_soon(follow)
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(20):
            tasks.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint()


def test_nothing_is_imported_before_it_is_needed() -> None:
    import subprocess

    code = "import piserver.server.app, sys; sys.exit('watchfiles' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
