"""What every test may ask for."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no failure. Where CI is set, Hypothesis brings a profile of its own, which says so too.
settings.register_profile("local", deadline=None)
if "CI" not in os.environ:
    settings.load_profile("local")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, the only loop that the server knows."""
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The person's own cache is not touched, by the servers that tests start neither."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def peer_data() -> Path:
    """The folder of session files and recorded answers of the real implementations (`vectors/`, `real/`)."""
    folder = os.environ.get("PISERVER_PEER_DATA")
    if not folder:
        pytest.skip("PISERVER_PEER_DATA is not set")
    return Path(folder)
