"""Files come whole or not at all, readable for their owner alone."""

import os
from pathlib import Path

import pytest

from piserver.entries.header import Header
from piserver.storage import JsonlStorage
from piserver.storage.files import write_whole
from tests.storage.log import CWD, SESSION_ID, TIME

HEADER = Header(SESSION_ID, TIME, CWD)


async def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        storage = await JsonlStorage.create(tmp_path / "a" / "b" / "s.jsonl", HEADER)
        await storage.aclose()
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/s.jsonl")]
    assert modes == [0o700, 0o700, 0o600]


async def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        await JsonlStorage.create(path, HEADER)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("s.jsonl", b"precious")]


def test_nor_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_whole(tmp_path / "s", [b"one"])
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "s", [b"two"])
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("s", b"one")]


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def chunks() -> object:
        yield b"some"
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_whole(tmp_path / "s", chunks())
    assert list(tmp_path.iterdir()) == []
