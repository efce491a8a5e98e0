"""A clock that stands still until somebody sleeps."""

import time
from collections.abc import Callable

import anyio.lowlevel

from piserver.storage.clock import Clock


class ManualClock(Clock):
    """Starts at the real time, so that a file written now is new; each sleep passes at once and is noted.

    `during_sleep` is called in the middle of each: the place for what others do meanwhile.
    """

    def __init__(self) -> None:
        self.time = time.time()
        self.slept: list[float] = []
        self.during_sleep: Callable[[], object] = lambda: None

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        self.during_sleep()
        await anyio.lowlevel.checkpoint()
