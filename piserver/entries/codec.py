"""From a line of a session file to what the tree must know of it, and from a draft to its line.

Reading a line for the tree decodes only a few fields; msgspec checks the JSON of all the rest while skipping it. Lines
that it refuses although they are JSON (lone surrogates, odd types, great depth) take a slower way to the same answer.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from piserver.entries import json, nested
from piserver.entries.json import JSONError
from piserver.entries.types import Draft, Replacement


class LineError(ValueError):
    """A line that is no entry; the text says why."""


class Cost(Struct, gc=False):
    """Money of one answer, in USD."""

    total: float = 0


class Usage(Struct, gc=False, rename="camel"):
    """Tokens of one answer. `total_tokens` 0 means: add up the rest."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total_tokens: float = 0
    cost: Cost | None = None

    @property
    def total(self) -> float:
        """The vendor's total, or the sum of the parts where there is none; 0 for what no number can hold."""
        total = self.total_tokens or self.input + self.output + self.cache_read + self.cache_write
        return total if isfinite(total) else 0


class MessageHead(Struct, gc=False, rename="camel"):
    """What the tree keeps of a message. `content` is UNSET where it is missing, null where it is null."""

    role: str | UnsetType = UNSET
    provider: Any = UNSET
    model: Any = UNSET
    stop_reason: str | UnsetType = UNSET
    usage: Usage | None = None


class Head(Struct, gc=False, rename="camel"):
    """What the tree needs of an entry; everything else stays in the line."""

    type: str
    id: str
    parent_id: str | None | UnsetType = UNSET
    timestamp: str = ""
    message: MessageHead | None = None
    target_id: str | None | UnsetType = UNSET
    label: Any = UNSET
    name: Any = UNSET
    thinking_level: Any = UNSET
    provider: Any = UNSET
    model_id: Any = UNSET
    model: Any = UNSET
    active_tool_names: Any = UNSET
    first_kept_entry_id: str | UnsetType = UNSET
    retained_tail: Raw | UnsetType = UNSET
    replacement: Raw | UnsetType = UNSET
    usage: Usage | None = None


_decode_head = msgspec.json.Decoder(Head).decode


def read_head(line: bytes) -> Head:
    """The head of the entry on `line` (one JSON object in UTF-8, without its line end).

    Raises LineError for what is not JSON, not an object, or has no `id` or `type`.
    """
    try:
        head = _decode_head(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        head = _head_of_odd_line(line)
    if not head.id or not head.type:
        raise LineError("an entry without an id" if head.type else "an entry without a type")
    return head


def _head_of_odd_line(line: bytes) -> Head:
    """Read the fields of `Head` one by one, keeping those that have the right type."""
    fields = read_object(line)
    for name in ("type", "id"):
        if not isinstance(fields.get(name), str):
            raise LineError(f"an entry without {'an' if name == 'id' else 'a'} {name}")
    head = Head(type=fields["type"], id=fields["id"])
    # A parent of another type than string or null names nothing: the entry is a root, as if the field were absent.
    for name, kinds in (
        ("parentId", (str, type(None))),
        ("timestamp", (str,)),
        ("targetId", (str, type(None))),
        ("firstKeptEntryId", (str,)),
    ):
        if name in fields and isinstance(fields[name], kinds):
            setattr(head, _SNAKE[name], fields[name])
    for name in ("label", "name", "thinkingLevel", "provider", "modelId", "model", "activeToolNames"):
        if name in fields:
            setattr(head, _SNAKE[name], fields[name])
    if "retainedTail" in fields:
        head.retained_tail = Raw(b"null" if fields["retainedTail"] is None else b"[]")
    if "replacement" in fields:
        head.replacement = Raw(b"null" if fields["replacement"] is None else b"{}")
    head.usage = _usage(fields.get("usage"))
    message = fields.get("message")
    if isinstance(message, dict):
        parts = cast("dict[str, Any]", message)
        head.message = MessageHead(usage=_usage(parts.get("usage")))
        for name in ("role", "stopReason"):
            if isinstance(parts.get(name), str):
                setattr(head.message, _SNAKE[name], parts[name])
        for name in ("provider", "model"):
            if name in parts:
                setattr(head.message, name, parts[name])
    return head


_SNAKE = {
    wire: python
    for struct in (Head, MessageHead)
    for wire, python in zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
}


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)

    def number(source: dict[str, Any], name: str) -> float:
        found = source.get(name)
        return found if isinstance(found, int | float) and not isinstance(found, bool) else 0

    cost = fields.get("cost")
    return Usage(
        input=number(fields, "input"),
        output=number(fields, "output"),
        cache_read=number(fields, "cacheRead"),
        cache_write=number(fields, "cacheWrite"),
        total_tokens=number(fields, "totalTokens"),
        cost=Cost(number(cast("dict[str, Any]", cost), "total")) if isinstance(cost, dict) else None,
    )


def read_object(line: bytes) -> dict[str, Any]:
    """The whole object on a line. Raises LineError."""
    try:
        value = json.loads(line)
    except JSONError as error:
        raise LineError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise LineError(f"a JSON {_json_type(value)}, not an object")
    return cast("dict[str, Any]", value)


def _json_type(value: Any) -> str:
    names = {list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(cast("type[Any]", type(value)), "value")


def clean(line: bytes) -> bytes:
    """The line as well-formed UTF-8: what is ill-formed becomes U+FFFD, all else stays byte for byte."""
    if line.isascii():
        return line
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


class _MessagePart(Struct):
    message: Raw | UnsetType = UNSET


_decode_message_part = msgspec.json.Decoder(_MessagePart).decode


def message_part(line: bytes) -> bytes | None:
    """The bytes of an entry's `message`, exactly as they stand in the line; None if there is none."""
    try:
        part = _decode_message_part(line).message
        return None if part is UNSET else bytes(part)
    except (msgspec.MsgspecError, RecursionError):
        found = [line[m.value_start : m.value_end] for m in nested.members(line) if m.key == "message"]
        return found[-1] if found else None


def compose(draft: Draft, id: str, parent_id: str | None, timestamp: str) -> bytes:
    """The line (without its end) of a draft that has got its place: type, id, parentId, timestamp, then its fields.

    Raises TypeError for values that JSON does not have.
    """
    entry: dict[str, Any] = {
        "type": draft.__struct_config__.tag,
        "id": id,
        "parentId": parent_id,
        "timestamp": timestamp,
    }
    for name, wire_name in zip(draft.__struct_fields__, draft.__struct_encode_fields__, strict=True):
        value = getattr(draft, name)
        if value is not UNSET:
            entry[wire_name] = {"content": value.content} if isinstance(value, Replacement) else value
    return json.dumps(entry)
