"""A look at a session file without opening it as a session: what a list shows of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
from msgspec import Struct

from piserver.entries import json
from piserver.entries.codec import LineError, read_object
from piserver.entries.header import Header, InvalidSessionError, read_header
from piserver.entries.recovery import whole_entries
from piserver.entries.text import format_timestamp, one_line, trim
from piserver.storage.loader import BYTE_ORDER_MARK

_FIRST_MESSAGE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list. Times are ISO-8601; `modified` is the file's. `broken` says why it cannot be opened."""

    id: str
    path: str
    cwd: str
    created: str
    modified: str
    size: int
    name: str | None = None
    first_message: str | None = None
    message_count: int | None = None
    parent_session: str | None = None
    broken: str | None = None


class _MessageGlance(Struct):
    role: Any = None


class _Glance(Struct):
    type: Any = None
    name: Any = None
    message: _MessageGlance | None = None


_decode = msgspec.json.Decoder(_Glance).decode


def peek(path: Path) -> SessionInfo:
    """The header's facts alone; name, first message and count stay unknown. Raises FileNotFoundError."""
    return _look(path, lambda file: {})


def glance(path: Path) -> SessionInfo:
    """All that a list shows. A damaged line costs itself, a damaged header makes the session broken, never an error.

    Raises FileNotFoundError.
    """
    return _look(path, _read_on)


def _look(path: Path, read_on: Callable[[BinaryIO], dict[str, Any]]) -> SessionInfo:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its writer
        return _broken(path, status, "not a file")
    try:
        with path.open("rb") as file:
            header = _header(file)
            return SessionInfo(
                id=header.id,
                path=str(path),
                cwd=header.cwd,
                created=header.timestamp,
                modified=_modified(status),
                size=status.st_size,
                parent_session=header.parent_session,
                **read_on(file),
            )
    except InvalidSessionError as error:
        return _broken(path, status, str(error))
    except FileNotFoundError:
        raise
    except OSError as error:
        return _broken(path, status, error.strerror or str(error))


def _header(file: BinaryIO) -> Header:
    for number, line in enumerate(file, 1):
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if trim(text.decode("utf-8", "replace")):
            return read_header(text, number)
    raise InvalidSessionError("the file is empty")


def _read_on(file: BinaryIO) -> dict[str, Any]:
    """What the lines behind the header say."""
    name: str | None = None
    first: str | None = None
    count = 0
    for line in file:
        for text, seen in _entries(line):
            if seen.type == "session_info":
                name = (one_line(seen.name) or None) if isinstance(seen.name, str) else None
            elif seen.type == "message" and seen.message is not None:
                count += 1
                if first is None and seen.message.role == "user":
                    first = message_line(text) or None
    return {"name": name, "first_message": first, "message_count": count}


def _entries(line: bytes) -> list[tuple[bytes, _Glance]]:
    """The entry on a line; on a damaged one those that are whole."""
    try:
        return [(line, _decode(line))]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    try:
        fields = read_object(line)
    except LineError:
        whole = [line[fragment.start : fragment.end] for fragment in whole_entries(line)]
        return [(text, seen) for text in whole for _, seen in _entries(text)]
    message = fields.get("message")
    role = _MessageGlance(cast("dict[str, Any]", message).get("role")) if isinstance(message, dict) else None
    return [(line, _Glance(fields.get("type"), fields.get("name"), role))]


def names_since(path: Path, offset: int) -> tuple[bool, int]:
    """Whether a line that was added to a file since it had `offset` bytes names the session, and where whole lines end.

    Raises OSError.
    """
    named = False
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                break
            offset += len(line)
            named = named or any(seen.type == "session_info" for _, seen in _entries(line))
    return named, offset


def message_line(line: bytes) -> str:
    """How a user message begins, on one line."""
    content: Any = read_object(line)["message"].get("content")
    if isinstance(content, list):
        blocks = [cast("dict[str, Any]", block) for block in cast("list[Any]", content) if isinstance(block, dict)]
        content = " ".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
    if not isinstance(content, str):
        return ""
    text = json.well_formed(" ".join(content[: 4 * _FIRST_MESSAGE_LENGTH].split()))
    return text if len(text) <= _FIRST_MESSAGE_LENGTH else text[: _FIRST_MESSAGE_LENGTH - 1] + "…"


def _modified(status: os.stat_result) -> str:
    return format_timestamp(status.st_mtime_ns // 1_000_000)


def _broken(path: Path, status: os.stat_result, reason: str) -> SessionInfo:
    return SessionInfo(path.stem, str(path), "", "", _modified(status), status.st_size, broken=reason)
