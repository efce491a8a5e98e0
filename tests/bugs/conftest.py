from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from piserver.repository import Repository
from piserver.session import Session
from piserver.storage import JsonlStorage
from tests.storage.clock import ManualClock
from tests.storage.log import header, log

Open = Callable[..., Awaitable[Session]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "sessions")


@pytest.fixture
def path(repository: Repository) -> Path:
    """Where a session file of `/w/app` may be put."""
    path = repository.root / "--w-app--" / "s.jsonl"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
async def open(path: Path) -> AsyncIterator[Open]:
    """Opens a file: one with a header and these entries, one with these bytes, or the one that is there."""
    opened: list[Session] = []

    async def open(*entries: bytes, data: bytes | None = None, at: Path = path) -> Session:
        if data is not None or entries:
            at.write_bytes(log(header(), *entries) if data is None else data)
        opened.append(Session(await JsonlStorage.open(at, clock=ManualClock())))
        return opened[-1]

    yield open
    for session in opened:
        await session.aclose()
