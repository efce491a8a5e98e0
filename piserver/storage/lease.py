"""Who writes a session for longer than one change.

A lease is a small file beside the session that names its owner. Servers ask it before they write; programs that do not
know it are not kept out, and nobody is kept from reading. It is given up by its owner, found void when the owner's
process has ended, or taken over on purpose; all of that happens under the lock of the session file, in which every
append of ours looks at the lease too, so that none of the old owner's can come after the new one has it.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import anyio.to_thread
import msgspec
from msgspec import Struct

from piserver.entries.text import format_timestamp
from piserver.storage.base import StorageError
from piserver.storage.clock import SYSTEM_CLOCK, Clock
from piserver.storage.files import write_whole
from piserver.storage.locking import locked

_SAME_START = 5.0
"""Seconds by which two readings of one process's start may differ: clocks are set while it runs."""


class Owner(Struct, frozen=True, rename="camel"):
    """Who holds a lease: a process on a host. `started` is in seconds since 1970, `since` ISO-8601."""

    program: str
    pid: int
    started: float
    host: str
    since: str
    purpose: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether it is this process."""
        return self._process == (os.getpid(), socket.gethostname()) and self._started_at(_start_of(os.getpid()))

    @property
    def is_remote(self) -> bool:
        """Whether it is on another host, so that nobody here can know if it still runs."""
        return self.host != socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; a remote one always counts as running."""
        return self.is_remote or self._started_at(_start_of(self.pid))

    @property
    def _process(self) -> tuple[int, str]:
        return self.pid, self.host

    def _started_at(self, start: float | None) -> bool:
        """Whether a process that started then is this one, and not a later one with the same number."""
        return start is not None and abs(start - self.started) < _SAME_START

    def __str__(self) -> str:
        purpose = f" ({self.purpose})" if self.purpose else ""
        return f"{self.program}{purpose}, process {self.pid} on {self.host}, since {self.since}"


class LeaseHeldError(Exception):
    """Somebody else holds the session's lease."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(f"the session is held by {owner}")
        self.owner = owner


Listener = Callable[[Owner | None, bool], None]
"""Told who holds the lease now, and whether it was ours until now."""

_decode = msgspec.json.Decoder(Owner).decode


class Lease:
    """The lease of one session file. `listener` is called when the holder is found to be another one than before."""

    def __init__(self, session: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._session = session.resolve()
        self.path = self._session.with_name(f"{self._session.name}.lease")
        self._place = str(self.path)  # asked for at every change
        self.listener: Listener = lambda owner, lost: None
        self._clock = clock
        self._known: Owner | None = None
        self._seen: tuple[tuple[int, int, int], Owner | None] = ((0, 0, 0), None)  # a file and what it said

    def look(self) -> Owner | None:
        """Who holds the lease at this moment; None where nobody does, or a process that has ended."""
        owner = self._read()
        holder = owner if owner is not None and owner.is_alive else None
        if holder != self._known:
            before, self._known = self._known, holder
            self.listener(holder, before is not None and before.is_here)
        return holder

    def check(self) -> None:
        """Raises LeaseHeldError if somebody else holds the lease."""
        holder = self.look()
        if holder is not None and not holder.is_here:
            raise LeaseHeldError(holder)

    async def take(self, program: str, purpose: str | None = None, *, force: bool = False) -> Owner | None:
        """Make this process the holder; answers who lost the lease by that, dead or alive.

        Raises LeaseHeldError if somebody else holds it, unless `force`; StorageError.
        """
        try:
            async with locked(self._session, self._clock):
                if not force:
                    self.check()
                before = self._read()
                now = int(time.time() * 1000)
                start = _start_of(os.getpid()) or 0.0
                mine = Owner(program, os.getpid(), start, socket.gethostname(), format_timestamp(now), purpose)
                await anyio.to_thread.run_sync(self._write, mine)
                self._known = mine
                return None if before is None or before.is_here else before
        except OSError as error:
            raise _failure(self.path, error) from error

    async def release(self) -> None:
        """Give the lease up, if it is ours. Raises StorageError."""
        if self._read() is None:
            return
        try:
            async with locked(self._session, self._clock):
                owner = self._read()
                if owner is not None and owner.is_here:
                    self._known = None
                    self.path.unlink(missing_ok=True)
        except FileNotFoundError:  # the session is gone; a lease without one means nothing
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise _failure(self.path, error) from error

    @property
    def is_ours(self) -> bool:
        """Whether this process was the holder when it was last looked at."""
        return self._known is not None and self._known.is_here

    def _write(self, owner: Owner) -> None:
        write_whole(self.path, [msgspec.json.encode(owner), b"\n"], replace=True)

    def _read(self) -> Owner | None:
        """What the file says. One that cannot be read keeps nobody out."""
        try:
            status = os.stat(self._place)
            key = status.st_ino, status.st_mtime_ns, status.st_size
            if self._seen[0] != key:
                self._seen = key, _decode(self.path.read_bytes())
            return self._seen[1]
        except (OSError, msgspec.MsgspecError):
            return None


def _start_of(pid: int) -> float | None:
    """When a process of this host started, in seconds since 1970; None for one that has ended."""
    return _own_start(pid) if pid == os.getpid() else _look_up_start(pid)


@cache
def _own_start(pid: int) -> float | None:
    return _look_up_start(pid)


def _look_up_start(pid: int) -> float | None:
    import psutil

    try:
        process = psutil.Process(pid)
        # One that has ended and that its parent has not looked at still has a number.
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None


def _failure(path: Path, error: OSError) -> StorageError:
    return error if isinstance(error, StorageError) else StorageError(f"{path} cannot be written: {error}")
