"""The short forms of `python -m tests.soak --only files` and `--only wire`."""

import secrets
from pathlib import Path

from tests.soak import files, wire


def test_damaged_files_open_or_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    files.run(tmp_path, count=300, seed=secrets.randbelow(1 << 32))


def test_senseless_input_is_answered_or_ends_the_server_cleanly(tmp_path: Path) -> None:
    wire.run(tmp_path, count=100, seed=secrets.randbelow(1 << 32))
