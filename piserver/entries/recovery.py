"""Entries that can still be read on a line that is not one JSON object.

A write that was cut off and then repeated leaves `{"type":"mess{"type":"message",…}` on one line; an append behind a
missing line end leaves two whole entries there; a crash may leave NUL bytes in front. What is whole is used.
"""

from __future__ import annotations

from typing import NamedTuple

from piserver.entries.codec import Head, LineError, read_head
from piserver.entries.nested import JSONError, end_of_value

_START = b'{"type":"'
_MOST_FAILURES = 16
"""Starts that may turn out to be torn, each of which costs a walk over the rest of the line."""


class Fragment(NamedTuple):
    """A whole entry found inside a line, and its bytes' place there."""

    start: int
    end: int
    head: Head


def whole_entries(line: bytes) -> list[Fragment]:
    """The complete entries on a malformed line, left to right, never overlapping.

    Only an object that names its type, id, parent and time counts, so a block inside a torn entry is not mistaken for
    one.
    """
    found: list[Fragment] = []
    position = line.find(_START)
    failures = 0
    while position >= 0 and failures < _MOST_FAILURES:
        end = position + 1
        try:
            end_of_entry = end_of_value(line, position)
            head = read_head(line[position:end_of_entry])
            if isinstance(head.parent_id, str | None) and head.timestamp:
                found.append(Fragment(position, end_of_entry, head))
            end = end_of_entry
        except (JSONError, LineError):
            failures += 1
        position = line.find(_START, end)
    return found
