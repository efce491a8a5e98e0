"""A program that knows nothing of piserver and appends to a session file as the terminal agent does.

For every number on its standard input it appends so many lines, each below the last entry that it finds in the file and
each in one write, and says their ids.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path

_TAIL = 1 << 18


def last_id(path: Path) -> str | None:
    """The id of the last whole line."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().split(b"\n")[:-1]
    for line in reversed(lines):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        return value["id"] if value["type"] != "session" else None
    return None


def main(path: Path) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    for count in map(int, sys.stdin):
        ids: list[str] = []
        for _ in range(count):
            ids.append(secrets.token_hex(4))
            message = {"role": "user", "content": f"foreign {ids[-1]}", "timestamp": 1}
            entry = {"type": "message", "id": ids[-1], "parentId": last_id(path)}
            entry |= {"timestamp": "2026-01-01T00:00:00.000Z", "message": message}
            os.write(fd, json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        sys.stdout.write(" ".join(ids) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
