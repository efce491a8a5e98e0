"""Sessions in memory, made entry by entry."""

from __future__ import annotations

import json
from typing import Any

from piserver.session import Session
from piserver.storage import MemoryStorage

HEADER = {
    "type": "session",
    "version": 3,
    "id": "01a22ff0-130e-75b9-823e-c6d33c72a1bd",
    "timestamp": "2026-03-01T09:00:00.000Z",
    "cwd": "/home/ada/service",
}


class Log:
    """The lines of a session; each `add` hangs an entry below the last one, or below `parent`."""

    def __init__(self, **header: Any) -> None:
        self.lines: list[bytes] = [_dump(HEADER | header)]
        self.last: str | None = None

    def add(self, type: str, *, parent: str | None = "last", id: str | None = None, **fields: Any) -> str:
        id = id or f"{len(self.lines):08x}"
        above = self.last if parent == "last" else parent
        time = f"2026-03-01T09:{len(self.lines) % 60:02d}:00.000Z"
        self.lines.append(_dump({"type": type, "id": id, "parentId": above, "timestamp": time, **fields}))
        self.last = id
        return id

    def user(self, content: Any, **place: Any) -> str:
        return self.add("message", message={"role": "user", "content": content}, **place)

    def answer(self, *blocks: dict[str, Any], parent: str | None = "last", **fields: Any) -> str:
        message = {"role": "assistant", "provider": "anthropic", "model": "claude", "content": list(blocks), **fields}
        return self.add("message", parent=parent, message=message)

    def result(self, call_id: str, tool: str, content: Any, **fields: Any) -> str:
        message = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": content, **fields}
        return self.add("message", message=message)

    @property
    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def session(self) -> Session:
        return Session(MemoryStorage(self.data))


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def _dump(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
