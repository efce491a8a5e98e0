"""The first line of a session file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from piserver.entries import json
from piserver.entries.codec import LineError, read_object

VERSION = 3
"""The version of the format that is written; older ones are migrated, newer ones opened read-only."""


class InvalidSessionError(ValueError):
    """A file that is not a session. `line` is the physical line, counted from 1, that says so."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Header:
    """What a session's header says. `timestamp` is ISO-8601 or empty, `cwd` a path or empty."""

    id: str
    timestamp: str
    cwd: str
    version: float = VERSION
    parent_session: str | None = None
    metadata: dict[str, Any] | None = None
    problems: tuple[str, ...] = field(default=(), compare=False)
    """What the header lacks, one sentence each; a session opens all the same."""


def read_header(line: bytes, number: int = 1) -> Header:
    """Read a header line. Raises InvalidSessionError unless it is an object of type `session` with an id."""
    try:
        fields = read_object(line)
    except LineError as error:
        raise InvalidSessionError(f"line {number} is not a session header: {error}", number) from None
    if fields.get("type") != "session":
        raise InvalidSessionError(f"line {number} is not a session header: its type is not 'session'", number)
    id = fields.get("id")
    if not isinstance(id, str) or not id:
        raise InvalidSessionError(f"line {number} is not a session header: it has no id", number)
    problems: list[str] = []
    for name in ("timestamp", "cwd"):
        if not isinstance(fields.get(name), str) or not fields[name]:
            problems.append(f"the header has no {name}")
            fields[name] = ""
    version = fields.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int | float):
        problems.append("the header's version is no number: read as the current one")
        version = VERSION
    parent, metadata = fields.get("parentSession"), fields.get("metadata")
    return Header(
        id=id,
        timestamp=fields["timestamp"],
        cwd=fields["cwd"],
        version=version,
        parent_session=parent if isinstance(parent, str) else None,
        metadata=cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else None,
        problems=tuple(problems),
    )


def compose_header(header: Header) -> bytes:
    """The header's line, without its end."""
    fields: dict[str, Any] = {
        "type": "session",
        "version": VERSION,
        "id": header.id,
        "timestamp": header.timestamp,
        "cwd": header.cwd,
    }
    if header.parent_session is not None:
        fields["parentSession"] = header.parent_session
    if header.metadata is not None:
        fields["metadata"] = header.metadata
    return json.dumps(fields)
