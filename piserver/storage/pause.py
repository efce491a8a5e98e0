"""Reading a large log without the collector looking for garbage in it.

Every entry becomes an object that stays. Python's cyclic collector would look through all of them again and again while
they are made, which costs more than making them.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_depth = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Generator[None]:
    """Pause the cyclic collector; it goes on when the last of several threads has left."""
    global _depth, _was_enabled  # noqa: PLW0603 - the collector is one for the whole process
    with _lock:
        if _depth == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _was_enabled:
                gc.enable()
