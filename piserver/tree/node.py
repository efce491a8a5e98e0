"""What the tree keeps of each entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from piserver.entries.codec import Head, MessageHead


@dataclass(frozen=True, slots=True)
class Model:
    """The model in force; both values as the log has them, normally strings."""

    provider: Any
    model_id: Any


@dataclass(frozen=True, slots=True)
class State:
    """What holds at a node, inherited from its parent when it is indexed.

    `thinking_level` and `active_tool_names` are the log's values (normally a level's name and a list of names);
    `compaction` is the nearest compaction on the path, the node itself included.
    """

    model: Model | None = None
    thinking_level: Any = "off"
    active_tool_names: Any = None
    compaction: Node | None = None


ROOT_STATE = State()


@dataclass(frozen=True, slots=True)
class Label:
    """A label in force and the entry that set it."""

    text: str
    entry: Node


class Node:
    """One entry's place in the tree.

    `index` is its position among the indexed entries (file order), `line` its physical line, `role` the message's role
    (for `message` entries), `detail` the decoded head where the entry's type has fields that matter to the tree.
    """

    __slots__ = (
        "children",
        "depth",
        "detail",
        "id",
        "index",
        "line",
        "orphaned",
        "parent",
        "parent_id",
        "role",
        "state",
        "timestamp",
        "type",
    )

    def __init__(self, index: int, line: int, head: Head, parent: Node | None) -> None:
        self.index = index
        self.line = line
        self.id = head.id
        self.type = head.type
        self.timestamp = head.timestamp
        self.parent_id: str | None = head.parent_id if isinstance(head.parent_id, str) else None
        self.role: str | None = None
        self.detail: Head | MessageHead | None = None
        self.parent = parent
        self.children: list[Node] | tuple[()] = ()
        self.depth = 0 if parent is None else parent.depth + 1
        self.orphaned = False
        self.state = ROOT_STATE if parent is None else parent.state

    @property
    def head(self) -> Head:
        """The decoded head of an entry that is no message."""
        assert isinstance(self.detail, Head)
        return self.detail

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.type}{f'/{self.role}' if self.role else ''}>"
