"""Where session files lie, and what they are called. The terminal agent uses the same places."""

from __future__ import annotations

import os
import re
from pathlib import Path

from piserver.entries import json

_LONGEST_NAME = 240
"""Bytes of a working directory that the name of a folder has room for."""


def sessions_root() -> Path:
    """The folder of all sessions: `sessions` under `PI_CODING_AGENT_DIR`, by default under `~/.pi/agent`."""
    agent = os.environ.get("PI_CODING_AGENT_DIR")
    return (Path(agent).expanduser() if agent else Path.home() / ".pi" / "agent") / "sessions"


def list_cache() -> Path:
    """The file in which lists of sessions keep what they have learnt, in the user's cache folder. It may be deleted."""
    from platformdirs import user_cache_path

    return user_cache_path("piserver", appauthor=False) / "sessions.json"


def folder_name(cwd: str) -> str:
    """The folder of a working directory's sessions. Two directories may share one: the header decides."""
    # A header may hold what no file name can: halves of surrogate pairs, NUL.
    path = re.sub(r"[/:\0]", "-", json.well_formed(cwd).replace("\\", "/").removeprefix("/"))
    return f"--{path.encode()[:_LONGEST_NAME].decode(errors='ignore')}--"


def file_name(timestamp: str, session_id: str) -> str:
    """The file of a session that was made at `timestamp` (ISO-8601)."""
    return f"{re.sub('[:.]', '-', timestamp)}_{session_id}.jsonl"


def same_directory(a: str, b: str) -> bool:
    """Whether two working directories are one."""
    return bool(a) and bool(b) and os.path.normcase(os.path.normpath(a)) == os.path.normcase(os.path.normpath(b))
