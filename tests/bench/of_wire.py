"""The wire by itself: a request that asks for nothing, many changes at once, and the start of the process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench import setting
from tests.bench.conversation import Conversation
from tests.bench.of_server import SERVE, agent_command, message
from tests.bench.report import Row, Target
from tests.bench.setting import FOLDER, HERE, Scale, WorkingCopy

_SERVERS = HERE / "servers"
_ECHO = [sys.executable, str(_SERVERS / "echo.py")]
_BARE = [sys.executable, str(_SERVERS / "bare.py")]
_STOCK = [sys.executable, str(_SERVERS / "stock.py")]
_NODE = [setting.node(), str(_SERVERS / "vscode_jsonrpc.mjs"), str(FOLDER)]
_APPENDS = 1000


def round_trips(scale: Scale, folder: Path) -> Iterator[Row]:
    """One small request after the other."""
    env = setting.environment(folder)
    commands = {"ours": _ECHO, "bare": _BARE, "node": _NODE}
    measures = {name: partial(_echo, command, env, scale.requests) for name, command in commands.items()}
    found = setting.by_turns(scale.rounds, measures)
    ours, bare, node = (setting.medians(results) for results in found.values())
    yield Row("Trivial request, there and back", ours["trip"], node["trip"], "vscode-jsonrpc", Target("ratio", 1.2))
    yield Row("Trivial request, there and back", ours["trip"], bare["trip"], "bare asyncio loop")
    if "cpu" in ours:
        yield Row("Processor time for it", ours["cpu"], node["cpu"], "vscode-jsonrpc")
        yield Row("Processor time for it", ours["cpu"], bare["cpu"], "bare asyncio loop")


def _echo(command: Sequence[str], env: dict[str, str], requests: int) -> dict[str, Any]:
    params = {"sessionId": "a", "text": "nothing much"}
    with Conversation(command, env) as server:
        server.initialize()
        for _ in range(requests // 5):
            server.ask("bench/echo", params)
        before = server.cpu_seconds()
        trips = [server.timed("bench/echo", params)[0] for _ in range(requests)]
        after = server.cpu_seconds()
    used = {} if before is None or after is None else {"cpu": (after - before) / requests}
    return {"trip": median(trips)} | used


def appends(scale: Scale, folder: Path) -> Iterator[Row]:
    """Many appends, sent without waiting for the answers."""
    copy = WorkingCopy(setting.session_file(scale.entries[0]), folder)
    env = setting.environment(folder)
    measures = {name: partial(_appends, command, env, copy) for name, command in (("ours", SERVE), ("bare", _BARE))}
    found = setting.by_turns(max(scale.rounds, 3), measures)
    ours, bare = (setting.medians(results)["all"] for results in found.values())
    what = "Server: 1,000 appends of 2 KB, sent at once"
    yield Row(what, ours, bare, "bare asyncio loop", Target("ratio", 1.3))


def _appends(command: Sequence[str], env: dict[str, str], copy: WorkingCopy) -> dict[str, Any]:
    with copy.lent() as path, Conversation(command, env) as server:
        server.initialize()
        opened = json.loads(server.ask("session/open", {"path": str(path)}))
        params = {"sessionId": opened["result"]["info"]["id"], "entry": message("x" * 2000)}
        times: list[float] = []
        for _ in range(3):
            requests = [server.message("session/append", params) for _ in range(_APPENDS)]
            times.append(server.pipelined(requests))
        return {"all": times}


def start(scale: Scale, folder: Path) -> Iterator[Row]:
    """From nothing to the first answer."""
    env = setting.environment(folder)
    measures = {
        "ours": partial(_start, SERVE, env),
        "stock": partial(_start, _STOCK, env),
        "agent": partial(_start_agent, env),
    }
    found = setting.by_turns(2 * scale.rounds + 1, measures)
    ours, stock, agent = (median(results) for results in found.values())
    yield Row("Server: start to first answer", ours, stock, "pygls with no features", Target("excess", 0.15))
    yield Row("Server: start to first answer", ours, agent, "terminal agent, RPC mode, no session")


def _start(command: Sequence[str], env: dict[str, str]) -> float:
    with Conversation(command, env) as server:
        server.initialize()
        return server.age


def _start_agent(env: dict[str, str]) -> float:
    with Conversation(agent_command("--no-session"), env, "lines") as agent:
        agent.ask("get_state")
        return agent.age
