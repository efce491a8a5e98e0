"""The context: what a model would be given, where it comes from, and what is left out."""

from typing import Any

import pytest

from tests.server.client import Piserver, assistant, custom, user


def context(server: Piserver, session: str, **params: Any) -> Any:
    return server.call("session/buildContext", {"sessionId": session} | params)


def test_messages_tell_where_they_come_from(server: Piserver, session: str) -> None:
    ids = server.append(session, user("u" * 40), custom(data=1), assistant("a"))
    built = context(server, session)
    assert [(m["entryId"], m["reason"]) for m in built["messages"]] == [(ids[0], "on-path"), (ids[2], "on-path")]
    assert built["messages"][0]["message"]["content"] == "u" * 40
    assert built["messages"][0]["tokens"] == 10
    assert built["excluded"] == [{"entryId": ids[1], "reason": "not-a-message"}]
    assert built["tokens"]["total"] == sum(m["tokens"] for m in built["messages"])
    assert (built["entryId"], built["leafId"], built["form"], built["changes"]) == (ids[2], ids[2], "messages", [])
    assert built["state"]["model"] == {"provider": "p", "modelId": "m"}


def test_what_is_not_asked_for_is_left_out(server: Piserver, session: str) -> None:
    server.append(session, user("u"), custom())
    for form in ("messages", "llm"):
        built = context(server, session, form=form, estimates=False, excluded=False)
        assert (built["tokens"], built["excluded"], "tokens" in built["messages"][0]) == (None, [], False)


def test_a_context_is_built_anywhere_without_moving(server: Piserver, session: str) -> None:
    model = {"type": "model_change", "provider": "q", "modelId": "n"}
    ids = server.append(session, user("u"), assistant("a"), model, user("v"))
    built = context(server, session, entryId=ids[1])
    assert [m["entryId"] for m in built["messages"]] == ids[:2]
    assert (built["entryId"], built["leafId"], built["revision"]) == (ids[1], ids[3], 4)
    assert built["state"]["model"] == {"provider": "p", "modelId": "m"}
    assert context(server, session)["state"]["model"] == {"provider": "q", "modelId": "n"}
    empty = context(server, session, entryId=None)
    assert (empty["messages"], empty["entryId"], empty["state"]["model"]) == ([], None, None)


def test_a_compaction_takes_the_place_of_what_was_before(server: Piserver, session: str) -> None:
    before = server.append(session, user("u0"), assistant("a1"), user("u2"), assistant("a3"))
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryId": before[2], "tokensBefore": 9}
    after = server.append(session, compaction, user("u5"))
    built = context(server, session)
    assert [(m["entryId"], m["reason"]) for m in built["messages"]] == [
        (after[0], "compaction"),
        (before[2], "kept"),
        (before[3], "kept"),
        (after[1], "after-compaction"),
    ]
    summary = built["messages"][0]["message"]
    assert (summary["role"], summary["summary"], summary["tokensBefore"]) == ("compactionSummary", "S", 9)
    assert built["excluded"] == [{"entryId": id, "reason": "before-compaction"} for id in before[:2]]
    second = {"type": "compaction", "summary": "S2", "firstKeptEntryId": after[1]}
    server.append(session, second)
    reasons = {out["entryId"]: out["reason"] for out in context(server, session)["excluded"]}
    assert reasons[after[0]] == "older-compaction"
    assert reasons[before[3]] == "before-compaction"


def test_what_was_edited_out_says_so(server: Piserver, session: str) -> None:
    ids = server.append(session, user("secret"), user("open"))
    [edit] = server.call("session/editContext", {"sessionId": session, "entryId": ids[0], "replacement": None})[
        "entryIds"
    ]
    built = context(server, session)
    assert [m["entryId"] for m in built["messages"]] == ids[1:]
    assert built["excluded"] == [
        {"entryId": ids[0], "reason": "edited-out"},
        {"entryId": edit, "reason": "not-a-message"},
    ]


CALL = {"type": "toolCall", "id": "c|1", "name": "read", "arguments": {}}
THINKING = {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}


