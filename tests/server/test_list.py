"""Lists: filtered, at once and then whole, and quick because what was learnt of a file is kept."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, header, line, message, write
from tests.wire.client import Message

TIMES = {"jan": 1767225600, "feb": 1769904000, "mar": 1772323200}
"""The beginnings of months of 2026, in seconds since 1970."""


def place(server: Piserver, id: str, cwd: str, *lines: bytes, time: int = TIMES["jan"]) -> Path:
    path = write(server.folder / "--w-listed--" / f"{id}.jsonl", header(id, cwd=cwd), *lines)
    os.utime(path, (time, time))
    return path


def listed(server: Piserver, **params: Any) -> list[str]:
    return [info["id"] for info in server.call("session/list", params)["sessions"]]


def in_parts(server: Piserver, **params: Any) -> list[list[Message]]:
    """The partial results of a list; the result itself has none."""
    server.notifications.clear()
    id = server.request("session/list", params | {"partialResultToken": "part"})
    assert server.reply(id)["result"]["sessions"] == []
    notes = [note["params"] for note in server.notifications if note["method"] == "$/progress"]
    return [note["value"]["sessions"] for note in notes if note["token"] == "part"]


def named(name: str) -> bytes:
    return line(
        {"type": "session_info", "id": "n", "parentId": "m0", "timestamp": "2026-01-01T00:00:00.000Z", "name": name}
    )


@pytest.fixture
def three(server: Piserver) -> None:
    place(server, "a", "/w/three", message("m0", None, "Reverse a list"), time=TIMES["jan"])
    place(server, "b", "/w/three", message("m0", None, "Sort a list"), named("Ordnung über alles"), time=TIMES["feb"])
    place(server, "c", "/w/three", message("m0", None, "解析器"), time=TIMES["mar"])


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({}, ["c", "b", "a"]),
        ({"query": "LIST"}, ["b", "a"]),
        ({"query": "list ordnung"}, ["b"]),
        ({"query": "ÜBER"}, ["b"]),
        ({"query": "解析"}, ["c"]),
        ({"query": "three"}, ["c", "b", "a"]),
        ({"query": "nothing"}, []),
        ({"since": "2026-02-01T00:00:00.000Z"}, ["c", "b"]),
        ({"until": "2026-02-01T00:00:00Z"}, ["b", "a"]),
        ({"since": "2026-01-15", "until": "2026-02-15"}, ["b"]),
        ({"since": "2026-02-01T01:00:00+02:00", "query": "sort"}, ["b"]),
        ({"query": "list", "limit": 1}, ["b"]),
    ],
)
def test_a_list_is_filtered(server: Piserver, params: dict[str, Any], found: list[str]) -> None:
    assert listed(server, cwd="/w/three", **params) == found


@pytest.mark.usefixtures("three")
def test_pages_are_pages_of_what_is_shown(server: Piserver) -> None:
    page = server.call("session/list", {"cwd": "/w/three", "query": "list", "limit": 1})
    assert page["nextCursor"] == "1"
    rest = server.call("session/list", {"cwd": "/w/three", "query": "list", "cursor": page["nextCursor"]})
    assert ([info["id"] for info in rest["sessions"]], rest["nextCursor"]) == (["a"], None)


@pytest.mark.parametrize("field", ["since", "until"])
def test_what_is_no_time_is_refused(server: Piserver, field: str) -> None:
    error = server.error("session/list", {field: "yesterday"})
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", field)


def test_a_list_comes_twice_where_reading_it_takes_time(server: Piserver) -> None:
    for number in range(40):
        place(server, f"p{number:02}", "/w/passes", chain(3, "hello"), time=1000 - number)
    ids = [f"p{number:02}" for number in range(40)]
    parts = in_parts(server, cwd="/w/passes")
    first, whole = [], []
    for info in (info for part in parts for info in part):
        (first if info["messageCount"] is None else whole).append(info)
    assert [info["id"] for info in first] == [info["id"] for info in whole] == ids
    assert {(info["cwd"], info["firstMessage"], info["name"]) for info in first} == {("/w/passes", None, None)}
    assert {info["firstMessage"] for info in whole} == {"hello 0"}
    assert all(info["messageCount"] is None for info in parts[0])
    again = [info for part in in_parts(server, cwd="/w/passes") for info in part]
    assert again == whole


def test_only_what_is_not_known_yet_is_null_at_first(server: Piserver) -> None:
    for number in range(3):
        place(server, f"k{number}", "/w/known", chain(1, "hello"), time=1000 + number)
    listed(server, cwd="/w/known")
    place(server, "k1", "/w/known", chain(2, "more"), time=1001)
    first, whole = in_parts(server, cwd="/w/known")
    assert [(info["id"], info["messageCount"]) for info in first] == [("k2", 1), ("k1", None), ("k0", 1)]
    assert [(info["id"], info["messageCount"]) for info in whole] == [("k2", 1), ("k1", 2), ("k0", 1)]


def test_with_a_query_the_first_pass_has_what_is_known_to_match(server: Piserver) -> None:
    place(server, "q0", "/w/query", chain(1, "horse"), time=1000)
    listed(server, cwd="/w/query")
    place(server, "q1", "/w/query", chain(1, "horse"), time=1001)
    parts = in_parts(server, cwd="/w/query", query="horse")
    assert [[info["id"] for info in part] for part in parts] == [["q0"], ["q1", "q0"]]


def test_broken_files_and_open_sessions_are_in_the_list(server: Piserver) -> None:
    session = server.create("/w/mixed")
    server.append(session, user("hello"))
    write(server.folder / "--w-mixed--" / "noise.jsonl", b"noise\n")
    copy = server.folder / "--w-mixed--" / "copy.jsonl"
    copy.write_bytes(Path(server.call("session/open", {"sessionId": session})["info"]["path"]).read_bytes())
    handle = server.call("session/open", {"path": str(copy)})["sessionId"]
    assert handle == f"{session}@{copy}"
    assert set(listed(server, cwd="/w/mixed")) == {session, handle, "noise"}
    infos = {info["id"]: info for part in in_parts(server, cwd="/w/mixed") for info in part}
    assert infos["noise"]["broken"]
    assert infos[handle]["messageCount"] == 1


def test_a_second_server_need_not_read_what_the_first_has_read(launch: Any, cache_folder: Path) -> None:
    first = launch()
    first.initialize()
    path = place(first, "kept", "/w/kept", message("m0", None, "hello"))
    assert listed(first, cwd="/w/kept") == ["kept"]
    # Whoever reads it sees another text; size and time are the same.
    place(first, "kept", "/w/kept", message("m0", None, "HELLO"))
    second = launch()
    second.initialize()
    [info] = second.call("session/list", {"cwd": "/w/kept"})["sessions"]
    assert info["firstMessage"] == "hello"
    (cache_folder / "piserver" / "sessions.json").write_bytes(b"{")
    third = launch()
    third.initialize()
    [info] = third.call("session/list", {"cwd": "/w/kept"})["sessions"]
    assert (info["firstMessage"], info["path"]) == ("HELLO", str(path))


def test_a_thousand_sessions(fresh: Piserver) -> None:
    for number in range(1000):
        path = write(
            fresh.folder / f"--w-{number % 7}--" / f"{number}.jsonl", header(f"s{number}", cwd="/w/many"), chain(3)
        )
        os.utime(path, (2000 - number, 2000 - number))
    ids = [f"s{number}" for number in range(1000)]
    parts = in_parts(fresh, cwd="/w/many")
    assert [info["id"] for part in parts for info in part] == ids + ids
    assert listed(fresh, cwd="/w/many") == ids
    assert fresh.call("session/latest", {"cwd": "/w/many"})["info"]["id"] == "s0"
