"""`session/verify` says what is wrong with a file, `session/repair` mends it."""

import hashlib
from pathlib import Path

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, entries, fingerprint, header, message, write

TORN = b'{"type":"message","id":"x","mess'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a line that is no entry and two entries on one line; its session's id is the test's folder."""
    fused = message("m4", "m3", "x 4").rstrip(b"\n") + message("m5", "m4", "x 5", "assistant")
    return write(tmp_path / "s.jsonl", header(tmp_path.name), chain(4), b"nonsense\n", fused)


def test_verify_reports_and_changes_nothing(server: Piserver, path: Path) -> None:
    before = fingerprint(path.parent)
    found = server.call("session/verify", {"path": str(path)})
    data = path.read_bytes()
    assert found | {"diagnostics": 0, "steps": 0} == {
        "path": str(path),
        "sessionId": path.parent.name,
        "version": 3,
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "lines": 7,
        "entries": 6,
        "leafId": "m5",
        "refused": None,
        "diagnostics": 0,
        "steps": 0,
    }
    assert [(problem["kind"], problem["line"]) for problem in found["diagnostics"]] == [
        ("malformed-line", 6),
        ("recovered-entry", 7),
        ("recovered-entry", 7),
    ]
    assert [(step["kind"], step["line"], step["size"]) for step in found["steps"]] == [
        ("set-aside-line", 6, 8),
        ("split-line", 7, len(data.splitlines()[6]) + 1),
    ]
    assert fingerprint(path.parent) == before
    server.call("session/open", {"path": str(path)})
    assert server.call("session/verify", {"sessionId": path.parent.name}) == found


def test_an_open_session_goes_on_with_the_mended_file(server: Piserver, path: Path) -> None:
    session = path.parent.name
    opened = server.call("session/open", {"path": str(path)})
    server.call("session/moveTo", {"sessionId": session, "entryId": "m1"})
    leaf = server.append(session, user("from m1"))[0]
    rows, texts = server.rows(session, filter="all"), server.texts(session)
    before = path.read_bytes()
    done = server.call("session/repair", {"sessionId": session})
    reset = server.wait_until("session/treeChanged", lambda c: c["sessionId"] == session and c.get("reset"))
    assert (reset["revision"], reset["leafId"]) == (8, leaf)
    assert reset["epoch"] != opened["epoch"]
    assert [step["kind"] for step in done["steps"]] == ["set-aside-line", "split-line"]
    assert (done["backup"], done["damaged"], done["torn"]) == (f"{path}.bak", f"{path}.damaged", None)
    assert Path(done["backup"]).read_bytes() == before
    assert done["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (done["entries"], done["diagnostics"]) == (8, [])
    assert [entry["id"] for entry in entries(path)][:6] == [f"m{n}" for n in range(6)]
    assert (server.rows(session, filter="all"), server.texts(session)) == (rows, texts)
    server.append(session, user("goes on"), expectedLeafId=leaf)
    assert server.call("session/verify", {"sessionId": session})["diagnostics"] == []
    assert server.call("session/repair", {"sessionId": session})["steps"] == []


def test_a_change_that_was_asked_for_later_comes_after_it(server: Piserver, path: Path) -> None:
    session = path.parent.name
    server.call("session/open", {"path": str(path)})
    mending = server.request("session/repair", {"sessionId": session})
    appending = server.request("session/append", {"sessionId": session, "entry": user("after")})
    repaired, appended = server.reply(mending)["result"], server.reply(appending)["result"]
    assert (repaired["entries"], appended["revision"]) == (6, 7)
    assert [entry["id"] for entry in entries(path)][-1] == appended["leafId"]


def test_a_file_that_is_not_open_is_mended(server: Piserver, path: Path) -> None:
    with path.open("ab") as file:
        file.write(TORN)
    done = server.call("session/repair", {"path": str(path)})
    assert Path(done["torn"]).read_bytes() == TORN + b"\n"
    assert len(entries(path)) == 6
    opened = server.call("session/open", {"path": str(path)})
    assert (opened["revision"], opened["diagnostics"]) == (6, [])


def test_a9_a_newer_version_is_refused(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("v4", version=4), chain(2), b"nonsense\n")
    before = fingerprint(tmp_path)
    found = server.call("session/verify", {"path": str(path)})
    assert "version 4" in found["refused"]
    assert server.kind("session/repair", {"path": str(path)}) == "read-only"
    assert fingerprint(tmp_path) == before


def test_a1_what_is_no_session_is_refused_and_left(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", b'{"type":"event"}\n', chain(2))
    before = fingerprint(tmp_path)
    for method in ("session/verify", "session/repair"):
        error = server.error(method, {"path": str(path)})
        assert (error["data"]["kind"], error["data"]["line"]) == ("invalid-session", 1)
        assert server.kind(method, {"path": str(tmp_path / "nothing.jsonl")}) == "session-not-found"
        assert server.kind(method, {"path": str(tmp_path)}) == "storage-failed"
    assert fingerprint(tmp_path) == before


def test_all_findings_come_however_many(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("many"), chain(2), b"nonsense\n" * 500)
    found = server.call("session/verify", {"path": str(path)})
    assert [problem["line"] for problem in found["diagnostics"]] == list(range(4, 504))
    assert len(found["steps"]) == 500


def test_a12_a_session_of_a_moved_project_is_found_by_its_header(server: Piserver) -> None:
    path = write(server.folder / "--somewhere--" / "any-name.jsonl", header("moved", cwd="/gone/project"), chain(3))
    [found] = server.call("session/list", {"cwd": "/gone/project"})["sessions"]
    assert (found["id"], found["path"]) == ("moved", str(path))
    assert server.call("session/latest", {"cwd": "/gone/project"})["info"]["id"] == "moved"
    snapshot = server.call("session/open", {"sessionId": "moved"})
    assert [problem["kind"] for problem in snapshot["diagnostics"]] == ["missing-cwd"]
    before = path.read_bytes()
    server.append("moved", user("goes on"))
    assert path.read_bytes().startswith(before)
