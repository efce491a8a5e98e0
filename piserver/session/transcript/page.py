"""A path of the tree as a conversation, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from piserver.entries.entry import Entry
from piserver.session.reader import CURRENT, Current, SessionReader
from piserver.session.transcript.parts import Section
from piserver.session.transcript.sections import Reader
from piserver.tree import Node

_NOT_SAID = frozenset({"label", "session_info", "leaf", "custom", "usage"})
"""Bookkeeping that changes nothing of what a model is given: a label stands at its entry instead."""


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """Sections from `offset` of the path on, out of `total`; `in_context` are the entries a model would see now."""

    total: int
    offset: int
    sections: list[Section]
    in_context: frozenset[str]


async def transcript(
    session: SessionReader,
    entry_id: str | None | Current = CURRENT,
    *,
    offset: int = 0,
    limit: int = 100,
    last: bool = False,
    after: str | None = None,
    ids: Sequence[str] | None = None,
) -> TranscriptPage:
    """A page of the path to an entry, by default the leaf.

    `last` counts `offset` from the end; `after` begins behind that entry; `ids` are shown whatever path they are on.
    Raises EntryNotFoundError, StorageError, ValueError for an `after` that is not on the path.
    """
    path = session.path(entry_id)
    shown = [node for node in path if node.type not in _NOT_SAID and node.role != "system"]
    if ids is not None:
        start, page = 0, [session.node(id) for id in ids]
    elif after is not None:
        mark = session.node(after)
        if mark not in path:
            raise ValueError(f"entry {after} is not on the path to {path[-1].id if path else 'the start'}")
        start = sum(1 for node in shown if node.depth <= mark.depth)
        page = shown[start : start + limit]
    elif last:
        end = max(0, len(shown) - offset)
        start = max(0, end - limit)
        page = shown[start:end]
    else:
        start, page = offset, shown[offset : offset + limit]
    labels = {id: label.text for id, label in session.storage.tree.labels.items()}
    edits = {id: described(edit) for id, edit in session.select(entry_id).edits.items()}
    reader = Reader(labels, edits)
    for node, entry in await _callers(session, page):
        reader.section(node, entry)
    entries = await session.storage.read(page)
    sections = [reader.section(node, entry) for node, entry in zip(page, entries, strict=True)]
    return TranscriptPage(len(shown), start, sections, frozenset(node.id for node in session.select().nodes))


def described(edit: Node) -> str:
    """What an edit of the context does to its entry, in words."""
    left_out = bytes(edit.head.replacement or b"") == b"null"
    return "left out of the context" if left_out else "replaced by something else in the context"


async def _callers(session: SessionReader, page: Sequence[Node]) -> list[tuple[Node, Entry]]:
    """The answers outside a page whose calls are answered in it."""
    inside = {node.id for node in page}
    found: dict[str, Node] = {}
    for node in page:
        above = node.parent if node.role == "toolResult" else None
        while above is not None and above.role != "assistant":
            above = above.parent if above.role == "toolResult" or above.type != "message" else None
        if above is not None and above.id not in inside:
            found[above.id] = above
    nodes = list(found.values())
    return list(zip(nodes, await session.storage.read(nodes), strict=True))
