"""Lists: every session is there, whatever state its file is in; the header says whose it is."""

import os
from pathlib import Path

import pytest

from piserver.repository import Repository, SessionNotFoundError
from tests.repository.conftest import Keep
from tests.storage.log import header, log, name, user


def put(repository: Repository, folder: str, file: str, data: bytes, time: int) -> Path:
    path = repository.root / folder / f"{file}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time, time))
    return path


async def listed(repository: Repository, cwd: str | None = None) -> list[str]:
    return [Path(info.path).stem async for info in repository.list(cwd)]


async def test_no_folder_no_sessions(repository: Repository) -> None:
    assert await listed(repository) == []
    with pytest.raises(SessionNotFoundError):
        await repository.latest("/w/app")
    assert not repository.root.exists()


async def test_newest_first_broken_ones_too(repository: Repository) -> None:
    put(repository, "--w-app--", "old", log(header(id="1"), user("u1", None, "hello"), name("n", "u1", "named")), 100)
    put(repository, "--w-app--", "broken", b"{\n", 300)
    put(repository, "--w-app--", "empty", b"", 250)
    put(repository, "--w-app--", "new", log(header(id="2")), 200)
    put(repository, "", "loose", log(header(id="3")), 150)
    (repository.root / "--w-app--" / "new.jsonl.bak").write_bytes(b"")
    assert await listed(repository) == ["broken", "empty", "new", "loose", "old"]
    infos = [info async for info in repository.list()]
    assert [bool(info.broken) for info in infos] == [True, True, False, False, False]
    assert (infos[4].name, infos[4].first_message, infos[4].message_count) == ("named", "hello", 1)
    assert infos[4].modified == "1970-01-01T00:01:40.000Z"
    assert infos[2].first_message is None


async def test_the_header_tells_the_working_directory_not_the_folder(repository: Repository) -> None:
    for number, cwd in enumerate(("/w/client/app", "/w/client-app", "/w/client/app/")):
        put(repository, "--w-client-app--", f"s{number}", log(header(id=str(number), cwd=cwd)), number)
    put(repository, "--w-client-app--", "broken", b"x\n", 9)
    put(repository, "--other--", "moved", log(header(id="m", cwd="/w/client/app")), 5)
    put(repository, "--other--", "elsewhere", b"x\n", 6)
    assert await listed(repository, "/w/client/app") == ["broken", "moved", "s2", "s0"]
    assert await listed(repository, "/w/client-app") == ["broken", "s1"]
    assert Path((await repository.latest("/w/client-app")).path).stem == "s1"
    assert Path((await repository.latest("/w/client/app")).path).stem == "moved"
    with pytest.raises(SessionNotFoundError):
        await repository.latest("/w/client")


async def test_the_latest_is_the_newest_modified(repository: Repository) -> None:
    path = put(repository, "--w-app--", "a", log(header(id="a")), 100)
    put(repository, "--w-app--", "b", log(header(id="b")), 200)
    assert (await repository.latest("/w/app")).id == "b"
    os.utime(path, (300, 300))
    assert (await repository.latest("/w/app")).id == "a"


async def test_progress_is_told(repository: Repository) -> None:
    for number in range(70):
        put(repository, "f", str(number), log(header(id=str(number))), number)
    told: list[tuple[int, int]] = []
    async for _ in repository.list(progress=lambda done, all: told.append((done, all))):
        pass
    assert told == [(32, 70), (64, 70), (70, 70)]


async def test_a_file_that_goes_away_meanwhile_is_left_out(repository: Repository) -> None:
    for number in range(40):
        put(repository, "f", str(number), log(header(id=str(number))), 100 - number)
    seen: list[str] = []
    async for info in repository.list():
        seen.append(info.id)
        if len(seen) == 1:
            (repository.root / "f" / "39.jsonl").unlink()
    assert seen == [str(number) for number in range(39)]


async def test_what_is_called_a_session_and_is_none(repository: Repository) -> None:
    put(repository, "f", "good", log(header()), 1)
    (repository.root / "f" / "folder.jsonl").mkdir()
    os.mkfifo(repository.root / "f" / "pipe.jsonl")
    infos = {Path(info.path).stem: info.broken async for info in repository.list()}
    assert infos == {"good": None, "folder": "not a file", "pipe": "not a file"}


async def test_a_session_put_there_by_hand_is_listed(repository: Repository, keep: Keep) -> None:
    session = await keep(await repository.create("/w/app"))
    put(repository, "--w-app--", "dropped", log(header(id="dropped")), 1)
    assert {info.id async for info in repository.list("/w/app")} == {session.id, "dropped"}
    assert not [path for path in repository.root.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
