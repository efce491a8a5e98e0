"""The method `session/search`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from piserver.protocol.base import Params, Shape
from piserver.protocol.sessions import Limit
from piserver.protocol.shapes import EntryId


class SearchParams(Params, kw_only=True):
    """What to look for, and where: one session, the sessions of a working directory (by their header), or all.

    `query` holds words that must all be in an entry, "quoted" ones as phrases, or with `regex` one expression in RE2's
    syntax. Labels, session names and whole entry ids are found as well. `roles` and `types` narrow the entries; empty
    means all, and names are found only then.
    """

    query: Annotated[str, Meta(min_length=1)]
    session_id: str | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    regex: bool = False
    match_case: bool = False
    roles: list[str] = field(default_factory=list[str])
    types: list[str] = field(default_factory=list[str])
    limit: Limit = 100


class Branch(Shape, kw_only=True):
    """The branch on which an entry lies.

    `leafId` is its newest end, `label` the nearest label between the entry and that end, `lastActivity` the end's time
    (ISO-8601). `onPath`: the entry is on the way to the session's leaf.
    """

    leaf_id: EntryId
    label: str | None
    last_activity: str
    on_path: bool


class TextRange(Shape, kw_only=True):
    """A part of a text, from `start` up to `end`, in UTF-16 units."""

    start: int
    end: int


class SearchHit(Shape, kw_only=True):
    """One place where the query was found.

    `match` says in what: an entry's `text`, its `label`, its `id`, or the session's `name` (then there is no entry).
    `snippet` is one line of at most 160 characters around it, `ranges` the matches in that. The session may not be
    open: open it by `path`.
    """

    session_id: str
    path: str
    session_name: str | None
    match: Literal["text", "label", "id", "name"]
    snippet: str
    ranges: list[TextRange]
    entry_id: EntryId | None
    type: str | None
    role: str | None
    timestamp: str | None
    branch: Branch | None


class SearchResult(Shape, kw_only=True):
    """Newest first: sessions by their last change, entries of one session from the end of its file.

    An entry that a fork shares with its source is found once. `limited`: there are more than `limit`.
    `sessionsSearched` counts the files that were looked at. With a `partialResultToken` the hits come in `$/progress`
    notifications of this shape as they are found, and the result holds none.
    """

    hits: list[SearchHit]
    sessions_searched: int
    limited: bool
