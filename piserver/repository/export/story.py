"""What is said of a session as a whole: its title and its facts. And how entries are named in an export."""

from __future__ import annotations

import re
from dataclasses import dataclass

from piserver.entries.text import format_timestamp, parse_timestamp
from piserver.session.transcript.visible import line
from piserver.tree import Node, Statistics


@dataclass(frozen=True, slots=True)
class Story:
    """The title, and facts as pairs of name and value, all on one line each."""

    title: str
    facts: tuple[tuple[str, str], ...]


def tell(*, title: str, session_id: str, cwd: str, created: str, statistics: Statistics, branches: int) -> Story:
    """The facts of what is exported. `statistics` are those of the exported entries."""
    total = statistics.total
    models = [name for name in statistics.by_model if "/" in name]
    facts = [
        ("Session", session_id),
        ("Directory", cwd),
        ("Begun", _minute(created)),
        ("Messages", f"{statistics.messages:,}"),
        ("Branches", f"{branches:,}" if branches > 1 else ""),
        ("Models", ", ".join(models)),
        ("Tokens", f"{total.total_tokens or total.input + total.output:,.0f}" if models else ""),
        ("Cost", f"${total.cost:,.2f}" if total.cost else ""),
    ]
    return Story(line(title, 90) or "Session", tuple((name, line(value)) for name, value in facts if value))


def anchor(node: Node) -> str:
    """A name for links to an entry: its id where that is a plain word, else its place in the file."""
    return f"e-{node.id}" if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", node.id) else f"n-{node.index}"


def moment(node: Node) -> str:
    """When an entry was written, to the minute, in UTC; the file's own words where they are no date."""
    return _minute(node.timestamp)


def _minute(timestamp: str) -> str:
    ms = parse_timestamp(timestamp)
    return line(timestamp, 40) if ms is None else format_timestamp(ms)[:16].replace("T", " ")
