# ruff: noqa: RUF001  # the mark of a person's message looks like another character

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from piserver.cli.drawing import age, draw_row
from piserver.protocol.shapes import Row

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def row(**fields: Any) -> Row:
    return Row(
        **{
            "id": "e1",
            "parent_id": None,
            "index": 0,
            "type": "message",
            "role": "user",
            "timestamp": "2026-06-01T09:00:00.000Z",
            "preview": "Hello",
            "guides": "",
            "children": 0,
            "on_path": True,
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"in_context": True}, "● ❯ Hello"),
        ({"leaf": True, "in_context": True}, "▶ ❯ Hello"),
        ({}, "○ ❯ Hello"),
        ({"on_path": False}, "  ❯ Hello"),
        ({"guides": "| +"}, "○ │     ├─ ❯ Hello"),
        ({"guides": " " * 300 + "|" * 10 + " L"}, "○ … " + "│  " * 10 + "   └─ ❯ Hello"),
        ({"guides": "L", "role": "assistant", "failed": True}, "○ └─ ◆ ✗ Hello"),
        ({"label": "here"}, "○ ❯ [here] Hello"),
        ({"type": "model_change", "role": None, "preview": "p/m"}, "○ · model: p/m"),
        ({"type": "compaction", "role": None}, "○ ≡ compaction: Hello"),
        ({"type": "from_the_future", "role": None}, "○ · from the future: Hello"),
        ({"preview": "", "role": "system"}, "○ · (system)"),
        ({"orphaned": True}, "○ ❯ Hello  (what it follows is missing)"),
        ({"label": "\x1b[2J\n", "preview": "\x1b]0;x\x07\ud83d"}, "○ ❯ [�[2J ] �]0;x��"),
    ],
)
def test_a_row_is_drawn(fields: dict[str, Any], line: str) -> None:
    assert draw_row(row(**fields)).plain == line


def test_time_and_id_are_drawn_where_they_are_wanted() -> None:
    assert draw_row(row(), NOW, ids=True).plain == "  3h e1 ○ ❯ Hello"


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=-5), "now"),
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=1), "1m"),
        (timedelta(minutes=59), "59m"),
        (timedelta(hours=1), "1h"),
        (timedelta(hours=23), "23h"),
        (timedelta(days=1), "1d"),
        (timedelta(days=13), "13d"),
        (timedelta(days=14), "2w"),
        (timedelta(days=363), "51w"),
        (timedelta(days=364), "1y"),
        (timedelta(days=800), "2y"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(ago: timedelta, words: str) -> None:
    assert age((NOW - ago).isoformat(), NOW) == words


@pytest.mark.parametrize("timestamp", ["", "yesterday", "2026-06-01", "2026-06-01T09:00:00"])
def test_an_age_that_nobody_knows_is_empty(timestamp: str) -> None:
    assert age(timestamp, NOW) == ""
