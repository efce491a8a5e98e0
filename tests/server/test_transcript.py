"""`session/getTranscript`: a path as a conversation, in parts that are drawn as they are."""

import base64
from typing import Any

from tests.server.client import Piserver, assistant, user

_PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 64).decode()


def call(id: str, name: str = "read", **arguments: Any) -> dict[str, Any]:
    block = {"type": "toolCall", "id": id, "name": name, "arguments": arguments}
    return assistant("", content=[block])


def result(id: str, text: str, name: str = "read") -> dict[str, Any]:
    message = {"role": "toolResult", "toolCallId": id, "toolName": name, "content": [{"type": "text", "text": text}]}
    return {"type": "message", "message": message | {"isError": False}}


def shown(server: Piserver, session: str, **params: Any) -> list[dict[str, Any]]:
    return server.call("session/getTranscript", {"sessionId": session} | params)["items"]


def said(items: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for item in items for part in item["parts"] if part["kind"] == "prose"]


def conversation(server: Piserver) -> tuple[str, list[str]]:
    session = server.create()
    ids = server.append(session, *(entry for n in range(5) for entry in (user(f"q{n}"), assistant(f"a{n}"))))
    return session, ids


def test_pages_from_the_start_and_from_the_end_cover_the_path(server: Piserver) -> None:
    session, _ = conversation(server)
    whole = said(shown(server, session))
    assert whole == [f"{who}{n}" for n in range(5) for who in "qa"]
    assert said(shown(server, session, offset=2, limit=3)) == whole[2:5]
    assert said(shown(server, session, last=True, limit=3)) == whole[-3:]
    assert said(shown(server, session, last=True, offset=3, limit=4)) == whole[3:7]
    assert said(shown(server, session, last=True, offset=8, limit=4)) == whole[:2]
    assert said(shown(server, session, offset=99)) == []


def test_what_came_behind_an_entry_is_asked_for_by_its_id(server: Piserver) -> None:
    session, ids = conversation(server)
    page = server.call("session/getTranscript", {"sessionId": session, "after": ids[7]})
    assert (page["offset"], page["total"], said(page["items"])) == (8, 10, ["q4", "a4"])
    assert said(shown(server, session, after=ids[-1])) == []


def test_behind_an_entry_of_another_branch_there_is_nothing_to_ask_for(server: Piserver) -> None:
    session, ids = conversation(server)
    server.call("session/moveTo", {"sessionId": session, "entryId": ids[1]})
    error = server.error("session/getTranscript", {"sessionId": session, "after": ids[5]})
    assert error["data"]["kind"] == "invalid-params"
    assert error["data"]["field"] == "after"


def test_entries_of_any_branch_are_shown_by_id_and_the_context_is_that_of_the_leaf(server: Piserver) -> None:
    session, ids = conversation(server)
    server.call("session/moveTo", {"sessionId": session, "entryId": ids[1]})
    items = shown(server, session, ids=[ids[9], ids[0]])
    assert said(items) == ["a4", "q0"]
    assert [item.get("inContext", False) for item in items] == [False, True]


def test_a_result_bears_the_name_and_language_of_its_call_even_where_the_call_is_on_another_page(
    server: Piserver,
) -> None:
    session = server.create()
    server.append(session, user("look"), call("c1", path="a.py"), result("c1", "x = 1\n"))
    (item,) = shown(server, session, last=True, limit=1)
    (fold,) = item["parts"]
    assert (fold["fold"], fold["name"], fold["callId"]) == ("result", "read", "c1")
    assert fold["parts"] == [{"kind": "code", "text": "x = 1\n", "language": "a.py"}]


def test_bookkeeping_is_left_out_and_a_label_stands_at_its_entry(server: Piserver) -> None:
    session, ids = conversation(server)
    server.call("session/setLabel", {"sessionId": session, "entryId": ids[0], "label": "start"})
    items = shown(server, session)
    assert len(items) == 10
    assert items[0]["label"] == "start"


def test_nothing_in_it_acts_on_a_screen(server: Piserver) -> None:
    session = server.create()
    hostile = "a\x1b[2Jb\u202ec\x07"
    server.append(session, user(hostile), call("id", path="\u202egpj.exe"), result("id", hostile))
    text = repr(shown(server, session))
    assert not any(sign in text for sign in ("\\x1b", "\\u202e", "\\x07"))
    assert "␛" in text


def test_what_is_too_large_to_be_looked_at_is_cut_and_says_so(server: Piserver) -> None:
    session = server.create()
    server.append(session, user("x" * 50_000), user("short"))
    large, small = shown(server, session)
    (fold,) = large["parts"]
    (part,) = fold["parts"]
    assert fold["fold"] == "more"
    assert "50,000" in fold["title"]
    assert len(part["text"]) + part["cut"] == 50_000
    assert "cut" not in small["parts"][0]


def test_a_page_of_large_entries_is_shorter_than_asked_for_and_keeps_the_end_that_was_asked_for(
    server: Piserver,
) -> None:
    session = server.create()
    ids = server.append(session, *(user(f"{n} " + "x" * 19_000) for n in range(40)))
    first = server.call("session/getTranscript", {"sessionId": session})
    last = server.call("session/getTranscript", {"sessionId": session, "last": True})
    assert 0 < len(first["items"]) < 40
    assert first["offset"] == 0
    assert 0 < len(last["items"]) < 40
    assert last["offset"] == 40 - len(last["items"])
    assert last["items"][-1]["entryId"] == ids[-1]


def test_a_small_image_is_sent_along_and_a_large_one_is_named(server: Piserver) -> None:
    def picture(data: str) -> dict[str, Any]:
        image = {"type": "image", "data": data, "mimeType": "image/png"}
        return {"type": "message", "message": {"role": "user", "content": [image]}}

    session = server.create()
    server.append(session, picture(_PIXEL), picture(base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 300_000).decode()))
    small, large = (item["parts"][0] for item in shown(server, session))
    assert (small["mediaType"], small["data"]) == ("image/png", _PIXEL)
    assert "data" not in large
    assert "image" in large["text"]
