"""What is read of a session: rows, entries, paths, totals."""

from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, custom, user
from tests.server.files import chain, header, write

CALL = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "notes.txt"}}
RESULT = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "Needle here", "isError": False}


@pytest.fixture
def talk(server: Piserver, session: str) -> tuple[str, dict[str, str]]:
    """A conversation with a tool, a label, and a branch: ids by name."""
    drafts = {
        "ask": user("Please read"),
        "call": assistant("", content=[CALL], stopReason="toolUse"),
        "result": {"type": "message", "message": RESULT},
        "answer": assistant("It says needle."),
        "note": custom(data=1),
    }
    ids = dict(zip(drafts, server.append(session, *drafts.values()), strict=True))
    server.call("session/setLabel", {"sessionId": session, "entryId": ids["answer"], "label": "Found it"})
    ids["move"] = server.call("session/moveTo", {"sessionId": session, "entryId": ids["ask"]})["leafEntryId"]
    ids["other"] = server.append(session, assistant("", stopReason="error", errorMessage="overloaded"))[0]
    return session, ids


def names(rows: list[Any], ids: dict[str, str]) -> list[str]:
    known = {id: name for name, id in ids.items()}
    return [known.get(row["id"], row["type"]) for row in rows]


@pytest.mark.parametrize(
    ("filter", "shown"),
    [
        ("default", ["ask", "call", "result", "answer", "other"]),
        ("no-tools", ["ask", "answer", "other"]),
        ("user-only", ["ask"]),
        ("labeled", ["answer"]),
        ("all", ["ask", "call", "result", "answer", "note", "label", "move", "other"]),
    ],
)
def test_rows_are_filtered(server: Piserver, talk: Any, filter: str, shown: list[str]) -> None:
    session, ids = talk
    assert names(server.rows(session, filter=filter), ids) == shown


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("needle", ["result", "answer"]),
        ("NEEDLE it", ["answer"]),
        ("found", ["answer"]),
        ("notes.txt", ["call"]),
        ("zebra", []),
    ],
)
def test_rows_are_searched(server: Piserver, talk: Any, query: str, shown: list[str]) -> None:
    session, ids = talk
    assert names(server.rows(session, query=query), ids) == shown


def test_rows_are_ready_to_be_drawn(server: Piserver, talk: Any) -> None:
    session, ids = talk
    rows = dict(zip(("ask", "call", "result", "answer", "other"), server.rows(session), strict=True))
    assert [row["guides"] for row in rows.values()] == ["", "+", "|", "|", "L"]
    assert rows["ask"].items() >= {"role": "user", "preview": "Please read", "children": 2, "onPath": True}.items()
    assert rows["call"]["preview"] == "[read notes.txt]"
    assert rows["answer"]["label"] == "Found it"
    assert "onPath" not in rows["answer"]
    assert (
        rows["other"].items() >= {"failed": True, "leaf": True, "preview": "overloaded", "parentId": ids["ask"]}.items()
    )
    assert "inContext" not in rows["other"]
    assert rows["ask"]["inContext"] is True


def test_rows_below_a_collapsed_one_are_taken_away(server: Piserver, talk: Any) -> None:
    session, ids = talk
    window = server.call("session/getTree", {"sessionId": session, "collapsed": [ids["ask"]]})["window"]
    [row] = window["rows"]
    assert (row["collapsed"], row["hidden"], row["leaf"]) == (True, 4, True)
    assert (window["total"], window["leafRow"]) == (1, 0)


def test_rows_come_in_windows(server: Piserver, tmp_path: Path) -> None:
    server.call("session/open", {"path": str(write(tmp_path / "s.jsonl", header("windows"), chain(1000)))})
    window = server.call("session/getTree", {"sessionId": "windows", "offset": 990, "limit": 50})["window"]
    assert (window["total"], window["offset"], window["leafRow"]) == (1000, 990, 999)
    assert [row["id"] for row in window["rows"]] == [f"m{n}" for n in range(990, 1000)]
    window = server.call("session/getTree", {"sessionId": "windows", "around": "m500", "limit": 11})["window"]
    assert [row["id"] for row in window["rows"]] == [f"m{n}" for n in range(495, 506)]
    window = server.call("session/getTree", {"sessionId": "windows", "around": "m3", "limit": 11})["window"]
    assert window["offset"] == 0
    assert server.call("session/getTree", {"sessionId": "windows", "offset": 5000})["window"]["rows"] == []
    for limit in (0, 1001):
        assert server.error("session/getTree", {"sessionId": "windows", "limit": limit})["data"]["field"] == "limit"


def test_f8_rows_carry_previews_and_not_bodies(server: Piserver, session: str) -> None:
    server.append(session, *(user(f"{n} " + "word " * 100_000) for n in range(10)))
    id = server.request("session/getTree", {"sessionId": session})
    assert all(len(row["preview"]) <= 160 for row in server.reply(id)["result"]["window"]["rows"])
    assert len(server.body) < 10_000


def test_entries_come_whole_and_in_the_order_asked_for(server: Piserver, talk: Any) -> None:
    session, ids = talk
    asked = [ids["result"], ids["ask"], ids["result"]]
    result = server.call("session/getEntries", {"sessionId": session, "ids": asked})
    assert [entry["id"] for entry in result["entries"]] == asked
    assert result["entries"][0]["message"].items() >= RESULT.items()
    assert result["remaining"] == []


