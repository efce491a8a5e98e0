from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.client import Piserver


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Piserver]:
    server = Piserver(tmp_path_factory.mktemp("home"))
    server.initialize()
    yield server
    server.stop()


@pytest.fixture
def server(shared: Piserver) -> Piserver:
    """The module's server, initialized; each test makes sessions of its own."""
    shared.notifications.clear()
    return shared


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Piserver]]:
    """Starts servers that share a home, as `launch(framing=...)`, and sees to their end."""
    servers: list[Piserver] = []

    def start(**options: str) -> Piserver:
        servers.append(Piserver(tmp_path, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def fresh(launch: Callable[..., Piserver]) -> Piserver:
    """An initialized server of one test's own."""
    server = launch()
    server.initialize()
    return server


@pytest.fixture
def session(server: Piserver) -> str:
    """A new session of the module's server."""
    return server.create()
