"""Opening and forking answer once, with a page; what is in the file is not told again as news."""

from collections.abc import Callable

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, header, write

Launch = Callable[..., Piserver]


@pytest.fixture
def server(launch: Launch) -> Piserver:
    server = launch()
    server.initialize()
    return server


def told(server: Piserver) -> list[str]:
    """The notifications that have come by the time a later request is answered."""
    server.call("session/list")
    return [message["method"] for message in server.notifications]


def test_g17_opening_and_forking_replay_nothing(server: Piserver) -> None:
    path = write(server.home / "s.jsonl", header("s"), chain(300))
    snapshot = server.call("session/open", {"path": str(path)})
    assert (snapshot["revision"], snapshot["leafId"]) == (300, "m299")
    assert told(server) == []
    fork = server.call("session/fork", {"sessionId": "s", "entryId": "m100", "position": "at"})
    opened = server.call("session/open", {"sessionId": fork["info"]["id"]})
    assert (opened["revision"], opened["leafId"]) == (101, "m100")
    assert told(server) == ["session/listChanged"]


def test_g19_a_long_history_comes_in_one_answer_and_its_rows_in_pages(server: Piserver) -> None:
    path = write(server.home / "s.jsonl", header("s"), chain(10_000))
    snapshot = server.call("session/open", {"path": str(path)})
    assert (len(snapshot["rows"]["rows"]), snapshot["rows"]["total"]) == (200, 10_000)
    assert told(server) == []
    rows = [row["id"] for at in range(0, 10_000, 1000) for row in server.rows("s", offset=at, limit=1000)]
    assert rows == [f"m{number}" for number in range(10_000)]
    [new] = server.append("s", user("news"))
    changed = server.until("session/treeChanged")["params"]
    assert (changed["fromRevision"], [entry["id"] for entry in changed["appended"]]) == (10_000, [new])