def test_i1_the_llm_form_is_fit_for_a_provider_and_says_what_it_changed(server: Piserver, session: str) -> None:
    ids = server.append(
        session,
        user("u"),
        assistant("", stopReason="error", content=[]),
        {"type": "custom_message", "customType": "x", "content": "from an extension"},
        assistant("", content=[THINKING, CALL], stopReason="toolUse", api="one", provider="p", model="m"),
        user("v"),
    )
    as_stored = context(server, session)
    assert [m["message"]["role"] for m in as_stored["messages"]] == ["user", "assistant", "custom", "assistant", "user"]
    built = context(server, session, form="llm")
    assert [m["message"]["role"] for m in built["messages"]] == ["user", "user", "assistant", "toolResult", "user"]
    assert [m["entryId"] for m in built["messages"]] == [ids[0], ids[2], ids[3], ids[3], ids[4]]
    assert built["messages"][3]["message"]["isError"] is True
    kinds = {(change["kind"], change["entryId"]) for change in built["changes"]}
    assert kinds == {("failed-answer-omitted", ids[1]), ("result-inserted", ids[3])}
    assert built["tokens"]["total"] > 0


def test_the_llm_form_for_another_model_loses_what_only_the_first_one_knows(server: Piserver, session: str) -> None:
    answer = assistant("", content=[THINKING, {"type": "text", "text": "a"}], api="one", provider="p", model="m")
    server.append(session, user("u"), answer)
    same = context(server, session, form="llm", model={"provider": "p", "modelId": "m", "api": "one"})
    assert same["messages"][1]["message"]["content"][0] == THINKING
    assert same["changes"] == []
    other = context(server, session, form="llm", model={"provider": "q", "modelId": "n", "api": "two"})
    assert "thinkingSignature" not in str(other["messages"])
    assert other["changes"]


def test_images_are_replaced_for_a_model_that_takes_none(server: Piserver, session: str) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    [id] = server.append(session, {"type": "message", "message": {"role": "user", "content": [image]}})
    model = {"provider": "q", "modelId": "n", "api": "two", "images": False}
    built = context(server, session, form="llm", model=model)
    assert "image/png" not in str(built["messages"])
    assert {(change["kind"], change["entryId"]) for change in built["changes"]} == {("image-replaced", id)}


def test_b9_a_result_without_its_call_is_left_out(server: Piserver, session: str) -> None:
    result = {"role": "toolResult", "toolCallId": "gone", "toolName": "t", "content": "x", "isError": False}
    _, id = server.append(session, user("u"), {"type": "message", "message": result})
    built = context(server, session, form="llm")
    assert [m["message"]["role"] for m in built["messages"]] == ["user"]
    assert [(change["kind"], change["entryId"]) for change in built["changes"]] == [("unpaired-result-omitted", id)]


@pytest.mark.parametrize("position", ["at", "before"])
def test_b10_a_fork_has_the_context_of_its_source(server: Piserver, session: str, position: str) -> None:
    ids = server.append(session, user("u0"), assistant("a1"), user("u2"))
    compaction = {"type": "compaction", "summary": "S", "firstKeptEntryId": ids[2]}
    last = server.append(session, compaction, assistant("a4"), user("u5"))[-1]
    fork = server.call("session/fork", {"sessionId": session, "entryId": last, "position": position})["info"]["id"]
    expected = server.texts(session)[: None if position == "at" else -1]
    assert server.texts(fork) == expected


def test_a_broken_path_is_reported_and_not_hidden(server: Piserver, session: str) -> None:
    path = server.call("session/open", {"sessionId": session})["info"]["path"]
    with open(path, "a") as file:
        file.write(
            '{"type":"message","id":"b","parentId":"ghost","timestamp":"","message":{"role":"user","content":"x"}}\n'
        )
    server.call("session/open", {"sessionId": session})
    built = context(server, session, entryId="b")
    assert [m["entryId"] for m in built["messages"]] == ["b"]
    assert [(found["kind"], found["entryId"]) for found in built["diagnostics"]] == [("missing-parent", "b")]
