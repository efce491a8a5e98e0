"""`piserver tree`: a session's tree, drawn window by window, so that a large one needs no large answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import anyio
from rich.console import Console
from rich.text import Text

from piserver.cli.drawing import draw_header, draw_row, draw_warnings, legend, print_line
from piserver.cli.failures import told_in_a_line
from piserver.cli.sessions import open_session
from piserver.client import Client, connect
from piserver.protocol.sessions import RowsParams, Snapshot
from piserver.protocol.shapes import Row
from piserver.session import Filter

__all__ = ["run"]

PAGE = 1000


def run(session: str | None, *, filter: Filter, query: str, ids: bool) -> None:
    """Draws the tree on stdout. Raises click.ClickException if the session cannot be read."""
    with told_in_a_line():
        anyio.run(_draw, session, RowsParams(filter=filter, query=query, limit=PAGE), ids)


async def _draw(session: str | None, rows: RowsParams, ids: bool) -> None:
    console = Console(highlight=False)
    async with connect() as client:
        snapshot = await open_session(client, session, rows)
        print_line(console, draw_header(snapshot))
        now = datetime.now(UTC)
        async for row in _all_rows(client, snapshot, rows):
            print_line(console, draw_row(row, now, ids=ids))
    if not snapshot.rows.total:
        print_line(console, Text("(nothing to show)", "dim"))
    elif console.is_terminal:
        print_line(console, legend())
    for warning in draw_warnings(snapshot):
        print_line(console, warning)


async def _all_rows(client: Client, snapshot: Snapshot, rows: RowsParams) -> AsyncIterator[Row]:
    window = snapshot.rows
    while window.rows:
        for row in window.rows:
            yield row
        offset = window.offset + len(window.rows)
        if offset >= window.total:
            return
        window = (
            await client.get_tree(
                snapshot.session_id, filter=rows.filter, query=rows.query, offset=offset, limit=rows.limit
            )
        ).window
