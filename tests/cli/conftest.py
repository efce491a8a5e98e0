import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE = 60

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and the project importable whether or not it is installed."""
    return os.environ | {"PYTHONPATH": str(ROOT), "PI_CODING_AGENT_DIR": str(tmp_path / "agent"), "COLUMNS": "100"}


@pytest.fixture
def piserver(tmp_path: Path, environment: dict[str, str]) -> Run:
    """Runs a command in the test's folder, by default with nothing on stdin."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "piserver", *arguments]
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        options = {"env": environment, "cwd": tmp_path, "timeout": DEADLINE} | options
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    """A conversation with two branches, a label, and a line that is broken."""
    return write_session(
        tmp_path / "session.jsonl",
        message("e1", None, "user", "Hello"),
        message("e2", "e1", "assistant", "Good day"),
        message("e3", "e2", "user", "One way"),
        message("e4", "e2", "user", "Another way"),
        entry("e5", "e4", type="label", targetId="e3", label="the one"),
        "this is no entry",
    )


def entry(id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    return {"id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", **fields}


def message(id: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return entry(id, parent, type="message", message={"role": role, "content": content})


def write_session(path: Path, *entries: dict[str, Any] | str) -> Path:
    header = entry("s1", None, type="session", version=3, cwd=str(path.parent))
    del header["parentId"]
    lines = [item if isinstance(item, str) else json.dumps(item) for item in (header, *entries)]
    path.write_text("\n".join(lines) + "\n")
    return path
