"""Time as a storage sees it, so that whoever opens one may bring another."""

from __future__ import annotations

import time

import anyio


class Clock:
    """The system's clock, by which files are dated too."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Return when so much time has passed."""
        await anyio.sleep(seconds)


SYSTEM_CLOCK = Clock()
