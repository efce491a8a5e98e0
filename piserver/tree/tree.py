"""The index over a session's entries.

Entries are added in file order. `parent_id` alone makes the tree; what an entry inherits (state, depth) is settled when
it is added, so questions about any node cost nothing that grows with the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern
from typing import Any, cast

from msgspec import UNSET

from piserver.entries.codec import Head, MessageHead
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
        self.context_edits: list[Node] = []
        self.reshaped = 0
        """Grows when entries that were there got another place: their parent came after them."""
        self.statistics = Statistics()
        self.loading = False
        """Set while many entries are added, to be ended by `settle`."""
        self._by_id: dict[str, Node] = {}
        self._waiting: dict[str, list[Node]] = {}  # orphans by the parent that is not there (yet)
        self._tail: Node | None = None  # the last entry that moved the leaf
        self._newest: Node | None = None  # the last message or jump
        self._has_cycles = False
        self._problems: list[Diagnostic] = []

    # Growing

    def add(self, head: Head, line: int) -> Node | None:
        """Index the next entry of the log; None for a duplicate id, which is reported and otherwise without effect."""
        # This runs once for each entry of a log that is opened, so it spells out what could be three functions.
        by_id, id, parent_id = self._by_id, head.id, head.parent_id or None
        if id in by_id:
            self._report("duplicate-id", f"a second entry has the id {id}; the first one counts", line, id)
            return None
        parent = by_id.get(parent_id) if parent_id is not None else None
        index, kind = len(self.nodes), intern(head.type)
        if parent is not None:
            # The parent's own id, not an equal text: one object less for each entry.
            node = Node(index, line, id, kind, head.timestamp, parent.id, parent, parent.depth + 1, parent.state)
            siblings = parent.children
            if not siblings:
                parent.children = (node,)  # nearly all have one child: a tuple is half as large as a list
            elif isinstance(siblings, list):
                siblings.append(node)
            else:
                parent.children = [*siblings, node]
        else:
            node = Node(index, line, id, kind, head.timestamp, parent_id, None, 0, ROOT_STATE)
            self.roots.append(node)
            if parent_id is not None:
                self._waiting.setdefault(parent_id, []).append(node)
            elif head.parent_id is UNSET:
                self._report("absent-parent", "the entry names no parent: shown as a root", line, id)
        self.nodes.append(node)
        by_id[id] = node
        if kind != "leaf" or head.target_id is not UNSET:
            self._tail = node
        if kind in ("message", "leaf"):
            self._newest = node
        if kind == "message":
            self._settle_message(node, head.message)
        else:
            node.detail = head
            self._settle(node, head)
        self.statistics.add(node)
        if not self.loading and id in self._waiting:
            self.settle()
        return node

    def _settle_message(self, node: Node, message: MessageHead | None) -> None:
        if message is None:
            self._report("missing-message", "a message entry without a message", node.line, node.id)
        elif message.role is not UNSET:
            node.role = message.role = intern(message.role)
            if node.role == "assistant":
                node.detail = message
                if message.stop_reason is not UNSET:
                    message.stop_reason = intern(message.stop_reason)
                model = node.state.model
                if model is None or model.provider != message.provider or model.model_id != message.model:
                    self._inherit(node)
                else:  # one string for all answers of a model
                    message.provider, message.model = model.provider, model.model_id
            elif message.usage is not None:
                node.detail = message

    def _settle(self, node: Node, head: Head) -> None:
        """Take from a head what its type means for the tree."""
        match node.type:
            case "leaf":
                if head.target_id is UNSET:
                    self._report(
                        "bad-leaf-target", "a jump without a usable target: the leaf stays", node.line, node.id
                    )
            case "label":
                self._label(node, head)
            case "session_info":
                self.name = (one_line(head.name) or None) if isinstance(head.name, str) else None
            case "context_edit":
                self.context_edits.append(node)
                if not isinstance(head.target_id, str):
                    self._report("bad-context-edit", "a context edit without a target is ignored", node.line, node.id)
            case _:
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

    def settle(self) -> None:
        """Hang entries that came before their parents under them; a cycle is cut above its earliest entry.

        While `loading` is set this is left to the end, so that its cost is linear however the log is ordered.
        """
        self.loading = False
        ready = [id for id in self._waiting if id in self._by_id]
        children = sorted((child for id in ready for child in self._waiting.pop(id)), key=_index)
        if not children:
            return
        self.reshaped += 1
        tops = _Tops()
        adopting = {id: list(self._by_id[id].children) for id in ready}
        for child in children:
            parent = self._by_id[child.parent_id or ""]
            closes = tops.find(parent) is child
            child.parent = parent
            adopting[parent.id].append(child)
            if closes:
                tops = _Tops()
                self._has_cycles = True
                top = min(self._cycle(child), key=_index)
                above = cast("Node", top.parent)
                adopting.setdefault(above.id, list(above.children))
                top.parent = None
                self._report("parent-cycle", f"entry {top.id} descends from itself: shown as a root", top.line, top.id)
        for id, family in adopting.items():
            parent = self._by_id[id]
            parent.children = sorted((child for child in family if child.parent is parent), key=_index)
        self.roots = [node for node in self.nodes if node.parent is None]
        stack = [node for node in self.roots if node.children]
        while stack:
            node = stack.pop()
            node.depth = 0 if node.parent is None else node.parent.depth + 1
            self._inherit(node)
            stack.extend(node.children)

    @staticmethod
    def _cycle(node: Node) -> list[Node]:
        """The entries of the cycle on which `node` lies."""
        cycle = [node]
        while (parent := cycle[-1].parent) is not None and parent is not node:
            cycle.append(parent)
        return cycle

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
        newest, tail = self._newest, self._tail
        if tail is None or tail.type not in BOOKKEEPING or newest is None or newest.type == "leaf":
            return None
        return None if self.is_ancestor(newest, tail) else newest

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

    @property
    def is_broken(self) -> bool:
        """Whether some path does not end where it should: at an entry that names no parent."""
        return bool(self._waiting) or self._has_cycles

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


class _Tops:
    """Finds the top of the tree in which an entry lies, each step up taken about once."""

    def __init__(self) -> None:
        self._above: dict[int, Node] = {}

    def find(self, node: Node) -> Node:
        trail: list[Node] = []
        while (above := self._above.get(node.index) or node.parent) is not None:
            trail.append(node)
            node = above
        for passed in trail:
            self._above[passed.index] = node
        return node
