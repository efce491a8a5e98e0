"""Shapes of the messages that entries carry, and the check that one is fit to be appended.

A block is an object with a `type`: `text` {text}, `thinking` {thinking, thinkingSignature?, redacted?}, `image` {data,
mimeType}, `toolCall` {id, name, arguments}. Fields and block types beyond these belong to vendors and are kept.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from piserver.entries.json import non_finite


class InvalidEntryError(ValueError):
    """An entry that must not be written. `field` is the path of the offending field, where there is one."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class Block(Struct):
    """One block of content."""

    type: str


class _UserMessage(Struct, rename="camel"):
    content: str | list[Block] | None


class _AssistantMessage(Struct, rename="camel"):
    content: list[Block] | None


class _ToolResultMessage(Struct, rename="camel"):
    tool_call_id: str
    tool_name: str
    content: str | list[Block] | None
    is_error: bool = False


class _BashExecutionMessage(Struct, rename="camel"):
    command: str
    output: str


class _CustomMessage(Struct, rename="camel"):
    custom_type: str
    content: str | list[Block] | None


_SHAPES: dict[str, type[Struct]] = {
    "user": _UserMessage,
    "system": _UserMessage,
    "assistant": _AssistantMessage,
    "toolResult": _ToolResultMessage,
    "bashExecution": _BashExecutionMessage,
    "custom": _CustomMessage,
}


def check_message(message: dict[str, Any]) -> None:
    """Raise InvalidEntryError unless `message` has a role and, for a known role, the fields every reader relies on."""
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise InvalidEntryError("a message needs a role", "message.role")
    shape = _SHAPES.get(role)
    if shape is None:
        return
    try:
        msgspec.convert(message, shape)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        field = "message" + path.strip("`").removeprefix("$") if path else "message"
        raise InvalidEntryError(f"{role} message: {reason}", field) from None


def check_finite(value: Any) -> None:
    """Raise InvalidEntryError if a number in `value` is NaN or infinite: JSON has no such number."""
    if non_finite(value):
        raise InvalidEntryError("NaN and infinite numbers cannot be stored")
