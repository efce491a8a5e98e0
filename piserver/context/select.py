"""Which entries of a path enter the context, and why.

With no compaction on the path all of it does. Otherwise the newest compaction comes first, then what it kept, then what
followed it. The cost is that of the entries kept, not of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from msgspec import UNSET

from piserver.entries.codec import MessageHead
from piserver.tree import Diagnostic, Node, State, Tree
from piserver.tree.node import ROOT_STATE

Reason = Literal["on-path", "compaction", "kept", "after-compaction"]
"""Why an entry is in: all of the path is, it is the newest compaction, that one kept it, or it came later."""

WhyOut = Literal[
    "before-compaction",
    "older-compaction",
    "not-a-message",
    "edited-out",
    "replaced-system",
    "empty",
    "transformed-out",
]
"""Why an entry of the path contributes nothing."""


@dataclass(frozen=True, slots=True)
class Excluded:
    """An entry of the path that is not in the context, and why."""

    node: Node
    reason: WhyOut


@dataclass(slots=True)
class Selection:
    """The entries of the context in the context's order, before their bodies are read."""

    leaf: Node | None
    nodes: list[Node]
    reasons: list[Reason]
    edits: dict[str, Node] = field(default_factory=dict[str, Node])
    """The context edit in force, by the id of the entry that it edits."""
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def state(self) -> State:
        """Model, thinking level and tools at the leaf."""
        return ROOT_STATE if self.leaf is None else self.leaf.state

    def last_usage(self) -> int | None:
        """The place of the last answer whose usage still says how large the context was, as a provider reported it.

        It ended well, came after the newest compaction and has not been edited.
        """
        for place in range(len(self.nodes) - 1, -1, -1):
            detail = self.nodes[place].detail
            if self.reasons[place] in ("compaction", "kept"):
                return None
            if (
                isinstance(detail, MessageHead)
                and detail.usage is not None
                and detail.stop_reason not in ("error", "aborted")
                and self.nodes[place].role == "assistant"
                and self.nodes[place].id not in self.edits
                and detail.usage.total > 0
            ):
                return place
        return None

    def since(self, place: int) -> Selection:
        """The part of the selection from a place on."""
        nodes = self.nodes[place:]
        chosen = {node.id for node in nodes}
        edits = {target: edit for target, edit in self.edits.items() if edit.id in chosen}
        return Selection(self.leaf, nodes, self.reasons[place:], edits)

    def not_selected(self) -> Iterator[Excluded]:
        """The entries of the path that a compaction left behind, newest first. Cost: the whole path."""
        chosen = {node.id for node in self.nodes}
        for node in Tree.ancestors(self.leaf):
            if node.id not in chosen:
                yield Excluded(node, "older-compaction" if node.type == "compaction" else "before-compaction")


def select(tree: Tree, leaf: Node | None) -> Selection:
    """Choose the entries of the context at `leaf` (None: before the first entry, an empty context)."""
    compaction = None if leaf is None else leaf.state.compaction
    if compaction is None:
        nodes = tree.path(leaf)
        selection = Selection(leaf, nodes, ["on-path"] * len(nodes))
    else:
        after: list[Node] = []
        for node in Tree.ancestors(leaf):
            if node is compaction:
                break
            after.append(node)
        after.reverse()
        kept, diagnostics = _kept(tree, compaction)
        reasons: list[Reason] = ["compaction", *("kept" for _ in kept), *("after-compaction" for _ in after)]
        selection = Selection(leaf, [compaction, *kept, *after], reasons, diagnostics=diagnostics)
    for node in selection.nodes:
        if node.type == "context_edit" and isinstance(target := node.head.target_id, str):
            selection.edits[target] = node
    if tree.is_broken:
        selection.diagnostics += _broken_ends(leaf)
    return selection


def first_kept(tree: Tree, compaction: Node) -> Node | None:
    """The first entry that a compaction keeps; None if it keeps nothing from before itself."""
    head = compaction.head
    tail = head.retained_tail
    if tail is not UNSET and bytes(tail) != b"null":
        return None
    first = head.first_kept_entry_id
    if first is UNSET or first == compaction.id:
        return None
    start = tree.get(first)
    return start if start is not None and Tree.is_ancestor(start, compaction) else None


def _kept(tree: Tree, compaction: Node) -> tuple[list[Node], list[Diagnostic]]:
    """The entries from the first kept one up to the compaction, older compactions left out."""
    start = first_kept(tree, compaction)
    if start is None:
        return [], _lost(tree, compaction)
    kept: list[Node] = []
    node = compaction.parent
    while node is not None and node.depth >= start.depth:
        if node.type != "compaction":
            kept.append(node)
        node = node.parent
    kept.reverse()
    return kept, []


def _lost(tree: Tree, compaction: Node) -> list[Diagnostic]:
    """Say that a compaction names a first kept entry which is not on its path."""
    first, tail = compaction.head.first_kept_entry_id, compaction.head.retained_tail
    if first is UNSET or first == compaction.id or (tail is not UNSET and bytes(tail) != b"null"):
        return []
    where = "on another branch" if first in tree else "not in the file"
    reason = f"the compaction's first kept entry {first} is {where}: nothing from before it is kept"
    return [Diagnostic("off-path-first-kept", reason, compaction.line, None, compaction.id)]


def _broken_ends(leaf: Node | None) -> list[Diagnostic]:
    """Say that a path does not reach a root because a parent is missing."""
    if leaf is None:
        return []
    *_, root = Tree.ancestors(leaf)
    if not root.orphaned:
        return []
    reason = f"the path ends at {root.id}: its parent {root.parent_id} is not above it"
    return [Diagnostic("missing-parent", reason, root.line, None, root.id)]
