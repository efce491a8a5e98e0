"""The recorded answers, which the other tests compare with, are what the installed peers say today."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.peers.peer import VERSIONS, needs_peers, peer_answers

pytestmark = [pytest.mark.peers, needs_peers]


def test_installed_peers_give_the_recorded_contexts(peer_data: Path, tmp_path: Path) -> None:
    recorded: dict[Path, dict[str, Any]] = {}
    for file in sorted((peer_data / "vectors/cases").glob("*.jsonl")):
        peers = json.loads(file.with_name(f"{file.stem}.expected.json").read_text())["peers"]
        contexts = {version: peers[version].get("context") for version in VERSIONS}
        if _comparable(contexts):
            recorded[file] = contexts
    assert len(recorded) >= 50

    answers = peer_answers(list(recorded), tmp_path)

    for file, contexts in recorded.items():
        assert {version: answers[file][version]["context"] for version in VERSIONS} == contexts, file.name


def _comparable(contexts: dict[str, Any]) -> bool:
    """Both peers answered, and with nothing that was recorded in another form (`$long`, `$number`, ...)."""
    return all(context and "messages" in context for context in contexts.values()) and '"$' not in json.dumps(contexts)
