"""The words by which a person recognises an entry: a preview of one line, and the text that a search looks in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from piserver.entries import json
from piserver.entries.entry import Entry

PREVIEW_LENGTH = 160
"""Characters of a preview."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_MAIN_ARGUMENTS = ("path", "file_path", "command", "pattern", "query", "url")


def preview(entry: Entry) -> str:
    """One line, at most PREVIEW_LENGTH characters, without control characters and lone surrogates."""
    pieces: list[str] = []
    length = 0
    for text in _words(entry.type, entry.value):
        piece = " ".join(text[: 2 * PREVIEW_LENGTH].split())
        if not piece.isprintable():
            piece = _CONTROL.sub(" ", piece).strip()
        if piece:
            pieces.append(piece)
            length += len(piece) + 1
        if length > PREVIEW_LENGTH:
            break
    line = json.well_formed(" ".join(pieces))
    return line if len(line) <= PREVIEW_LENGTH else line[: PREVIEW_LENGTH - 1] + "…"


def search_text(entry: Entry) -> str:
    """Everything readable in an entry, for a search."""
    return "\n".join(filter(None, _words(entry.type, entry.value, whole=True)))


def message_text(message: dict[str, Any]) -> str:
    """The text of a message as a person typed it: its string, or its text blocks joined."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(_text(block.get("text")) for block in content_blocks(content) if block.get("type") == "text")


def _words(kind: str, value: dict[str, Any], *, whole: bool = False) -> Iterator[str]:
    """The readable parts of an entry, the most telling first; with `whole` all thinking and all arguments too."""
    match kind:
        case "message":
            message = value.get("message")
            if isinstance(message, dict):
                yield from _message(cast("dict[str, Any]", message), whole)
        case "custom_message":
            yield from _content(value.get("content"), whole)
        case "compaction" | "branch_summary":
            yield _text(value.get("summary"))
        case "model_change":
            yield f"{_text(value.get('provider'))}/{_text(value.get('modelId'))}"
        case "thinking_level_change":
            yield str(value.get("thinkingLevel"))
        case "active_tools_change":
            names = value.get("activeToolNames")
            yield ", ".join(map(str, cast("list[Any]", names))) if isinstance(names, list) else str(names)
        case "label":
            yield f"{value.get('label') or '(cleared)'} → {value.get('targetId')}"
        case "session_info":
            yield _text(value.get("name")) or "(cleared)"
        case "leaf":
            yield f"→ {value.get('targetId') or 'start'}"
        case "custom":
            yield _text(value.get("customType"))
        case "usage":
            yield f"{_text(value.get('kind'))} {_text(value.get('provider'))}/{_text(value.get('model'))}"
        case "context_edit":
            action = "left out" if value.get("replacement") is None else "replaced"
            yield f"{value.get('targetId')} {action}"
        case _:
            yield kind


def _message(message: dict[str, Any], whole: bool) -> Iterator[str]:
    match message.get("role"):
        case "bashExecution":
            yield f"$ {_text(message.get('command'))}"
            yield _text(message.get("output"))
        case "toolResult":
            yield f"{_text(message.get('toolName'))}:"
            yield from _content(message.get("content"), whole)
        case "assistant":
            yield from _content(message.get("content"), whole)
            yield _text(message.get("errorMessage"))
        case _:
            yield from _content(message.get("content"), whole)


def _content(content: Any, whole: bool) -> Iterator[str]:
    """Text first, then calls; thinking only where there is nothing else, or the whole is asked for."""
    if isinstance(content, str):
        yield content
        return
    blocks = content_blocks(content)
    said = False
    for kind in ("text", "toolCall", "image", "thinking"):
        for block in blocks:
            if block.get("type") != kind or (kind == "thinking" and said and not whole):
                continue
            said = True
            yield _block(kind, block)
            if whole and kind == "toolCall":
                yield from _strings(block.get("arguments"))


def _block(kind: str, block: dict[str, Any]) -> str:
    match kind:
        case "text":
            return _text(block.get("text"))
        case "image":
            return f"[image {_text(block.get('mimeType'))}]"
        case "thinking":
            return _text(block.get("thinking")) or "(thinking)"
        case _:
            arguments = block.get("arguments")
            return f"[{_text(block.get('name'))} {_argument(arguments)}]".replace(" ]", "]")


def _argument(arguments: Any) -> str:
    """The argument that tells most about a call."""
    if not isinstance(arguments, dict):
        return ""
    fields = cast("dict[str, Any]", arguments)
    for name in _MAIN_ARGUMENTS:
        if isinstance(fields.get(name), str):
            return fields[name]
    return " ".join(value for value in fields.values() if isinstance(value, str))


def _strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value, at any depth, in order."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += reversed(cast("dict[str, Any]", item).values())
        elif isinstance(item, list):
            stack += reversed(cast("list[Any]", item))


def content_blocks(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message's content; none where it is no list."""
    items = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
