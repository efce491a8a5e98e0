import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from piserver.client import Client, connect
from piserver.protocol.settings import Settings

ROOT = Path(__file__).parents[2]
ECHO_SERVER = [sys.executable, str(ROOT / "tests/wire/echo_server.py")]
SCRIPTED_SERVER = [sys.executable, str(ROOT / "tests/client/scripted_server.py")]


@pytest.fixture(autouse=True, scope="module")
def piserver_can_be_imported() -> Iterator[None]:
    """By the servers that the tests start, whether or not the project is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        yield


@pytest.fixture(scope="module")
async def echo() -> AsyncIterator[Client]:
    """A server of the wire alone, for the tests of a module."""
    async with connect(ECHO_SERVER) as client:
        yield client


@pytest.fixture(scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A real server with a folder of sessions for the tests of a module; each has a working directory of its own."""
    folder = tmp_path_factory.mktemp("sessions")
    async with connect(settings=Settings(sessions_folder=str(folder))) as client:
        yield client
