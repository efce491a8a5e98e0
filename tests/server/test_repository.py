"""Sessions are made, listed, forked and removed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, user
from tests.server.files import chain, entries, header, write


def listed(server: Piserver, **params: Any) -> list[str]:
    return [info["id"] for info in server.call("session/list", params)["sessions"]]


def test_a_new_session_is_a_file_with_a_header(server: Piserver) -> None:
    made = server.call("session/create", {"cwd": "/w/new", "name": "First", "metadata": {"colour": ["red"]}})
    info = made["info"]
    assert made["sessionId"] == info["id"]
    assert (info["cwd"], info["name"], info["firstMessage"], info["messageCount"]) == ("/w/new", "First", None, 0)
    assert Path(info["path"]).parent == server.folder / "--w-new--"
    head = json.loads(Path(info["path"]).read_bytes().splitlines()[0])
    assert (head["id"], head["version"], head["cwd"]) == (info["id"], 3, "/w/new")
    assert head["metadata"] == {"colour": ["red"]}
    told = server.wait_until("session/listChanged", lambda changed: changed["sessionId"] == info["id"])
    assert (told["reason"], told["path"]) == ("created", info["path"])


def test_a_new_session_is_watched_from_the_start(server: Piserver) -> None:
    session = server.create()
    [id] = server.append(session, user("u"))
    changed = server.wait_until("session/treeChanged", lambda changed: changed["sessionId"] == session)
    assert [entry["id"] for entry in changed["appended"]] == [id]


def test_a_session_can_lie_at_a_path_of_ones_own_but_never_over_a_file(server: Piserver, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "own.jsonl"
    session = server.create(path=str(path))
    assert path.is_file()
    before = path.read_bytes()
    error = server.error("session/create", {"cwd": "/w", "path": str(path)})
    assert (error["code"], error["data"]) == (-32803, {"kind": "storage-failed", "retryable": False, "landed": False})
    assert str(path) in error["message"]
    assert path.read_bytes() == before
    server.call("session/close", {"sessionId": session})
    assert server.append(session, user("known by its id, though it lies elsewhere"))


def test_e6_a_repeated_create_makes_one_session(server: Piserver) -> None:
    params = {"cwd": "/w/once", "idempotencyKey": "k"}
    ids = [server.request("session/create", params) for _ in range(2)]
    made = [server.reply(id)["result"]["sessionId"] for id in ids]
    assert made[0] == made[1] == server.call("session/create", params)["sessionId"]
    assert listed(server, cwd="/w/once") == [made[0]]


def test_a13_a_list_goes_by_the_headers_working_directory(server: Piserver) -> None:
    one, other = server.create("/w/client/app"), server.create("/w/client-app")
    assert listed(server, cwd="/w/client/app") == [one]
    assert listed(server, cwd="/w/client-app") == [other]
    assert {one, other} <= set(listed(server))


def test_a_list_tells_what_a_person_recognises_a_session_by(server: Piserver) -> None:
    session = server.create("/w/known")
    server.append(session, user("How do I  reverse\na list?"), assistant("Like this."))
    server.call("session/rename", {"sessionId": session, "name": "Lists"})
    [info] = server.call("session/list", {"cwd": "/w/known"})["sessions"]
    assert (info["firstMessage"], info["messageCount"], info["name"]) == ("How do I reverse a list?", 2, "Lists")
    assert info["size"] == Path(info["path"]).stat().st_size


def test_a_list_comes_in_pages_newest_first(server: Piserver) -> None:
    made = [server.create("/w/pages") for _ in range(5)]
    seen: list[str] = []
    page: dict[str, Any] = {"nextCursor": None}
    while "sessions" not in page or page["nextCursor"]:
        cursor = {"cursor": page["nextCursor"]} if page["nextCursor"] else {}
        page = server.call("session/list", {"cwd": "/w/pages", "limit": 2} | cursor)
        assert 0 < len(page["sessions"]) <= 2
        seen += [info["id"] for info in page["sessions"]]
    assert seen == made[::-1]
    error = server.error("session/list", {"cursor": "what"})
    assert (error["data"]["kind"], error["data"]["field"]) == ("stale-cursor", "cursor")


def test_a_list_can_come_in_parts(server: Piserver) -> None:
    made = {server.create("/w/parts") for _ in range(40)}
    id = server.request("session/list", {"cwd": "/w/parts", "partialResultToken": "part", "workDoneToken": "work"})
    result = server.reply(id)["result"]
    assert result == {"sessions": [], "nextCursor": None}
    progress = [note["params"] for note in server.notifications if note["method"] == "$/progress"]
    parts = [note["value"]["sessions"] for note in progress if note["token"] == "part"]
    assert len(parts) > 1
    assert {info["id"] for part in parts for info in part} == made
    kinds = [note["value"]["kind"] for note in progress if note["token"] == "work"]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert "report" in kinds


def test_a15_a_broken_file_is_listed_as_such_beside_the_others(server: Piserver) -> None:
    session = server.create("/w/broken")
    broken = write(server.folder / "--w-broken--" / "noise.jsonl", b'{"type":"event"}\n')
    infos = {info["id"]: info for info in server.call("session/list", {"cwd": "/w/broken"})["sessions"]}
    assert infos.keys() == {session, "noise"}
    assert infos["noise"]["broken"]
    assert server.call("session/delete", {"path": str(broken), "permanent": True}) == {"path": str(broken)}
    assert not broken.exists()


def test_latest_is_the_newest_session_of_a_working_directory(server: Piserver) -> None:
    assert server.call("session/latest", {"cwd": "/w/nowhere"}) == {"info": None}
    server.create("/w/latest")
    newest = server.create("/w/latest")
    assert server.call("session/latest", {"cwd": "/w/latest"})["info"]["id"] == newest


def test_a_deleted_session_goes_to_the_trash(server: Piserver) -> None:
    made = server.call("session/create", {"cwd": "/w/trash"})
    path = Path(made["info"]["path"])
    server.append(made["sessionId"], user("u"))
    content = path.read_bytes()
    assert server.call("session/delete", {"sessionId": made["sessionId"]}) == {"path": str(path)}
    assert not path.exists()
    [kept] = (server.home / "data" / "Trash" / "files").glob(path.name)
    assert kept.read_bytes() == content
    told = server.wait_until("session/listChanged", lambda changed: changed["reason"] == "deleted")
    assert told == {"reason": "deleted", "sessionId": made["sessionId"], "path": str(path)}
    assert server.kind("session/append", {"sessionId": made["sessionId"], "entry": user("u")}) == "session-not-found"


def test_a_session_that_is_not_open_can_be_deleted_for_good(server: Piserver) -> None:
    path = write(server.folder / "--w--" / "gone.jsonl", header("for-good"), chain(1))
    assert server.call("session/delete", {"sessionId": "for-good", "permanent": True}) == {"path": str(path)}
    assert not path.exists()
    assert not list((server.home / "data" / "Trash").rglob(path.name))


def test_only_sessions_are_deleted(server: Piserver, tmp_path: Path) -> None:
    letter = write(tmp_path / "letter.txt", b"Dear Ada\n")
    for path in (letter, tmp_path, tmp_path / "missing.jsonl"):
        error = server.error("session/delete", {"path": str(path), "permanent": True})
        assert (error["code"], error["data"]["kind"]) == (-32803, "session-not-found")
    assert letter.read_bytes() == b"Dear Ada\n"


@pytest.fixture
def branched(server: Piserver) -> tuple[str, list[str]]:
    """u0, a1, and below a1 two branches: u2 a3, and u4 a5, on which the leaf is."""
    session = server.create("/w/branched")
    trunk = server.append(session, user("u0"), assistant("a1"))
    first = server.append(session, user("u2"), assistant("a3"))
    server.call("session/moveTo", {"sessionId": session, "entryId": trunk[1]})
    return session, [*trunk, *first, *server.append(session, user("u4"), assistant("a5"))]


def test_a_fork_before_a_message_gives_its_text_back(server: Piserver, branched: tuple[str, list[str]]) -> None:
    session, ids = branched
    source = Path(server.call("session/open", {"sessionId": session})["info"]["path"])
    before = source.read_bytes()
    made = server.call("session/fork", {"sessionId": session, "entryId": ids[4]})
    assert (made["sourceSessionId"], made["editorText"]) == (session, "u4")
    assert made["info"]["parentSession"] == str(source)
    fork = made["info"]["id"]
    assert server.texts(fork) == server.texts(session, entryId=ids[1])
    told = server.wait_until("session/listChanged", lambda changed: changed["sessionId"] == fork)
    assert (told["reason"], told["info"]) == ("created", made["info"])
    server.append(fork, user("only here"))
    assert source.read_bytes() == before


def test_c4_a_fork_at_an_entry_holds_its_path_and_nothing_else(
    server: Piserver, branched: tuple[str, list[str]]
) -> None:
    session, ids = branched
    made = server.call(
        "session/fork", {"sessionId": session, "entryId": ids[3], "position": "at", "cwd": "/w/elsewhere"}
    )
    assert (made["editorText"], made["info"]["cwd"]) == (None, "/w/elsewhere")
    assert [entry["id"] for entry in entries(Path(made["info"]["path"]))] == ids[:4]


def test_a_fork_where_none_can_be_is_refused_and_leaves_no_file(
    server: Piserver, branched: tuple[str, list[str]]
) -> None:
    session, ids = branched
    before = listed(server)
    for entry in (ids[1], "00000000"):
        error = server.error("session/fork", {"sessionId": session, "entryId": entry})
        assert (error["code"], error["data"]["kind"]) == (-32803, "invalid-fork-target")
    assert (
        server.kind("session/fork", {"sessionId": session, "entryId": ids[0], "expectedLeafId": ids[0]}) == "stale-leaf"
    )
    assert listed(server) == before


def test_a_clone_has_every_branch_and_the_same_leaf(server: Piserver, branched: tuple[str, list[str]]) -> None:
    session, ids = branched
    server.call("session/moveTo", {"sessionId": session, "entryId": ids[3]})
    made = server.call("session/clone", {"sessionId": session, "idempotencyKey": "clone"})
    assert made == server.call("session/clone", {"sessionId": session, "idempotencyKey": "clone"})
    assert (made["editorText"], made["sourceSessionId"]) == (None, session)
    clone = server.call("session/open", {"sessionId": made["info"]["id"]})
    assert clone["leafId"] == ids[3]
    assert server.rows(made["info"]["id"]) == server.rows(session)


def test_c12_a_fork_outlives_its_source(server: Piserver, branched: tuple[str, list[str]]) -> None:
    session, ids = branched
    fork = server.call("session/fork", {"sessionId": session, "entryId": ids[3], "position": "at"})["info"]["id"]
    server.call("session/delete", {"sessionId": session, "permanent": True})
    assert server.call("session/open", {"sessionId": fork})["revision"] == 4
    assert fork in listed(server)
    server.call("session/delete", {"sessionId": fork, "permanent": True})


def test_a_renamed_session_shows_it_in_the_list(server: Piserver, session: str) -> None:
    for params in (
        ("session/rename", {"sessionId": session, "name": "  A\nname "}),
        ("session/append", {"sessionId": session, "entry": {"type": "session_info", "name": "A name"}}),
    ):
        assert len(server.call(*params)["entryIds"]) == 1
        told = server.wait_until("session/listChanged", lambda changed: changed["reason"] == "renamed")
        assert (told["sessionId"], told["info"]["name"]) == (session, "A name")
    server.call("session/rename", {"sessionId": session, "name": None})
    assert server.call("session/open", {"sessionId": session})["info"]["name"] is None


def test_a14_a_file_that_another_program_drops_in_is_listed(server: Piserver) -> None:
    write(server.folder / "--w-dropped--" / "x.jsonl", header("dropped", cwd="/w/dropped"), chain(2))
    assert listed(server, cwd="/w/dropped") == ["dropped"]
    shutil.rmtree(server.folder / "--w-dropped--")
    assert listed(server, cwd="/w/dropped") == []
