"""Which entries an export shows, in which order, and where branches begin."""

from __future__ import annotations

from dataclasses import dataclass, field

from piserver.repository.search import newest_below
from piserver.session import Session
from piserver.session.outline import Outline
from piserver.session.rows import visible
from piserver.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Branch:
    """An entry with which branch `number` of `count` begins, that leaves `start` (None: before the first entry).

    `previous` and `next` begin the branches beside it; `tip` is the newest entry of this one.
    """

    number: int
    count: int
    start: Node | None
    previous: Node | None
    next: Node | None
    tip: Node


@dataclass(slots=True)
class Plan:
    """The entries in reading order: a branch is read to its end before the next one that starts with it begins."""

    nodes: list[Node]
    guides: dict[str, str]
    """The lines of the outline by entry id, with guides as in the tree's rows; other entries are bookkeeping."""
    on_path: set[str]
    branches: dict[str, Branch] = field(default_factory=dict[str, Branch])
    ends: int = 1
    """How many branches there are."""
    whole: bool = False


def plan_path(session: Session, path: list[Node]) -> Plan:
    """The entries of one path, and no branches."""
    shows = visible("default", session.storage, lambda node: False)
    return Plan(path, {node.id: "" for node in path if shows(node)}, {node.id for node in path})


def plan_tree(session: Session, size: int, leaf: Node | None) -> Plan:
    """The first `size` entries of the log with all branches. Cost: linear in them."""
    tree = session.storage.tree
    shows = visible("default", session.storage, lambda node: False)
    lines = Outline(tree, lambda node: node.index < size and shows(node)).lines
    plan = Plan(
        nodes=_reading_order(tree, size),
        guides={line.node.id: line.guides for line in lines},
        on_path={node.id for node in tree.ancestors(leaf)},
        ends=sum(1 for line in lines if line.children == 0),
        whole=True,
    )
    plan.branches = _branches(tree, plan)
    return plan


def _reading_order(tree: Tree, size: int) -> list[Node]:
    """Depth first, siblings in file order; bookkeeping that nothing follows stands directly below its parent."""
    order: list[Node] = []
    stack = tree.roots[::-1]
    while stack:
        node = stack.pop()
        if node.index < size:
            order.append(node)
            stack.extend(sorted(node.children, key=_goes_on)[::-1])
    return order


_ENDS = frozenset({"leaf", "label", "session_info", "usage", "context_edit"})


def _goes_on(node: Node) -> bool:
    return bool(node.children) or node.type not in _ENDS


def _branches(tree: Tree, plan: Plan) -> dict[str, Branch]:
    above: dict[str, Node | None] = {}  # each entry's nearest ancestor in the outline
    groups: dict[str | None, list[Node]] = {}
    for node in plan.nodes:
        parent = node.parent
        over = parent if parent is None or parent.id in plan.guides else above[parent.id]
        above[node.id] = over
        if node.id in plan.guides:
            groups.setdefault(over.id if over else None, []).append(node)
    newest = newest_below(tree)
    branches: dict[str, Branch] = {}
    for group in groups.values():
        beside: list[Node | None] = [None, *group, None]
        for number in range(1, len(group) + 1 if len(group) > 1 else 0):
            node = group[number - 1]
            tip = tree.nodes[newest[node.index]]
            branches[node.id] = Branch(number, len(group), above[node.id], beside[number - 1], beside[number + 1], tip)
    return branches
