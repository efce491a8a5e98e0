"""Measures piserver's own Python interface; run as a program of its own, so that memory and caches are fresh.

    python -m tests.bench.in_process TASK PATH COUNT

Standard output is one JSON object; times are seconds.
    session   open the file COUNT times, draw rows, build the context at the leaf, append 1,000 messages; the file grows
    durable   append 1,000 messages, each on the disk before the next, by turns with plain writes and `fdatasync`
    list      list the sessions of an agent's folder COUNT times
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

from piserver.entries.types import MessageDraft
from piserver.repository import Repository, list_cache
from piserver.session import Session

APPENDS = 1000


async def session(path: Path, count: int) -> dict[str, Any]:
    repository = Repository(path.parent, durability="never")
    opened: list[Session] = []

    async def open_again() -> None:
        opened.append(await repository.open(path))
        while len(opened) > 1:
            await opened.pop(0).aclose()

    opening = [await _timed(open_again)]
    rss = _resident()
    gc.collect()
    collected = _resident()
    opening += [await _timed(open_again) for _ in range(count - 1)]
    [session] = opened
    rows = await _timed(session.rows)
    context = [await _timed(session.build_context) for _ in range(3)]
    built = await session.build_context()
    start = perf_counter()
    messages = len(built.values)
    decoding = perf_counter() - start
    appending = await _append(session)
    return {
        "open": opening,
        "rss": rss,
        "collected": collected,
        "rows": rows,
        "context": context,
        "decoding": decoding,
        "messages": messages,
        "append": appending,
    }


async def durable(path: Path, count: int) -> dict[str, Any]:
    session = await Repository(path.parent, durability="always").open(path)
    appending: list[float] = []
    flushing: list[float] = []
    # By turns, and the disk alone in another file, so that neither finds the other's bytes to flush.
    disk = os.open(path.with_suffix(".disk"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    line = b'{"type":"message","id":"00000000","message":{"role":"user","content":"a small message"}}\n'
    for number in range(APPENDS):
        start = perf_counter()
        await session.append(_message(number))
        appending.append(perf_counter() - start)
        start = perf_counter()
        os.write(disk, line)
        os.fdatasync(disk)
        flushing.append(perf_counter() - start)
    os.close(disk)
    await session.aclose()
    return {"append": sum(appending), "disk": sum(flushing)}


async def list_sessions(path: Path, count: int) -> dict[str, Any]:
    found: list[str] = []

    async def list_all() -> None:
        repository = Repository(path / "sessions", cache=list_cache())
        found[:] = [info.id async for info in repository.list()]

    return {"list": [await _timed(list_all) for _ in range(count)], "sessions": len(found)}


async def _append(session: Session) -> float:
    start = perf_counter()
    for number in range(APPENDS):
        await session.append(_message(number))
    return perf_counter() - start


def _message(number: int) -> MessageDraft:
    return MessageDraft(message={"role": "user", "content": f"a small message {number}", "timestamp": 0})


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    start = perf_counter()
    await work()
    return perf_counter() - start


def _resident() -> int:
    """Bytes of memory that this process occupies; where the system does not tell, what it occupied at most."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


TASKS = {"session": session, "durable": durable, "list": list_sessions}

if __name__ == "__main__":
    _, task, path, count = sys.argv
    sys.stdout.write(json.dumps(anyio.run(TASKS[task], Path(path), int(count))))
