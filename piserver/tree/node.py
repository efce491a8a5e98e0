"""What the tree keeps of each entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

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


class Node(Struct, eq=False):
    """One entry's place in the tree.

    `index` is its position among the indexed entries (file order), `line` its physical line, `parent_id` what the entry
    itself names as its parent, `role` the message's role (for `message` entries), `detail` the decoded head where the
    entry's type has fields that matter to the tree. A struct because a log has very many of them.
    """

    index: int
    line: int
    id: str
    type: str
    timestamp: str
    parent_id: str | None
    parent: Node | None
    depth: int
    state: State
    role: str | None = None
    detail: Head | MessageHead | None = None
    children: list[Node] | tuple[Node, ...] = ()

    @property
    def orphaned(self) -> bool:
        """Whether the entry names a parent that is not above it: missing, or one of its own descendants."""
        return self.parent is None and bool(self.parent_id)

    @property
    def head(self) -> Head:
        """The decoded head of an entry that is no message."""
        assert isinstance(self.detail, Head)
        return self.detail

    def __repr__(self) -> str:
        return f"<Node {self.id} {self.type}{f'/{self.role}' if self.role else ''}>"
