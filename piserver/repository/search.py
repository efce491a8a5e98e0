"""A search over what was said: one session with all its branches, the sessions of a folder, or all of them.

Results come newest first: sessions by their last change, entries from the end of the file backwards. Nothing is
indexed; the files themselves are read, and most lines are ruled out without being decoded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio.to_thread

from piserver.entries.codec import clean
from piserver.entries.entry import Entry
from piserver.session import Session
from piserver.session.matching import Matcher, Range, snippet
from piserver.session.preview import search_text
from piserver.storage import StorageError
from piserver.tree import Label, Node, Tree

_BATCH_BYTES = 256 * 1024
"""Bytes of entries that are matched between two looks at whether the search was cancelled; a larger one comes alone."""
_BATCH_ENTRIES = 500
_STRIDE = 5_000
"""Entries that are passed over at most before others get a turn."""
_POINTERS = frozenset({"label", "session_info", "leaf"})
"""Entries whose text is not searched unless they are asked for: labels and names are found by themselves."""
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

    @property
    def is_narrow(self) -> bool:
        """Whether only some entries are searched."""
        return bool(self.roles or self.types)

    def holds(self, node: Node) -> bool:
        """Whether an entry is to be searched."""
        return (not self.types or node.type in self.types) and (not self.roles or node.role in self.roles)


async def search_session(
    session: Session, query: str, matcher: Matcher, scope: Scope
) -> AsyncGenerator[tuple[Hit | None, int]]:
    """The hits of one session, newest first; None marks progress. The number counts the entries looked at so far.

    It is the session at the time of the call that is searched. Raises StorageError if the file is closed or replaced
    meanwhile.
    """
    tree, size = session.storage.tree, len(session.storage.tree)
    branches = _Branches(tree, session.leaf)
    if session.name and not scope.is_narrow and (ranges := matcher.find(session.name)):
        text, shown = snippet(session.name, ranges)
        yield Hit("name", None, text, shown, None), 0
    exact = tree.get(query.strip())
    if exact is not None and scope.holds(exact):
        yield Hit("id", exact, exact.id, [(0, len(exact.id))], await branches.of(exact)), 0
    for node, label in _labelled(tree, scope):
        if ranges := matcher.find(label.text):
            text, shown = snippet(label.text, ranges)
            yield Hit("label", node, text, shown, await branches.of(node)), 0
    for batch, looked in _batches(session, tree, size, scope):
        lines = await session.storage.lines(batch)
        found = await anyio.to_thread.run_sync(_match, matcher, batch, lines, abandon_on_cancel=True)
        for node, text, ranges in found:
            yield Hit("text", node, text, ranges, await branches.of(node)), looked
        yield None, looked


def _labelled(tree: Tree, scope: Scope) -> list[tuple[Node, Label]]:
    """The labelled entries, the one that was labelled last first."""
    labels = sorted(tree.labels.items(), key=lambda item: -item[1].entry.index)
    return [(node, label) for id, label in labels if (node := tree.get(id)) is not None and scope.holds(node)]


def _batches(session: Session, tree: Tree, size: int, scope: Scope) -> Iterator[tuple[list[Node], int]]:
    """The first `size` entries backwards, in runs of about `_BATCH_BYTES`, and how many have been passed with each."""
    batch: list[Node] = []
    held = 0
    for looked in range(1, size + 1):
        if session.storage.tree is not tree:
            raise StorageError(f"{session.storage.path} was replaced underneath")
        node = tree.nodes[size - looked]
        if scope.holds(node) and (scope.types or node.type not in _POINTERS):
            length = session.storage.size_of(node)
            if batch and held + length > _BATCH_BYTES:
                yield batch, looked - 1
                batch, held = [], 0
            batch.append(node)
            held += length
        if len(batch) == _BATCH_ENTRIES or looked % _STRIDE == 0 or looked == size:
            yield batch, looked
            batch, held = [], 0


def _match(matcher: Matcher, nodes: Sequence[Node], lines: Sequence[bytes]) -> list[tuple[Node, str, list[Range]]]:
    found: list[tuple[Node, str, list[Range]]] = []
    for node, line in zip(nodes, lines, strict=True):
        raw = clean(line)
        if matcher.may_match(raw):
            text = search_text(Entry(node.id, node.type, raw))
            if ranges := matcher.find(text):
                found.append((node, *snippet(text, ranges)))
    return found


class _Branches:
    """The branch of each entry, worked out when the first hit asks for it; later growth does not show."""

    def __init__(self, tree: Tree, leaf: Node | None) -> None:
        self._tree = tree
        self._leaf = leaf
        self._known: tuple[list[Node], list[str | None], set[int]] | None = None

    async def of(self, node: Node) -> Branch:
        if self._known is None:
            self._known = await anyio.to_thread.run_sync(self._look)
        ends, labels, path = self._known
        end = ends[node.index]
        return Branch(end.id, labels[node.index], end.timestamp, node.index in path)

    def _look(self) -> tuple[list[Node], list[str | None], set[int]]:
        newest = newest_below(self._tree)
        labels = _labels_below(self._tree, newest)
        return [self._tree.nodes[index] for index in newest], labels, {n.index for n in Tree.ancestors(self._leaf)}


def newest_below(tree: Tree) -> list[int]:
    """For each entry, by index: the index of the newest entry that descends from it (itself if none does)."""
    newest = list(range(len(tree)))
    for node, parent in _upwards(tree, len(newest)):
        if parent is not None and newest[node.index] > newest[parent.index]:
            newest[parent.index] = newest[node.index]
    return newest


def _labels_below(tree: Tree, newest: list[int]) -> list[str | None]:
    """For each entry, by index: the label nearest to its newest end on the way there; None if there is none."""
    known = dict(tree.labels)
    labels: list[str | None] = [None] * len(newest)
    for node, parent in _upwards(tree, len(newest)):
        if labels[node.index] is None and (label := known.get(node.id)) is not None:
            labels[node.index] = label.text
        if parent is not None and newest[node.index] == newest[parent.index]:
            labels[parent.index] = labels[node.index]
    return labels


def _upwards(tree: Tree, size: int) -> Iterator[tuple[Node, Node | None]]:
    """The first `size` entries with their parents, children before parents; the tree may grow meanwhile."""
    for node in sorted(tree.nodes[:size], key=lambda node: -node.depth):
        yield node, node.parent if node.parent is not None and node.parent.index < size else None


def file_may_match(path: Path, matcher: Matcher) -> bool:
    """Whether a session file could hold a match: a look at its bytes, without reading it as a session."""
    missing = matcher.needles
    if any(len(needle) > _OVERLAP for needle in missing):
        return True
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            rest = b""
            while missing and (chunk := file.read(_CHUNK)):
                missing = matcher.missing(missing, rest + chunk)
                rest = chunk[-_OVERLAP:]
    except OSError:
        return False
    return not missing
