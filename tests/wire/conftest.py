from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.wire.client import Client


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Starts servers, as `launch(*arguments, framing=...)`, and sees to their end."""
    clients: list[Client] = []

    def start(*arguments: str, **options: str) -> Client:
        clients.append(Client(tmp_path, *arguments, **options))
        return clients[-1]

    yield start
    for client in clients:
        client.stop()


@pytest.fixture
def client(launch: Callable[..., Client]) -> Client:
    """A server that has been initialized."""
    client = launch()
    client.initialize()
    return client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One initialized server for the tests of a module that leave it as they found it."""
    client = Client(tmp_path_factory.mktemp("shared"))
    client.initialize()
    yield client
    client.stop()
