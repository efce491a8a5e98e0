"""Deleting moves a session to the trash; for good only when asked."""

from pathlib import Path
from types import ModuleType

import pytest
import send2trash.plat_other

from piserver.repository import Repository, SessionNotFoundError
from piserver.storage import StorageError
from tests.repository.conftest import Keep
from tests.storage.log import header, log


@pytest.fixture
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in the desktop's trash, which the library looks up when it is imported."""
    module: ModuleType = send2trash.plat_other
    folder = tmp_path / "data" / "Trash"
    monkeypatch.setattr(module, "HOMETRASH", str(folder))
    monkeypatch.setattr(module, "HOMETRASH_B", str(folder).encode())
    monkeypatch.setattr("send2trash.send2trash", module.send2trash)
    return folder / "files"


@pytest.fixture
def path(repository: Repository) -> Path:
    """A session with what was kept beside it, and a neighbour."""
    path = repository.root / "--w-app--" / "[s]*.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(log(header()))
    for name in ("[s]*.jsonl.bak", "[s]*.jsonl.torn", "sx.jsonl", "sx.jsonl.bak", "[s]*.jsonl2"):
        (path.parent / name).write_bytes(log(header(id=name)))
    return path


def left(path: Path) -> list[str]:
    return sorted(p.name for p in path.parent.iterdir())


async def test_it_goes_to_the_trash(repository: Repository, path: Path, trash: Path) -> None:
    await repository.delete(path)
    assert left(path) == ["[s]*.jsonl2", "sx.jsonl", "sx.jsonl.bak"]
    assert sorted(p.name for p in trash.iterdir()) == ["[s]*.jsonl", "[s]*.jsonl.bak", "[s]*.jsonl.torn"]
    assert (trash / path.name).read_bytes() == log(header())


async def test_for_good_when_asked(repository: Repository, path: Path, trash: Path) -> None:
    await repository.delete(path, permanent=True)
    assert left(path) == ["[s]*.jsonl2", "sx.jsonl", "sx.jsonl.bak"]
    assert not trash.exists()


async def test_without_a_trash_nothing_is_removed(
    repository: Repository, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("send2trash.send2trash", refuse)
    before = left(path)
    with pytest.raises(StorageError, match="permanent"):
        await repository.delete(path)
    assert left(path) == before


async def test_only_sessions_are_deleted(repository: Repository, path: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    (tmp_path / "copy").write_bytes(log(header()))
    for wrong in (tmp_path / "letter.txt", tmp_path, path.parent, path.parent / "gone.jsonl"):
        with pytest.raises(SessionNotFoundError):
            await repository.delete(wrong, permanent=True)
    assert (tmp_path / "letter.txt").read_text() == "Dear"
    await repository.delete(tmp_path / "copy", permanent=True)
    assert not (tmp_path / "copy").exists()


async def test_a_broken_session_can_be_deleted_where_sessions_lie(repository: Repository, path: Path) -> None:
    path.write_bytes(b"broken")
    await repository.delete(path, permanent=True)
    assert not path.exists()


async def test_a_fork_outlives_its_parent(repository: Repository, keep: Keep) -> None:
    parent = await keep(await repository.create("/w/app", name="p"))
    child = await keep((await repository.fork(parent, parent.leaf_id or "", "at")).session)
    assert parent.storage.path is not None
    assert child.storage.path is not None
    await repository.delete(parent.storage.path, permanent=True)
    assert [info.parent_session async for info in repository.list()] == [parent.storage.path]
    again = await keep(await repository.open(child.storage.path))
    assert again.name == "p"
    await repository.delete(child.storage.path, permanent=True)
    assert [info async for info in repository.list()] == []
