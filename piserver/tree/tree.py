"""The index over a session's entries.

Entries are added in file order. `parent_id` alone makes the tree; what an entry inherits (state, depth) is settled when
it is added, so questions about any node cost nothing that grows with the log.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from sys import intern
from typing import Any

from msgspec import UNSET

from piserver.entries.codec import Head
from piserver.entries.text import one_line, trim
from piserver.tree.diagnostics import Diagnostic, DiagnosticKind
from piserver.tree.node import ROOT_STATE, Label, Model, Node, State
from piserver.tree.statistics import Statistics

BOOKKEEPING = frozenset({"custom", "usage", "label", "session_info", "context_edit"})
"""Types that say something about the session and continue no conversation."""


class Tree:
    """Entries by id, their parents and children, the leaf, labels, name and totals of one session."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        """All indexed entries, in file order. Their count is the session's revision."""
        self.roots: list[Node] = []
        self.labels: dict[str, Label] = {}
        self.name: str | None = None
        self.statistics = Statistics()
        self._by_id: dict[str, Node] = {}
        self._waiting: dict[str, list[Node]] = {}  # orphans by the parent that is not there (yet)
        self._tail: Node | None = None  # the last entry that moved the leaf
        self._problems: list[Diagnostic] = []

    # Growing

    def add(self, head: Head, line: int) -> Node | None:
        """Index the next entry of the log; None for a duplicate id, which is reported and otherwise without effect."""
        if head.id in self._by_id:
            self._report("duplicate-id", f"a second entry has the id {head.id}; the first one counts", line, head.id)
            return None
        parent = self._by_id.get(head.parent_id) if head.parent_id else None
        node = Node(len(self.nodes), line, head, parent)
        if parent is not None:
            if parent.children:
                parent.children.append(node)
            else:
                parent.children = [node]
        else:
            self.roots.append(node)
            if head.parent_id:
                node.orphaned = True
                self._waiting.setdefault(head.parent_id, []).append(node)
            elif head.parent_id is UNSET:
                self._report("absent-parent", "the entry names no parent: shown as a root", line, head.id)
        self.nodes.append(node)
        self._by_id[node.id] = node
        self._settle(node, head)
        self.statistics.add(node)
        if self._waiting and node.id in self._waiting:
            self._adopt(node)
        return node

    def _settle(self, node: Node, head: Head) -> None:
        """Take from a head what its type means for the tree."""
        kind = node.type = intern(head.type)
        if kind == "message":
            message = head.message
            if message is None:
                self._report("missing-message", "a message entry without a message", node.line, node.id)
            elif message.role is not UNSET:
                node.role = intern(message.role)
                if node.role == "assistant":
                    message.provider = _interned(message.provider)
                    message.model = _interned(message.model)
                    node.detail = message
                elif message.usage is not None:
                    node.detail = message
        else:
            node.detail = head
        if kind == "leaf":
            if head.target_id is UNSET:
                self._report("bad-leaf-target", "a jump without a usable target: the leaf stays", node.line, node.id)
            else:
                self._tail = node
        else:
            self._tail = node
        if kind == "label":
            self._label(node, head)
        elif kind == "session_info":
            self.name = (one_line(head.name) or None) if isinstance(head.name, str) else None
        elif kind == "context_edit" and not isinstance(head.target_id, str):
            self._report("bad-context-edit", "a context edit without a target is ignored", node.line, node.id)
        self._inherit(node)

    def _label(self, node: Node, head: Head) -> None:
        if head.label is not UNSET and head.label is not None and not isinstance(head.label, str):
            self._report("bad-label", "a label that is no text clears the label", node.line, node.id)
        if isinstance(head.target_id, str):
            text = trim(head.label) if isinstance(head.label, str) else ""
            self.labels.pop(head.target_id, None)
            if text:
                self.labels[head.target_id] = Label(text, node)

    def _inherit(self, node: Node) -> None:
        """Settle a node's state from its parent's and its own content."""
        state = ROOT_STATE if node.parent is None else node.parent.state
        detail = node.detail
        if node.role == "assistant" and detail is not None:
            model = state.model
            if model is None or model.provider != detail.provider or model.model_id != detail.model:
                state = State(
                    Model(detail.provider, detail.model),
                    state.thinking_level,
                    state.active_tool_names,
                    state.compaction,
                )
        elif isinstance(detail, Head):
            match node.type:
                case "model_change":
                    model = Model(_interned(detail.provider), _interned(detail.model_id))
                    state = State(model, state.thinking_level, state.active_tool_names, state.compaction)
                case "thinking_level_change":
                    level = detail.thinking_level
                    state = State(state.model, level, state.active_tool_names, state.compaction)
                case "active_tools_change":
                    tools = detail.active_tool_names
                    state = State(state.model, state.thinking_level, tools, state.compaction)
                case "compaction":
                    state = State(state.model, state.thinking_level, state.active_tool_names, node)
                case _:
                    pass
        node.state = state

    def _adopt(self, parent: Node) -> None:
        """Hang entries that came before their parent under it; a cycle is cut above its earliest entry."""
        path = self.path(parent)
        for child in self._waiting.pop(parent.id):
            top = child
            self._hang(child, parent)
            if child is path[0]:
                top = min(path, key=_index)
                self._cut_off(top)
                self._report("parent-cycle", f"entry {top.id} descends from itself: shown as a root", top.line, top.id)
            stack = [top]
            while stack:
                node = stack.pop()
                node.depth = 0 if node.parent is None else node.parent.depth + 1
                self._inherit(node)
                stack.extend(node.children)

    def _hang(self, child: Node, parent: Node) -> None:
        self.roots.remove(child)
        child.parent, child.orphaned = parent, False
        parent.children = list(parent.children)
        insort(parent.children, child, key=_index)

    def _cut_off(self, node: Node) -> None:
        assert node.parent is not None
        node.parent.children = [child for child in node.parent.children if child is not node]
        node.parent, node.orphaned = None, True
        insort(self.roots, node, key=_index)

    # Asking

    @property
    def leaf(self) -> Node | None:
        """The leaf after the last entry: that entry, or a jump's target (the jump's parent if that is missing)."""
        tail = self._tail
        if tail is None or tail.type != "leaf":
            return tail
        target = tail.head.target_id
        if not isinstance(target, str):
            return None
        return self._by_id.get(target) or tail.parent

    @property
    def newer_leaf(self) -> Node | None:
        """The newest message, where the log ends in bookkeeping on another branch that nobody jumped to; else None."""
        if self._tail is None or self._tail.type not in BOOKKEEPING:
            return None
        for node in reversed(self.nodes):
            if node.type == "leaf":
                return None
            if node.type == "message":
                return None if self.is_ancestor(node, self._tail) else node
        return None

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Everything found wrong, in file order where a line is known."""
        found = list(self._problems)
        for parent_id, children in self._waiting.items():
            reason = f"parent {parent_id} is not in the file: shown as a root"
            found += [Diagnostic("missing-parent", reason, node.line, None, node.id) for node in children]
        tail = self._tail
        if tail is not None and tail.type == "leaf":
            target = tail.head.target_id
            if isinstance(target, str) and target not in self._by_id:
                reason = f"the last jump's target {target} is not in the file: the leaf is where the jump came from"
                found.append(Diagnostic("bad-leaf-target", reason, tail.line, None, tail.id))
        return sorted(found, key=lambda diagnostic: diagnostic.line or 0)

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def __len__(self) -> int:
        return len(self.nodes)

    def get(self, id: str) -> Node | None:
        """The entry with this id."""
        return self._by_id.get(id)

    @staticmethod
    def ancestors(node: Node | None) -> Iterator[Node]:
        """The node and what it descends from, up to the root. Terminates: parents are linked only without cycles."""
        while node is not None:
            yield node
            node = node.parent

    def path(self, node: Node | None) -> list[Node]:
        """The entries from the root down to the node."""
        path = list(self.ancestors(node))
        path.reverse()
        return path

    @staticmethod
    def is_ancestor(node: Node, of: Node | None) -> bool:
        """Whether `node` lies on the path of `of` (which includes `of` itself)."""
        while of is not None and of.depth > node.depth:
            of = of.parent
        return of is node

    @staticmethod
    def common_ancestor(a: Node | None, b: Node | None) -> Node | None:
        """The deepest entry on both paths."""
        while a is not b:
            if a is None or b is None:
                return None
            if a.depth >= b.depth:
                a = a.parent
            else:
                b = b.parent
        return a

    def query(self, leaf: Node | None, types: frozenset[str], limit: int | None = None) -> list[Node]:
        """The entries of some types on the path of `leaf`, newest first, at most `limit`."""
        found: list[Node] = []
        for node in self.ancestors(leaf):
            if limit is not None and len(found) >= limit:
                break
            if node.type in types:
                found.append(node)
        return found

    def leaves(self) -> list[Node]:
        """The ends of all branches, in file order."""
        return [node for node in self.nodes if not node.children]

    def _report(self, kind: DiagnosticKind, message: str, line: int, id: str) -> None:
        self._problems.append(Diagnostic(kind, message, line, None, id))


def _interned(value: Any) -> Any:
    return intern(value) if isinstance(value, str) else value


def _index(node: Node) -> int:
    return node.index
