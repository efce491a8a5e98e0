from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from piserver.storage import JsonlStorage
from tests.storage.clock import ManualClock

Open = Callable[..., Awaitable[JsonlStorage]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def open_file(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Open]:
    """Opens a file, after writing `data` to it if that is given, and closes it when the test is over."""
    opened: list[JsonlStorage] = []

    async def open(path: Path | None = None, data: bytes | None = None) -> JsonlStorage:
        path = path or tmp_path / "session.jsonl"
        if data is not None:
            path.write_bytes(data)
        opened.append(await JsonlStorage.open(path, clock=clock))
        return opened[-1]

    yield open
    for storage in opened:
        await storage.aclose()
