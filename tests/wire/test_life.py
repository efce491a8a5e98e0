"""How a server begins and how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from piserver.server.wire import EOF_PATIENCE
from tests.wire.client import ROOT, Client

INITIALIZE = {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"processId": None, "capabilities": {}}}
PROMPT = 4.0  # an end within two seconds, on a machine that is busy with other things


def test_before_initialize_requests_are_refused_and_notifications_dropped(launch: Callable[..., Client]) -> None:
    client = launch()
    client.notify("initialized", {})
    assert client.error("test/echo", {})["code"] == -32002
    assert client.error("shutdown")["code"] == -32002
    assert client.error("unknown")["code"] == -32002
    client.initialize()
    assert client.call("test/echo", {"a": 1}) == {"a": 1}


def test_a_second_initialize_is_refused(client: Client) -> None:
    assert client.error("initialize", {"processId": None, "capabilities": {}})["code"] == -32600


def test_initialize_can_be_refused_and_tried_again(launch: Callable[..., Client]) -> None:
    client = launch()
    params = {"processId": None, "capabilities": {}, "initializationOptions": "refuse-me"}
    assert client.error("initialize", params)["data"]["kind"] == "read-only"
    assert client.error("test/echo")["code"] == -32002
    client.initialize()


def test_initialization_options_reach_the_server(launch: Callable[..., Client]) -> None:
    client = launch()
    client.initialize(initializationOptions={"trusted": False})
    assert client.call("test/options") == {"options": {"trusted": False}}


def test_shutdown_and_exit(launch: Callable[..., Client], tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended))
    client.initialize()
    assert client.call("shutdown") is None
    assert ended.read_text() == "ended"  # before the answer
    for method in ("test/echo", "initialize", "shutdown", "unknown"):
        assert client.error(method, {})["code"] == -32600
    client.notify("exit")
    assert client.read() is None
    assert client.wait() == 0


def test_shutdown_and_exit_in_one_write(client: Client) -> None:
    shutdown = client.frame({"jsonrpc": "2.0", "id": "s", "method": "shutdown"})
    client.send_bytes(shutdown + client.frame({"jsonrpc": "2.0", "method": "exit"}))
    assert client.reply("s")["result"] is None
    assert client.wait() == 0


@pytest.mark.parametrize("initialized", [True, False])
def test_exit_without_shutdown(launch: Callable[..., Client], tmp_path: Path, *, initialized: bool) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended))
    if initialized:
        client.initialize()
    client.notify("exit")
    assert client.wait() == 1
    assert ended.exists()


def test_shutdown_cancels_what_is_pending(client: Client) -> None:
    pending = [client.request("test/wait", {"name": str(n)}) for n in range(3)]
    shutdown = client.request("shutdown")
    assert [client.reply(id)["error"]["code"] for id in pending] == [-32800] * 3
    assert client.reply(shutdown)["result"] is None


def test_g9_shutdown_does_not_wait_for_the_client(client: Client) -> None:
    asking = client.request("test/ask", {})
    client.until("client/question")
    shutdown = client.request("shutdown")
    assert client.reply(asking)["error"]["data"]["kind"] == "cancelled"
    assert client.reply(shutdown)["result"] is None


@pytest.mark.parametrize("framing", ["lsp", "lines"])
def test_g3_the_end_of_input_after_requests(launch: Callable[..., Client], tmp_path: Path, framing: str) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended), framing=framing)
    stream = client.frame(INITIALIZE)
    stream += client.frame({"jsonrpc": "2.0", "id": 1, "method": "test/echoLater", "params": {"a": 1}})
    stream += client.frame({"jsonrpc": "2.0", "id": 2, "method": "test/spawn", "params": {"name": "run"}})
    stream += client.frame({"jsonrpc": "2.0", "id": 3, "method": "test/large", "params": {"size": 3 << 20}})
    client.send_bytes(stream)
    client.close_input()
    assert client.reply(1)["result"] == {"a": 1}
    assert len(client.reply(3)["result"]) == 3 << 20
    assert client.until("test/spawned")["params"] == {"name": "run"}
    assert client.read() is None
    assert client.wait() == 0
    assert ended.exists()


def test_the_last_line_needs_no_line_end(launch: Callable[..., Client]) -> None:
    client = launch(framing="lines")
    client.initialize()
    client.send_bytes(b'{"jsonrpc":"2.0","id":"x","method":"test/echo"}')
    client.close_input()
    assert client.reply("x")["result"] == {}
    assert client.wait() == 0


def test_in_line_mode_the_end_of_input_waits_for_what_was_asked(launch: Callable[..., Client]) -> None:
    client = launch(framing="lines")
    client.initialize()
    asking = client.request("test/ask", {})
    client.until("client/question")
    slow = client.request("test/slow", {"seconds": 2 * EOF_PATIENCE})
    client.close_input()
    assert client.reply(asking)["error"]["data"]["kind"] == "cancelled"  # nobody can reply any more
    assert client.reply(slow)["result"] == {"slept": True}
    assert client.wait() == 0


def test_in_line_mode_a_signal_ends_the_waiting(launch: Callable[..., Client]) -> None:
    client = launch(framing="lines")
    client.initialize()
    asking = client.request("test/ask", {})
    waiting = client.request("test/wait", {"name": "never"})
    client.until("client/question")
    client.close_input()
    client.reply(asking)  # the end of input has been seen
    client.process.send_signal(signal.SIGTERM)
    assert client.reply(waiting)["error"]["code"] == -32800
    assert client.wait() == 0


def test_with_lsp_framing_the_end_of_input_waits_only_a_little(launch: Callable[..., Client], tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended))
    client.initialize()
    waiting = client.request("test/wait", {"name": "never"})
    client.request("test/thread", {"name": "stuck"})
    client.close_input()
    assert client.reply(waiting)["error"]["code"] == -32800
    assert client.wait(PROMPT) == 0
    assert ended.exists()


def test_an_input_that_ends_inside_a_frame(client: Client) -> None:
    client.send_bytes(b"Content-Length: 100\r\n\r\n{")
    client.close_input()
    assert client.reply(None)["error"]["code"] == -32700
    assert client.wait(PROMPT) == 1


def test_input_from_a_file(launch: Callable[..., Client], tmp_path: Path) -> None:
    requests = [INITIALIZE] + [
        {"jsonrpc": "2.0", "id": n, "method": "test/echo", "params": {"n": n}} for n in range(5000)
    ]
    file = tmp_path / "requests"
    client = launch(framing="lines", stdin=subprocess.DEVNULL)
    file.write_bytes(b"".join(map(client.frame, requests)))
    with file.open("rb") as stdin:
        client = launch(framing="lines", stdin=stdin)
    client.reply("i")
    assert [client.next_reply()["id"] for _ in range(5000)] == list(range(5000))
    assert client.wait() == 0


def test_output_to_a_file(tmp_path: Path) -> None:
    client_frame = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}\n'
    large = b'{"jsonrpc":"2.0","id":2,"method":"test/large","params":{"size":10000000}}\n'
    command = [sys.executable, str(ROOT / "tests/wire/echo_server.py"), "--framing", "lines"]
    with (tmp_path / "out").open("wb") as out:
        status = subprocess.run(
            command, input=client_frame + large, stdout=out, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
        ).returncode
    assert status == 0
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert [len(line) > 10_000_000 for line in lines] == [False, True]


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_cleanly(launch: Callable[..., Client], tmp_path: Path, sig: signal.Signals) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended))
    client.initialize()
    waiting = client.request("test/wait", {"name": "never", "workDoneToken": 1})
    client.until("$/progress")
    client.process.send_signal(sig)
    assert client.reply(waiting)["error"]["code"] == -32800
    assert client.wait(PROMPT) == 0
    assert ended.exists()


def test_g11_the_parents_death_ends_it_though_the_pipes_stay_open(
    launch: Callable[..., Client], tmp_path: Path
) -> None:
    ended = tmp_path / "ended"
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = launch("--ended", str(ended))
    client.initialize(processId=parent.pid)
    client.request("test/wait", {"name": "never"})
    parent.kill()
    parent.communicate()
    assert client.wait(PROMPT) == 1
    assert ended.exists()


def test_g11_a_closed_stdout_ends_it_though_nothing_is_sent(launch: Callable[..., Client], tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    client = launch("--ended", str(ended))
    client.initialize()
    client.call("test/echo")
    client.close_output()
    assert client.wait(PROMPT) == 1
    assert ended.exists()
    assert "Traceback" not in client.errors.read_text()


def test_g11_a_stdout_that_closes_under_a_flood(client: Client) -> None:
    client.request("test/flood", {"size": 1 << 16, "count": 10_000})
    client.until("test/flooded")
    client.close_output()
    assert client.wait(PROMPT) == 1
    assert "Traceback" not in client.errors.read_text()
