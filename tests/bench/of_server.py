"""A large session through the server, beside the terminal agent's RPC mode: the last byte of an answer counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import setting
from tests.bench.conversation import Conversation
from tests.bench.report import Row, Target, shown
from tests.bench.setting import NAMES, PEERS, TERMINAL_AGENT, Scale, WorkingCopy

SERVE = [sys.executable, "-P", "-m", "piserver", "serve"]
_AGENT = PEERS / "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
_WINDOW = {"limit": 200, "filter": "all"}


def agent_command(*options: str) -> list[str]:
    """The terminal agent in its RPC mode."""
    return [setting.node(), str(_AGENT), "--mode", "rpc", "--no-extensions", *options]


def large_session(scale: Scale, folder: Path) -> Iterator[Row]:
    """Start, the whole context, and the tree."""
    copy = WorkingCopy(setting.session_file(scale.entries[-1]), folder)
    env = setting.environment(folder)

    trees: list[str] = []  # the agent's answers to `get_tree`: a time, or an error

    def measure_ours() -> dict[str, Any]:
        with copy.lent() as path:
            return _ours(path, env)

    def measure_agent() -> dict[str, Any]:
        with copy.lent() as path:
            result = _agent(path, env)
        trees.append(result.pop("tree"))
        return result

    found = setting.by_turns(scale.rounds, {"piserver": measure_ours, TERMINAL_AGENT: measure_agent})
    ours, theirs = (setting.medians(results) for results in found.values())
    agent = NAMES[TERMINAL_AGENT]
    yield Row(
        f"Server: start and open {scale.entries[-1]:,} entries", ours["start"], theirs["start"], f"{agent}, RPC mode"
    )
    size = shown(ours["bytes"], "B")
    what = f"Server: whole context to the client ({size})"
    yield Row(what, ours["context"], theirs["context"], f"{agent}, `get_messages`", Target("ratio", 0.5))
    tree = f"{agent}, `get_tree`"
    yield Row("Server: the first 200 rows of the tree", ours["first"], trees[-1], tree, Target("amount", 0.005))
    yield Row("Server: 200 rows anywhere", ours["anywhere"], target=Target("amount", 0.005))
    yield Row("Server: 200 rows after an append", ours["appended"], target=Target("amount", 0.005))
    yield Row("Server: search, the first hit", ours["found"])
    yield Row("Server: search through everything, no hit", ours["searched"])


def _ours(path: Path, env: dict[str, str]) -> dict[str, Any]:
    with Conversation(SERVE, env) as server:
        server.initialize()
        snapshot = json.loads(server.ask("session/open", {"path": str(path)}))["result"]
        start = server.age
        session = {"sessionId": snapshot["info"]["id"]}
        first, answer = server.timed("session/getTree", session | _WINDOW)
        total = json.loads(answer)["result"]["window"]["total"]
        places = [total * part // 10 for part in (9, 5, 1, 7, 3)]
        anywhere = [server.timed("session/getTree", session | _WINDOW | {"offset": place})[0] for place in places]
        appended: list[float] = []
        for place in places:
            server.ask("session/append", session | {"entry": message("a small message")})
            appended.append(server.timed("session/getTree", session | _WINDOW | {"offset": place})[0])
        found, _ = server.timed("session/search", session | {"query": "thistle kestrel", "limit": 1})
        searched, answer = server.timed("session/search", session | {"query": "not to be found"})
        assert not json.loads(answer)["result"]["hits"]
        wanted = session | {"estimates": False, "excluded": False}
        context, body = server.timed("session/buildContext", wanted)
        return {
            "start": start,
            "first": first,
            "anywhere": anywhere,
            "appended": appended,
            "found": found,
            "searched": searched,
            "context": context,
            "bytes": len(body),
        }


def _agent(path: Path, env: dict[str, str]) -> dict[str, Any]:
    with Conversation(agent_command("--session", str(path)), env, "lines") as agent:
        agent.ask("get_state")
        start = agent.age
        context, _ = agent.timed("get_messages")
        try:
            seconds, _ = agent.timed("get_tree")
            tree = shown(seconds, "s")
        except RuntimeError as error:
            tree = f"fails: “{json.loads(str(error))['error']}”"
        return {"start": start, "context": context, "tree": tree}


def message(text: str) -> dict[str, Any]:
    """An entry to append."""
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 0}}
