"""The rows of a session, kept between requests and grown with the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import anyio.to_thread

from piserver.entries.entry import Entry
from piserver.session.marks import Marks
from piserver.session.matching import Matcher, matcher
from piserver.session.outline import Outline
from piserver.session.preview import content_blocks, preview, search_text
from piserver.session.rows import Filter, Row, RowWindow, summarise, visible
from piserver.storage import Storage
from piserver.tree import Node

_THREAD_ABOVE = 2_000
"""Entries beyond which the outline is computed in a worker thread."""
_BATCH = 200
"""Entries whose bodies are read at a time in a search."""
_MOST_OUTLINES = 8
_MOST_PREVIEWS = 20_000
_INLINE = 1024 * 1024
"""Bytes of entries beyond which their previews are made in a worker thread."""
_MOST_SEARCHES = 16


class View:
    """Outlines, searches and marks of one log."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._outlines: dict[tuple[Filter, str, frozenset[str]], Outline] = {}
        self._found: dict[str, tuple[int, set[str]]] = {}
        self._previews: dict[int, str] = {}
        self._tool_only: set[str] = set()
        self._tool_only_of = 0
        self._marks = Marks(storage.tree)

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
        outline = await self._outline(filter, query, collapsed)
        place = outline.nearest(leaf)
        if centre is not None and (at := outline.nearest(centre)) is not None:
            offset = max(0, min(at - limit // 2, len(outline.lines) - limit))
        total, window = len(outline.lines), outline.lines[offset : offset + limit]
        previews = await self.previews([line.node for line in window])
        marks = self._marks
        marks.move(leaf)
        rows = [
            Row(
                entry=summarise(self._storage, line.node, preview),
                guides=line.guides,
                children=line.children,
                hidden=line.hidden,
                collapsed=line.node.id in collapsed and line.children > 0,
                on_path=marks.on_path(line.node),
                leaf=offset + number == place,
                in_context=marks.in_context(line.node),
                orphaned=line.node.orphaned,
            )
            for number, (line, preview) in enumerate(zip(window, previews, strict=True))
        ]
        return RowWindow(total, offset, rows, place)

    async def previews(self, nodes: Sequence[Node]) -> list[str]:
        """The lines by which a person knows entries; those made before are not made again."""
        known = self._previews
        texts = {node.index: known[node.index] for node in nodes if node.index in known}
        unknown = [node for node in nodes if node.index not in texts]
        entries = await self._storage.read(unknown)
        if sum(len(entry.raw) for entry in entries) > _INLINE:
            made = await anyio.to_thread.run_sync(lambda: [preview(entry) for entry in entries])
        else:
            made = [preview(entry) for entry in entries]
        fresh = {node.index: text for node, text in zip(unknown, made, strict=True)}
        if len(known) > _MOST_PREVIEWS:
            known.clear()
        known |= fresh
        texts |= fresh
        return [texts[node.index] for node in nodes]

    async def _outline(self, filter: Filter, query: str, collapsed: frozenset[str]) -> Outline:
        tree = self._storage.tree
        key = (filter, query, collapsed)
        while True:
            known = self._outlines.get(key)
            if known is not None and known.size == len(tree):
                return known
            shows = await self._shows(filter, query)
            # A label may show or hide entries that were there before.
            labelled = filter == "labeled" or bool(query.strip())
            if known is not None and not labelled and known.extend(tree, shows):
                continue
            if len(tree) > _THREAD_ABOVE:
                made = await anyio.to_thread.run_sync(Outline, tree, shows, collapsed)
            else:
                made = Outline(tree, shows, collapsed)
            self._outlines.pop(key, None)
            if len(self._outlines) >= _MOST_OUTLINES:
                self._outlines.pop(next(iter(self._outlines)))
            self._outlines[key] = made

    async def _shows(self, filter: Filter, query: str) -> Callable[[Node], bool]:
        if filter == "no-tools":
            await self._find_tool_only()
        shows = visible(filter, self._storage, lambda node: node.id in self._tool_only)
        if not query.strip():
            return shows
        found = await self._search(query)
        return lambda node: node.id in found and shows(node)

    async def _find_tool_only(self) -> None:
        """Learn of each answer whether it holds nothing but tool calls; that stands in its body alone."""
        while self._tool_only_of < self._storage.revision:
            batch = self._storage.tree.nodes[self._tool_only_of : self._tool_only_of + _BATCH]
            entries = await self._storage.read([node for node in batch if node.role == "assistant"])
            self._tool_only |= await anyio.to_thread.run_sync(_hold_calls_alone, entries)
            self._tool_only_of += len(batch)

    async def _search(self, query: str) -> set[str]:
        """Ids of the entries whose text or label matches the query."""
        wanted = matcher(query)
        looked, found = self._found.pop(query, (0, set[str]()))
        while looked < self._storage.revision:
            batch = self._storage.tree.nodes[looked : looked + _BATCH]
            entries = await self._storage.read(batch)
            found |= await anyio.to_thread.run_sync(_matching, wanted, entries)
            looked += len(batch)
        if len(self._found) >= _MOST_SEARCHES:
            self._found.pop(next(iter(self._found)))
        self._found[query] = (looked, found)
        return found | {id for id, label in self._storage.tree.labels.items() if wanted.find(label.text)}


def _hold_calls_alone(entries: Sequence[Entry]) -> set[str]:
    return {entry.id for entry in entries if _holds_calls_alone(entry)}


def _holds_calls_alone(entry: Entry) -> bool:
    message = entry.value.get("message")
    content = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
    kinds = {block.get("type") for block in content_blocks(content) if block.get("type") != "text" or block.get("text")}
    return "toolCall" in kinds and "text" not in kinds


def _matching(wanted: Matcher, entries: Sequence[Entry]) -> set[str]:
    return {entry.id for entry in entries if wanted.may_match(entry.raw) and wanted.find(search_text(entry))}
