"""The short form of `python -m tests.soak --only servers`."""

import secrets
from pathlib import Path

from tests.soak import servers


def test_writers_together_lose_nothing_though_servers_are_killed(tmp_path: Path) -> None:
    seed = secrets.randbelow(1 << 32)
    try:
        servers.run(tmp_path, appends=600, kill_every=60, seed=seed)
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
