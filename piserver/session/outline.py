"""The tree flattened to lines: which entries show, in which order, how far indented.

A run without branches stays at one depth; only the children of an entry that has several (visible ones) are indented.
Entries that a filter hides pass their children on to the nearest visible ancestor. Siblings are in file order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from piserver.tree import Node, Tree

Shows = Callable[[Node], bool]
"""Whether an entry is visible."""


@dataclass(frozen=True, slots=True)
class Line:
    """One visible entry.

    `guides` has a character for each level of indentation: `|` a branch that goes on beside it, `+` a branch that
    starts here and is not the last, `L` the last one, a space nothing. `children` counts the visible ones, `hidden` the
    lines that collapsing took away below it.
    """

    node: Node
    guides: str
    children: int
    hidden: int


class Outline:
    """All lines in order, and the place of each visible entry. Making one costs time linear in the tree's entries."""

    def __init__(self, tree: Tree, shows: Shows, collapsed: frozenset[str] = frozenset()) -> None:
        self.lines: list[Line] = []
        self.size = len(tree)  # the tree may grow meanwhile, where this runs in a worker thread
        self._reshaped = tree.reshaped
        self._collapsed = collapsed
        self._places: dict[str, int] = {}
        self._above: list[Node | None] = [None] * self.size  # each entry's nearest visible ancestor
        self._count = [0] * self.size  # visible children; -1 for an entry that is hidden itself
        self._under: dict[int, str] = {}  # what an entry's children start their guides with
        self._end: Node | None = None  # the last entry in the tree's order, visible or not
        self._draw(*self._walk(tree, shows))

    def nearest(self, node: Node | None) -> int | None:
        """The line of the entry or of its nearest visible ancestor."""
        for ancestor in Tree.ancestors(node):
            if ancestor.id in self._places:
                return self._places[ancestor.id]
        return None

    def _walk(self, tree: Tree, shows: Shows) -> tuple[list[Node], list[Node | None]]:
        """The visible entries in order, and each entry's last visible child."""
        last: list[Node | None] = [None] * self.size
        shown: list[Node] = []
        stack = tree.roots[::-1]
        above, count = self._above, self._count
        while stack:
            node = stack.pop()
            if node.index >= self.size:
                continue
            self._end = node
            if node.children:
                stack.extend(node.children[::-1])
            parent, over = node.parent, None
            if parent is not None:
                over = parent if count[parent.index] >= 0 else above[parent.index]
            above[node.index] = over
            if not shows(node):
                count[node.index] = -1
                continue
            shown.append(node)
            if over is not None:
                count[over.index] += 1
                last[over.index] = node
        return shown, last

    def _draw(self, shown: list[Node], last: list[Node | None]) -> None:
        folded: dict[int, Node] = {}  # entries at or below a collapsed one, with that one
        hidden: dict[str, int] = {}
        above, count, under = self._above, self._count, self._under
        for node in shown:
            over = above[node.index]
            if over is not None and over.index in folded:
                top = folded[node.index] = folded[over.index]
                hidden[top.id] = hidden.get(top.id, 0) + 1
                continue
            guides = "" if over is None else under[over.index]
            if over is not None and count[over.index] > 1:
                mark = "L" if last[over.index] is node else "+"
                under[node.index] = guides + (" " if mark == "L" else "|")
                guides += mark
            else:
                under[node.index] = guides
            if node.id in self._collapsed and count[node.index] > 0:
                folded[node.index] = node
            self._places[node.id] = len(self.lines)
            self.lines.append(Line(node, guides, count[node.index], 0))
        for id, number in hidden.items():
            place = self._places[id]
            self.lines[place] = replace(self.lines[place], hidden=number)

    def extend(self, tree: Tree, shows: Shows) -> bool:
        """Take in what was added since, if that only continues the last lines; answers False where it does not.

        The usual growth of a session is of this kind, and costs what was added. After False make a new outline.
        """
        new = tree.nodes[self.size :]
        if self._collapsed or self._reshaped != tree.reshaped or not self._continues(new):
            return False
        for node in new:
            parent, over = node.parent, None
            if parent is not None:
                over = parent if self._count[parent.index] >= 0 else self._above[parent.index]
            if shows(node) and over is not None and self._count[over.index] > 0:
                return False  # a branch starts: lines above it get other guides
            self.size += 1
            self._end = node
            self._above.append(over)
            self._count.append(0 if shows(node) else -1)
            if not shows(node):
                continue
            guides = "" if over is None else self._under[over.index]
            if over is not None:
                self._count[over.index] += 1
                place = self._places[over.id]
                self.lines[place] = replace(self.lines[place], children=1)
            self._under[node.index] = guides
            self._places[node.id] = len(self.lines)
            self.lines.append(Line(node, guides, 0, 0))
        return True

    def _continues(self, new: Iterable[Node]) -> bool:
        """Whether each new entry comes behind all others in the tree's order."""
        end = self._end
        for node in new:
            if node.parent is not None and (end is None or not Tree.is_ancestor(node.parent, end)):
                return False
            end = node
        return True
