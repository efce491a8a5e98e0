"""`piserver list`: the sessions of a directory, or of all."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from piserver.cli.drawing import age, clean, count, print_line
from piserver.cli.failures import told_in_a_line
from piserver.client import connect
from piserver.protocol.shapes import SessionInfo

__all__ = ["run"]


def run(
    directory: str | None, *, query: str | None, since: str | None, until: str | None, limit: int, ids: bool
) -> None:
    """Lists sessions on stdout, those of all directories if `directory` is None.

    Raises click.ClickException if they cannot be listed.
    """

    async def show() -> None:
        console = Console(highlight=False)
        async with connect() as client:
            found = await client.list_sessions(
                UNSET if directory is None else directory,
                query=UNSET if query is None else query,
                since=UNSET if since is None else since,
                until=UNSET if until is None else until,
                limit=limit,
            )
        now = datetime.now(UTC)
        for info in found.sessions:
            print_line(console, _draw(info, now, where=directory is None, ids=ids))
        if not found.sessions:
            print_line(console, Text("(no sessions)", "dim"))
        if found.next_cursor is not None:
            print_line(console, Text(f"and more than these {limit:,}", "dim"))

    with told_in_a_line():
        anyio.run(show)


def _draw(info: SessionInfo, now: datetime, *, where: bool, ids: bool) -> Text:
    line = Text().append(f"{age(info.modified, now):>4} ", "dim")
    if ids:
        line.append(f"{clean(info.id)} ", "dim")
    if info.broken is not UNSET:
        return line.append(f"{clean(info.path)}: {clean(info.broken)}", "red")
    line.append(clean(info.name or info.first_message or "(nothing said)"), "bold" if info.name else "")
    if info.message_count is not None:
        line.append(f" · {count(info.message_count, 'message', 'messages')}", "dim")
    if where and info.cwd:
        line.append(f" · {clean(info.cwd)}", "dim")
    return line
