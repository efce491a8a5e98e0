from collections.abc import Callable

import pytest

from piserver.session import Change, Session
from piserver.storage import MemoryStorage
from tests.storage.log import header, log

Open = Callable[..., Session]


class Recorder:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def __call__(self, change: Change) -> None:
        self.changes.append(change)

    @property
    def told(self) -> list[tuple[list[str], str, str | None]]:
        """Of each change: the entries' ids, who caused it, the leaf."""
        return [
            ([node.id for node in change.nodes], change.origin.kind, change.leaf.id if change.leaf else None)
            for change in self.changes
        ]


class CountingStorage(MemoryStorage):
    """Counts writes and flushes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.writes = 0
        self.syncs = 0
        self.fail: Exception | None = None

    def write(self, lines):  # noqa: ANN001, ANN201 - as inherited
        self.writes += 1
        if self.fail is not None:
            failure, self.fail = self.fail, None
            raise failure
        return super().write(lines)

    async def sync(self) -> None:
        self.syncs += 1


@pytest.fixture
def open_log() -> Open:
    """A session over these entries, in memory; its ids are e0001, e0002 … and its clock stands at 1 s after 1970."""

    def open(*lines: bytes, **options: object) -> Session:
        numbers = iter(range(1, 10_000))
        options = {"clock": lambda: 1000, "new_id": lambda: f"e{next(numbers):04}"} | options
        return Session(CountingStorage(log(header(), *lines)), **options)

    return open


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()
