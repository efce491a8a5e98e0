"""One message in, the right answer out: parameters, results, errors."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.wire.client import DEADLINE, Client

HOSTILE = {
    "object": {"a": {"b": [{"c": 1}]}},
    "class": 1,
    "from": 2,
    "a-b": 3,
    "type_name": "not an identifier",
    "message": {"jsonrpc": "2.0", "id": 1, "method": "x"},
    "nested": {"_meta": 1, "workDoneToken": {}},
    "null": None,
    "empty": [{}, [], ""],
}


def test_g12_object_params_come_back_as_objects(shared: Client) -> None:
    assert shared.call("test/echo", {"object": {"a": {"b": [{"c": 1}]}}}) == {"object": {"a": {"b": [{"c": 1}]}}}


def test_g12_keys_that_are_no_identifiers_keep_their_names(shared: Client) -> None:
    params = {"class": 1, "from": 2, "a-b": 3, "nested": {"_meta": 4, "_0": 5}}
    assert shared.call("test/echo", params) == params


def test_g12_a_parameter_called_type_name_is_nothing_special(shared: Client) -> None:
    params = {"type_name": "no identifier", "nested": {"type_name": 1}}
    assert shared.call("test/echo", params) == params


def test_g12_a_nested_jsonrpc_key_is_nothing_special(shared: Client) -> None:
    params = {"message": {"jsonrpc": "2.0", "id": 1, "method": "exit"}, "jsonrpc": "1.0"}
    assert shared.call("test/echo", params) == params


def test_g12_a_request_without_params_is_answered(shared: Client) -> None:
    shared.send({"jsonrpc": "2.0", "id": "bare", "method": "test/echo"})
    assert shared.reply("bare")["result"] == {}


def test_g12_a_result_that_is_no_json_is_an_error_with_the_requests_id(shared: Client) -> None:
    error = shared.error("test/unserialisable")
    assert error["code"] == -32603
    assert "object" in error["message"]


def test_g12_a_set_is_a_list(shared: Client) -> None:
    assert shared.call("test/set") == {"set": [1]}


def test_g12_a_batch_is_refused(shared: Client) -> None:
    shared.send([{"jsonrpc": "2.0", "id": 1, "method": "test/echo"}])
    assert shared.reply(None)["error"]["code"] == -32600


def test_g12_twenty_thousand_small_objects_pass(shared: Client) -> None:
    params = {"list": [{"number": number, "text": "x"} for number in range(20_000)]}
    assert shared.call("test/echo", params) == params


def test_extra_members_of_a_request_do_no_harm(shared: Client) -> None:
    assert shared.reply(shared.request("test/echo", {"a": 1}, extra={"x": 1}))["result"] == {"a": 1}


def test_a_coroutine_gets_the_same_params(shared: Client) -> None:
    assert shared.call("test/echoLater", HOSTILE) == HOSTILE


@pytest.mark.parametrize("method", ["test/none", "test/echo", "test/echoLater"])
@pytest.mark.parametrize("params", [None, [], [None], {}, {"_meta": {"a": 1}}])
def test_g15_missing_null_and_empty_params_mean_none(shared: Client, method: str, params: Any) -> None:
    assert shared.call(method, params) == (None if method == "test/none" else {})


def test_a_null_result_is_sent(shared: Client) -> None:
    assert shared.reply(shared.request("test/none"))["result"] is None


def test_null_fields_are_sent_and_absent_ones_are_not(shared: Client) -> None:
    assert shared.call("test/strict", {"sessionId": "s"}) == {"sessionId": "s", "parentId": None}


@pytest.mark.parametrize(
    ("params", "path", "field"),
    [
        ({}, "sessionId", "sessionId"),
        ({"sessionId": 1}, "sessionId", "sessionId"),
        ({"sessionId": None}, "sessionId", "sessionId"),
        ({"sessionId": "s", "surprise": 1}, "surprise", "surprise"),
        ({"sessionId": "s", "limit": "1"}, "limit", "limit"),
        ({"sessionId": "s", "limit": True}, "limit", "limit"),
        ({"sessionId": "s", "parts": [{"name": "a"}, {"name": "b", "x": 1}]}, "parts[1].x", "x"),
        ({"sessionId": "s", "parts": [{"name": 5}]}, "parts[0].name", "name"),
        ({"sessionId": "s", "parts": [7]}, "parts[0]", "parts"),
        ({"sessionId": "s", "workDoneToken": {}}, "workDoneToken", "workDoneToken"),
    ],
)
def test_invalid_params_name_the_field(shared: Client, params: Any, path: str, field: str) -> None:
    error = shared.error("test/strict", params)
    assert error["code"] == -32602
    assert error["data"] == {"kind": "invalid-params", "retryable": False, "path": path, "field": field}
    assert field in error["message"]


@pytest.mark.parametrize("params", ["text", 1, True, [1], [{}]])
def test_params_that_are_no_object_are_invalid(shared: Client, params: Any) -> None:
    error = shared.error("test/echo", params)
    assert (error["code"], error["data"]["kind"]) == (-32602, "invalid-params")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999"])
def test_g20_numbers_that_json_does_not_have_are_invalid_params(shared: Client, number: str) -> None:
    shared.send(b'{"jsonrpc":"2.0","id":"n","method":"test/echo","params":{"a":[%b]}}' % number.encode())
    error = shared.reply("n")["error"]
    assert (error["code"], error["data"]["kind"]) == (-32602, "invalid-params")


def test_g12_g20_nan_in_a_result_is_null(shared: Client) -> None:
    assert shared.call("test/nan") == {"value": None}


@pytest.mark.parametrize(
    "body", [b"garbage", b"", b"{", b'{"jsonrpc":"2.0","id":1,', b'"\xff"', b"{} {}", b"\xef\xbb\xbf{}"]
)
def test_g2_a_malformed_body_is_a_parse_error_and_the_next_request_is_answered(shared: Client, body: bytes) -> None:
    shared.send(body)
    assert shared.reply(None)["error"]["code"] == -32700
    assert shared.call("test/echo", {"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    "body",
    [
        b"1",
        b"null",
        b'"text"',
        b"[]",
        b"{}",
        b'{"id":1,"method":"test/echo"}',
        b'{"jsonrpc":"1.0","id":1,"method":"test/echo"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":null,"method":"test/echo"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"test/echo"}',
        b'{"jsonrpc":"2.0","id":true,"method":"test/echo"}',
        b'{"jsonrpc":"2.0","id":{},"method":"test/echo"}',
    ],
)
def test_what_is_no_json_rpc_message_is_an_invalid_request(shared: Client, body: bytes) -> None:
    shared.send(body)
    value = json.loads(body)
    id = value.get("id") if isinstance(value, dict) else None
    assert shared.reply(id if type(id) is int else None)["error"]["code"] == -32600


def test_a16_lone_surrogates_come_back_as_they_were_sent(shared: Client) -> None:
    params = {"text": "\ud83d", "\ud83d": {"\udc00 key": ["a\ud83d", "é\ud83d"]}}
    assert shared.call("test/echo", params) == params
    shared.send({"jsonrpc": "2.0", "id": "\ud83d", "method": "test/echo"})
    assert shared.reply("\ud83d")["result"] == {}


def test_a19_deep_nesting_is_answered_with_the_requests_id(shared: Client) -> None:
    depth = 20_000
    shared.send(b'{"jsonrpc":"2.0","id":"deep","method":"test/none","params":%b%b}' % (b"[" * depth, b"]" * depth))
    assert shared.reply("deep")["error"]["code"] == -32602
    nested = b"[" * depth + b"]" * depth
    shared.send(b'{"jsonrpc":"2.0","id":"echo","method":"test/echo","params":{"a":%b}}' % nested)
    reply = shared.reply("echo")
    assert reply.get("result") or reply["error"]["code"] == -32603
    assert shared.call("test/echo", {"a": 1}) == {"a": 1}


def test_integers_are_exact_up_to_64_bits(shared: Client) -> None:
    params = {"largest": 2**64 - 1, "smallest": -(2**63)}
    assert shared.call("test/echo", params) == params


def test_an_unknown_request_is_refused_and_an_unknown_notification_ignored(shared: Client) -> None:
    shared.notify("test/unknown", {"a": 1})
    shared.notify("$/unknown")
    for method in ("test/unknown", "$/unknown", "textDocument/hover"):
        error = shared.error(method, {})
        assert error["code"] == -32601
        assert method in error["message"]


def test_an_expected_error_carries_kind_and_data(shared: Client) -> None:
    error = shared.error("test/fail", {"name": "expected"})
    data = {"kind": "stale-cursor", "retryable": True, "runId": "r1"}
    assert error == {"code": -32803, "message": "Busy just now.", "data": data}


def test_an_error_inside_a_task_group_is_unwrapped(shared: Client) -> None:
    assert shared.error("test/fail", {"name": "group"})["data"]["kind"] == "read-only"


def test_a_timeout_is_retryable(shared: Client) -> None:
    assert shared.error("test/fail", {"name": "timeout"})["data"] == {"kind": "timed-out", "retryable": True}


def test_an_unexpected_error_says_what_it_is_and_keeps_its_traceback_on_stderr(shared: Client) -> None:
    assert shared.error("test/fail", {"name": "bug"}) == {"code": -32603, "message": "LookupError: a surprise"}
    assert "Traceback" in shared.errors.read_text()
    assert "echo_server.py" in shared.errors.read_text()


def test_g1_line_and_paragraph_separators_stay_in_their_string(launch: Callable[..., Client]) -> None:
    text = "a\u2028b\u2029c\x85d\u0000"
    for framing in ("lsp", "lines"):
        client = launch(framing=framing)
        client.initialize()
        assert client.call("test/echo", {"text": text}) == {"text": text}
        client.send('{"jsonrpc":"2.0","id":"u","method":"test/length","params":{"text":"a\u2028b"}}'.encode())
        assert client.reply("u")["result"] == {"length": 3}


def test_g8_lengths_count_bytes(shared: Client) -> None:
    params = {"text": "漢字 😀 é", "😀": "漢" * 1000}
    body = json.dumps({"jsonrpc": "2.0", "id": "cjk", "method": "test/echo", "params": params}, ensure_ascii=False)
    shared.send(body.encode())
    assert shared.reply("cjk")["result"] == params
    assert shared.call("test/echo", {"a": 1}) == {"a": 1}


def test_lines_stay_lines_when_stored_json_is_spread_over_several(launch: Callable[..., Client]) -> None:
    client = launch(framing="lines")
    client.initialize()
    assert client.call("test/raw", {"text": '{\n "a":\r\n 1}'}) == {"a": 1}


def test_initialize_announces_what_the_server_can_do(launch: Callable[..., Client]) -> None:
    client = launch()
    result = client.initialize(initializationOptions={"piserver": {"trusted": False, "a-b": [1]}})
    assert result["capabilities"]["experimental"] == {"echo": {"version": 1}}
    assert result["serverInfo"] == {"name": "echo", "version": "1"}


def test_lsp_methods_still_run_through_pygls(client: Client) -> None:
    document = {"uri": "file:///a.md", "languageId": "markdown", "version": 1, "text": "one"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    assert client.call("test/document", {"name": "file:///a.md"}) == {"text": "one"}
    change = {"textDocument": {"uri": "file:///a.md", "version": 2}, "contentChanges": [{"text": "two"}]}
    client.notify("textDocument/didChange", change)
    assert client.call("test/document", {"name": "file:///a.md"}) == {"text": "two"}
    client.notify("textDocument/didChange", {"nonsense": 1})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///unknown"}})
    assert client.error("workspace/executeCommand", {"command": "unknown"})["code"] == -32602
    assert client.error("workspace/executeCommand", {"nonsense": 1})["data"]["kind"] == "invalid-params"
    assert client.call("test/document", {"name": "file:///a.md"}) == {"text": "two"}


def test_notifications_leave_nothing_behind_in_pygls(client: Client) -> None:
    for _ in range(100):
        client.notify("$/test/slowNotification", {})
    deadline = time.monotonic() + DEADLINE
    while (kept := client.call("test/futures")) and time.monotonic() < deadline:
        pass
    assert kept == 0
