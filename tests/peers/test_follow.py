"""The terminal agent works on a session that is open here, and knows nothing of it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.peer import needs_peers, writer
from tests.server.client import Piserver, user

pytestmark = [pytest.mark.peers, needs_peers]

ASSISTANT = {
    "role": "assistant",
    "content": [{"type": "text", "text": "an answer"}],
    "api": "a",
    "provider": "p",
    "model": "m",
    "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"total": 0}},
    "stopReason": "stop",
    "timestamp": 2,
}

Call = Callable[..., dict[str, str]]


def said(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Piserver]:
    server = Piserver(tmp_path)
    server.folder.mkdir(parents=True)
    server.initialize()
    yield server
    server.stop()


@pytest.fixture
def agent(server: Piserver, tmp_path: Path) -> Iterator[Call]:
    """Calls a method of the agent's session manager; answers the file and the leaf."""
    with writer("/project", server.folder / "--project--", tmp_path) as process:
        assert process.stdin
        assert process.stdout

        def call(*command: Any) -> dict[str, str]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(command) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield call
        process.stdin.close()
        assert process.wait(20) == 0


def test_what_the_terminal_agent_writes_appears(server: Piserver, agent: Call) -> None:
    agent("appendMessage", said("hello"))
    place = agent("appendMessage", ASSISTANT)
    # Where the agent was quicker than the first look at the list, its session is no news there.
    snapshot = server.call("session/open", {"path": place["file"]})
    session, revision = snapshot["sessionId"], snapshot["revision"]
    assert snapshot["leafId"] == place["leaf"]
    for turn in range(3):
        agent("appendMessage", said(f"turn {turn}"))
        leaf = agent("appendMessage", ASSISTANT)["leaf"]
        ids: list[str] = []
        while leaf not in ids:
            told = server.until("session/treeChanged")["params"]
            assert (told["sessionId"], told["origin"]["kind"]) == (session, "external")
            assert told["fromRevision"] == revision
            ids += [entry["id"] for entry in told["appended"]]
            revision = told["revision"]
        assert told["newerLeafId"] == leaf
    agent("appendSessionInfo", "The agent's")
    told = server.wait_until("session/listChanged", lambda told: told["reason"] == "renamed")
    assert (told["sessionId"], told["info"]["name"]) == (session, "The agent's")
    server.append(session, user("from here"))
    assert (
        len(Path(place["file"]).read_bytes().splitlines())
        == server.call("session/open", {"sessionId": session})["revision"] + 1
    )


def test_a_session_that_the_terminal_agent_begins_is_told(server: Piserver, agent: Call) -> None:
    # Another file shows that the list is followed.
    number = 0
    while not any(note["method"] == "session/listChanged" for note in server.notifications):
        number += 1
        probe = server.folder / f"probe-{number}.jsonl"
        probe.write_text(json.dumps({"type": "session", "version": 3, "id": f"probe-{number}", "cwd": "/"}) + "\n")
        server.call("session/list", {"query": "nothing"})
    agent("appendMessage", said("hello"))
    file = agent("appendMessage", ASSISTANT)["file"]
    told = server.wait_until("session/listChanged", lambda told: told["path"] == file)
    assert (told["reason"], told["info"]["cwd"]) == ("created", "/project")
