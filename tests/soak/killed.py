"""Does one scenario of `stops` in a process of its own, which kills itself at a step: `killed NAME FOLDER STEP HOW`.

What is acknowledged is said on standard output, a line each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import anyio
import pytest

from tests.soak.faults import Disk, How
from tests.soak.stops import Acknowledged, Place, Scenario, check, scenarios
from tests.wire.client import ROOT

CHOSEN = ("append", "batch behind a torn tail", "append to v1-plain", "create", "fork")
_PATIENCE = 60


def kills(scenario: Scenario, folder: Path, steps: range = range(100)) -> int:
    """Do a scenario with a `kill -9` at each of its steps in turn; how many there were. Raises AssertionError."""
    count = 0
    for how in ("before", "halfway"):
        for step in steps:
            place = scenario.lay_out(folder / f"{how}{step}")
            command = [sys.executable, "-m", "tests.soak.killed", scenario.name, str(place.root), str(step), how]
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_PATIENCE, check=False)
            if ended.returncode == 0:
                break
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            done = Acknowledged()
            for line in ended.stdout.splitlines():
                done.read(line)
            check(scenario, place, done)
            count += 1
    return count


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(name: str, root: str, step: str, how: str) -> None:
    [scenario] = [scenario for scenario in scenarios() if scenario.name == name]
    disk = Disk(int(step), cast("How", how), lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        anyio.run(scenario.work, Place(Path(root)), Acknowledged(_say))


if __name__ == "__main__":
    main(*sys.argv[1:])
