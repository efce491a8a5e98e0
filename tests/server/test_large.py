"""Files that are too large, too deep or too full to be handled carelessly."""

import json
from collections.abc import Callable

import pytest

from tests.server.client import Piserver
from tests.server.files import chain, header, line, message, write

Launch = Callable[..., Piserver]


@pytest.fixture
def server(launch: Launch) -> Piserver:
    server = launch()
    server.initialize(initializationOptions={"piserver": {"maxSessionBytes": 100_000_000}})
    return server


def test_f5_a_file_over_the_limit_is_refused_at_once_and_says_so(server: Piserver) -> None:
    path = write(server.home / "huge.jsonl", header("huge"), chain(3))
    with path.open("r+b") as file:
        file.truncate(40_000_000_000)  # a hole: nothing of it lies on the disk
    error = server.error("session/open", {"path": str(path)})
    assert (error["data"]["kind"], error["data"]["size"], error["data"]["limit"]) == (
        "too-large",
        40_000_000_000,
        100_000_000,
    )
    assert "40,000,000,000 bytes" in error["message"]
    path.unlink()


def test_f7_a_chain_of_20_000_entries_overflows_nothing(server: Piserver) -> None:
    path = write(server.home / "deep.jsonl", header("deep"), chain(20_000))
    assert server.call("session/open", {"path": str(path)})["rows"]["total"] == 20_000
    [row] = server.rows("deep", offset=19_999)
    assert (row["id"], row["guides"]) == ("m19999", "")
    assert len(server.texts("deep")) == 20_000
    assert server.call("session/getPath", {"sessionId": "deep", "offset": 19_999})["total"] == 20_000
    fork = server.call("session/fork", {"sessionId": "deep", "entryId": "m19999", "position": "at"})
    assert fork["info"]["messageCount"] == 20_000
    found = server.call("session/search", {"sessionId": "deep", "query": "19998"})["hits"]
    assert [hit["entryId"] for hit in found] == ["m19998"]


def test_f8_full_pages_in_custom_entries_stay_out_of_the_tree_and_the_context(server: Piserver) -> None:
    page = {"type": "custom", "parentId": "m0", "timestamp": "2026-01-01T00:00:00.000Z", "customType": "page"}
    pages = [line(page | {"id": f"p{number}", "data": "x" * 11_000_000}) for number in range(3)]
    path = write(server.home / "full.jsonl", header("full"), chain(1), *pages, message("m1", "m0", "and now?"))
    assert len(json.dumps(server.call("session/open", {"path": str(path), "rows": {"filter": "all"}}))) < 10_000
    assert [row["preview"] for row in server.rows("full", filter="all")][1:4] == ["page"] * 3
    assert len(json.dumps(server.call("session/buildContext", {"sessionId": "full"}))) < 2_000
