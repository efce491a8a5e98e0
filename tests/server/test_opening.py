"""A session is opened: by what name, what for, and what does not happen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, entries, fingerprint, header, message, write


def test_a_snapshot_tells_everything_that_a_view_begins_with(server: Piserver, tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl", header("snapshot"), chain(6, "hello"), b"not json\n", message("o", "missing", "orphan")
    )
    snapshot = server.call("session/open", {"path": str(path)})
    assert snapshot["info"]["path"] == str(path)
    assert (snapshot["sessionId"], snapshot["info"]["id"]) == ("snapshot", "snapshot")
    assert (snapshot["revision"], snapshot["leafId"], snapshot["readOnly"]) == (7, "o", None)
    assert snapshot["statistics"]["messages"] == 7
    assert [found["kind"] for found in snapshot["diagnostics"]] == ["malformed-line", "missing-parent"]
    assert snapshot["diagnosticsTotal"] == 2
    assert [row["id"] for row in snapshot["rows"]["rows"]] == [*(f"m{i}" for i in range(6)), "o"]
    assert snapshot["rows"]["rows"][-1]["orphaned"] is True
    at = server.call("session/getTree", {"sessionId": "snapshot"})
    assert (at["epoch"], at["revision"], at["window"]) == (snapshot["epoch"], 7, snapshot["rows"])


def test_the_first_rows_can_be_chosen(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("chosen"), chain(100))
    rows = server.call("session/open", {"path": str(path), "rows": {"limit": 5, "filter": "user-only"}})["rows"]
    assert [row["id"] for row in rows["rows"]] == ["m0", "m2", "m4", "m6", "m8"]
    rows = server.call("session/open", {"path": str(path), "rows": {"limit": 5}, "atLeaf": True})["rows"]
    assert rows["rows"][-1]["leaf"] is True
    assert rows["leafRow"] == 99


def test_at_most_a_hundred_diagnostics_are_given(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("many"), b"noise\n" * 250)
    snapshot = server.call("session/open", {"path": str(path)})
    assert (len(snapshot["diagnostics"]), snapshot["diagnosticsTotal"]) == (100, 250)


def test_a_session_is_one_however_it_is_named(server: Piserver, tmp_path: Path) -> None:
    path = write(server.folder / "--w--" / "one.jsonl", header("one"), chain(1))
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    server.append("one", user("opened by use"))
    for name in (
        {"sessionId": "one"},
        {"path": str(path)},
        {"path": str(link)},
        {"path": f"{path.parent}/../--w--/one.jsonl"},
    ):
        snapshot = server.call("session/open", name)
        assert (snapshot["sessionId"], snapshot["revision"]) == ("one", 2)


def test_two_files_with_one_id_are_two_sessions(server: Piserver, tmp_path: Path) -> None:
    first = write(server.folder / "--w--" / "double.jsonl", header("double"), chain(1, "first"))
    copies = [write(tmp_path / name / "double.jsonl", header("double"), chain(1, name)) for name in ("b", "c")]
    handles = [server.call("session/open", {"path": str(path)})["sessionId"] for path in (first, *copies)]
    assert handles[0] == "double"
    assert len(set(handles)) == 3
    for handle, path in zip(handles, (first, *copies), strict=True):
        assert server.call("session/open", {"sessionId": handle})["info"]["path"] == str(path)
        server.append(handle, user(f"for {path}"))
        assert entries(path)[-1]["message"]["content"] == f"for {path}"
    listed = {info["path"]: info["id"] for info in server.call("session/list")["sessions"]}
    assert listed[str(first)] == "double"
    for handle, path in zip(handles, (first, *copies), strict=True):  # a file keeps its handle when it is closed
        server.call("session/close", {"sessionId": handle})
        server.append(handle, user("again"))
        assert len(entries(path)) == 3


def test_a_handle_of_a_copy_holds_in_another_server(launch: Callable[..., Piserver], tmp_path: Path) -> None:
    one, other = launch(), launch()
    one.initialize()
    other.initialize()
    write(one.folder / "--w--" / "s.jsonl", header("s"), chain(1))
    copy = write(tmp_path / "copy" / "s.jsonl", header("s"), chain(2))
    one.call("session/open", {"sessionId": "s"})
    handle = one.call("session/open", {"path": str(copy)})["sessionId"]
    assert other.call("session/open", {"sessionId": handle})["revision"] == 2
    assert other.kind("session/open", {"sessionId": f"other@{copy}"}) == "session-not-found"


def test_an_empty_file_becomes_a_session_only_when_asked(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "empty.jsonl")
    assert server.kind("session/open", {"path": str(path)}) == "invalid-session"
    assert path.read_bytes() == b""
    made = server.call("session/open", {"path": str(path), "create": "/w/made"})
    assert (made["info"]["cwd"], made["revision"]) == ("/w/made", 0)
    before = path.read_bytes()
    again = server.call("session/open", {"path": str(path), "create": "/w/other"})
    assert again["info"] == made["info"]
    assert path.read_bytes() == before


def test_e8_opens_of_an_empty_file_at_once_make_one_session(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "empty.jsonl")
    ids = [server.request("session/open", {"path": str(path), "create": "/w/race"}) for _ in range(4)]
    assert len({server.reply(id)["result"]["sessionId"] for id in ids}) == 1
    created = [note for note in server.notifications if note["method"] == "session/listChanged"]
    assert [note["params"]["path"] for note in created].count(str(path)) == 1


@pytest.mark.parametrize(
    "content",
    [
        b'{"type":"event"}\n',
        b"\x00\x01\x02\xff" * 100,
        b"[1, 2, 3]\n",
        b"\n\n",
        b'"session"\n',
        b'{"type":"session"}\n',
    ],
)
def test_a1_what_is_no_session_is_refused_and_stays_as_it_is(server: Piserver, tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "folder" / "x.jsonl", content)
    before = fingerprint(path.parent)
    for create in ({}, {"create": "/w"}):
        error = server.error("session/open", {"path": str(path)} | create)
        assert (error["code"], error["data"]["kind"]) == (-32803, "invalid-session")
        assert "line" in error["data"]
    assert fingerprint(path.parent) == before


def test_a_folder_is_no_session(server: Piserver, tmp_path: Path) -> None:
    assert server.kind("session/open", {"path": str(tmp_path)}) == "invalid-session"


def test_b11_a_file_that_is_missing_is_not_made(server: Piserver, tmp_path: Path) -> None:
    for create in ({}, {"create": "/w"}):
        error = server.error("session/open", {"path": str(tmp_path / "missing.jsonl")} | create)
        assert (error["code"], error["data"]["kind"]) == (-32803, "session-not-found")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_has_vanished_meanwhile_is_not_found(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("vanished"), chain(1))
    server.call("session/open", {"path": str(path)})
    path.unlink()
    assert server.kind("session/open", {"path": str(path)}) == "session-not-found"
    error = server.error("session/append", {"sessionId": "vanished", "entry": user("u")})
    assert (error["data"]["kind"], error["data"]["landed"]) == ("storage-failed", False)
    assert not path.exists()


def test_d15_opening_and_reading_write_nothing(fresh: Piserver) -> None:
    write(fresh.folder / "--w--" / "v3.jsonl", header("v3"), chain(10), b'{"type":"message","id":"to')
    write(fresh.folder / "--w--" / "v2.jsonl", header("v2", version=2), chain(10))
    before = fingerprint(fresh.folder)
    for session in ("v3", "v2"):
        snapshot = fresh.call("session/open", {"sessionId": session})
        fresh.call("session/getTree", {"sessionId": session, "query": "x", "filter": "no-tools"})
        fresh.call("session/buildContext", {"sessionId": session, "form": "llm"})
        fresh.call("session/stats", {"sessionId": session})
        fresh.call("session/getEntries", {"sessionId": session, "ids": ["m1"]})
        fresh.call("session/getPath", {"sessionId": session})
        fresh.call("session/changes", {"sessionId": session, "epoch": snapshot["epoch"], "since": 0})
        fresh.call("session/close", {"sessionId": session})
    fresh.call("session/list")
    assert fingerprint(fresh.folder) == before


def test_e8_opens_at_once_give_one_session(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("at-once"), chain(5_000))
    ids = [server.request("session/open", {"path": str(path)}) for _ in range(5)]
    snapshots = [server.reply(id)["result"] for id in ids]
    assert all(snapshot == snapshots[0] for snapshot in snapshots)
    server.append("at-once", user("u"))
    server.wait_until("session/treeChanged", lambda changed: changed["sessionId"] == "at-once")
    server.call("session/list")
    assert [note for note in server.notifications if note["params"].get("sessionId") == "at-once"] == []


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of about 30 MB."""
    return write(tmp_path_factory.mktemp("big") / "big.jsonl", header("big"), chain(20_000, "x" * 1300))


