"""Bytes: how they may arrive, how many there may be, and what else must not get among them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.wire.client import Client

PARAMS = {"text": "漢字 😀 \u2028", "list": [1, 2, 3]}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("framing", ["lsp", "lines"])
def test_g22_messages_arrive_in_small_pieces(launch: Callable[..., Client], framing: str, size: int) -> None:
    client = launch(framing=framing)
    client.initialize()
    body = json.dumps(
        {"jsonrpc": "2.0", "id": "x", "method": "test/echo", "params": PARAMS}, ensure_ascii=False
    ).encode()
    stream = client.frame(body) * 3
    for start in range(0, len(stream), size):
        client.send_bytes(stream[start : start + size])
    assert [client.reply("x")["result"] for _ in range(3)] == [PARAMS] * 3


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\nX-Extra: 1\r\n\r\n",
    ],
)
def test_g13_headers_come_in_any_case_and_company(client: Client, header: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":"h","method":"test/echo","params":{"a":1}}'
    client.send_bytes(header % len(body) + body)
    assert client.reply("h")["result"] == {"a": 1}
    assert client.call("test/echo", {"b": 2}) == {"b": 2}


@pytest.mark.parametrize(
    "junk",
    [
        b"Content-Length: 5\n\nhello",
        b"junk\r\n\r\n",
        b"{}{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 100000000000000000000\r\n\r\n",
        b"X: 1\r\n\r\n",
        b"X: " + b"x" * (17 << 10),
    ],
)
def test_g13_broken_framing_is_answered_and_ends_the_server(launch: Callable[..., Client], junk: bytes) -> None:
    client = launch()
    client.send_bytes(
        client.frame(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None}}
        )
        + junk
    )
    assert client.next_reply()["id"] == 1
    reply = client.next_reply()
    assert (reply["id"], reply["error"]["code"]) == (None, -32700)
    assert client.read() is None
    assert client.wait() == 1


def test_g6_twenty_megabytes_of_params(client: Client) -> None:
    assert client.call("test/length", {"text": "x" * (20 << 20)}) == {"length": 20 << 20}


def test_g6_fifty_megabytes_of_result(client: Client) -> None:
    before = client.call("test/memory")["VmRSS"]
    assert client.call("test/large", {"size": 50 << 20}) == "x" * (50 << 20)
    # the handler's two copies and the frame: a fourth would mean that the result was taken apart
    assert client.call("test/memory")["VmHWM"] < before + (170 << 20)


def test_g6_a_frame_over_the_limit_is_refused_with_its_id_and_the_connection_lives(
    launch: Callable[..., Client],
) -> None:
    for framing in ("lsp", "lines"):
        client = launch("--max-frame-bytes", "100000", framing=framing)
        client.initialize()
        id = client.request("test/length", {"text": "x" * 200_000})
        error = client.reply(id)["error"]
        assert (error["code"], error["data"]) == (-32803, {"kind": "too-large", "retryable": False, "limit": 100_000})
        assert client.call("test/length", {"text": "x" * 90_000}) == {"length": 90_000}


def test_ten_announced_gigabytes_are_refused_and_skipped_in_flat_memory(client: Client) -> None:
    before = client.call("test/memory")["VmRSS"]
    client.send_bytes(b"Content-Length: 10000000000\r\n\r\n")
    error = client.reply(None)["error"]
    assert (error["code"], error["data"]["kind"]) == (-32803, "too-large")
    client.send_bytes(b"x" * (100 << 20))  # of the ten; whether the rest comes makes no difference
    rss = int((Path("/proc") / str(client.process.pid) / "statm").read_text().split()[1]) << 12
    assert rss < before + (20 << 20)


def test_a_skipped_frame_is_followed_by_the_next(client: Client) -> None:
    body = b'{"id":"big","method":"m","params":"%b"}' % (b"x" * (70 << 20))
    client.send(body)
    assert client.reply("big")["error"]["data"]["kind"] == "too-large"
    assert client.call("test/echo", {"a": 1}) == {"a": 1}


def test_a_slow_reader_gets_everything_and_costs_no_memory(client: Client) -> None:
    before = client.call("test/memory")["VmRSS"]
    count, size = 1600, 64 << 10
    flood = client.request("test/flood", {"size": size, "count": count})
    # requests are not read either while the client does not read; these wait in the pipe
    frame = client.frame({"jsonrpc": "2.0", "id": "after", "method": "test/memory"})
    client.send_bytes(frame, read=False)
    while sum(message["method"] == "test/flooded" for message in client.notifications) < 10:
        message = client.read()
        assert message
        client.notifications.append(message)
    result = client.reply(flood)["result"]
    assert result["mostBacklog"] < (8 << 20) + 2 * size
    assert [message["params"]["number"] for message in client.notifications] == list(range(count))
    assert client.reply("after")["result"]["VmHWM"] < before + (60 << 20)
    assert client.call("test/echo", {"a": 1}) == {"a": 1}


def test_g14_g5_what_is_printed_and_what_children_read_stays_off_the_wire(client: Client) -> None:
    frames = [client.frame({"jsonrpc": "2.0", "id": n, "method": "test/print"}) for n in ("a", "b", "c")]
    client.send_bytes(b"".join(frames))
    for id in ("a", "b", "c"):
        result = client.reply(id)["result"]
        assert (result["childStatus"], result["childError"]) == (1, "EOFError: EOF when reading a line")
    errors = client.errors.read_text()
    assert errors.count("a stray print\n") == 3
    assert errors.count("stray bytes\n") == 3
