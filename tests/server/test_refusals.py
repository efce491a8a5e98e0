"""What every method does with parameters that it cannot take."""

from typing import Any

import pytest

from piserver.protocol.registry import METHODS
from tests.server.client import Piserver, user

NO_ENTRY = "00000000"
WANTED: dict[str, dict[str, Any]] = {
    "session/create": {"cwd": "/w"},
    "session/open": {"sessionId": "S"},
    "session/close": {"sessionId": "S"},
    "session/list": {},
    "session/latest": {"cwd": "/w"},
    "session/delete": {"sessionId": "S"},
    "session/rename": {"sessionId": "S", "name": "n"},
    "session/append": {"sessionId": "S", "entry": user("u")},
    "session/moveTo": {"sessionId": "S", "entryId": None},
    "session/navigate": {"sessionId": "S", "targetId": NO_ENTRY},
    "session/fork": {"sessionId": "S", "entryId": NO_ENTRY},
    "session/clone": {"sessionId": "S"},
    "session/setLabel": {"sessionId": "S", "entryId": NO_ENTRY, "label": "l"},
    "session/editContext": {"sessionId": "S", "entryId": NO_ENTRY, "replacement": None},
    "session/getTree": {"sessionId": "S"},
    "session/getEntries": {"sessionId": "S", "ids": []},
    "session/getPath": {"sessionId": "S"},
    "session/getTranscript": {"sessionId": "S"},
    "session/changes": {"sessionId": "S", "epoch": "e", "since": 0},
    "session/buildContext": {"sessionId": "S"},
    "session/search": {"query": "q"},
    "session/export": {"sessionId": "S", "form": "html"},
    "session/stats": {"sessionId": "S"},
    "session/verify": {"sessionId": "S"},
    "session/repair": {"sessionId": "S"},
    "session/lease": {"sessionId": "S"},
}
"""What each method cannot do without."""
OF_A_FILE = ["session/open", "session/delete", "session/verify", "session/repair"]
"""What takes a path in the place of an id."""
OF_A_SESSION = [name for name, params in WANTED.items() if "sessionId" in params and name != "session/close"]


def test_the_table_knows_every_method() -> None:
    assert WANTED.keys() == METHODS.keys()


@pytest.mark.parametrize("method", WANTED)
def test_an_unknown_field_is_refused_by_name(server: Piserver, method: str) -> None:
    error = server.error(method, WANTED[method] | {"colour": 1})
    assert error["code"] == -32602
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", "colour")
    assert error["data"]["retryable"] is False
    assert "colour" in error["message"]


@pytest.mark.parametrize(("method", "field"), [(name, field) for name in WANTED for field in WANTED[name]])
def test_a_field_of_the_wrong_type_is_refused_by_name(server: Piserver, method: str, field: str) -> None:
    error = server.error(method, WANTED[method] | {field: True})
    assert error["code"] == -32602
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", field)


@pytest.mark.parametrize("method", [name for name in WANTED if WANTED[name] and name not in OF_A_FILE])
def test_a_missing_field_is_refused_by_name(server: Piserver, method: str) -> None:
    required = {name for name in WANTED[method] if name not in ("entry", "replacement")}
    for params in (None, [], [None], {}):
        error = server.error(method, params)
        assert error["code"] == -32602
        assert error["data"]["field"] in required


@pytest.mark.parametrize("method", OF_A_SESSION)
def test_a_session_that_does_not_exist_is_not_found(server: Piserver, method: str) -> None:
    error = server.error(method, WANTED[method] | {"sessionId": "nobody", "_meta": {"colour": 1}})
    assert error["code"] == -32803
    assert error["data"]["kind"] == "session-not-found"
    assert "nobody" in error["message"]


def test_closing_a_session_that_is_not_open_is_no_error(server: Piserver) -> None:
    assert server.call("session/close", {"sessionId": "nobody", "_meta": 1}) == {}


@pytest.mark.parametrize("params", [None, [], [None], {}])
def test_no_parameters_come_in_many_forms(server: Piserver, params: Any) -> None:
    assert "sessions" in server.call("session/list", params)


@pytest.mark.parametrize("method", OF_A_FILE)
def test_a_session_is_named_by_id_or_by_path_and_not_by_both(server: Piserver, method: str) -> None:
    for params in ({}, {"sessionId": "S", "path": "/p"}):
        assert server.kind(method, params) == "invalid-params"


def test_one_entry_or_several_but_not_both(server: Piserver, session: str) -> None:
    for entries in ({}, {"entry": user("u"), "entries": [user("u")]}):
        assert server.kind("session/append", {"sessionId": session} | entries) == "invalid-params"


