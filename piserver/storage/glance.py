"""A look at a session file without opening it as a session: what a list shows of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from piserver.entries import json
from piserver.entries.codec import LineError, read_object
from piserver.entries.header import Header, InvalidSessionError, read_header
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
    status = path.stat()
    try:
        with path.open("rb") as file:
            header = _header(file)
    except InvalidSessionError as error:
        return _broken(path, status, str(error))
    except OSError as error:
        return _broken(path, status, error.strerror or str(error))
    return _info(path, status, header)


def glance(path: Path) -> SessionInfo:
    """All that a list shows. A damaged line costs itself, a damaged header makes the session broken, never an error.

    Raises FileNotFoundError.
    """
    status = path.stat()
    name: str | None = None
    first: str | None = None
    count = 0
    try:
        with path.open("rb") as file:
            header = _header(file)
            for line in file:
                try:
                    seen = _decode(line)
                except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                    seen = _odd(line)
                if seen.type == "session_info":
                    name = (one_line(seen.name) or None) if isinstance(seen.name, str) else None
                elif seen.type == "message" and seen.message is not None:
                    count += 1
                    if first is None and seen.message.role == "user":
                        first = message_line(line) or None
    except InvalidSessionError as error:
        return _broken(path, status, str(error))
    except OSError as error:
        return _broken(path, status, error.strerror or str(error))
    return _info(path, status, header, name=name, first_message=first, message_count=count)


def _header(file: Any) -> Header:
    for number, line in enumerate(file, 1):
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if trim(text.decode("utf-8", "replace")):
            return read_header(text, number)
    raise InvalidSessionError("the file is empty")


def _odd(line: bytes) -> _Glance:
    try:
        fields = read_object(line)
    except LineError:
        return _Glance()
    message = fields.get("message")
    role = _MessageGlance(message.get("role")) if isinstance(message, dict) else None
    return _Glance(fields.get("type"), fields.get("name"), role)


def message_line(line: bytes) -> str:
    """The beginning of a user message, on one line."""
    content = read_object(line)["message"].get("content")
    if isinstance(content, list):
        content = " ".join(
            block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)
        )
    if not isinstance(content, str):
        return ""
    text = json.well_formed(" ".join(content[: 4 * _FIRST_MESSAGE_LENGTH].split()))
    return text if len(text) <= _FIRST_MESSAGE_LENGTH else text[: _FIRST_MESSAGE_LENGTH - 1] + "…"


def _info(path: Path, status: os.stat_result, header: Header, **facts: Any) -> SessionInfo:
    return SessionInfo(
        id=header.id,
        path=str(path),
        cwd=header.cwd,
        created=header.timestamp,
        modified=format_timestamp(status.st_mtime_ns // 1_000_000),
        size=status.st_size,
        parent_session=header.parent_session,
        **facts,
    )


def _broken(path: Path, status: os.stat_result, reason: str) -> SessionInfo:
    modified = format_timestamp(status.st_mtime_ns // 1_000_000)
    return SessionInfo(path.stem, str(path), "", "", modified, status.st_size, broken=reason)
