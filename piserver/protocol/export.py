"""The method `session/export`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from piserver.protocol.base import Shape
from piserver.protocol.sessions import SessionParams
from piserver.protocol.shapes import EntryId


class ExportParams(SessionParams, kw_only=True):
    """What of a session, and how: to be read (`markdown`, `html`), or as a session file of its own (`jsonl`).

    `scope` `path`: the way to `entryId`, by default to the leaf (null: the empty path). `tree`: all branches, without
    `entryId`. `redact` replaces keys, tokens and passwords of the usual shapes. With `path` the export is written
    there, only for the person to read; a file that exists stays as it is unless `overwrite` is true.
    """

    form: Literal["markdown", "jsonl", "html"]
    scope: Literal["path", "tree"] = "path"
    entry_id: EntryId | None | UnsetType = UNSET
    redact: bool = False
    path: str | UnsetType = UNSET
    overwrite: bool = False


class Redaction(Shape, kw_only=True):
    """How many secrets of one kind were replaced by `[redacted:KIND]`, and in which entries (none: in the header)."""

    kind: str
    count: int
    entry_ids: list[EntryId]


class ExportResult(Shape, kw_only=True):
    """An export of `size` bytes: the `path` where it was written, else its `content`.

    `fileName` is a name under which it may be kept.
    """

    media_type: str
    file_name: str
    size: int
    content: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    redactions: list[Redaction]
