"""Exports over the wire: in the answer or in a file, one path or all, and never over what is there."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, user
from tests.server.files import chain, entries, fingerprint, header, message, write

KEY = "sk-ant-api03-" + "Ab1_" * 20 + "AA"


@pytest.fixture
def forked(server: Piserver) -> tuple[str, list[str]]:
    """Two branches below the first answer; the leaf is on the second."""
    session = server.create("/w/export", name="My session")
    ids = server.append(session, user("the question"), assistant("the answer"), user("left out"))
    server.call("session/moveTo", {"sessionId": session, "entryId": ids[1]})
    return session, [*ids, *server.append(session, user(f"on the way {KEY}"))]


def export(server: Piserver, session: str, form: str, **params: Any) -> Any:
    return server.call("session/export", {"sessionId": session, "form": form} | params)


def size_of(text: str) -> int:
    return len(text.encode())


@pytest.mark.parametrize(
    ("form", "media_type", "ending"),
    [
        ("markdown", "text/markdown; charset=utf-8", ".md"),
        ("html", "text/html; charset=utf-8", ".html"),
        ("jsonl", "application/x-ndjson", ".jsonl"),
    ],
)
def test_an_export_comes_in_the_answer(
    server: Piserver, forked: tuple[str, list[str]], form: str, media_type: str, ending: str
) -> None:
    session, ids = forked
    before = fingerprint(server.folder)
    path = export(server, session, form)
    assert (path["mediaType"], Path(path["fileName"]).suffix, path["redactions"]) == (media_type, ending, [])
    assert path["size"] == size_of(path["content"])
    assert "path" not in path
    assert "on the way" in path["content"]
    assert "left out" not in path["content"]
    tree = export(server, session, form, scope="tree")
    assert "on the way" in tree["content"]
    assert "left out" in tree["content"]
    part = export(server, session, form, entryId=ids[0])
    assert "the question" in part["content"]
    assert "the answer" not in part["content"]
    assert "the question" not in export(server, session, form, entryId=None)["content"]
    assert fingerprint(server.folder) == before


def test_a_session_file_can_be_opened_as_a_session(
    server: Piserver, forked: tuple[str, list[str]], tmp_path: Path
) -> None:
    session, ids = forked
    copy = export(server, session, "jsonl", scope="tree", path=str(tmp_path / "copy.jsonl"))
    opened = server.call("session/open", {"path": copy["path"]})
    assert opened["sessionId"] != session
    assert opened["info"]["parentSession"] == server.call("session/open", {"sessionId": session})["info"]["path"]
    assert server.texts(opened["sessionId"]) == server.texts(session)
    assert {entry["id"] for entry in entries(tmp_path / "copy.jsonl")} >= set(ids)


def test_secrets_are_replaced_and_counted(server: Piserver, forked: tuple[str, list[str]]) -> None:
    session, ids = forked
    for form in ("markdown", "html", "jsonl"):
        assert KEY in export(server, session, form)["content"]
        redacted = export(server, session, form, redact=True)
        assert KEY not in redacted["content"]
        [found] = redacted["redactions"]
        assert (found["count"], found["entryIds"]) == (1, [ids[3]])
        assert f"[redacted:{found['kind']}]" in redacted["content"].replace("\\", "")


def test_an_export_is_written_for_the_person_alone(
    server: Piserver, forked: tuple[str, list[str]], tmp_path: Path
) -> None:
    session, _ = forked
    path = tmp_path / "page.html"
    result = export(server, session, "html", path=str(path))
    assert (result["path"], result["size"]) == (str(path), path.stat().st_size)
    assert "content" not in result
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == export(server, session, "html")["content"]


def test_a_file_that_exists_stays_as_it_is_unless_it_may_be_overwritten(
    server: Piserver, forked: tuple[str, list[str]], tmp_path: Path
) -> None:
    session, _ = forked
    path = write(tmp_path / "notes.md", b"mine")
    error = server.error("session/export", {"sessionId": session, "form": "markdown", "path": str(path)})
    assert (error["code"], error["data"]) == (-32803, {"kind": "storage-failed", "retryable": False, "landed": False})
    assert "overwrite" in error["message"]
    assert path.read_bytes() == b"mine"
    export(server, session, "markdown", path=str(path), overwrite=True)
    assert path.read_text() == export(server, session, "markdown")["content"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_session_is_never_overwritten(server: Piserver, forked: tuple[str, list[str]], tmp_path: Path) -> None:
    session, _ = forked
    own = Path(server.call("session/open", {"sessionId": session})["info"]["path"])
    elsewhere = write(tmp_path / "elsewhere.jsonl", header("elsewhere"), chain(2))
    server.call("session/open", {"path": str(elsewhere)})
    link = tmp_path / "link.jsonl"
    link.symlink_to(own)
    for path in (own, elsewhere, link):
        before = path.read_bytes()
        params = {"sessionId": session, "form": "jsonl", "path": str(path), "overwrite": True}
        error = server.error("session/export", params)
        assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", "path")
        assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["missing/page.html", "", "x" * 300])
def test_a_place_where_nothing_can_be_written(
    server: Piserver, forked: tuple[str, list[str]], tmp_path: Path, name: str
) -> None:
    session, _ = forked
    params = {"sessionId": session, "form": "html", "path": str(tmp_path / name), "overwrite": True}
    error = server.error("session/export", params)
    assert (error["data"]["kind"], error["data"]["landed"]) == ("storage-failed", False)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported(server: Piserver, forked: tuple[str, list[str]]) -> None:
    session, ids = forked
    error = server.error("session/export", {"sessionId": session, "form": "html", "scope": "tree", "entryId": ids[0]})
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", "entryId")
    assert server.kind("session/export", {"sessionId": session, "form": "pdf"}) == "invalid-params"
    assert (
        server.kind("session/export", {"sessionId": session, "form": "html", "entryId": "00000000"})
        == "entry-not-found"
    )


def test_what_is_too_large_for_an_answer_goes_into_a_file(server: Piserver, tmp_path: Path) -> None:
    session = server.create()
    [id] = server.append(session, user("x" * (16 * 1024 * 1024)))
    error = server.error("session/export", {"sessionId": session, "form": "jsonl"})
    assert (error["data"]["kind"], error["data"]["limit"]) == ("too-large", 16 * 1024 * 1024)
    assert error["data"]["size"] > error["data"]["limit"]
    assert "path" in error["message"]
    path = tmp_path / "large.jsonl"
    assert export(server, session, "jsonl", path=str(path))["size"] == path.stat().st_size
    assert entries(path)[0]["id"] == id


def test_bytes_that_are_no_text_are_kept_in_a_file(server: Piserver, tmp_path: Path) -> None:
    line = message("m0", None, "caf?").replace(b"?", b"\xe9")
    write(server.folder / "--w--" / "latin.jsonl", header("latin"), line)
    assert "caf\ufffd" in export(server, "latin", "jsonl", scope="tree")["content"]
    path = tmp_path / "latin.jsonl"
    export(server, "latin", "jsonl", scope="tree", path=str(path))
    assert line in path.read_bytes()


def test_progress_is_told_and_a_cancelled_export_writes_nothing(server: Piserver, tmp_path: Path) -> None:
    write(server.folder / "--w--" / "long.jsonl", header("long"), chain(20_000, "# heading\n\n`code` and *more*"))
    path = tmp_path / "long.html"
    params = {"sessionId": "long", "form": "html", "path": str(path), "workDoneToken": "work"}
    id = server.request("session/export", params)
    reports = [server.until("$/progress")["params"]["value"] for _ in range(3)]
    assert [report["kind"] for report in reports] == ["begin", "report", "report"]
    assert reports[1]["percentage"] <= reports[2]["percentage"] < 100
    quick = server.request("session/getTree", {"sessionId": "long", "limit": 1})
    assert server.next_reply()["id"] == quick
    server.notify("$/cancelRequest", {"id": id})
    assert server.reply(id)["error"]["data"]["kind"] == "cancelled"
    assert list(tmp_path.iterdir()) == []
    assert json.loads(export(server, "long", "jsonl", entryId="m0")["content"].splitlines()[1])["id"] == "m0"