def test_reading_a_big_file_is_reported(fresh: Piserver, big: Path) -> None:
    fresh.call("session/open", {"path": str(big), "workDoneToken": "t"})
    values = [note["params"]["value"] for note in fresh.notifications if note["method"] == "$/progress"]
    assert (values[0]["kind"], values[-1]["kind"]) == ("begin", "end")
    percentages = [value["percentage"] for value in values[:-1]]
    assert percentages == sorted(percentages)
    assert percentages[0] == 0
    assert 50 < percentages[-1] <= 100


def begin(server: Piserver, big: Path, token: str = "t") -> int:
    """The id of an open that has begun to read."""
    id = server.request("session/open", {"path": str(big), "workDoneToken": token})
    server.wait_until("$/progress", lambda progress: progress["value"]["kind"] == "report")
    return id


def test_g10_a_cancelled_open_leaves_the_server_quick_and_the_file_to_be_opened(fresh: Piserver, big: Path) -> None:
    id = begin(fresh, big)
    fresh.notify("$/cancelRequest", {"id": id})
    later = fresh.request("session/open", {"path": str(big)})
    quick = fresh.request("session/list")
    replies = [fresh.next_reply() for _ in range(3)]
    assert [reply["id"] for reply in replies] == [id, quick, later]
    assert (replies[0]["error"]["code"], replies[0]["error"]["data"]["kind"]) == (-32800, "cancelled")
    assert replies[2]["result"]["revision"] == 20_000


