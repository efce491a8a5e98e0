"""What the changes of a session take and answer, and what its listeners are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from piserver.tree import Node

Durability = Literal["structure", "always", "never"]
"""What is flushed to the medium before an append returns: user and assistant messages and everything that shapes the
tree or its state (the default), every entry, or none."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who caused a change: a client's request, an agent run, or another program. `id` names the request or run."""

    kind: Literal["client", "agent", "external"]
    id: str | int | None = None


CLIENT = Origin("client")
EXTERNAL = Origin("external")


@dataclass(frozen=True, slots=True)
class Change:
    """What listeners are told: new entries in file order, and where the leaf is now. `reset`: the log was replaced."""

    nodes: Sequence[Node]
    origin: Origin
    leaf: Node | None
    reset: bool = False


Listener = Callable[[Change], None]


@dataclass(frozen=True, slots=True)
class Appended:
    """The entries that an append wrote. `newer_leaf` is set where another program has gone on elsewhere."""

    nodes: Sequence[Node]
    leaf: Node | None
    newer_leaf: Node | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """A ready-made summary of the branch that a move leaves."""

    summary: str
    details: Any = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a move has led, and the entries that record it (None where none was needed)."""

    leaf: Node | None
    leaf_entry: Node | None = None
    summary_entry: Node | None = None


@dataclass(frozen=True, slots=True)
class Navigated(Moved):
    """A move as a tree view does it; `editor_text` is the text of the chosen message, to be edited and sent again."""

    editor_text: str | None = None
    label_entry: Node | None = None
