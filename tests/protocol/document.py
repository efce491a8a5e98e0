"""`protocol.md`, read as a test needs it: its examples in order, and where they stand."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from piserver.protocol.registry import NOTIFICATIONS

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "protocol.md"

_FROM_SERVER = {*NOTIFICATIONS, "$/progress", "$/logTrace", "window/logMessage"}

Message = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """A message of the document: the line on which it begins, the heading above it, and who sends it."""

    line: int
    heading: str
    message: Message

    @property
    def method(self) -> str | None:
        return self.message.get("method")

    @property
    def from_client(self) -> bool:
        return self.method is not None and self.method not in _FROM_SERVER


def headings() -> list[str]:
    """Every heading, without its marks."""
    return [line.lstrip("#").strip() for line in DOCUMENT.read_text("utf-8").splitlines() if line.startswith("#")]


def examples() -> list[Example]:
    """Every JSON-RPC message, in the order of the document; a block of JSON is exactly one."""
    return list(_examples())


def _examples() -> Iterator[Example]:
    heading, start, block = "", 0, None
    for number, line in enumerate(DOCUMENT.read_text("utf-8").splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                yield Example(start, heading, json.loads("\n".join(block)))
                block = None
            else:
                block.append(line)
        elif line == "```json":
            start, block = number, []
        elif found := re.match(r"#+ (.*)", line):
            heading = found[1]
