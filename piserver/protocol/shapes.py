"""The parts that results and notifications are made of."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType

from piserver.context import ChangeKind, Reason, WhyOut
from piserver.protocol.base import Shape
from piserver.session import Filter
from piserver.tree import DiagnosticKind

EntryId = str
"""An entry's id, unique in its session."""


class Position(Shape, kw_only=True):
    """Where a session is. Part of every result and notification that shows its state.

    `revision` counts the indexed entries, whoever appended them; it means something only within one `epoch`, which
    changes when the file was replaced. `leafId` is the write position, null before the first entry.
    """

    session_id: str
    epoch: str
    revision: int
    leaf_id: EntryId | None


class SessionInfo(Shape, kw_only=True):
    """A session in a list. Times are ISO-8601 UTC; `created` and `cwd` are empty where the header lacks them.

    `firstMessage` is the beginning of the first user message. `broken` says why the file cannot be opened.
    """

    id: str
    path: str
    cwd: str
    created: str
    modified: str
    size: int
    name: str | None
    first_message: str | None
    message_count: int | None
    parent_session: str | None
    broken: str | UnsetType = UNSET


class Diagnostic(Shape, kw_only=True):
    """Something wrong with a session's file. `line` counts physical lines from 1, `offset` bytes."""

    kind: DiagnosticKind
    message: str
    line: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    entry_id: EntryId | UnsetType = UNSET


class ModelRef(Shape, kw_only=True):
    """The model in force. Files may hold any JSON here; normally both are strings."""

    provider: Any = UNSET
    model_id: Any = UNSET


class ContextState(Shape, kw_only=True):
    """What holds at an entry: `model` null and `activeToolNames` null where the log never said."""

    model: ModelRef | None
    thinking_level: Any
    active_tool_names: Any


class EntrySummary(Shape, kw_only=True):
    """An entry in brief. `index` is its place in file order; `preview` one line of at most 160 characters.

    `failed` marks an answer that ended in an error or was aborted. `leftLeafId`, on a branch summary, is the end of the
    branch that was left.
    """

    id: EntryId
    parent_id: EntryId | None
    index: int
    type: str
    role: str | None
    timestamp: str
    preview: str
    label: str | UnsetType = UNSET
    failed: bool | UnsetType = UNSET
    left_leaf_id: EntryId | UnsetType = UNSET


class Row(EntrySummary, kw_only=True):
    """One line of the tree, ready to be drawn.

    `guides` has a character for each level of indentation: `|` a branch goes on beside this line, `+` a branch starts
    here and more follow, `L` the last branch starts here, a space nothing. `children` counts the visible children,
    `hidden` the lines that collapsing this one took away. `onPath`: on the way from the root to the leaf. `leaf`: the
    line nearest to the write position. `inContext`: a model would see this entry now. `orphaned`: its parent is
    missing.
    """

    guides: str
    children: int
    hidden: int | UnsetType = UNSET
    collapsed: bool | UnsetType = UNSET
    on_path: bool | UnsetType = UNSET
    leaf: bool | UnsetType = UNSET
    in_context: bool | UnsetType = UNSET
    orphaned: bool | UnsetType = UNSET


class RowWindow(Shape, kw_only=True):
    """The rows from `offset` on, out of `total`; `leafRow` is the place of the one marked `leaf`, null if none is."""

    filter: Filter
    total: int
    offset: int
    leaf_row: int | None
    rows: list[Row]


class Usage(Shape, kw_only=True):
    """Tokens and cost (USD)."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    total_tokens: float
    cost: float


class Statistics(Shape, kw_only=True):
    """Totals over entries. `models` has a key `provider/model` each, and `summaries`."""

    entries: int
    messages: int
    roles: dict[str, int]
    usage: Usage
    models: dict[str, Usage]


class ContextTokens(Shape, kw_only=True):
    """An estimate of a context: what a provider reported last (`usage`), plus an estimate of what came after.

    `usageEntryId` is the answer whose usage was taken; null if everything is estimated.
    """

    total: int
    usage: int
    trailing: int
    usage_entry_id: EntryId | None


class ContextMessage(Shape, kw_only=True):
    """One message of a context and where it comes from.

    `reason`: `on-path` (no compaction on the path), `compaction` (the newest one), `kept` (by it), `after-compaction`.
    `tokens` is the estimate for this message alone; absent if estimates were not asked for.
    """

    message: Raw
    entry_id: EntryId
    reason: Reason
    tokens: int | UnsetType = UNSET


class ExcludedEntry(Shape, kw_only=True):
    """An entry of the path that gives no message, and why."""

    entry_id: EntryId
    reason: WhyOut


class ContextChange(Shape, kw_only=True):
    """Something that was changed to make the context fit for a provider; `detail` names the block or call."""

    kind: ChangeKind
    entry_id: EntryId
    detail: str | UnsetType = UNSET


class LeaseOwner(Shape, kw_only=True):
    """The server that has a session for its own changes. Times are ISO-8601; `started` is when its process began.

    `remote`: it runs on another machine, so that nobody here can know whether it still does.
    """

    program: str
    pid: int
    host: str
    started: str
    since: str
    purpose: str | None
    remote: bool | UnsetType = UNSET


class ChangeOrigin(Shape, kw_only=True):
    """Who caused a change.

    A `client`'s request (`requestId`), an `agent` run, another program (`external`), or several of them, where
    notifications were put together for a slow reader (`mixed`).
    """

    kind: Literal["client", "agent", "external", "mixed"]
    request_id: str | int | UnsetType = UNSET
