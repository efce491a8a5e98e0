"""Durable writes with group commit.

One thread calls `fdatasync`; everything that was written while it was busy shares its next call. So a hundred writers
wait for two disk flushes, not for a hundred.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache

# macOS has no fdatasync.
_flush = getattr(os, "fdatasync", os.fsync)


class GroupCommit:
    """Flushes one file descriptor for many waiters."""

    def __init__(self, executor: ThreadPoolExecutor | None = None) -> None:
        self._executor = executor or _shared_executor()
        self._waiting: list[asyncio.Future[None]] = []
        self._flushing = False

    async def flush(self, fd: int) -> None:
        """Return once all that was written to `fd` before this call is on the medium. Raises OSError."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(done)
        if not self._flushing:
            self._begin(loop, fd)
        await done

    def _begin(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        batch, self._waiting = self._waiting, []
        self._flushing = True
        flushed = loop.run_in_executor(self._executor, _flush, fd)
        flushed.add_done_callback(lambda result: self._finish(loop, fd, batch, result))

    def _finish(
        self, loop: asyncio.AbstractEventLoop, fd: int, batch: list[asyncio.Future[None]], flushed: asyncio.Future[None]
    ) -> None:
        self._flushing = False
        error = flushed.exception()
        for done in batch:
            if not done.done():
                done.set_exception(error) if error else done.set_result(None)
        if self._waiting:
            self._begin(loop, fd)


@cache
def _shared_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="piserver-sync")
