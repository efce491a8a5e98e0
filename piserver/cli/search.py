"""`piserver search`: where something was said, shown as it is found."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import anyio
from rich.console import Console
from rich.text import Text

from piserver.cli.drawing import LOOKS, age, clean, print_line
from piserver.cli.failures import told_in_a_line
from piserver.cli.sessions import is_path
from piserver.client import Client, connect
from piserver.protocol.search import SearchHit, SearchResult

__all__ = ["run"]


def run(query: str, session: str | None, *, everywhere: bool, ids: bool, **options: Any) -> None:
    """Searches one session, the working directory's, or all, and shows the hits on stdout; `options` as in the client.

    Raises click.ClickException if that cannot be searched.
    """

    async def show() -> None:
        shown = _Shown(Console(highlight=False), ids=ids)
        async with connect() as client:
            where: dict[str, Any] = {} if everywhere else {"cwd": os.getcwd()}
            if session is not None:
                where = {"session_id": await _session_id(client, session)}
            result = await client.search(query, **where, **options, partial=shown.add)
        if not shown.hits:
            print_line(shown.console, Text("(nothing found)", "dim"))
        elif result.limited:
            print_line(shown.console, Text(f"and more than these {shown.hits:,}", "dim"))

    with told_in_a_line():
        anyio.run(show)


async def _session_id(client: Client, word: str) -> str:
    return (await client.open(word, subscribe=False)).session_id if is_path(word) else word


class _Shown:
    """What has been shown so far: the hits of each session under its name."""

    def __init__(self, console: Console, *, ids: bool) -> None:
        self.console = console
        self.hits = 0
        self._ids = ids
        self._path: str | None = None
        self._now = datetime.now(UTC)

    def add(self, part: SearchResult) -> None:
        for hit in part.hits:
            self.hits += 1
            if hit.path != self._path:
                self._path = hit.path
                title = Text(clean(hit.session_name or hit.session_id), "bold")
                print_line(self.console, title.append(f" · {clean(hit.path)}", "not bold dim"))
            print_line(self.console, self._draw(hit))

    def _draw(self, hit: SearchHit) -> Text:
        line = Text().append(f"{age(hit.timestamp or '', self._now):>4} ", "dim")
        if self._ids:
            line.append(f"{clean(hit.entry_id or '')} ", "dim")
        icon, style = LOOKS.get(hit.role or hit.type or "", ("·", "dim"))
        line.append(f"{icon} ", style)
        if hit.match != "text":
            line.append(f"{hit.match}: ", "dim italic")
        said = Text(clean(hit.snippet))
        for found in hit.ranges:
            said.stylize("bold yellow", _character(hit.snippet, found.start), _character(hit.snippet, found.end))
        line.append_text(said)
        if hit.branch is not None and not hit.branch.on_path:
            line.append(f"  (branch {clean(hit.branch.label or hit.branch.leaf_id)})", "dim")
        return line


def _character(text: str, units: int) -> int:
    """The place in a text that lies after so many UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass"))
