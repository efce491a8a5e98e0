from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from piserver.entries.header import Header
from piserver.storage import JsonlStorage, Storage
from tests.storage.clock import ManualClock
from tests.storage.conformance import Conformance


class TestJsonl(Conformance):
    @pytest.fixture(autouse=True)
    async def _folder(self, tmp_path: Path) -> AsyncIterator[None]:
        self.folder = tmp_path
        self.opened: list[Storage] = []
        yield
        for storage in self.opened:
            await storage.aclose()

    async def make(self, data: bytes) -> Storage:
        path = self.folder / f"{len(self.opened)}.jsonl"
        path.write_bytes(data)
        self.opened.append(await JsonlStorage.open(path, clock=ManualClock()))
        return self.opened[-1]

    async def create(self, header: Header, *lines: bytes) -> Storage:
        path = self.folder / f"{len(self.opened)}.jsonl"
        self.opened.append(await JsonlStorage.create(path, header, lines))
        return self.opened[-1]