def test_one_of_two_opens_is_cancelled_and_the_other_goes_on(fresh: Piserver, big: Path) -> None:
    first = begin(fresh, big)
    second = fresh.request("session/open", {"path": str(big)})
    fresh.notify("$/cancelRequest", {"id": first})
    assert fresh.reply(first)["error"]["code"] == -32800
    assert fresh.reply(second)["result"]["revision"] == 20_000


def test_quick_requests_overtake_a_big_open(fresh: Piserver, big: Path) -> None:
    session = fresh.create()
    slow = begin(fresh, big)
    quick = [fresh.request("session/append", {"sessionId": session, "entry": user(str(n))}) for n in range(20)]
    assert [fresh.next_reply()["id"] for _ in range(21)] == [*quick, slow]


def test_requests_for_a_session_that_is_being_opened_wait_in_order(fresh: Piserver, big: Path, tmp_path: Path) -> None:
    path = write(tmp_path / "copy.jsonl", big.read_bytes())
    begin(fresh, path)
    ids = [fresh.request("session/append", {"sessionId": "big", "entry": user(str(n))}) for n in range(20)]
    for id in ids:
        assert "result" in fresh.reply(id)
    assert [entry["message"]["content"] for entry in entries(path)[-20:]] == [str(n) for n in range(20)]


def opened_by_use(server: Piserver, count: int) -> list[Any]:
    write(server.folder / "--w--" / "by-use.jsonl", header("by-use"), chain(2))
    ids = [server.request("session/append", {"sessionId": "by-use", "entry": user(str(n))}) for n in range(count)]
    return [server.reply(id) for id in ids]


def test_changes_to_a_session_that_is_not_open_keep_their_order(fresh: Piserver) -> None:
    assert all("result" in reply for reply in opened_by_use(fresh, 50))
    written = entries(fresh.folder / "--w--" / "by-use.jsonl")[2:]
    assert [entry["message"]["content"] for entry in written] == [str(n) for n in range(50)]
    assert [entry["parentId"] for entry in written] == ["m1", *(entry["id"] for entry in written[:-1])]


def test_a_session_opened_by_use_is_not_watched(fresh: Piserver) -> None:
    opened_by_use(fresh, 3)
    fresh.call("session/list")
    assert [note for note in fresh.notifications if note["method"] == "session/treeChanged"] == []


def test_closing_in_between_keeps_the_order(fresh: Piserver) -> None:
    path = write(fresh.folder / "--w--" / "between.jsonl", header("between"), chain(2))
    ids: list[int] = []
    for n in range(30):
        ids.append(fresh.request("session/append", {"sessionId": "between", "entry": user(str(n))}))
        if n % 7 == 3:
            ids.append(fresh.request("session/close", {"sessionId": "between"}))
    for id in ids:
        assert "result" in fresh.reply(id)
    written = entries(path)[2:]
    assert [entry["message"]["content"] for entry in written] == [str(n) for n in range(30)]
    assert [entry["parentId"] for entry in written] == ["m1", *(entry["id"] for entry in written[:-1])]


def test_a12_a_session_of_a_project_that_has_moved_opens_whole_and_says_so(server: Piserver) -> None:
    path = write(server.home / "moved.jsonl", header("moved", cwd="/nowhere/at/all"), chain(3))
    before = path.read_bytes()
    snapshot = server.call("session/open", {"path": str(path)})
    assert [found["kind"] for found in snapshot["diagnostics"]] == ["missing-cwd"]
    assert snapshot["statistics"]["messages"] == 3
    server.call("session/append", {"sessionId": "moved", "entry": {"type": "session_info", "name": "found"}})
    assert path.read_bytes().startswith(before)
