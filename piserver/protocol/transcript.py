"""`session/getTranscript`: a path of the tree as a conversation, ready to be drawn."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from piserver.protocol.base import Shape
from piserver.protocol.sessions import Limit, Offset, SessionParams
from piserver.protocol.shapes import EntryId, Position


class TranscriptParams(SessionParams, kw_only=True):
    """The path to an entry, by default the leaf, a page of it.

    `last` takes the page from the end: the last `limit` items before the last `offset`. With `after`, the items behind
    that entry are given instead. With `ids`, those entries alone, whatever path they are on.
    """

    entry_id: EntryId | None | UnsetType = UNSET
    offset: Offset = 0
    limit: Limit = 100
    last: bool = False
    after: EntryId | UnsetType = UNSET
    ids: list[EntryId] | UnsetType = UNSET


class TranscriptPart(Shape, kw_only=True):
    """A piece of an entry.

    `prose` is Markdown, `code` text to be shown as it is (`language` names a language or a file), `diff` lines that
    begin with `+`, `-`, `@` or a space, `image` base64 `data` of `mediaType` (without
    `data` it cannot be shown: `text` says what it is), `remark` a sentence about what is shown,
    `fold` further `parts` behind the line `name`: `title`. A fold's `fold` says what it is; `open`: shown unfolded;
    `failure`: it went wrong. `callId` joins the fold of a call with that of its result. `cut` counts the characters
    that were left out; `session/getEntries` has all of it.
    """

    kind: Literal["prose", "code", "diff", "image", "remark", "fold"]
    text: str | UnsetType = UNSET
    language: str | UnsetType = UNSET
    media_type: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    fold: Literal["thinking", "call", "result", "more"] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    call_id: str | UnsetType = UNSET
    parts: list[TranscriptPart] | UnsetType = UNSET
    open: bool | UnsetType = UNSET
    failure: bool | UnsetType = UNSET
    cut: int | UnsetType = UNSET


class TranscriptItem(Shape, kw_only=True):
    """An entry as it is read. `title` says who or what, `about` a little more (a model, a size).

    `note`s are one line: a model change, a label, a jump. `inContext`: a model would see it now.
    """

    entry_id: EntryId
    kind: Literal["user", "assistant", "tool", "shell", "summary", "compaction", "note", "custom", "system", "opaque"]
    title: str
    about: str
    timestamp: str
    label: str | UnsetType = UNSET
    in_context: bool | UnsetType = UNSET
    parts: list[TranscriptPart]


class TranscriptResult(Position, kw_only=True):
    """The items from `offset` of the path on, `total` in all. Fewer than asked for where they are large."""

    total: int
    offset: int
    items: list[TranscriptItem]
