"""The lines of a new session that is made from another one. Ids are kept, and every parent resolves."""

from __future__ import annotations

from typing import Literal

from piserver.entries import codec
from piserver.entries.migration import replace_members
from piserver.entries.types import LeafDraft
from piserver.session import Session
from piserver.tree import Node

Position = Literal["before", "at"]
"""`before`: the path up to the parent of a user message. `at`: up to and including any entry."""


class InvalidForkTargetError(ValueError):
    """An entry at which a session cannot be forked; the text says why."""


def fork_path(session: Session, entry_id: str, position: Position) -> list[Node]:
    """The entries that a fork copies. Raises InvalidForkTargetError."""
    node = session.storage.get(entry_id)
    if node is None:
        raise InvalidForkTargetError(f"there is no entry {entry_id}")
    if position == "before":
        if node.role != "user":
            raise InvalidForkTargetError(f"entry {entry_id} is no user message: fork at it instead")
        path = session.storage.path_to(node.parent)
        while path and path[-1].type == "leaf":  # as the last line it would move the new session's leaf
            path.pop()
        return path
    if node.type == "leaf":
        raise InvalidForkTargetError(f"entry {entry_id} is a jump: fork at the entry it leads to")
    return session.storage.path_to(node)


async def fork_lines(session: Session, path: list[Node]) -> list[bytes]:
    """The lines of a fork: the path as stored, then the labels and the name that lie off it."""
    lines = await session.storage.lines(path)
    if path and path[0].parent_id:
        lines[0] = replace_members(lines[0], {"parentId"}, {"parentId": None})  # orphaned: there is no such parent
    parent = path[-1].id if path else None
    off_path = _off_path(session, path)
    for node, line in zip(off_path, await session.storage.lines(off_path), strict=True):
        lines.append(replace_members(line, {"parentId"}, {"parentId": parent}))
        parent = node.id
    return lines


def _off_path(session: Session, path: list[Node]) -> list[Node]:
    """The last label of each copied entry and the last name, where a file-wide reading finds them off the path."""
    copied = {node.id for node in path}
    decided: set[str | None] = set()
    found: list[Node] = []
    for node in reversed(session.storage.tree.nodes):
        if node.type == "label" and isinstance(target := node.head.target_id, str) and target in copied:
            subject: str | None = target
        elif node.type == "session_info":
            subject = None
        else:
            continue
        if subject not in decided:
            decided.add(subject)
            if node.id not in copied:
                found.append(node)
    return found[::-1]


async def clone_lines(session: Session, timestamp: str, new_id: str) -> list[bytes]:
    """The lines of a clone: every entry as stored, and a jump if the leaf is not where the last line leaves it."""
    leaf_id, left = session.leaf_id, session.storage.leaf  # now: the log may grow while it is read
    lines = await session.storage.lines(session.storage.entries_since(0))
    if leaf_id != (left.id if left else None):
        jump = LeafDraft(target_id=leaf_id)
        lines.append(codec.compose(jump, new_id, left.id if left else None, timestamp))
    return lines
