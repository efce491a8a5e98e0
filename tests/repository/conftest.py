from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from piserver.repository import Repository
from piserver.session import Session
from tests.storage.log import log

Keep = Callable[..., Awaitable[Session]]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "sessions", durability="never")


@pytest.fixture
async def keep(repository: Repository) -> AsyncIterator[Keep]:
    """Takes a session, or lines to write and open as one, and closes it when the test is over."""
    kept: list[Session] = []

    async def keep(*source: Session | bytes, path: Path | None = None) -> Session:
        [session] = [item for item in source if isinstance(item, Session)] or [None]
        if session is None:
            path = path or repository.root / "--w-app--" / f"source{len(kept)}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(log(*[line for line in source if isinstance(line, bytes)]))
            session = await repository.open(path)
        kept.append(session)
        return session

    yield keep
    for session in kept:
        await session.aclose()
