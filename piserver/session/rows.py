"""Rows: the tree as an editor draws it, in its own words, ready to be put on the screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from piserver.entries.codec import MessageHead
from piserver.storage import Storage
from piserver.tree import Node

Filter = Literal["default", "no-tools", "user-only", "labeled", "all"]
"""`default` hides bookkeeping, `no-tools` tool traffic as well; the rest say what they show."""
FILTERS: tuple[Filter, ...] = ("default", "no-tools", "user-only", "labeled", "all")

_BOOKKEEPING = frozenset(
    {
        "label",
        "session_info",
        "leaf",
        "custom",
        "usage",
        "model_change",
        "thinking_level_change",
        "active_tools_change",
        "context_edit",
    }
)


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """An entry in brief. `left_leaf_id`, on a branch summary, is the end of the branch that was left."""

    id: str
    parent_id: str | None
    index: int
    type: str
    role: str | None
    timestamp: str
    preview: str
    label: str | None
    failed: bool
    left_leaf_id: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree. `guides` see `outline.Line`; `leaf` marks the line nearest to the write position."""

    entry: EntrySummary
    guides: str
    children: int
    hidden: int
    collapsed: bool
    on_path: bool
    leaf: bool
    in_context: bool
    orphaned: bool


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Some of the rows: those from `offset` on, out of `total`. `leaf_row` is the place of the leaf's row."""

    total: int
    offset: int
    rows: list[Row]
    leaf_row: int | None


def visible(filter: Filter, storage: Storage, tool_only: Callable[[Node], bool]) -> Callable[[Node], bool]:
    """Which entries a filter shows. `tool_only` tells of an answer whether it holds nothing but tool calls."""
    labels = storage.tree.labels
    match filter:
        case "all":
            return lambda node: True
        case "user-only":
            return lambda node: node.role == "user"
        case "labeled":
            return lambda node: node.id in labels
        case "default":
            return lambda node: node.type not in _BOOKKEEPING and node.role != "system"
        case "no-tools":
            return lambda node: (
                node.type not in _BOOKKEEPING
                and node.role not in ("system", "toolResult")
                and not (node.role == "assistant" and tool_only(node))
            )


def failed(node: Node) -> bool:
    """Whether an answer ended in an error or was aborted."""
    return isinstance(node.detail, MessageHead) and node.detail.stop_reason in ("error", "aborted")


def summarise(storage: Storage, node: Node, preview: str) -> EntrySummary:
    """An entry in brief; `preview` is the line by which a person knows it."""
    return EntrySummary(
        id=node.id,
        parent_id=node.parent_id,
        index=node.index,
        type=node.type,
        role=node.role,
        timestamp=node.timestamp,
        preview=preview,
        label=storage.label(node.id),
        failed=failed(node),
        left_leaf_id=left_leaf(storage, node),
    )


def left_leaf(storage: Storage, node: Node) -> str | None:
    """For a branch summary: the end of the branch that was left, the parent of the jump written before it."""
    if node.type != "branch_summary" or node.index == 0:
        return None
    jump = storage.tree.nodes[node.index - 1]
    return jump.parent_id if jump.type == "leaf" and jump.head.target_id == node.parent_id else None
