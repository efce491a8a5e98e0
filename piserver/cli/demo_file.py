"""`piserver demo PATH`: what can be seen of a session file without changing it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import anyio
from rich.console import Console
from rich.text import Text

from piserver.cli.drawing import draw_header, draw_warnings, legend, print_line
from piserver.cli.failures import told_in_a_line
from piserver.cli.story import Story
from piserver.client import Client, connect
from piserver.protocol.sessions import BuildContextResult, RowsParams, Snapshot
from piserver.protocol.shapes import EntryId, EntrySummary

__all__ = ["run"]

EXCERPT = 24
"""Rows of the tree that are shown."""


def run(path: str) -> int:
    """Reads a session file, tells of it on stdout, and returns the exit code.

    Raises click.ClickException if the file cannot be read as a session.
    """
    story = Story(Console(highlight=False))
    with told_in_a_line():
        anyio.run(_tell, story, Path(path))
    return story.end()


async def _tell(story: Story, path: Path) -> None:
    before, beside = _digest(path), _beside(path)
    async with connect() as client:
        story.step("The file is opened.")
        rows = RowsParams(limit=EXCERPT)
        snapshot = await client.open(path, subscribe=False, rows=rows, at_leaf=True)
        print_line(story.console, Text("   ").append_text(draw_header(snapshot)))
        for warning in draw_warnings(snapshot):
            print_line(story.console, Text("   ").append_text(warning))
        story.note(f"{snapshot.revision:,} entries, {snapshot.diagnostics_total:,} diagnostics")
        await _look(story, client, snapshot)
    story.step("The file is as it was.")
    story.check(_digest(path) == before, f"SHA-256 {before[:16]}… before and after")
    story.check(_beside(path) == beside, "nothing new lies beside it")


async def _look(story: Story, client: Client, snapshot: Snapshot) -> None:
    id, window = snapshot.session_id, snapshot.rows
    story.step(f"Its tree, rows {window.offset + 1:,} to {window.offset + len(window.rows):,} of {window.total:,}.")
    story.rows(window.rows)
    print_line(story.console, legend(5))
    place = window.leaf_row
    story.check(
        place is None or 0 <= place - window.offset < len(window.rows),
        "the leaf's row is in sight, however long the tree",
    )

    story.step("What a model would be given, at two places.")
    other = await _other_place(client, snapshot)
    leaf = await _context(client, id, snapshot.leaf_id)
    story.contexts(
        {"the context at the leaf": leaf, f"the context at {other or 'the start'}": await _context(client, id, other)}
    )
    again = await client.build_context(id, estimates=False, excluded=False)
    same = [bytes(m.message) for m in again.messages] == [bytes(m.message) for m in leaf[0].messages]
    story.check(same and again.leaf_id == snapshot.leaf_id, "asking has moved nothing")

    story.step("What it cost.")
    stats = await client.stats(id)
    for name, usage in stats.file.models.items():
        story.note(f"{name}: {usage.total_tokens:,.0f} tokens, ${usage.cost:.2f}")
    story.note(f"the context at the leaf: ~{stats.context.total:,} tokens")
    story.check(
        stats.path.entries <= stats.file.entries,
        f"{stats.path.entries:,} of {stats.file.entries:,} entries lie on the path",
    )


async def _other_place(client: Client, snapshot: Snapshot) -> EntryId | None:
    """The end of another branch if one is in sight, else the middle of the path."""
    for row in snapshot.rows.rows:
        if row.on_path is not True and not row.children:
            return row.id
    path = await client.get_path(snapshot.session_id, limit=1)
    middle = await client.get_path(snapshot.session_id, offset=path.total // 2, limit=1)
    return middle.entries[0].id if middle.entries else None


async def _context(client: Client, id: str, place: EntryId | None) -> tuple[BuildContextResult, list[EntrySummary]]:
    """The context at an entry with the end of the path to it."""
    context = await client.build_context(id, place)
    total = (await client.get_path(id, place, limit=1)).total
    return context, (await client.get_path(id, place, offset=max(0, total - 1000), limit=1000)).entries


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(path: Path) -> set[str]:
    return {item.name for item in path.absolute().parent.iterdir() if item.name.startswith(path.name)}
