"""Changes: what they answer, what they write, in which order, and how often."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, custom, user
from tests.server.files import entries


@pytest.fixture
def file(server: Piserver, session: str) -> Path:
    return Path(server.call("session/open", {"sessionId": session})["info"]["path"])


def test_an_append_answers_where_the_session_is(server: Piserver, session: str, file: Path) -> None:
    first = server.call("session/append", {"sessionId": session, "entry": user("u")})
    second = server.call("session/append", {"sessionId": session, "entries": [assistant("a"), custom(data=[1])]})
    assert (first["revision"], second["revision"]) == (1, 3)
    assert (first["leafId"], second["leafId"]) == (first["entryIds"][0], second["entryIds"][1])
    assert second.keys() == {"sessionId", "epoch", "revision", "leafId", "entryIds"}
    written = entries(file)
    assert [entry["id"] for entry in written] == first["entryIds"] + second["entryIds"]
    assert [entry["parentId"] for entry in written] == [None, *(entry["id"] for entry in written[:-1])]
    assert written[0]["message"]["content"] == "u"
    assert written[0]["message"]["timestamp"] > 0
    assert written[2]["data"] == [1]


def test_every_type_of_entry_can_be_appended(server: Piserver, session: str, file: Path) -> None:
    [target] = server.append(session, user("u"))
    drafts: list[dict[str, Any]] = [
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "model_change", "provider": "p", "modelId": "m"},
        {"type": "active_tools_change", "activeToolNames": ["read"]},
        {"type": "compaction", "summary": "s", "firstKeptEntryId": target, "tokensBefore": 7},
        {"type": "branch_summary", "fromId": target, "summary": "b", "details": {"files": []}},
        {"type": "custom", "customType": "c", "data": {"a-b": None}},
        {"type": "custom_message", "customType": "c", "content": "x", "display": False},
        {"type": "label", "targetId": target, "label": "l"},
        {"type": "session_info", "name": "n"},
        {"type": "usage", "kind": "k", "provider": "p", "model": "m", "usage": {"input": 1}},
        {"type": "context_edit", "targetId": target, "replacement": {"content": "other"}},
        {"type": "leaf", "targetId": target},
    ]
    result = server.call("session/append", {"sessionId": session, "entries": drafts})
    assert result["leafId"] == target
    for draft, entry in zip(drafts, entries(file)[1:], strict=True):
        assert entry.items() >= draft.items()


def test_several_entries_are_written_whole_or_not_at_all(server: Piserver, session: str, file: Path) -> None:
    before = file.read_bytes()
    bad = {"type": "message", "message": {"role": "user", "content": 1}}
    assert server.kind("session/append", {"sessionId": session, "entries": [user("u"), bad]}) == "invalid-entry"
    assert file.read_bytes() == before


def test_nothing_to_append_is_no_error(server: Piserver, session: str) -> None:
    result = server.call("session/append", {"sessionId": session, "entries": []})
    assert (result["entryIds"], result["revision"]) == ([], 0)


def test_a_result_that_answers_nothing_is_warned_of(server: Piserver, session: str) -> None:
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": ""}
    answer = server.call("session/append", {"sessionId": session, "entry": {"type": "message", "message": result}})
    assert answer["entryIds"][0] in answer["warnings"][0]


def test_a_move_is_an_entry_unless_the_leaf_is_there_already(server: Piserver, session: str, file: Path) -> None:
    ids = server.append(session, user("u"), assistant("a"))
    moved = server.call("session/moveTo", {"sessionId": session, "entryId": ids[0]})
    assert (moved["leafId"], moved["revision"]) == (ids[0], 3)
    assert entries(file)[-1].items() >= {"id": moved["leafEntryId"], "type": "leaf", "targetId": ids[0]}.items()
    again = server.call("session/moveTo", {"sessionId": session, "entryId": ids[0]})
    assert "leafEntryId" not in again
    assert again["revision"] == 3
    assert server.call("session/moveTo", {"sessionId": session, "entryId": None})["leafId"] is None
    assert server.texts(session) == []


def test_c10_a_move_can_leave_a_summary_that_knows_what_was_left(server: Piserver, session: str, file: Path) -> None:
    ids = server.append(session, user("u"), assistant("a"), user("other"))
    params = {"entryId": ids[0], "summary": {"summary": "It led nowhere.", "usage": {"input": 3}, "fromHook": True}}
    moved = server.call("session/moveTo", {"sessionId": session} | params)
    assert moved["leafId"] == moved["summaryEntryId"]
    summary = entries(file)[-1]
    assert (
        summary.items()
        >= {"parentId": ids[0], "fromId": ids[0], "summary": "It led nowhere.", "fromHook": True}.items()
    )
    [row] = [row for row in server.rows(session) if row["id"] == moved["summaryEntryId"]]
    assert row["leftLeafId"] == ids[2]


def test_navigating_to_a_message_offers_its_text_for_another_try(server: Piserver, session: str) -> None:
    ids = server.append(session, user("u0"), assistant("a1"), user("u2"), assistant("a3"))
    gone = server.call("session/navigate", {"sessionId": session, "targetId": ids[2], "label": "retry"})
    assert (gone["editorText"], gone["leafId"] != ids[2]) == ("u2", True)
    assert server.texts(session)[0] == "u0"
    [row] = [row for row in server.rows(session) if row["id"] == ids[2]]
    assert row["label"] == "retry"
    gone = server.call("session/navigate", {"sessionId": session, "targetId": ids[3]})
    assert (gone["editorText"], gone["leafId"]) == (None, ids[3])
    assert "labelEntryId" not in gone


def test_a_label_given_on_the_way_goes_to_the_summary(server: Piserver, session: str) -> None:
    ids = server.append(session, user("u0"), assistant("a1"))
    params = {"targetId": ids[0], "summary": {"summary": "s"}, "label": "here"}
    gone = server.call("session/navigate", {"sessionId": session} | params)
    labels = {row["id"]: row["label"] for row in server.rows(session) if "label" in row}
    assert labels == {gone["summaryEntryId"]: "here"}


def test_labels_are_set_and_cleared(server: Piserver, session: str) -> None:
    [id] = server.append(session, user("u"))
    for label, shown in [(" a ", "a"), ("b", "b"), (None, None), ("c", "c"), ("  ", None)]:
        server.call("session/setLabel", {"sessionId": session, "entryId": id, "label": label})
        assert server.rows(session)[0].get("label") == shown


def test_a_context_is_edited_and_restored(server: Piserver, session: str) -> None:
    ids = server.append(session, user("u"), assistant("a"))
    edit = {"sessionId": session, "entryId": ids[0]}
    server.call("session/editContext", edit | {"replacement": {"content": "better"}})
    assert server.texts(session)[0] == "better"
    server.call("session/editContext", edit | {"replacement": None})
    assert len(server.texts(session)) == 1
    server.call("session/editContext", edit | {"restore": True})
    assert server.texts(session)[0] == "u"


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("session/append", {"entry": user("x")}),
    ("session/moveTo", {"entryId": None}),
    ("session/navigate", {"targetId": "FIRST"}),
    ("session/rename", {"name": "n"}),
    ("session/setLabel", {"entryId": "FIRST", "label": "l"}),
    ("session/editContext", {"entryId": "FIRST", "replacement": None}),
    ("session/fork", {"entryId": "FIRST"}),
    ("session/clone", {}),
]


def about(params: dict[str, Any], session: str, first: str) -> dict[str, Any]:
    return {name: first if value == "FIRST" else value for name, value in params.items()} | {"sessionId": session}


@pytest.mark.parametrize(("method", "params"), CHANGES)
def test_a_change_meant_for_another_leaf_is_refused(
    server: Piserver, session: str, file: Path, method: str, params: dict[str, Any]
) -> None:
    first, last = server.append(session, user("u"), assistant("a"))
    before = file.read_bytes()
    wanted = about(params, session, first)
    for leaf in (first, None, "nothing"):
        error = server.error(method, wanted | {"expectedLeafId": leaf})
        assert error["code"] == -32803
        assert error["data"] == {"kind": "stale-leaf", "retryable": False, "leafId": last}
    assert file.read_bytes() == before
    server.call(method, wanted | {"expectedLeafId": last})


@pytest.mark.parametrize(("method", "params"), CHANGES)
def test_e6_a_repeated_change_is_made_once(
    server: Piserver, session: str, file: Path, method: str, params: dict[str, Any]
) -> None:
    first, _ = server.append(session, user("u"), assistant("a"))
    wanted = about(params, session, first) | {"idempotencyKey": "k"}
    at_once = [server.request(method, wanted) for _ in range(3)]
    answers = [server.reply(id)["result"] for id in at_once]
    after = file.read_bytes()
    answers.append(server.call(method, wanted))
    assert all(answer == answers[0] for answer in answers)
    assert file.read_bytes() == after
    assert len(server.call("session/list", {"cwd": "/"})["sessions"]) >= 1


def test_e6_a_prompt_that_was_sent_twice_is_stored_once(server: Piserver, session: str, file: Path) -> None:
    params = {"sessionId": session, "entry": user("once"), "idempotencyKey": "k"}
    first = server.call("session/append", params)
    server.append(session, user("later"))
    assert server.call("session/append", params) == first
    assert [entry["message"]["content"] for entry in entries(file)] == ["once", "later"]


def test_e6_a_failed_change_can_be_tried_again_under_its_key(server: Piserver, session: str) -> None:
    params = {"sessionId": session, "entry": user("u"), "idempotencyKey": "k"}
    at_once = [server.request("session/append", params | {"expectedLeafId": "wrong"}) for _ in range(2)]
    for id in at_once:
        assert server.reply(id)["error"]["data"]["kind"] == "stale-leaf"
    result = server.call("session/append", params | {"expectedLeafId": None})
    assert result["revision"] == 1


def test_e6_keys_are_each_sessions_own(server: Piserver) -> None:
    sessions = [server.create(), server.create()]
    ids = [server.append(session, user("u"), idempotencyKey="same") for session in sessions]
    assert ids[0] != ids[1]


def test_changes_of_all_kinds_take_effect_in_the_order_of_the_requests(
    server: Piserver, session: str, file: Path
) -> None:
    first, second = server.append(session, user("u"), assistant("a"))
    requests: list[tuple[str, dict[str, Any]]] = []
    expected: list[tuple[str, Any]] = []
    for n in range(60):
        requests += [
            ("session/append", {"entry": custom(data=n)}),
            ("session/setLabel", {"entryId": first, "label": f"l{n}"}),
            ("session/moveTo", {"entryId": (first, second)[n % 2]}),
            ("session/rename", {"name": f"n{n}"}),
            ("session/append", {"entries": [user(f"u{n}"), custom(data=-n)]}),
        ]
        expected += [("data", n), ("label", f"l{n}"), ("targetId", (first, second)[n % 2]), ("name", f"n{n}")]
        expected += [("message", f"u{n}"), ("data", -n)]
    ids = [server.request(method, {"sessionId": session} | params) for method, params in requests]
    answers = [server.reply(id)["result"] for id in ids]
    revisions = [answer["revision"] for answer in answers]
    assert revisions == sorted(revisions)
    assert revisions[-1] == 2 + len(expected)
    written = entries(file)[2:]
    for entry, (field, value) in zip(written, expected, strict=True):
        assert (entry[field]["content"] if field == "message" else entry[field]) == value
    leaf: str | None = second
    for entry in written:  # each entry hangs where the ones before it left the leaf
        assert entry["parentId"] == leaf
        leaf = entry["targetId"] if entry["type"] == "leaf" else entry["id"]
    assert server.call("session/open", {"sessionId": session})["info"]["name"] == "n59"


def test_a_cancelled_change_is_either_made_and_answered_or_not_made(server: Piserver, session: str, file: Path) -> None:
    ids: list[int] = []
    for n in range(100):
        ids.append(server.request("session/append", {"sessionId": session, "entry": user(str(n))}))
        if n % 3 == 0:
            server.call("session/getPath", {"sessionId": session, "limit": 1})
        server.notify("$/cancelRequest", {"id": ids[-1]})
    answers = [server.reply(id) for id in ids]
    made = [id for answer in answers if "result" in answer for id in answer["result"]["entryIds"]]
    refused = {answer["error"]["data"]["kind"] for answer in answers if "error" in answer}
    assert refused <= {"cancelled"}
    assert [entry["id"] for entry in entries(file)] == made
