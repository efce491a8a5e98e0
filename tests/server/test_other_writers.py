"""Another program writes to a file that is open here."""

import os
from pathlib import Path

import pytest

from tests.server.client import Piserver, assistant, user
from tests.server.files import chain, entries, header, line, message, write


@pytest.fixture
def path(server: Piserver, tmp_path: Path) -> Path:
    """The file of a session that is open and watched; its id is the test's folder."""
    path = write(tmp_path / "s.jsonl", header(tmp_path.name), chain(4))
    server.call("session/open", {"path": str(path)})
    return path


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def changes(server: Piserver, session: str, count: int) -> list[dict[str, object]]:
    return [
        server.wait_until("session/treeChanged", lambda changed: changed["sessionId"] == session) for _ in range(count)
    ]


def test_e1_what_another_program_wrote_is_told_before_our_own(server: Piserver, path: Path) -> None:
    session = path.parent.name
    add(path, message("x1", "m3", "theirs"), message("x2", "x1", "theirs too", "assistant"))
    id = server.request("session/append", {"sessionId": session, "entry": user("ours")})
    result = server.reply(id)["result"]
    assert (result["revision"], result["newerLeafId"]) == (7, "x2")
    theirs, ours = changes(server, session, 2)
    assert [entry["id"] for entry in theirs["appended"]] == ["x1", "x2"]
    assert theirs["origin"] == {"kind": "external"}
    assert (theirs["fromRevision"], theirs["revision"], theirs["leafId"], theirs["newerLeafId"]) == (4, 6, "m3", "x2")
    assert ours["origin"] == {"kind": "client", "requestId": id}
    assert [entry["id"] for entry in ours["appended"]] == result["entryIds"]
    assert (ours["fromRevision"], ours["leafId"]) == (6, result["leafId"])
    assert entries(path)[-1]["parentId"] == "m3"


def test_opening_again_takes_in_what_was_written_meanwhile(server: Piserver, path: Path) -> None:
    session = path.parent.name
    add(path, message("x1", "m3", "theirs"))
    snapshot = server.call("session/open", {"sessionId": session})
    assert (snapshot["revision"], snapshot["leafId"], snapshot["newerLeafId"]) == (5, "m3", "x1")
    assert [row["id"] for row in snapshot["rows"]["rows"]][-1] == "x1"


def test_the_leaf_is_compared_with_what_it_is_here(server: Piserver, path: Path) -> None:
    session = path.parent.name
    add(path, message("x1", "m3", "theirs"))
    server.append(session, user("still at m3"), expectedLeafId="m3")
    add(path, line({"type": "label", "id": "x2", "parentId": "x1", "timestamp": "", "targetId": "m0", "label": "L"}))
    server.append(session, user("v"))
    assert [c["labels"] for c in changes(server, session, 4)] == [{}, {}, {"m0": "L"}, {}]


def test_a_replaced_file_is_a_new_epoch(server: Piserver, path: Path) -> None:
    session = path.parent.name
    before = server.call("session/open", {"sessionId": session})
    os.replace(write(path.with_suffix(".new"), header(session), chain(7, "other")), path)
    result = server.call("session/append", {"sessionId": session, "entry": assistant("a")})
    assert result["epoch"] != before["epoch"]
    [reset] = changes(server, session, 1)
    assert (reset["reset"], reset["epoch"], reset["revision"]) == (True, result["epoch"], 8)
    error = server.error("session/changes", {"sessionId": session, "epoch": before["epoch"], "since": 4})
    assert error["data"]["kind"] == "stale-cursor"
    assert (error["data"]["snapshot"]["revision"], error["data"]["snapshot"]["epoch"]) == (8, result["epoch"])
    assert len(entries(path)) == 8
    server.append(session, user("goes on"))
    [changed] = changes(server, session, 1)
    assert (changed["fromRevision"], changed["revision"]) == (8, 9)


def test_what_replaced_it_may_be_no_session(server: Piserver, path: Path) -> None:
    session = path.parent.name
    write(path, b"a letter\n")
    error = server.error("session/append", {"sessionId": session, "entry": user("u")})
    assert (error["code"], error["data"]["kind"], error["data"]["landed"]) == (-32803, "storage-failed", False)
    assert path.read_bytes() == b"a letter\n"


def test_a9_a_newer_format_is_read_and_never_written(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("newer", version=4), chain(2))
    before = path.read_bytes()
    snapshot = server.call("session/open", {"path": str(path)})
    assert "version 4" in snapshot["readOnly"]
    assert [found["kind"] for found in snapshot["diagnostics"]] == ["newer-version"]
    for method, params in (
        ("session/append", {"entry": user("u")}),
        ("session/moveTo", {"entryId": "m0"}),
        ("session/rename", {"name": "n"}),
        ("session/setLabel", {"entryId": "m0", "label": "l"}),
    ):
        error = server.error(method, {"sessionId": "newer"} | params)
        assert (error["code"], error["data"]["kind"]) == (-32803, "read-only")
    assert server.texts("newer") == [[{"type": "text", "text": "x 0"}], [{"type": "text", "text": "x 1"}]]
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a8_an_old_format_is_upgraded_by_the_first_change_and_kept_beside(server: Piserver, tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "data" / "cases" / "v1-plain.jsonl"
    check_upgrade(server, write(tmp_path / "s.jsonl", old.read_bytes()))


@pytest.mark.parametrize("name", ["v1-before-compaction.jsonl", "v1-large-session.jsonl"])
def test_a8_a_real_old_file_is_upgraded(server: Piserver, peer_data: Path, tmp_path: Path, name: str) -> None:
    check_upgrade(server, write(tmp_path / "s.jsonl", (peer_data / "real" / name).read_bytes()))


def check_upgrade(server: Piserver, path: Path) -> None:
    before = path.read_bytes()
    snapshot = server.call("session/open", {"path": str(path)})
    session = snapshot["sessionId"]
    context = server.texts(session)
    assert path.read_bytes() == before
    result = server.call("session/append", {"sessionId": session, "entry": user("goes on")})
    assert (result["epoch"], result["revision"]) == (snapshot["epoch"], snapshot["revision"] + 1)
    assert path.with_name("s.jsonl.bak").read_bytes() == before
    assert b'"version":3' in path.read_bytes().splitlines()[0].replace(b" ", b"")
    assert server.texts(session) == [*context, "goes on"]
    assert [entry["id"] for entry in entries(path)][-1] == result["leafId"]
    [changed] = changes(server, session, 1)
    assert (changed["fromRevision"], changed["revision"]) == (snapshot["revision"], result["revision"])
