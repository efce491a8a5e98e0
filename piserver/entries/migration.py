"""Versions 1 and 2 of the format, read as version 3.

Version 1 has no ids and no parents: entries follow one another, and a compaction names its first kept entry by index,
counting the header as 0. Version 2 calls the role `custom` `hookMessage`. Only the members concerned are rewritten; the
rest of a line keeps its bytes.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec
from msgspec import Raw

from piserver.entries import json
from piserver.entries.codec import message_part
from piserver.entries.nested import members


class Migration:
    """Upgrades the lines of one old file, in file order, to version 3.

    Ids for version 1 come from the header's id and the line's number, so that everyone who reads the file gives the
    same ones.
    """

    def __init__(self, version: float, header_id: str) -> None:
        self.version = version
        self._header_id = header_id
        self._ids: list[str | None] = [None]  # by v1 index; the header is 0
        self._taken: set[str] = set()

    def upgrade(self, line: bytes, number: int) -> bytes:
        """The version 3 form of the entry on physical line `number`. Raises JSONError for a line that is no object.

        Lines must come in file order, each once; malformed ones are left out, as they have no index either.
        """
        if self.version < 2:
            id, parent = self._new_id(number), self._ids[-1]
            fields: dict[str, Any] = {"id": id, "parentId": parent}
            drop = {"id", "parentId"}
            found = _values(line)
            if "firstKeptEntryIndex" in found and found.get("type") == b'"compaction"':
                drop.add("firstKeptEntryIndex")
                kept = self._id_at(json.loads(found["firstKeptEntryIndex"]))
                if kept is not None:
                    fields["firstKeptEntryId"] = kept
                    drop.add("firstKeptEntryId")
            line = replace_members(line, drop, fields)
            self._ids.append(id)
        return _rename_hook_message(line)

    def _new_id(self, number: int) -> str:
        attempt = 0
        while True:
            seed = f"{self._header_id}:{number}" + (f":{attempt}" if attempt else "")
            id = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:8]
            if id not in self._taken:
                self._taken.add(id)
                return id
            attempt += 1

    def _id_at(self, index: Any) -> str | None:
        if isinstance(index, bool) or not isinstance(index, int | float) or not 0 < index < len(self._ids):
            return None
        return self._ids[int(index)] if index == int(index) else None


def _rename_hook_message(line: bytes) -> bytes:
    if b"hookMessage" not in line:
        return line
    message = message_part(line)
    if message is None or not message.startswith(b"{"):
        return line
    if [json.loads(message[m.value_start : m.value_end]) for m in members(message) if m.key == "role"][-1:] != [
        "hookMessage"
    ]:
        return line
    place = next(m for m in reversed(members(line)) if m.key == "message")
    renamed = replace_members(message, {"role"}, {"role": "custom"})
    return line[: place.value_start] + renamed + line[place.value_end :]


def replace_members(line: bytes, drop: set[str], fields: dict[str, Any]) -> bytes:
    """The object `line` without the members named in `drop` and with `fields` in front, everything else as it stood.

    A leading `type` member stays first. Raises JSONError if `line` is no object.
    """
    new = [json.dumps(name) + b":" + json.dumps(value) for name, value in fields.items()]
    start = _LEADING_TYPE.match(line)
    if start is not None and drop.isdisjoint(_values(line)):
        return line[: start.end()] + b"".join(member + b"," for member in new) + line[start.end() :]
    kept = [m for m in members(line) if m.key not in drop]
    parts = [line[m.start : m.value_end] for m in kept]
    at = 1 if kept and kept[0].key == "type" else 0
    return b"{" + b",".join(parts[:at] + new + parts[at:]) + b"}"


_LEADING_TYPE = re.compile(rb'\{"type":"[^"\\]*",')
_decode_values = msgspec.json.Decoder(dict[str, Raw]).decode


def _values(line: bytes) -> dict[str, bytes]:
    """The bytes of an object's values by name; of duplicates the last. Raises JSONError if `line` is no object."""
    try:
        return {name: bytes(value) for name, value in _decode_values(line).items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return {m.key: line[m.value_start : m.value_end] for m in members(line)}
