"""A session as a session file of its own."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex

import uuid6

from piserver.entries.header import Header, compose_header
from piserver.entries.text import format_timestamp
from piserver.repository.export.redaction import Redactor
from piserver.repository.fork import clone_lines, fork_lines
from piserver.session import Session
from piserver.tree import Node


def header_of_copy(session: Session, now: int) -> Header:
    """The header of an exported copy: a new id, the time `now` (ms), and the file that it comes from as its parent."""
    return replace(
        session.header,
        id=str(uuid6.uuid7()),
        timestamp=format_timestamp(now),
        parent_session=session.storage.path,
        problems=(),
    )


async def lines_of_path(session: Session, path: list[Node]) -> list[bytes]:
    """The lines of a copy that holds one path, as a fork makes it.

    Jumps at the end of the path are left out: as the last line, one would lead the copy to an entry it may not have.
    """
    while path and path[-1].type == "leaf":
        path = path[:-1]
    return await fork_lines(session, path)


async def lines_of_tree(session: Session, now: int) -> list[bytes]:
    """The lines of a copy that holds all branches: every entry byte for byte, and the same leaf."""
    id = token_hex(4)
    while id in session.storage.tree:
        id = token_hex(4)
    return await clone_lines(session, format_timestamp(now), id)


def header_line(header: Header, redactor: Redactor | None) -> bytes:
    """The copy's first line, without its end."""
    if redactor is not None and header.metadata is not None:
        header = replace(header, metadata=redactor.value(header.metadata))
    return compose_header(header)
