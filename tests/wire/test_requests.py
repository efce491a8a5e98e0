"""Requests over time: order, cancellation, progress, requests to the client, logs and traces."""

import asyncio
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from piserver.protocol.errors import RequestError
from piserver.server.work import Work
from tests.wire.client import Client


def test_a_thousand_pipelined_requests_are_answered_in_order(client: Client) -> None:
    frames = [client.frame({"jsonrpc": "2.0", "id": n, "method": "test/echo", "params": {"n": n}}) for n in range(1000)]
    client.send_bytes(b"".join(frames))
    replies = [client.next_reply() for _ in range(1000)]
    assert [(reply["id"], reply["result"]["n"]) for reply in replies] == [(n, n) for n in range(1000)]


def test_g21_quick_requests_are_answered_while_a_long_one_runs(client: Client) -> None:
    long = client.request("test/wait", {"name": "long", "workDoneToken": "t"})
    client.until("$/progress")
    for number in range(200):
        assert client.call("test/echo", {"n": number}) == {"n": number}
        assert client.call("test/echoLater", {"n": number}) == {"n": number}
    client.call("test/open", {"name": "long"})
    assert client.reply(long)["result"] == {"waited": "long"}


def test_g10_a_cancelled_request_answers_so(client: Client) -> None:
    id = client.request("test/wait", {"name": "never", "workDoneToken": 1})
    client.until("$/progress")
    client.notify("$/cancelRequest", {"id": id})
    error = client.reply(id)["error"]
    assert (error["code"], error["data"]) == (-32800, {"kind": "cancelled", "retryable": False})


def test_g10_requests_cancelled_in_the_queue_are_answered_so(client: Client) -> None:
    names = ["first", "second", "third"]
    frames = [
        client.frame({"jsonrpc": "2.0", "id": name, "method": "test/wait", "params": {"name": name}}) for name in names
    ]
    frames += [client.frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": name}}) for name in names]
    client.send_bytes(b"".join(frames))
    assert [client.reply(name)["error"]["code"] for name in names] == [-32800] * 3


async def test_g10_a_request_cancelled_before_its_turn_never_begins() -> None:
    work = Work()
    began: list[int] = []
    failures: list[BaseException | None] = []

    async def begin() -> None:
        began.append(1)

    work.start(1, None, begin, lambda result, failure: failures.append(failure))
    assert work.cancel(1)
    await asyncio.wait(work.tasks())
    assert began == []
    assert isinstance(failures[0], RequestError)
    assert failures[0].kind == "cancelled"
    assert 1 not in work


async def test_a_shielded_part_of_a_request_is_not_cancelled() -> None:
    work = Work()
    steps: list[str] = []
    begun = anyio.Event()

    async def write_then_wait() -> None:
        with anyio.CancelScope(shield=True):
            begun.set()
            await anyio.lowlevel.checkpoint()
            steps.append("written")
        await anyio.sleep_forever()

    work.start(1, None, write_then_wait, lambda result, failure: steps.append(type(failure).__name__))
    await begun.wait()
    work.cancel(1)
    await asyncio.wait(work.tasks())
    assert steps == ["written", "RequestError"]


def test_cancelling_what_is_done_or_unknown_does_nothing(client: Client) -> None:
    id = client.request("test/echo", {})
    for params in ({"id": id}, {"id": "unknown"}, {"id": None}, {"id": []}, {}, None, [1]):
        client.notify("$/cancelRequest", params)
    assert client.reply(id)["result"] == {}
    assert client.call("test/echo", {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("method", ["$/cancelRequest", "window/workDoneProgress/cancel"])
def test_a_notification_sent_as_a_request_is_answered_all_the_same(client: Client, method: str) -> None:
    assert client.error(method, {"id": 99, "token": "t"})["code"] == -32601


def test_a_thread_that_does_not_end_does_not_hold_a_cancelled_request_or_the_process(client: Client) -> None:
    id = client.request("test/thread", {"name": "stuck", "workDoneToken": 1})
    client.until("$/progress")
    client.notify("$/cancelRequest", {"id": id})
    assert client.reply(id)["error"]["code"] == -32800
    client.call("shutdown")
    client.notify("exit")
    assert client.wait() == 0


def test_an_id_that_is_in_flight_is_refused(client: Client) -> None:
    client.send({"jsonrpc": "2.0", "id": "same", "method": "test/wait", "params": {"name": "gate"}})
    client.send({"jsonrpc": "2.0", "id": "same", "method": "test/echo", "params": {}})
    assert client.reply("same")["error"]["code"] == -32600
    client.call("test/open", {"name": "gate"})
    assert client.reply("same")["result"] == {"waited": "gate"}


def test_progress_has_a_beginning_a_middle_and_one_end(client: Client) -> None:
    assert client.call("test/progress", {"workDoneToken": "t"}) == {"wanted": True}
    assert [message["params"] for message in client.notifications if message["method"] == "$/progress"] == [
        {"token": "t", "value": {"kind": "begin", "title": "counting", "cancellable": True, "percentage": 0}},
        {"token": "t", "value": {"kind": "report", "message": "half", "percentage": 50}},
        {"token": "t", "value": {"kind": "end", "message": "all"}},
    ]


def test_without_a_token_there_is_no_progress(client: Client) -> None:
    assert client.call("test/progress") == {"wanted": False}
    assert client.notifications == []


def test_progress_ends_when_the_request_fails(client: Client) -> None:
    client.error("test/fail", {"name": "expected", "workDoneToken": "t"})
    assert [message["params"]["value"]["kind"] for message in client.notifications] == ["begin", "end"]


def test_cancelling_the_progress_cancels_its_request(client: Client) -> None:
    id = client.request("test/wait", {"name": "never", "workDoneToken": "t"})
    client.until("$/progress")
    client.notify("window/workDoneProgress/cancel", {"token": "t"})
    assert client.reply(id)["error"]["code"] == -32800
    assert client.until("$/progress")["params"]["value"]["kind"] == "end"


def test_the_client_is_asked_and_its_reply_returned(client: Client) -> None:
    id = client.request("test/ask", {"question": {"class": 1}})
    asked = client.until("client/question")
    assert asked["params"] == {"question": {"class": 1}}
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"name": "an answer"}})
    assert client.reply(id)["result"] == {"name": "an answer"}


