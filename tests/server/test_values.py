"""What is stored comes back as it was: large, deep, odd or foreign."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, custom, user
from tests.server.files import chain, entries, header, write


def whole(server: Piserver, session: str, *ids: str) -> list[Any]:
    return server.call("session/getEntries", {"sessionId": session, "ids": ids, "maxBytes": 60_000_000})["entries"]


def test_g6_a_context_of_50_megabytes_arrives(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("large"), chain(50, "x" * 1_000_000))
    server.call("session/open", {"path": str(path)})
    texts = server.texts("large", estimates=False)
    assert [text[0]["text"] for text in texts] == [f"{'x' * 1_000_000} {n}" for n in range(50)]
    assert server.call("session/getPath", {"sessionId": "large"})["total"] == 50


def test_g6_an_entry_of_20_megabytes_is_kept(server: Piserver, session: str) -> None:
    text = "\u00e4b" * 5_000_000 + "."
    ids = server.append(session, user(text), user("behind"))
    [entry] = whole(server, session, ids[0])
    assert entry["message"]["content"] == text
    assert server.rows(session)[1]["preview"] == "behind"


@pytest.mark.parametrize("framing", ["lsp", "lines"])
def test_g1_line_separators_are_text(launch: Any, framing: str) -> None:
    server = launch(framing=framing)
    server.initialize()
    session = server.create()
    text = "a\u2028b\u2029c\u0085d\x0be\r\nf"
    [id] = server.append(session, user(text))
    assert server.texts(session) == [text]
    told = server.wait_until("session/treeChanged", lambda changed: changed["leafId"] == id)
    assert told["appended"][0]["preview"] == "a b c d e f"
    path = Path(server.call("session/open", {"sessionId": session})["info"]["path"])
    assert path.read_bytes().count(b"\n") == 2


def test_a16_half_a_surrogate_pair_breaks_nothing(server: Piserver, session: str) -> None:
    half = "cut \ud83d"
    call = {"type": "toolCall", "id": "c", "name": "t", "arguments": {"text": half, half: 1}}
    message = {"role": "assistant", "content": [{"type": "text", "text": half}, call], "provider": "p", "model": "m"}
    params = {"sessionId": session, "idempotencyKey": half}
    ids = server.append(
        session, user(half), {"type": "message", "message": message}, custom(data={half: half}), **params
    )
    assert server.append(session, user(half), idempotencyKey=half) == ids
    server.call("session/setLabel", {"sessionId": session, "entryId": ids[0], "label": half})
    server.call("session/rename", {"sessionId": session, "name": half})
    last = server.append(session, user("after"))
    mended = "cut \ufffd"
    texts = server.texts(session)
    assert (texts[0], texts[1][0]["text"], texts[2]) == (mended, mended, "after")
    assert texts[1][1]["arguments"] == {"text": mended, mended: 1}
    rows = server.rows(session)
    assert (rows[0]["preview"], rows[0]["label"]) == (mended, mended)
    snapshot = server.call("session/open", {"sessionId": session})
    assert snapshot["info"]["name"] == mended
    path = Path(snapshot["info"]["path"])
    assert all("\ud83d" not in str(entry) for entry in entries(path))
    path.read_bytes().decode("utf-8", "strict")
    server.call("session/close", {"sessionId": session})
    again = server.call("session/open", {"sessionId": session})
    assert (again["leafId"], again["diagnostics"]) == (last[0], [])


@pytest.mark.parametrize("params", [{"\ud800": 1}, {"filter": "\ud800"}, {"entry": {"type": "\ud800"}}])
def test_a16_half_a_pair_where_a_name_is_expected_is_refused(server: Piserver, session: str, params: Any) -> None:
    method = "session/append" if "entry" in params else "session/getTree"
    assert server.kind(method, {"sessionId": session} | params) == "invalid-params"


def test_a16_half_a_pair_in_an_existing_file_goes_out_as_it_is(server: Piserver, tmp_path: Path) -> None:
    said = rb'{"role":"user","content":"cut \ud83d"}'
    text = b'{"type":"message","id":"a","parentId":null,"timestamp":"","message":%b}\n' % said
    path = write(tmp_path / "s.jsonl", header("half"), text)
    server.call("session/open", {"path": str(path)})
    whole(server, "half", "a")
    assert rb"cut \ud83d" in server.body
    assert server.rows("half")[0]["preview"] == "cut \ufffd"
    assert server.texts("half") == ["cut \ud83d"]


def test_numbers_and_spacing_of_a_file_go_out_byte_for_byte(server: Piserver, tmp_path: Path) -> None:
    data = b'{"a": 1e400, "b":-0,"c":123456789012345678901234567890,"d":1.10,"e":-0.0, "f":1E-2, "\\u0061a":"\\u00e9"}'
    text = b'{"type":"custom","id":"n","parentId":null,"timestamp":"","customType":"c","data":%b}' % data
    path = write(tmp_path / "s.jsonl", header("numbers"), text + b"\n")
    server.call("session/open", {"path": str(path)})
    whole(server, "numbers", "n")
    assert text in server.body


def test_a_deeply_nested_value_of_a_file_goes_out_as_it_is(server: Piserver, tmp_path: Path) -> None:
    data = b"[" * 20_000 + b"]" * 20_000
    text = b'{"type":"custom","id":"deep","parentId":null,"timestamp":"","customType":"c","data":%b}' % data
    path = write(tmp_path / "s.jsonl", header("nested"), text + b"\n", chain(2))
    snapshot = server.call("session/open", {"path": str(path)})
    assert snapshot["diagnostics"] == []
    server.request("session/getEntries", {"sessionId": "nested", "ids": ["deep", "m0"]})
    body = server.read_body()
    assert body is not None
    assert text in body
    assert [row["id"] for row in server.rows("nested", filter="all")] == ["deep", "m0", "m1"]
    assert len(server.texts("nested", form="llm")) == 2
    fork = server.call("session/fork", {"sessionId": "nested", "entryId": "deep", "position": "at"})
    assert text in Path(fork["info"]["path"]).read_bytes()


def test_a_request_nested_too_deeply_is_answered(server: Piserver, session: str) -> None:
    deep = b"[" * 20_000 + b"]" * 20_000
    entry = b'{"type":"custom","customType":"c","data":%b}' % deep
    params = b'{"sessionId":"%b","entry":%b}' % (session.encode(), entry)
    server.send(b'{"jsonrpc":"2.0","id":"deep","method":"session/append","params":%b}' % params)
    reply = server.reply("deep")
    if "error" in reply:
        assert reply["error"]["code"] == -32700
    else:
        assert server.call("session/getTree", {"sessionId": session})["revision"] == 1


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999"])
def test_g20_numbers_that_json_or_a_double_does_not_have_are_refused(
    server: Piserver, session: str, number: str
) -> None:
    entry = b'{"type":"custom","customType":"c","data":{"cost":[%b]}}' % number.encode()
    params = b'{"sessionId":"%b","entry":%b}' % (session.encode(), entry)
    server.send(b'{"jsonrpc":"2.0","id":"nan","method":"session/append","params":%b}' % params)
    error = server.reply("nan")["error"]
    assert (error["code"], error["data"]["kind"]) == (-32602, "invalid-params")
    assert server.call("session/getTree", {"sessionId": session})["revision"] == 0


def test_g12_keys_that_look_like_the_protocols_own_are_data(server: Piserver, session: str) -> None:
    data: dict[str, Any] = {
        "jsonrpc": "2.0", "id": 1, "method": "exit", "params": None, "type_name": "a b", "class": {"from": 1},
        "a-b": [], "_meta": {"x": 1}, "": "", "workDoneToken": 5, "__proto__": {}, "result": [{"jsonrpc": 1}],
    }  # fmt: skip
    arguments = {"type": "toolCall", "id": "c", "name": "t", "arguments": data}
    message = {"role": "assistant", "content": [arguments], "provider": "p", "model": "m"}
    ids = server.append(session, custom(data=data), {"type": "message", "message": message | {"details": data}})
    stored = whole(server, session, *ids)
    assert stored[0]["data"] == data
    assert stored[1]["message"]["content"] == [arguments]
    assert stored[1]["message"]["details"] == data
    assert server.texts(session)[-1] == [arguments]


def test_every_json_value_can_be_data(server: Piserver, session: str) -> None:
    values: list[Any] = [None, True, False, 0, -1, 1.5, 2**53, 2**64, -(2**70), "", "\0", [], {}, [[{"": [None]}]]]
    ids = server.append(session, *(custom(data=value) for value in values))
    assert [entry["data"] for entry in whole(server, session, *ids)] == values
    path = Path(server.call("session/open", {"sessionId": session})["info"]["path"])
    assert [entry["data"] for entry in entries(path)] == json.loads(json.dumps(values))


def test_g18_entries_of_unknown_types_are_shown_and_kept(server: Piserver, tmp_path: Path) -> None:
    text = b'{"type":"from_the_future","id":"f","parentId":"m1","timestamp":"","payload":{"x":[1,2]}}'
    path = write(tmp_path / "s.jsonl", header("unknown"), chain(2), text + b"\n")
    snapshot = server.call("session/open", {"path": str(path)})
    assert snapshot["leafId"] == "f"
    assert snapshot["rows"]["rows"][-1]["type"] == "from_the_future"
    assert whole(server, "unknown", "f")[0]["payload"] == {"x": [1, 2]}
    [id] = server.append("unknown", user("below"))
    assert entries(path)[-1]["parentId"] == "f"
    fork = server.call("session/fork", {"sessionId": "unknown", "entryId": id, "position": "at"})
    assert text in Path(fork["info"]["path"]).read_bytes()
