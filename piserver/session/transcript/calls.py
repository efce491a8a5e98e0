"""Tool calls and their results, as far as their shape is known: commands, files that are read and written, edits."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from piserver.entries import json
from piserver.session.preview import content_blocks
from piserver.session.transcript.parts import Code, Diff, Fold, Image, Part, Prose, Remark
from piserver.session.transcript.visible import line

_DIFF_LINES = 2_000
"""Lines up to which an edit is compared line by line; the comparison's cost is more than linear."""
_OPEN_LINES = 60
"""Lines up to which an edit is shown unfolded."""

_PATH = ("path", "file_path", "filePath", "filename")
_OLD = ("oldText", "old_text", "old_string", "oldString")
_NEW = ("newText", "new_text", "new_string", "newString")
_TITLE = ("command", "cmd", "pattern", "query", "url", "description", "prompt")


def fold_call(block: dict[str, Any]) -> Fold:
    """What a `toolCall` block asks for, behind one line."""
    return replace(_asked(block), call_id=_string(block.get("id")))


def _asked(block: dict[str, Any]) -> Fold:
    name = line(_string(block.get("name")), 60) or "tool"
    arguments = block.get("arguments")
    if not isinstance(arguments, dict):
        return Fold("call", name, "", (_json(arguments),) if arguments is not None else ())
    fields = cast("dict[str, Any]", arguments)
    path, command = _first(fields, _PATH), _first(fields, ("command", "cmd"))
    title = path or _first(fields, _TITLE) or " ".join(value for value in fields.values() if isinstance(value, str))
    edits = _edits(fields)
    if path and edits:
        diff = Diff(tuple(part for old, new in edits for part in compare(old, new)))
        return Fold("call", name, line(title), (diff,), open=len(diff.lines) <= _OPEN_LINES)
    if path and isinstance(fields.get("content"), str):
        return Fold("call", name, line(title), (Code(fields["content"], path),))
    if command:
        rest = {key: value for key, value in fields.items() if value != command}
        parts: tuple[Part, ...] = (Code(command, "bash"), *((_json(rest),) if rest else ()))
        return Fold("call", name, line(title), parts)
    shown = line(title) == title and list(fields.values()) == [title]
    return Fold("call", name, line(title), () if shown else (_json(fields),))


def fold_result(message: dict[str, Any], call: dict[str, Any] | None) -> Fold:
    """What a `toolResult` message brings, behind one line; `call` is the block that asked for it, where it is known."""
    name = line(_string(message.get("toolName")), 60) or "tool"
    asked = (call or {}).get("arguments")
    path = _first(cast("dict[str, Any]", asked), _PATH) if isinstance(asked, dict) else ""
    failure = message.get("isError") is True
    language = path if name == "read" and not failure else ""
    parts: list[Part] = list(content_parts(message.get("content"), language, plain=True))
    details = message.get("details")
    diff = cast("dict[str, Any]", details).get("diff") if isinstance(details, dict) else None
    if isinstance(diff, str) and diff:
        parts.append(Diff(tuple(diff.split("\n"))))
    text = next((part.text for part in parts if isinstance(part, Code) and part.text.strip()), "")
    return Fold(
        "result", name, line(text, 120), tuple(parts), failure=failure, call_id=_string(message.get("toolCallId"))
    )


def content_parts(content: Any, language: str = "", *, plain: bool = False) -> Iterable[Part]:
    """The parts of a message's content, a text or a list of blocks; `plain` text is shown as it is, in `language`."""
    if isinstance(content, str):
        if content:
            yield Code(content, language) if plain else Prose(content)
        return
    for block in content_blocks(content):
        match block.get("type"):
            case "text":
                text = _string(block.get("text"))
                if text.strip():
                    yield Code(text, language) if plain else Prose(text)
            case "thinking":
                yield _thinking(block)
            case "toolCall":
                yield fold_call(block)
            case "image":
                yield Image(_string(block.get("mimeType")), _string(block.get("data")))
            case kind:
                yield Fold("more", "block", line(str(kind), 60), (_json(block),))


def _thinking(block: dict[str, Any]) -> Part:
    text = _string(block.get("thinking"))
    if text.strip():
        return Fold("thinking", "Thinking", line(text, 120), (Prose(text),))
    return Remark("thought, but what was thought is not in the file")


def compare(old: str, new: str) -> list[str]:
    """The lines of a diff from `old` to `new`, with three lines of context."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if len(before) + len(after) > _DIFF_LINES:
        return ["@@", *("-" + text for text in before), *("+" + text for text in after)]
    lines = difflib.unified_diff(before, after, lineterm="", n=3)
    # Where in the file the edit lies is not known, so the numbers would say nothing.
    return ["@@" if text.startswith("@@") else text for text in list(lines)[2:]]


def _edits(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """What is replaced by what: of one edit, or of a list of them."""
    found: list[tuple[str, str]] = []
    items = cast("list[Any]", fields["edits"]) if isinstance(fields.get("edits"), list) else []
    for edit in (fields, *items):
        if isinstance(edit, dict):
            parts = cast("dict[str, Any]", edit)
            if any(isinstance(parts.get(name), str) for name in _OLD):
                found.append((_first(parts, _OLD), _first(parts, _NEW)))
    return found


def _json(value: Any) -> Code:
    return Code(pretty(value), "json")


def pretty(value: Any) -> str:
    """JSON for reading: indented, unless it is nested too deeply for that."""
    import orjson

    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return json.dumps(value).decode()


def _first(fields: dict[str, Any], names: Iterable[str]) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str)), "")


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
