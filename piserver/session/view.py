"""The rows of a session, kept between requests as long as the log stays the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

import anyio.lowlevel
import anyio.to_thread

from piserver.context import select
from piserver.entries.entry import Entry
from piserver.session.outline import Outline, outline
from piserver.session.preview import content_blocks, search_text
from piserver.session.rows import Filter, Row, RowWindow, contributing, summarise, visible
from piserver.storage import Storage
from piserver.tree import Node

_THREAD_ABOVE = 5_000
"""Entries beyond which the outline is computed in a worker thread."""
_BATCH = 500
"""Entries whose bodies are read at a time in a search."""


class View:
    """Outlines, searches and previews of one log."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._outlines: dict[tuple[object, ...], Outline] = {}
        self._outlines_of = -1
        self._found: dict[str, tuple[int, set[str]]] = {}
        self._tool_only: dict[str, bool] = {}
        self._marks: tuple[object, set[str], set[str]] | None = None

    async def rows(
        self,
        leaf: Node | None,
        filter: Filter,
        query: str,
        collapsed: frozenset[str],
        offset: int,
        limit: int,
        centre: Node | None,
    ) -> RowWindow:
        """A window of the rows for a leaf."""
        lines = await self._outline(filter, query, collapsed)
        on_path, in_context = self._marks_at(leaf)
        place = lines.nearest(leaf)
        if centre is not None and (at := lines.nearest(centre)) is not None:
            offset = max(0, at - limit // 2)
        window = lines.lines[offset : offset + limit]
        entries = await self._storage.read([line.node for line in window])
        rows = [
            Row(
                entry=summarise(self._storage, line.node, entry),
                guides=line.guides,
                children=line.children,
                hidden=line.hidden,
                collapsed=line.node.id in collapsed and line.children > 0,
                on_path=line.node.id in on_path,
                leaf=offset + number == place,
                in_context=line.node.id in in_context,
                orphaned=line.node.orphaned,
            )
            for number, (line, entry) in enumerate(zip(window, entries, strict=True))
        ]
        return RowWindow(len(lines.lines), offset, rows, place)

    async def _outline(self, filter: Filter, query: str, collapsed: frozenset[str]) -> Outline:
        if self._outlines_of != self._storage.revision:
            self._outlines.clear()
            self._outlines_of = self._storage.revision
        key = (filter, query, collapsed)
        if key not in self._outlines:
            shows = await self._shows(filter, query)
            revision = self._storage.revision
            if len(self._storage.tree) > _THREAD_ABOVE:
                made = await anyio.to_thread.run_sync(outline, self._storage.tree, shows, collapsed)
            else:
                made = outline(self._storage.tree, shows, collapsed)
            if revision != self._storage.revision:
                return await self._outline(filter, query, collapsed)
            if len(self._outlines) >= 8:
                self._outlines.pop(next(iter(self._outlines)))
            self._outlines[key] = made
        return self._outlines[key]

    async def _shows(self, filter: Filter, query: str) -> Callable[[Node], bool]:
        if filter == "no-tools":
            await self._find_tool_only()
        shows = visible(filter, self._storage, lambda node: self._tool_only.get(node.id, False))
        if not query.strip():
            return shows
        found = await self._search(query)
        return lambda node: node.id in found and shows(node)

    async def _find_tool_only(self) -> None:
        """Learn of each answer whether it holds nothing but tool calls; that stands in its body alone."""
        asked = [n for n in self._storage.tree.nodes if n.role == "assistant" and n.id not in self._tool_only]
        for start in range(0, len(asked), _BATCH):
            batch = asked[start : start + _BATCH]
            for entry in await self._storage.read(batch):
                self._tool_only[entry.id] = _holds_calls_alone(entry)

    async def _search(self, query: str) -> set[str]:
        """Ids of the entries whose text (or label) holds every word of the query, in any case."""
        revision, found = self._found.get(query, (0, set[str]()))
        if revision < self._storage.revision:
            words = query.casefold().split()
            nodes = self._storage.entries_since(revision)
            known = set(found)
            for start in range(0, len(nodes), _BATCH):
                batch = nodes[start : start + _BATCH]
                for entry in await self._storage.read(batch):
                    if _matches(entry, words):
                        known.add(entry.id)
                await anyio.lowlevel.checkpoint()
            found = known
            if len(self._found) >= 16:
                self._found.pop(next(iter(self._found)))
            self._found[query] = (revision + len(nodes), found)
        labelled = {
            id
            for id, label in self._storage.tree.labels.items()
            if all(word in label.text.casefold() for word in query.casefold().split())
        }
        return found | labelled

    def _marks_at(self, leaf: Node | None) -> tuple[set[str], set[str]]:
        """Ids on the path of a leaf, and ids in its context."""
        key = (self._storage.revision, leaf.id if leaf else None)
        if self._marks is None or self._marks[0] != key:
            path = {node.id for node in self._storage.tree.ancestors(leaf)}
            self._marks = (key, path, contributing(select(self._storage.tree, leaf)))
        return self._marks[1], self._marks[2]


def _holds_calls_alone(entry: Entry) -> bool:
    message = entry.value.get("message")
    content = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
    kinds = {block.get("type") for block in content_blocks(content) if block.get("type") != "text" or block.get("text")}
    return "toolCall" in kinds and "text" not in kinds


_PLAIN = re.compile(r"[a-z0-9 .,;:_@#+-]*")


def _matches(entry: Entry, words: list[str]) -> bool:
    raw = entry.raw
    # Plain words stand in the line as they are (but for escapes), so most lines are ruled out without decoding.
    if b"\\u" not in raw:
        lowered = raw.lower()
        if any(_PLAIN.fullmatch(word) and word.encode() not in lowered for word in words):
            return False
    text = search_text(entry).casefold()
    return all(word in text for word in words)
