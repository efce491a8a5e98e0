"""The tree flattened to lines: which entries show, in which order, how far indented.

A run without branches stays at one depth; only the children of an entry that has several (visible ones) are indented.
Entries that a filter hides pass their children on to the nearest visible ancestor. Siblings are in file order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from piserver.tree import Node, Tree


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


@dataclass(slots=True)
class Outline:
    """All lines in order, and the place of each visible entry."""

    lines: list[Line]
    places: dict[str, int]

    def nearest(self, node: Node | None) -> int | None:
        """The line of the entry or of its nearest visible ancestor."""
        for ancestor in Tree.ancestors(node):
            if ancestor.id in self.places:
                return self.places[ancestor.id]
        return None


def outline(tree: Tree, visible: Callable[[Node], bool], collapsed: frozenset[str] = frozenset()) -> Outline:
    """Flatten the tree. Cost: linear in its entries."""
    size = len(tree)  # the tree may grow meanwhile, where this runs in a worker thread
    order: list[Node] = []
    stack = tree.roots[::-1]
    while stack:
        node = stack.pop()
        if node.index >= size:
            continue
        order.append(node)
        if node.children:
            stack.extend(node.children[::-1])
    above: list[Node | None] = [None] * size  # each entry's nearest visible ancestor
    count = [0] * size
    last: list[Node | None] = [None] * size
    shown: list[Node] = []
    for node in order:
        parent = node.parent
        over = None
        if parent is not None:
            over = parent if count[parent.index] >= 0 else above[parent.index]
        above[node.index] = over
        if visible(node):
            shown.append(node)
            if over is not None:
                count[over.index] += 1
                last[over.index] = node
        else:
            count[node.index] = -1
    return _lines(shown, above, count, last, collapsed)


def _lines(
    shown: list[Node],
    above: list[Node | None],
    count: list[int],
    last: list[Node | None],
    collapsed: frozenset[str],
) -> Outline:
    lines: list[Line] = []
    places: dict[str, int] = {}
    under: dict[int, str] = {}  # what an entry's children start their guides with
    folded: dict[int, int] = {}  # entries below a collapsed one, with that one's index
    hidden: dict[int, int] = {}
    for node in shown:
        over = above[node.index]
        if over is not None and over.index in folded:
            top = folded[node.index] = folded[over.index]
            hidden[top] = hidden.get(top, 0) + 1
            continue
        guides = "" if over is None else under[over.index]
        if over is not None and count[over.index] > 1:
            mark = "L" if last[over.index] is node else "+"
            under[node.index] = guides + (" " if mark == "L" else "|")
            guides += mark
        else:
            under[node.index] = guides
        if node.id in collapsed and count[node.index] > 0:
            folded[node.index] = node.index
        places[node.id] = len(lines)
        lines.append(Line(node, guides, count[node.index], 0))
    for index, line in enumerate(lines):
        if line.node.index in hidden:
            lines[index] = Line(line.node, line.guides, line.children, hidden[line.node.index])
    return Outline(lines, places)
