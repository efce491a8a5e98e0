"""The methods `session/*`: what goes in, what comes out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, UnsetType, field

from piserver.entries.types import AnyDraft, Replacement
from piserver.protocol.base import Params, Shape
from piserver.protocol.shapes import (
    ChangeOrigin,
    ContextChange,
    ContextMessage,
    ContextState,
    ContextTokens,
    Diagnostic,
    EntryId,
    EntrySummary,
    ExcludedEntry,
    LeaseOwner,
    Position,
    RowWindow,
    SessionInfo,
    Statistics,
)
from piserver.session import Filter

Offset = Annotated[int, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1, le=1000)]


class RowsParams(Params, kw_only=True):
    """Which rows of the tree.

    Those that `filter` shows and whose text or label holds all words of `query`, with what is below the `collapsed`
    entries left out; from `offset` on, or so that `around` (an entry's id) stands in the middle.
    """

    filter: Filter = "default"
    query: str = ""
    collapsed: list[EntryId] = field(default_factory=list[EntryId])
    offset: Offset = 0
    limit: Limit = 200
    around: EntryId | UnsetType = UNSET


class SessionParams(Params, kw_only=True):
    """A session by its id. One that is not open is looked up among the session files and opened without subscribing."""

    session_id: str


class ChangeParams(SessionParams, kw_only=True):
    """What every method that changes a session takes.

    `expectedLeafId`: refuse (`stale-leaf`) unless the leaf is there. `idempotencyKey`: a repeated call with the same
    key answers what the first one answered and changes nothing.
    """

    expected_leaf_id: EntryId | None | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET


# Repository


class CreateParams(Params, kw_only=True):
    """A new session for a working directory. `path` names the file instead of the usual place."""

    cwd: str
    name: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET
    path: str | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET


class OpenParams(Params, kw_only=True):
    """A session by `sessionId` or by the `path` of its file.

    With `create` (a working directory), an empty file becomes a new session. `subscribe` false: no notifications.
    `rows` chooses the first page; with `atLeaf` it is centred on the leaf.
    """

    session_id: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    create: str | UnsetType = UNSET
    subscribe: bool = True
    rows: RowsParams | UnsetType = UNSET
    at_leaf: bool = False


class Snapshot(Position, kw_only=True):
    """A session as it is now.

    `newerLeafId`: a newer message on another branch than the leaf's, which nobody jumped away from; let the person
    choose. `readOnly` says why nothing can be written, `lease` which other server has the session for its own changes.
    At most 100 `diagnostics` of `diagnosticsTotal` are given.
    """

    info: SessionInfo
    newer_leaf_id: EntryId | None
    read_only: str | None
    lease: LeaseOwner | UnsetType = UNSET
    state: ContextState
    statistics: Statistics
    diagnostics: list[Diagnostic]
    diagnostics_total: int
    rows: RowWindow


class CloseParams(Params, kw_only=True):
    """A session whose notifications are not wanted any more."""

    session_id: str


class ListParams(Params, kw_only=True):
    """The sessions of a working directory (by their header), or all. `limit` and `cursor` page through them.

    `query` keeps those whose name, first message or directory holds all its words; `since` and `until` (ISO-8601) those
    last changed in between.
    """

    cwd: str | UnsetType = UNSET
    query: str | UnsetType = UNSET
    since: str | UnsetType = UNSET
    until: str | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    cursor: str | UnsetType = UNSET


class ListResult(Shape, kw_only=True):
    """Newest first. `nextCursor` asks for the next page; null at the end.

    With a `partialResultToken` the sessions come in `$/progress` notifications of this shape, and the result holds
    none. They come twice where reading them takes time: at once with what is known (null for the rest), then whole;
    what comes later replaces what has the same `path`.
    """

    sessions: list[SessionInfo]
    next_cursor: str | None


class LatestParams(Params, kw_only=True):
    """A working directory."""

    cwd: str


class LatestResult(Shape, kw_only=True):
    """The newest session of a working directory; null if there is none."""

    info: SessionInfo | None


class DeleteParams(Params, kw_only=True):
    """A session by `sessionId` or `path`, to be moved to the desktop's trash, or with `permanent` to be removed."""

    session_id: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    permanent: bool = False


class DeleteResult(Shape, kw_only=True):
    """The file that is gone."""

    path: str


class RenameParams(ChangeParams, kw_only=True):
    """A new name; null or blank clears it."""

    name: str | None


class ForkParams(ChangeParams, kw_only=True):
    """`before`: a new session with the path up to the parent of a user message. `at`: up to and including any entry.

    `cwd` is the new session's, by default the source's.
    """

    entry_id: EntryId
    position: Literal["before", "at"] = "before"
    cwd: str | UnsetType = UNSET


class CloneParams(ChangeParams, kw_only=True):
    """A session to copy whole, with all branches and the same leaf."""


class ForkResult(Shape, kw_only=True):
    """The new session, not yet open, and the text of the message before which it was forked."""

    source_session_id: str
    info: SessionInfo
    editor_text: str | None


# Changes


class ChangeResult(Position, kw_only=True):
    """The entries that a change appended, in order.

    `pending`: the change waits for a running agent and has no entries yet. `newerLeafId`: another program has gone on
    elsewhere in the tree. `warnings` are sentences for the person.
    """

    entry_ids: list[EntryId]
    pending: bool | UnsetType = UNSET
    newer_leaf_id: EntryId | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET


class AppendParams(ChangeParams, kw_only=True):
    """One `entry`, or several `entries` in one atomic write; the last becomes the leaf.

    An entry has its `type` and own fields; id, parent and time are given by the server.
    """

    entry: AnyDraft | UnsetType = UNSET
    entries: list[AnyDraft] | UnsetType = UNSET


class SummaryParams(Params, kw_only=True):
    """A ready-made summary of the branch that is left."""

    summary: str
    details: Any = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class MoveToParams(ChangeParams, kw_only=True):
    """The new leaf, null for before the first entry, and a summary to hang there."""

    entry_id: EntryId | None
    summary: SummaryParams | UnsetType = UNSET


class MoveResult(Position, kw_only=True):
    """The entries that record the move; absent where none was needed."""

    leaf_entry_id: EntryId | UnsetType = UNSET
    summary_entry_id: EntryId | UnsetType = UNSET


class NavigateParams(ChangeParams, kw_only=True):
    """What choosing an entry in a tree view does.

    For a user message or custom message the leaf becomes its parent and its text comes back; for any other entry the
    leaf becomes that entry. `label` names the summary if there is one, else the target.
    """

    target_id: EntryId
    summary: SummaryParams | UnsetType = UNSET
    label: str | UnsetType = UNSET


class NavigateResult(MoveResult, kw_only=True):
    """`editorText` goes into the input if that is empty; else the draft stays and the text is offered."""

    editor_text: str | None
    label_entry_id: EntryId | UnsetType = UNSET


class SetLabelParams(ChangeParams, kw_only=True):
    """A name for an entry; null or blank clears it."""

    entry_id: EntryId
    label: str | None


class EditContextParams(ChangeParams, kw_only=True):
    """What a model sees of an entry.

    `replacement` null leaves it out of the context, `{content}` puts that in its place; `restore` takes either back.
    Exactly one of the two is given.
    """

    entry_id: EntryId
    replacement: Replacement | None | UnsetType = UNSET
    restore: bool = False


# Reading


class GetTreeParams(RowsParams, kw_only=True):
    """A window of a session's rows."""

    session_id: str


class GetTreeResult(Position, kw_only=True):
    """A window of the tree."""

    window: RowWindow


class GetEntriesParams(SessionParams, kw_only=True):
    """Whole entries by id. The answer holds no more than about `maxBytes` of them, but at least one."""

    ids: Annotated[list[EntryId], Meta(max_length=10_000)]
    max_bytes: Annotated[int, Meta(ge=1, le=64 * 1024 * 1024)] = 16 * 1024 * 1024


class GetEntriesResult(Position, kw_only=True):
    """The entries as they stand in the file, in the order asked for; `remaining` are the ids still to be asked for."""

    entries: list[Raw]
    remaining: list[EntryId]


class GetPathParams(SessionParams, kw_only=True):
    """The path to an entry, by default the leaf (null: the empty path); a page of it."""

    entry_id: EntryId | None | UnsetType = UNSET
    offset: Offset = 0
    limit: Limit = 200


class GetPathResult(Position, kw_only=True):
    """The entries from the root on, `total` in all."""

    total: int
    offset: int
    entries: list[EntrySummary]


class ChangesParams(SessionParams, kw_only=True):
    """A position that the client has seen."""

    epoch: str
    since: Offset
    limit: Limit = 1000


class ChangesResult(Position, kw_only=True):
    """What came after `since`, without gap or overlap.

    It reaches up to `through` entries; ask again from there if that is less than `revision`. `labels` holds what the
    new entries say of labels, "" for cleared ones (some clients' JSON drops null); `name` likewise.

    A position that the log cannot serve is answered `stale-cursor`, with a fresh `snapshot` in the error's data.
    """

    since: int
    through: int
    appended: list[EntrySummary]
    labels: dict[EntryId, str]
    name: str | UnsetType = UNSET
    newer_leaf_id: EntryId | None


class TargetModel(Params, kw_only=True):
    """The model for which a context is made fit. `api` is its API family; `images` whether it takes them."""

    provider: str
    model_id: str
    api: str
    images: bool = True


class BuildContextParams(SessionParams, kw_only=True):
    """The context at an entry, by default the leaf (null: before the first entry), without moving.

    `form` `messages`: as projected from the log. `llm`: user, assistant and toolResult messages alone, every tool call
    answered once, made fit for `model` if that is given. `estimates` false leaves out token estimates, which need every
    message decoded; `excluded` false leaves out what is not in.
    """

    entry_id: EntryId | None | UnsetType = UNSET
    form: Literal["messages", "llm"] = "messages"
    model: TargetModel | UnsetType = UNSET
    estimates: bool = True
    excluded: bool = True


class BuildContextResult(Position, kw_only=True):
    """The messages in order with their sources, the state at the entry, and what was left out or changed."""

    entry_id: EntryId | None
    form: Literal["messages", "llm"]
    state: ContextState
    messages: list[ContextMessage]
    tokens: ContextTokens | None
    excluded: list[ExcludedEntry]
    changes: list[ContextChange]
    diagnostics: list[Diagnostic]


class StatsParams(SessionParams, kw_only=True):
    """An entry, by default the leaf."""

    entry_id: EntryId | None | UnsetType = UNSET


class StatsResult(Position, kw_only=True):
    """Totals of the file and of the path to the entry, and the estimate of the context there.

    `window` and `percent` (0 to 100) are null while the model's window is not known.
    """

    file: Statistics
    path: Statistics
    context: ContextTokens
    window: int | None
    percent: float | None


# Notifications


class TreeChanged(Position, kw_only=True):
    """The tree has grown from `fromRevision` to `revision`.

    `appended` are the new entries in brief, as far as they fit; `appendedIds` the rest, to be fetched. `labels` and
    `name` hold what changed, "" for what was cleared. `reset`: the file was replaced or too much was missed; ask for a
    snapshot.
    """

    from_revision: int
    appended: list[EntrySummary]
    appended_ids: list[EntryId]
    labels: dict[EntryId, str]
    name: str | UnsetType = UNSET
    newer_leaf_id: EntryId | None
    origin: ChangeOrigin
    reset: bool | UnsetType = UNSET


ListReason = Literal["created", "deleted", "renamed"]


class ListChanged(Shape, kw_only=True):
    """A session came, went or got another name. `info` is absent for one that is gone."""

    reason: ListReason
    session_id: str
    path: str
    info: SessionInfo | UnsetType = UNSET
