"""Secrets taken out of entries before they are exported.

What is looked at are the strings of an entry, decoded, so that no escape can hide a secret. What ties entries and
vendors together stays as it is: ids, and what is signed or encrypted.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

from piserver.entries import json
from piserver.entries.codec import LineError, clean, read_object
from piserver.repository.export.secret_shapes import SHAPES, Shape, is_secret_field, secret_group

_SEALED = frozenset(
    {"thinkingSignature", "textSignature", "thoughtSignature", "signature", "encrypted_content", "encryptedContent"}
)
"""Fields that a vendor has signed or encrypted; changed, they would be refused."""
_STRUCTURE = frozenset(
    {
        "type",
        "id",
        "parentId",
        "timestamp",
        "targetId",
        "firstKeptEntryId",
        "fromId",
        "role",
        "toolCallId",
        "responseId",
    }
)
"""Fields of entries, messages and blocks that hold ids or kinds."""
_FREE = frozenset({"arguments", "details", "data", "metadata"})
"""Fields whose content has no shape of ours: nothing in there is structure."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """How many secrets of one kind were replaced, and in which entries (none: in the header). Never the secret."""

    kind: str
    count: int
    entry_ids: tuple[str, ...]


class Redactor:
    """Replaces secrets and keeps count of them."""

    def __init__(self) -> None:
        self._found: dict[str | None, Counter[str]] = {}

    def line(self, raw: bytes, entry_id: str | None = None) -> bytes:
        """The entry on a line without secrets; the same bytes if there are none. Its id is read if it is not given."""
        counter: Counter[str] = Counter()
        try:
            value = read_object(clean(raw))
        except LineError:
            return raw
        if not _scrub(value, counter):
            return raw
        self._note(entry_id or str(value.get("id")), counter)
        return json.dumps(value)

    def value(self, value: Any) -> Any:
        """A JSON value of the header without secrets. The value itself may be changed."""
        counter: Counter[str] = Counter()
        holder = {"metadata": value}
        _scrub(holder, counter)
        self._note(None, counter)
        return holder["metadata"]

    def text(self, text: str, entry_id: str | None) -> str:
        """A text that stands in an entry (or its header) without secrets."""
        counter: Counter[str] = Counter()
        text = replace_secrets(text, counter)
        self._note(entry_id, counter)
        return text

    def _note(self, entry_id: str | None, counter: Counter[str]) -> None:
        if counter:
            # An entry may be met more than once: its own text, and its label in the outline.
            self._found[entry_id] = self._found.get(entry_id, Counter[str]()) | counter

    @property
    def redactions(self) -> list[Redaction]:
        """What was replaced so far, by kind."""
        kinds = sorted({kind for counter in self._found.values() for kind in counter})
        return [
            Redaction(
                kind,
                sum(counter[kind] for counter in self._found.values()),
                tuple(id for id, counter in self._found.items() if id is not None and kind in counter),
            )
            for kind in kinds
        ]


def replace_secrets(text: str, counter: Counter[str]) -> str:
    """`text` with each secret replaced by `[redacted:KIND]`, counted by kind."""
    if len(text) < 8:
        return text
    lowered = text.lower()
    for shape in SHAPES:
        if any(hint in lowered for hint in shape.hints):
            text = _replace(shape, text, counter)
    return text


def _replace(shape: Shape, text: str, counter: Counter[str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        if not shape.is_secret(match):
            return match[0]
        group = secret_group(match)
        if match[group].startswith("[redacted:"):
            return match[0]
        counter[shape.kind] += 1
        start, end = match.span(group)
        return f"{text[match.start() : start]}[redacted:{shape.kind}]{text[end : match.end()]}"

    return shape.pattern.sub(replacement, text)


def _scrub(value: dict[str, Any], counter: Counter[str]) -> bool:
    """Replace the secrets in all strings of an object, in place; whether there were any. Works at any depth."""
    stack: list[tuple[Any, bool]] = [(value, False)]  # and whether it belongs to a field without a shape
    while stack:
        container, free = stack.pop()
        if isinstance(container, dict):
            fields = cast("dict[str, Any]", container)
            image = fields.get("type") == "image"
            for key, item in fields.items():
                if key in _SEALED or (image and key == "data"):
                    continue
                if not isinstance(item, str):
                    stack.append((item, free or key in _FREE))
                elif free or key not in _STRUCTURE:
                    fields[key] = _field(key, item, counter)
        elif isinstance(container, list):
            items = cast("list[Any]", container)
            for index, item in enumerate(items):
                if isinstance(item, str):
                    items[index] = replace_secrets(item, counter)
                else:
                    stack.append((item, free))
    return counter.total() > 0


def _field(key: str, text: str, counter: Counter[str]) -> str:
    """A string by its name and by its look."""
    replaced = replace_secrets(text, counter)
    if replaced == text and is_secret_field(key, text):
        counter["password"] += 1
        return "[redacted:password]"
    return replaced
