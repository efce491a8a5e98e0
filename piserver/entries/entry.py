"""One stored entry with its body."""

from __future__ import annotations

from typing import Any

from piserver.entries.codec import message_part, read_object


class Entry:
    """An entry as it stands in the log.

    `raw` is its JSON object in well-formed UTF-8, byte for byte as stored; `value` is the same, decoded on first use.
    """

    __slots__ = ("_value", "id", "raw", "type")

    def __init__(self, id: str, type: str, raw: bytes) -> None:
        self.id = id
        self.type = type
        self.raw = raw
        self._value: dict[str, Any] | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The decoded entry. Treat it as read-only."""
        if self._value is None:
            self._value = read_object(self.raw)
        return self._value

    @property
    def message(self) -> bytes | None:
        """The bytes of the entry's `message`, or None."""
        return message_part(self.raw)

    def __repr__(self) -> str:
        return f"<Entry {self.id} {self.type}>"