def test_g7_entries_are_paged_by_their_bytes(server: Piserver, session: str) -> None:
    ids = server.append(session, *(user("x" * 10_000) for _ in range(40)))
    got: list[str] = []
    left = ids
    while left:
        result = server.call("session/getEntries", {"sessionId": session, "ids": left, "maxBytes": 55_000})
        assert len(result["entries"]) == min(5, len(left))
        got += [entry["id"] for entry in result["entries"]]
        assert result["remaining"] == left[len(result["entries"]) :]
        left = result["remaining"]
    assert got == ids
    result = server.call("session/getEntries", {"sessionId": session, "ids": ids, "maxBytes": 1})
    assert (len(result["entries"]), len(result["remaining"])) == (1, 39)


def test_a_path_comes_in_pages(server: Piserver, talk: Any) -> None:
    session, ids = talk
    path = server.call("session/getPath", {"sessionId": session})
    assert [entry["id"] for entry in path["entries"]] == [ids["ask"], ids["other"]]
    path = server.call("session/getPath", {"sessionId": session, "entryId": ids["note"], "offset": 1, "limit": 3})
    assert (path["total"], path["offset"]) == (5, 1)
    assert [entry["id"] for entry in path["entries"]] == [ids["call"], ids["result"], ids["answer"]]
    assert path["entries"][2].items() >= {"label": "Found it", "preview": "It says needle.", "index": 3}.items()
    assert server.call("session/getPath", {"sessionId": session, "entryId": None})["total"] == 0


def test_changes_are_what_came_after_a_revision(server: Piserver, talk: Any) -> None:
    session, ids = talk
    now = server.call("session/getPath", {"sessionId": session})
    whole = server.call("session/changes", {"sessionId": session, "epoch": now["epoch"], "since": 0})
    assert names(whole["appended"], ids) == ["ask", "call", "result", "answer", "note", "label", "move", "other"]
    assert (whole["labels"], "name" in whole) == ({ids["answer"]: "Found it"}, False)
    assert (whole["through"], whole["revision"], whole["leafId"]) == (8, 8, ids["other"])
    part = server.call("session/changes", {"sessionId": session, "epoch": now["epoch"], "since": 3, "limit": 2})
    assert part["appended"] == whole["appended"][3:5]
    assert (part["since"], part["through"], part["revision"], part["labels"]) == (3, 5, 8, {})
    end = server.call("session/changes", {"sessionId": session, "epoch": now["epoch"], "since": 8})
    assert (end["appended"], end["through"]) == ([], 8)


@pytest.mark.parametrize("position", [{"since": 9}, {"epoch": "of before", "since": 1}])
def test_a_position_that_the_log_cannot_serve_is_answered_with_a_snapshot(
    server: Piserver, talk: Any, position: dict[str, Any]
) -> None:
    session, _ = talk
    snapshot = server.call("session/open", {"sessionId": session})
    error = server.error("session/changes", {"sessionId": session, "epoch": snapshot["epoch"]} | position)
    assert (error["code"], error["data"]["kind"], error["data"]["retryable"]) == (-32803, "stale-cursor", False)
    assert error["data"]["snapshot"] == snapshot


def test_totals_of_the_file_and_of_a_path(server: Piserver, session: str) -> None:
    usage = {"input": 100, "output": 20, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 125, "cost": {"total": 0.5}}
    ids = server.append(session, user("u" * 400), assistant("a", usage=usage, stopReason="stop"))
    server.call("session/moveTo", {"sessionId": session, "entryId": ids[0]})
    stats = server.call("session/stats", {"sessionId": session})
    assert (stats["file"]["entries"], stats["file"]["messages"]) == (3, 2)
    assert stats["file"]["roles"] == {"user": 1, "assistant": 1}
    assert stats["file"]["models"]["p/m"] == stats["file"]["usage"]
    assert stats["file"]["usage"] == {
        "input": 100, "output": 20, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 125, "cost": 0.5
    }  # fmt: skip
    assert (stats["path"]["messages"], stats["path"]["usage"]["cost"]) == (1, 0)
    assert stats["context"] == {"total": 100, "usage": 0, "trailing": 100, "usageEntryId": None}
    assert (stats["window"], stats["percent"]) == (None, None)
    there = server.call("session/stats", {"sessionId": session, "entryId": ids[1]})
    assert (there["context"]["usage"], there["context"]["usageEntryId"]) == (125, ids[1])
    assert there["leafId"] == ids[0]
    assert server.call("session/stats", {"sessionId": session, "entryId": None})["context"]["total"] == 0


def test_slow_reads_delay_no_quick_requests(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("slow"), chain(20_000, "word " * 200))
    server.call("session/open", {"path": str(path)})
    other = server.create()
    slow = [
        server.request("session/buildContext", {"sessionId": "slow", "form": "llm"}),
        server.request("session/stats", {"sessionId": "slow"}),
    ]
    quick = [server.request("session/append", {"sessionId": id, "entry": user("u")}) for id in ("slow", other) * 10]
    order = [server.next_reply()["id"] for _ in range(22)]
    assert set(order[:20]) == set(quick)
    assert set(order[20:]) == set(slow)
