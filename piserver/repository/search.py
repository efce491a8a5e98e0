"""A search over what was said: one session with all its branches, the sessions of a folder, or all of them.

Results come newest first: sessions by their last change, entries from the end of the file backwards. Nothing is
indexed; the files themselves are read, and most lines are ruled out without being decoded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio.to_thread

from piserver.entries.entry import Entry
from piserver.session import Session
from piserver.session.matching import Matcher, Range, snippet
from piserver.session.preview import search_text
from piserver.tree import Node, Tree

_BATCH_BYTES = 256 * 1024
"""Bytes of entries that are matched between two looks at whether the search was cancelled."""
_CHUNK = 1024 * 1024
_OVERLAP = 256


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch on which an entry lies: its end, the nearest label above that, and when it last grew."""

    leaf_id: str
    label: str | None
    last_activity: str
    on_path: bool
    """Whether the entry is on the way to the session's leaf."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A match. `match` says where: in an entry's `text`, in its `label`, its `id`, or in the session's `name`."""

    match: Literal["text", "label", "id", "name"]
    node: Node | None
    snippet: str
    ranges: list[Range]
    branch: Branch | None


@dataclass(frozen=True, slots=True)
class Scope:
    """Which entries are searched; empty sets mean all."""

    roles: frozenset[str] = field(default_factory=frozenset[str])
    types: frozenset[str] = field(default_factory=frozenset[str])

    def holds(self, node: Node) -> bool:
        """Whether an entry is to be searched."""
        return (not self.types or node.type in self.types) and (not self.roles or node.role in self.roles)


async def search_session(
    session: Session, query: str, matcher: Matcher, scope: Scope
) -> AsyncIterator[tuple[Hit | None, int]]:
    """The hits of one session, newest first; None marks progress. The number counts the entries looked at so far."""
    tree = session.storage.tree
    tips = _Tips(session)
    if session.name and (ranges := matcher.find(session.name)) and not scope.types and not scope.roles:
        text, shown = snippet(session.name, ranges)
        yield Hit("name", None, text, shown, None), 0
    exact = tree.get(query.strip())
    if exact is not None:
        yield Hit("id", exact, exact.id, [(0, len(exact.id))], await tips.branch(exact)), 0
    for id, label in sorted(tree.labels.items(), key=lambda item: -item[1].entry.index):
        node = tree.get(id)
        if node is not None and scope.holds(node) and (ranges := matcher.find(label.text)):
            text, shown = snippet(label.text, ranges)
            yield Hit("label", node, text, shown, await tips.branch(node)), 0
    looked = 0
    for batch in _batches([node for node in reversed(tree.nodes) if scope.holds(node)], session):
        entries = await session.storage.read(batch)
        found = await anyio.to_thread.run_sync(_match, matcher, entries)
        looked += len(batch)
        for index, text, ranges in found:
            node = batch[index]
            yield Hit("text", node, text, ranges, await tips.branch(node)), looked
        yield None, looked


def _batches(nodes: Sequence[Node], session: Session) -> list[list[Node]]:
    """Runs of entries of about `_BATCH_BYTES`."""
    batches: list[list[Node]] = []
    size = _BATCH_BYTES
    for node in nodes:
        if size >= _BATCH_BYTES or len(batches[-1]) >= 500:
            batches.append([])
            size = 0
        batches[-1].append(node)
        size += session.storage.size_of(node)
    return batches


def _match(matcher: Matcher, entries: Sequence[Entry]) -> list[tuple[int, str, list[Range]]]:
    found: list[tuple[int, str, list[Range]]] = []
    for index, entry in enumerate(entries):
        if matcher.may_match(entry.raw):
            text = search_text(entry)
            if ranges := matcher.find(text):
                found.append((index, *snippet(text, ranges)))
    return found


class _Tips:
    """The end of each entry's newest branch, found when the first hit asks for it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tip: list[int] | None = None
        self._on_path: set[str] = set()

    async def branch(self, node: Node) -> Branch:
        tree = self._session.storage.tree
        if self._tip is None or len(self._tip) < len(tree):
            self._on_path = {ancestor.id for ancestor in tree.ancestors(self._session.leaf)}
            self._tip = await anyio.to_thread.run_sync(newest_below, tree)
        tip = tree.nodes[self._tip[node.index]]
        label: str | None = None
        for ancestor in tree.ancestors(tip):
            label = self._session.storage.label(ancestor.id)
            if label is not None or ancestor is node:
                break
        return Branch(tip.id, label, tip.timestamp, node.id in self._on_path)


def newest_below(tree: Tree) -> list[int]:
    """For each entry, by index: the index of the newest entry that descends from it (itself if none does)."""
    nodes = list(tree.nodes)
    newest = list(range(len(nodes)))
    # Parents nearly always come before their children; where one does not, its children pass on what they know later.
    for node in sorted(nodes, key=lambda node: -node.depth):
        parent = node.parent
        if parent is not None and newest[node.index] > newest[parent.index]:
            newest[parent.index] = newest[node.index]
    return newest


def file_may_match(path: Path, matcher: Matcher) -> bool:
    """Whether a session file could hold a match: a look at its bytes, without reading it as a session."""
    missing = matcher.needles
    if any(len(needle) > _OVERLAP for needle in missing):
        return True
    try:
        with path.open("rb") as file:
            rest = b""
            while missing and (chunk := file.read(_CHUNK)):
                missing = matcher.missing(missing, rest + chunk)
                rest = chunk[-_OVERLAP:]
    except OSError:
        return False
    return not missing
