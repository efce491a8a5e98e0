"""Time as a storage sees it, so that whoever opens one may bring another."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` gives seconds since 1970, comparable with a file's time of modification; `sleep` lets seconds pass."""

    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep


SYSTEM_CLOCK = Clock()