def test_a_context_is_edited_or_restored_but_not_both(server: Piserver, session: str) -> None:
    [id] = server.append(session, user("u"))
    for choice in ({}, {"replacement": None, "restore": True}):
        assert server.kind("session/editContext", {"sessionId": session, "entryId": id} | choice) == "invalid-params"


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"type": "label", "targetId": "x", "colour": 1}, "colour"),
        ({"type": "context_edit", "targetId": "x", "replacement": {"content": "", "colour": 1}}, "colour"),
        ({"type": "model_change", "provider": "p"}, "modelId"),
        ({"type": "active_tools_change", "activeToolNames": [1]}, "activeToolNames"),
        ({"type": "session"}, "type"),
        ({"type": "something_else"}, "type"),
        ({"message": {}}, "type"),
        ({"type": "message", "message": {"role": "user"}, "id": "mine"}, "id"),
    ],
)
def test_a_draft_that_is_none_is_refused_by_name(server: Piserver, session: str, entry: Any, field: str) -> None:
    error = server.error("session/append", {"sessionId": session, "entry": entry})
    assert error["code"] == -32602
    assert error["data"]["field"] == field
    assert error["data"]["path"].startswith("entry")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({}, "message.role"),
        ({"role": ""}, "message.role"),
        ({"role": "user", "content": 5}, "message.content"),
        ({"role": "user"}, "message"),
        ({"role": "assistant", "content": "text"}, "message.content"),
        ({"role": "toolResult", "toolName": "t", "content": ""}, "message"),
        ({"role": "user", "content": [{"text": "no type"}]}, "message.content[0]"),
    ],
)
def test_a_message_that_readers_would_stumble_over_is_refused(
    server: Piserver, session: str, message: Any, field: str
) -> None:
    error = server.error("session/append", {"sessionId": session, "entry": {"type": "message", "message": message}})
    assert error["code"] == -32803
    assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-entry", field)
    assert server.call("session/getTree", {"sessionId": session})["revision"] == 0


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/navigate", {"targetId": NO_ENTRY}),
        ("session/moveTo", {"entryId": NO_ENTRY}),
        ("session/setLabel", {"entryId": NO_ENTRY, "label": "l"}),
        ("session/editContext", {"entryId": NO_ENTRY, "replacement": None}),
        ("session/editContext", {"entryId": NO_ENTRY, "restore": True}),
        ("session/append", {"entry": {"type": "label", "targetId": NO_ENTRY}}),
        ("session/append", {"entry": {"type": "leaf", "targetId": NO_ENTRY}}),
        ("session/append", {"entry": {"type": "compaction", "summary": "", "firstKeptEntryId": NO_ENTRY}}),
        ("session/getTree", {"around": NO_ENTRY}),
        ("session/open", {"rows": {"around": NO_ENTRY}}),
        ("session/getEntries", {"ids": [NO_ENTRY]}),
        ("session/getPath", {"entryId": NO_ENTRY}),
        ("session/buildContext", {"entryId": NO_ENTRY}),
        ("session/stats", {"entryId": NO_ENTRY}),
    ],
)
def test_an_entry_that_does_not_exist_is_not_found(
    server: Piserver, session: str, method: str, params: dict[str, Any]
) -> None:
    error = server.error(method, {"sessionId": session} | params)
    assert error["code"] == -32803
    assert (error["data"]["kind"], error["data"]["entryId"]) == ("entry-not-found", NO_ENTRY)
    assert server.call("session/getTree", {"sessionId": session})["revision"] == 0


@pytest.mark.parametrize("text", ["a\0b", "\ud83d"])
def test_what_no_file_can_be_called_is_refused(server: Piserver, session: str, text: str) -> None:
    for method, params, field in [
        ("session/open", {"path": text}, "path"),
        ("session/delete", {"path": text}, "path"),
        ("session/verify", {"path": text}, "path"),
        ("session/repair", {"path": text}, "path"),
        ("session/create", {"cwd": "/w", "path": text}, "path"),
        ("session/create", {"cwd": text}, "cwd"),
        ("session/fork", {"sessionId": session, "entryId": NO_ENTRY, "cwd": text}, "cwd"),
    ]:
        error = server.error(method, params)
        assert (error["data"]["kind"], error["data"]["field"]) == ("invalid-params", field)


def test_a_name_too_long_for_the_disk_is_a_failure_of_the_storage(server: Piserver) -> None:
    assert server.kind("session/open", {"path": "/" + "x" * 300}) == "storage-failed"
    assert server.kind("session/create", {"cwd": "/w", "path": str(server.home / ("x" * 300))}) == "storage-failed"


def test_a_working_directory_too_long_for_a_folders_name_is_one_all_the_same(server: Piserver) -> None:
    cwd = "/" + "x" * 300
    made = server.call("session/create", {"cwd": cwd})["info"]
    assert [info["id"] for info in server.call("session/list", {"cwd": cwd})["sessions"]] == [made["id"]]
