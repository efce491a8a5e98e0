"""What changes in a set of folders, whoever changes it.

The system tells of changes through `watchfiles`, which is imported here alone and when it is first needed. Its word is
taken for a hint: it may come late, and not at all from another machine. So a look is asked for from time to time too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

_TICK = 0.5
"""Seconds after which a look is due if nothing has changed."""
_POLL = 1.0
"""Seconds between two looks where the system does not tell of changes."""
_SWEEP = 60.0
"""Seconds after which everything is looked at again, for the changes that nobody has told of."""
_STEP = 50
"""Milliseconds of quiet after which a change is told."""
_BURST = 250
"""Milliseconds for which the changes of a burst are put together."""


async def changes(
    folders: Callable[[], Iterable[Path]], fall_back: Callable[[str], None]
) -> AsyncGenerator[frozenset[Path] | None]:
    """Yield, at least once a second, what came, went or changed directly inside some folders.

    Nothing may have changed (the set is empty), or anything (None): at the beginning, when the folders have become
    others or were exchanged, and once in a while. `folders` is asked anew each time; what is missing is waited for.
    Where the system cannot tell of changes, `fall_back` is told why, once, and from then on it is None every second.
    """
    # Who serves a single request does not pay for the import.
    await anyio.sleep(_TICK)
    reason = None
    while reason is None:
        watched = _present(folders())
        if not watched:
            yield None
            await anyio.sleep(_TICK)
            continue
        stop = threading.Event()
        found = _watch(watched, stop)
        try:
            await _next(found)  # what it says was said of the time before the look that it leads to
            yield None
            swept = anyio.current_time()
            while _present(folders()) == watched:
                changed = await _next(found)
                due = anyio.current_time() - swept > _SWEEP
                swept = anyio.current_time() if due else swept
                yield None if due else changed
        except FileNotFoundError:  # a folder went away at this moment
            await anyio.sleep(_TICK)
        except (OSError, RuntimeError) as error:  # no more watches, or no such service here
            reason = str(error)
        finally:
            stop.set()  # a thread that is still in there leaves by itself
            with suppress(ValueError):
                found.close()
    fall_back(reason)
    while True:
        yield None
        await anyio.sleep(_POLL)


async def _next(found: Generator[frozenset[Path]]) -> frozenset[Path]:
    return await anyio.to_thread.run_sync(next, found, frozenset[Path](), abandon_on_cancel=True)


def _watch(folders: Iterable[Path], stop: threading.Event) -> Generator[frozenset[Path]]:
    """What the system tells, put together, or an empty set after a while of quiet. Runs in worker threads."""
    import watchfiles

    options: dict[str, Any] = {
        "recursive": False,  # a session may lie in a project, which may be large
        "watch_filter": None,
        "ignore_permission_denied": True,
        "raise_interrupt": False,
    }
    for found in watchfiles.watch(
        *folders,
        debounce=_BURST,
        step=_STEP,
        rust_timeout=round(1000 * _TICK),
        yield_on_timeout=True,
        stop_event=stop,
        **options,
    ):
        yield frozenset(Path(path) for _, path in found)


def _present(folders: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """The folders that are there, and which they are: one of the same name may take the place of another."""
    present: dict[Path, tuple[int, int]] = {}
    for folder in folders:
        with suppress(OSError):
            status = os.stat(folder)
            present[folder] = status.st_dev, status.st_ino
    return present