def test_a_clients_error_and_a_wrong_reply_reach_the_handler_as_errors(client: Client) -> None:
    cases = [
        ({"error": {"code": -32603, "message": "no"}}, "client-failed"),
        ({"error": {"code": -32800, "message": "no"}}, "cancelled"),
        ({"error": {"code": 1, "message": "no", "data": {"kind": "read-only"}}}, "read-only"),
        ({"error": None}, "client-failed"),
        ({"result": {"name": 1}}, "client-failed"),
        ({"result": None}, "client-failed"),
    ]
    for reply, kind in cases:
        id = client.request("test/ask", {})
        client.send({"jsonrpc": "2.0", "id": client.until("client/question")["id"]} | reply)
        assert client.reply(id)["error"]["data"]["kind"] == kind


def test_a_handler_that_is_cancelled_while_it_asks_takes_its_question_back(client: Client) -> None:
    id = client.request("test/ask", {})
    asked = client.until("client/question")
    client.notify("$/cancelRequest", {"id": id})
    assert client.reply(id)["error"]["code"] == -32800
    assert client.until("$/cancelRequest")["params"] == {"id": asked["id"]}
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"name": "too late"}})
    assert client.call("test/echo", {"a": 1}) == {"a": 1}


def test_replies_to_nothing_do_no_harm(client: Client) -> None:
    running = client.request("test/wait", {"name": "gate"})
    for id in (running, 12345, "unknown", None, [], 1.5):
        client.send({"jsonrpc": "2.0", "id": id, "result": {}})
        client.send({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})
    client.call("test/open", {"name": "gate"})
    assert client.reply(running)["result"] == {"waited": "gate"}


def test_log_records_reach_the_client_from_any_thread(client: Client) -> None:
    client.call("test/log", {"text": "hello"})
    assert client.until("window/logMessage")["params"] == {"type": 2, "message": "from a thread: hello"}
    client.call("test/echo", {})
    assert [message for message in client.notifications if message["method"] == "window/logMessage"] == []


def test_traces_are_sent_when_they_are_asked_for(launch: Callable[..., Client]) -> None:
    client = launch()
    client.initialize(trace="messages")
    client.call("test/echo", {"secret": 1})
    received = client.until("$/logTrace")["params"]
    answered = client.until("$/logTrace")["params"]
    assert "test/echo" in received["message"]
    assert "test/echo" in answered["message"]
    assert "verbose" not in received
    client.notify("$/setTrace", {"value": "verbose"})
    client.call("test/echoLater", {"shown": 1})
    assert client.until("$/logTrace")["params"]["verbose"] == '{"shown":1}'
    assert "Answered" in client.until("$/logTrace")["params"]["message"]
    client.notify("$/setTrace", {"value": "off"})
    client.call("test/echo")
    assert client.notifications == []
