from piserver.entries.header import Header
from piserver.storage import MemoryStorage, Storage
from tests.storage.conformance import Conformance


class TestMemory(Conformance):
    async def make(self, data: bytes) -> Storage:
        return MemoryStorage(data)

    async def create(self, header: Header, *lines: bytes) -> Storage:
        return MemoryStorage.create(header, lines)
