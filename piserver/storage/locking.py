"""One of our servers at a time changes a session file.

The lock is the system's own, advisory and exclusive, on a descriptor of the file itself: it ends with its holder
however that ends, and leaves nothing beside the file. Other programs know nothing of it, so each append still looks
whether somebody has written meanwhile. Reading never takes it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from piserver.storage.base import StorageError
from piserver.storage.clock import Clock

_PATIENCE = 5.0
"""Seconds after which a lock that somebody holds is given up; an append holds it for well under a millisecond."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


async def acquire(fd: int, path: str | Path, clock: Clock) -> None:
    """Take the lock of an open session file; the event loop goes on while somebody else holds it.

    Where the file system has no locks nothing is taken. Raises StorageError if it is not free after some seconds.
    """
    for delay in _delays():
        if _take(fd):
            return
        await clock.sleep(delay)
    raise StorageError(
        f"{path} is locked for writing by another program, probably a piserver that was stopped in the middle of a "
        "change; nothing was written"
    )


def release(fd: int) -> None:
    """Give the lock back."""
    _locker().unlock(fd)


@asynccontextmanager
async def locked(path: Path, clock: Clock) -> AsyncGenerator[None]:
    """Hold the lock of the file that lies at `path`. Raises StorageError, OSError if it cannot be opened to write."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            await acquire(fd, path, clock)
            # While we waited another file may have taken its place, and that one is not locked.
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                yield
                return
        finally:
            os.close(fd)


def _take(fd: int) -> bool:
    try:
        _locker().lock(fd, _exclusive_now())
    except _library().AlreadyLocked:
        return False
    except _library().LockException as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and cause.errno in _NO_LOCKS:
            return True
        raise StorageError(f"a session file cannot be locked: {error}") from error
    return True


def _delays() -> Iterator[float]:
    """Seconds to wait between two attempts: short ones first, then longer ones, `_PATIENCE` in all."""
    delay, waited = 0.0005, 0.0
    while waited < _PATIENCE:
        yield delay
        waited += delay
        delay = min(2 * delay, 0.02)


@cache
def _library() -> ModuleType:
    """The library, imported with the first change: a server that only reads starts without it."""
    import portalocker

    return portalocker


@cache
def _locker() -> Any:
    """The system's own way to lock; `portalocker.lock` finds it anew each time, which costs more than the lock."""
    ways = _library().portalocker
    return ways.MsvcrtLocker() if os.name == "nt" else ways.FlockLocker()


@cache
def _exclusive_now() -> Any:
    flags = _library().LockFlags
    return flags.EXCLUSIVE | flags.NON_BLOCKING
