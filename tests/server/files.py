"""Session files as another program would leave them."""

import hashlib
import json
from pathlib import Path
from typing import Any

TIME = "2026-01-01T00:00:00.000Z"


def header(id: str, version: int = 3, cwd: str = "/") -> bytes:
    return line({"type": "session", "version": version, "id": id, "timestamp": TIME, "cwd": cwd})


def line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def message(id: str, parent: str | None, text: str, role: str = "user") -> bytes:
    said: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1}
    if role == "assistant":
        said |= {"provider": "p", "model": "m"}
    return line({"type": "message", "id": id, "parentId": parent, "timestamp": TIME, "message": said})


def chain(count: int, text: str = "x", start: int = 0) -> bytes:
    """Messages m0, m1, …, each below the one before, of people and models by turns."""
    return b"".join(
        message(f"m{i}", f"m{i - 1}" if i else None, f"{text} {i}", ("user", "assistant")[i % 2])
        for i in range(start, start + count)
    )


def write(path: Path, *lines: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file of a folder with the hash of its content and its time of change."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def entries(path: Path) -> list[dict[str, Any]]:
    """What the lines of a session file behind its header say."""
    return [json.loads(text) for text in path.read_bytes().splitlines()[1:]]
