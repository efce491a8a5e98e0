"""What a list remembers of files: never more than what is true of them, and nothing that cannot be done without."""

import json
import os
from pathlib import Path

import pytest

from piserver.repository import ListFilter, Repository, SessionInfo
from tests.storage.log import answer, header, log, name, user


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "sessions.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def put(path: Path, data: bytes, time: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time, time))
    return path


async def listed(root: Path, cache: Path | None) -> dict[str, SessionInfo]:
    """What a program that was just started lists, by the files' names."""
    return {Path(info.path).stem: info async for info in Repository(root, cache=cache).list()}


async def test_a_file_that_has_not_changed_is_not_read_again(root: Path, cache: Path) -> None:
    path = put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    before = await listed(root, cache)
    # Only somebody who does not read it takes it for what it was.
    put(path, log(header(), user("u1", None, "HELLO")))
    assert await listed(root, cache) == before
    assert before["a"].first_message == "hello"


@pytest.mark.parametrize("time", [100, 101])
async def test_another_size_or_time_is_noticed(root: Path, cache: Path, time: int) -> None:
    path = put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    await listed(root, cache)
    put(path, log(header(), user("u1", None, "hello" if time == 101 else "hello again")), time)
    with path.open("ab") as file:
        if time == 101:
            file.truncate(path.stat().st_size)
        file.write(b"" if time == 101 else name("n", "u1", "named") + b"\n")
    os.utime(path, (time, time))
    assert await listed(root, cache) == await listed(root, None)


async def test_the_cache_says_what_the_files_say(root: Path, cache: Path) -> None:
    put(root / "f" / "a.jsonl", log(header(id="1", parentSession="/p"), user("u1", None, "hello"), answer("a2", "u1")))
    put(root / "g" / "b.jsonl", log(header(id="2", cwd="/w/é"), user("u1", None, "解析"), name("n", "u1", "named")))
    first, again = await listed(root, cache), await listed(root, cache)
    assert first == again == await listed(root, None)
    assert cache.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"version":1,"known":[]}',
        b'{"version":1,"known":{"x":[1,2,{}]}}',
        b'{"version":0,"known":{}}',
        b"[" * 100_000,
    ],
)
async def test_a_damaged_cache_is_begun_anew(root: Path, cache: Path, content: bytes) -> None:
    put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    expected = await listed(root, None)
    put(cache, content)
    assert await listed(root, cache) == expected
    assert str(root / "f" / "a.jsonl") in json.loads(cache.read_bytes())["known"]


async def test_a_cache_of_another_version_is_not_believed(root: Path, cache: Path) -> None:
    path = put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    await listed(root, cache)
    kept = json.loads(cache.read_bytes())
    kept["version"] += 1
    kept["known"][str(path)][2]["first_message"] = "from the future"
    put(cache, json.dumps(kept).encode())
    assert await listed(root, cache) == await listed(root, None)


async def test_a_cache_that_is_deleted_comes_back(root: Path, cache: Path) -> None:
    put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    repository = Repository(root, cache=cache)
    first = [info async for info in repository.list()]
    cache.unlink()
    assert [info async for info in repository.list()] == first
    put(root / "f" / "b.jsonl", log(header(id="2")))
    await listed(root, cache)
    assert len(json.loads(cache.read_bytes())["known"]) == 2


async def test_a_cache_that_cannot_be_written_is_done_without(root: Path, tmp_path: Path) -> None:
    put(root / "f" / "a.jsonl", log(header(), user("u1", None, "hello")))
    (tmp_path / "file").write_bytes(b"")
    assert await listed(root, tmp_path / "file" / "sessions.json") == await listed(root, None)
    assert (tmp_path / "file").read_bytes() == b""


async def test_files_that_are_gone_are_forgotten_and_other_folders_are_not(
    root: Path, cache: Path, tmp_path: Path
) -> None:
    gone = put(root / "f" / "gone.jsonl", log(header(id="1")))
    stays = put(root / "f" / "stays.jsonl", log(header(id="2")))
    other = put(tmp_path / "sessions-of-another" / "f" / "o.jsonl", log(header(id="3")))
    await listed(root, cache)
    await listed(other.parent.parent, cache)
    gone.unlink()
    await listed(root, cache)
    assert json.loads(cache.read_bytes())["known"].keys() == {str(stays), str(other)}


async def test_what_is_learnt_is_kept_even_if_the_list_is_not_read_to_its_end(root: Path, cache: Path) -> None:
    for number in range(50):
        put(root / "f" / f"{number:02}.jsonl", log(header(id=str(number))), 100 - number)
    listing = Repository(root, cache=cache).list()
    assert (await anext(listing)).id == "0"
    await listing.aclose()
    assert 0 < len(json.loads(cache.read_bytes())["known"]) < 50


async def test_a_broken_file_is_looked_at_each_time(root: Path, cache: Path) -> None:
    path = put(root / "f" / "a.jsonl", b"x" * len(log(header())))
    assert (await listed(root, cache))["a"].broken
    put(path, log(header()))
    assert not (await listed(root, cache))["a"].broken


async def test_a_name_that_is_no_text_keeps_nothing_from_being_listed(root: Path, cache: Path) -> None:
    put(root / "f" / "good.jsonl", log(header(id="1")))
    put(root / "f" / "half.jsonl", log(header(id="2"), user("u1", None, "x"), name("n", "u1", "half \ud83d")))
    try:
        put(root / "f" / os.fsdecode(b"bad-\xff.jsonl"), log(header(id="3")))
    except OSError:
        pytest.skip("the file system takes text alone")
    for _ in range(2):
        assert len(await listed(root, cache)) == 3
    assert str(root / "f" / "good.jsonl") in json.loads(cache.read_bytes())["known"]


async def test_at_once_is_what_is_known_and_the_rest_is_null(root: Path, cache: Path) -> None:
    put(root / "f" / "old.jsonl", log(header(id="1"), user("u1", None, "hello")), 100)
    repository = Repository(root, cache=cache)
    assert [info.message_count for info in await repository.list_at_once(ListFilter())] == [None]
    assert [info.message_count async for info in repository.list()] == [1]
    assert await repository.list_at_once(ListFilter()) == []
    put(root / "f" / "new.jsonl", log(header(id="2"), user("u1", None, "hello")), 200)
    put(root / "f" / "broken.jsonl", b"x\n", 50)
    known = await repository.list_at_once(ListFilter())
    assert [(info.id, info.first_message) for info in known] == [("2", None), ("1", "hello"), ("broken", None)]
    assert [info.id for info in await repository.list_at_once(ListFilter(query="hello"))] == ["1"]
