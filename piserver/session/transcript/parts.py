"""What an entry shows, wherever it is drawn: a section with its parts. `sections` reads entries into these shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from piserver.tree import Node

Kind = Literal["user", "assistant", "tool", "shell", "summary", "compaction", "note", "custom", "system", "opaque"]
"""Who speaks in a section, or what it is. A `note` is one line: a model change, a label, a jump."""
FoldKind = Literal["thinking", "call", "result", "more"]


@dataclass(frozen=True, slots=True)
class Prose:
    """Text that is Markdown: what people and models write."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be shown as it is. `language` is the name of a language or a file, or empty."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """A change to a file; lines begin with `+`, `-`, `@` or a space."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its media type as the entry names it, and its base64 text, both unchecked."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence of ours about what is shown; `failure` for what went wrong."""

    text: str
    failure: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts behind a title of one line. `name` says what it is, `title` what it is about.

    `call_id` is that of a tool call and of its result.
    """

    kind: FoldKind
    name: str
    title: str
    parts: tuple[Part, ...]
    open: bool = False
    failure: bool = False
    call_id: str = ""


Part = Prose | Code | Diff | Image | Remark | Fold


@dataclass(slots=True)
class Section:
    """One entry as it is shown. `title` says who or what, `about` a little more (a model, a size)."""

    node: Node
    kind: Kind
    title: str
    about: str = ""
    parts: list[Part] = field(default_factory=list[Part])
    label: str | None = None
    preview: str = ""
