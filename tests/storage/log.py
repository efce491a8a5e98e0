"""Session files in short form: `log(header(), user("u1", None), answer("a2", "u1"))`."""

import json
from typing import Any

TIME = "2026-01-02T03:04:05.678Z"
SESSION_ID = "01900000-0000-7000-8000-000000000001"
CWD = "/w/app"


def line(**fields: Any) -> bytes:
    """One compact line; lone surrogates stay escapes."""
    return json.dumps(fields, separators=(",", ":")).encode()


def header(version: int | None = 3, **fields: Any) -> bytes:
    """A header; version None leaves the field out, as version 1 does."""
    shown = {} if version is None else {"version": version}
    return line(**{"type": "session", **shown, "id": SESSION_ID, "timestamp": TIME, "cwd": CWD, **fields})


def entry(type: str, id: str, parent: str | None, **fields: Any) -> bytes:
    """Any entry."""
    return line(type=type, id=id, parentId=parent, timestamp=TIME, **fields)


def message(id: str, parent: str | None, role: str, content: Any, **fields: Any) -> bytes:
    """A message of any role."""
    return entry("message", id, parent, message={"role": role, "content": content, **fields})


def user(id: str, parent: str | None, text: str | None = None) -> bytes:
    """A user message; its text is its id unless given."""
    return message(id, parent, "user", text or id)


def answer(id: str, parent: str | None, text: str | None = None, **fields: Any) -> bytes:
    """An assistant message with usage."""
    usage = {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.5}}
    fields = {"provider": "anthropic", "model": "m", "stopReason": "stop", "usage": usage, **fields}
    return message(id, parent, "assistant", [{"type": "text", "text": text or id}], **fields)


def call(id: str, parent: str | None, call_id: str, **arguments: Any) -> bytes:
    """An assistant message that calls a tool and says nothing."""
    block = {"type": "toolCall", "id": call_id, "name": "read", "arguments": arguments}
    return message(id, parent, "assistant", [block], provider="anthropic", model="m", stopReason="toolUse")


def result(id: str, parent: str | None, call_id: str, text: str | None = None) -> bytes:
    """A tool's result."""
    return message(
        id, parent, "toolResult", [{"type": "text", "text": text or id}], toolCallId=call_id, toolName="read"
    )


def label(id: str, parent: str | None, target: str, text: str | None) -> bytes:
    """A label; text None clears it."""
    return entry("label", id, parent, targetId=target, **({} if text is None else {"label": text}))


def name(id: str, parent: str | None, text: str) -> bytes:
    """A session's name."""
    return entry("session_info", id, parent, name=text)


def jump(id: str, parent: str | None, target: str | None) -> bytes:
    """A leaf entry."""
    return entry("leaf", id, parent, targetId=target)


def compaction(id: str, parent: str | None, summary: str, first_kept: str) -> bytes:
    """A compaction that keeps what follows `first_kept`."""
    return entry("compaction", id, parent, summary=summary, firstKeptEntryId=first_kept, tokensBefore=100)


def log(*lines: bytes) -> bytes:
    """A file of these lines, every one terminated."""
    return b"".join(text + b"\n" for text in lines)
