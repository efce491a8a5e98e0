"""From what a caller wants to append to lines that have their place in the log."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Container, Sequence
from typing import Any

from msgspec import UNSET

from piserver.entries import codec, json
from piserver.entries.messages import check_finite, check_message
from piserver.entries.text import format_timestamp, one_line
from piserver.entries.types import Draft, LeafDraft, MessageDraft, SessionInfoDraft
from piserver.tree import Node

_ATTEMPTS = 100


def checked(draft: Draft, now: int) -> Draft:
    """The draft, fit to be written; a message gets the time `now` (ms) unless it has one. Raises InvalidEntryError."""
    for name in draft.__struct_fields__:
        value = getattr(draft, name)
        if isinstance(value, dict | list | float):
            check_finite(value)
    if isinstance(draft, MessageDraft):
        _check(draft.message)
        if "timestamp" not in draft.message:
            return MessageDraft(message=draft.message | {"timestamp": now})
    if isinstance(draft, SessionInfoDraft) and isinstance(draft.name, str):
        return SessionInfoDraft(name=one_line(draft.name) or UNSET)
    return draft


def _check(message: dict[str, Any]) -> None:
    try:
        check_message(message)
    except UnicodeEncodeError:  # half a surrogate pair in a member's name: check what will be written
        check_message(json.loads(json.dumps(message)))


def free_ids(count: int, new_id: Callable[[], str], taken: Container[str]) -> list[str]:
    """Ids that neither the log nor each other has; a full UUID where `new_id` keeps giving ids that are taken."""
    ids: list[str] = []
    failures = 0
    while len(ids) < count:
        id = new_id() if failures < _ATTEMPTS else str(uuid.uuid4())
        if id in taken or id in ids:
            failures += 1
        else:
            ids.append(id)
            failures = 0
    return ids


def place(drafts: Sequence[Draft], ids: Sequence[str], leaf_id: str | None, now: int) -> tuple[list[bytes], str | None]:
    """The lines of drafts appended one after the other at a leaf, and the id of the leaf afterwards.

    Each entry's parent is the one before it; behind a jump it is the jump's target.
    """
    timestamp = format_timestamp(now)
    lines: list[bytes] = []
    for draft, id in zip(drafts, ids, strict=True):
        lines.append(codec.compose(draft, id, leaf_id, timestamp))
        leaf_id = draft.target_id if isinstance(draft, LeafDraft) else id
    return lines, leaf_id


_RELAXED_ROLES = frozenset({"toolResult", "bashExecution", "custom", "system"})


def is_structure(node: Node) -> bool:
    """Whether losing this entry to a power failure would lose a person's words, an answer, or the tree's shape."""
    return node.role not in _RELAXED_ROLES if node.type == "message" else node.type not in ("custom", "usage")
