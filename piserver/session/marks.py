"""Which entries lie on the path of the leaf, and which of them a model sees there."""

from __future__ import annotations

from piserver.context import first_kept
from piserver.session.rows import failed
from piserver.tree import Node, Tree

_SEEN = frozenset({"message", "custom_message", "compaction", "branch_summary"})


class Marks:
    """Answers for one entry at a time; following the leaf costs only the way that it has moved."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._path: list[Node] = []  # by depth
        self._kept_from = 0
        self._compaction: Node | None = None
        self._left_out: set[str] = set()
        self._of: tuple[Node | None, int, int] | None = None

    def move(self, leaf: Node | None) -> None:
        """Take another leaf, or a grown tree."""
        now = (leaf, len(self._tree), self._tree.reshaped)
        if now == self._of:
            return
        if self._of is not None and self._of[2] != self._tree.reshaped:
            self._path.clear()
        self._of = now
        trail: list[Node] = []
        node = leaf
        while node is not None and not self.on_path(node):
            trail.append(node)
            node = node.parent
        del self._path[node.depth + 1 if node else 0 :]
        self._path += reversed(trail)
        self._compaction = leaf.state.compaction if leaf else None
        first = first_kept(self._tree, self._compaction) if self._compaction else None
        self._kept_from = 0 if self._compaction is None else (first or self._compaction).depth
        edits = [edit for edit in self._tree.context_edits if self.on_path(edit) and edit.depth >= self._kept_from]
        latest = {edit.head.target_id: edit for edit in sorted(edits, key=lambda edit: edit.depth)}
        self._left_out = {
            target
            for target, edit in latest.items()
            if isinstance(target, str) and bytes(edit.head.replacement or b"") == b"null"
        }

    def on_path(self, node: Node) -> bool:
        """Whether an entry is the leaf or an ancestor of it."""
        return node.depth < len(self._path) and self._path[node.depth] is node

    def in_context(self, node: Node) -> bool:
        """Whether a model sees an entry: a message that is selected, neither failed nor edited out."""
        return (
            node.type in _SEEN
            and node.depth >= self._kept_from
            and self.on_path(node)
            and (node.type != "compaction" or node is self._compaction)
            and node.role != "system"
            and node.id not in self._left_out
            and not failed(node)
        )
