"""Summaries: `session/compact`, `session/summarizeBranch`, and what `session/navigate` takes of the same kind."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from piserver.protocol.base import Shape
from piserver.protocol.sessions import ChangeParams
from piserver.protocol.shapes import EntryId, Position, Usage


class CompactParams(ChangeParams, kw_only=True):
    """How to compact the path to the leaf.

    `instructions` give the summary a focus. `keepRecentTokens` (else the settings') are kept as they are; with
    `boundaryEntryId` everything before that entry is summarised instead. `dryRun` only says what would be done.
    """

    instructions: str | UnsetType = UNSET
    keep_recent_tokens: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    boundary_entry_id: EntryId | UnsetType = UNSET
    dry_run: bool = False


class CompactionPlan(Shape, kw_only=True):
    """What a compaction does to the context.

    `summarizedIds` leave it, `keptIds` stay; `splitTurn`: the cut lies inside a turn, whose beginning is summarised
    apart. `tokensAfter` is an estimate, in a dry run of the longest summary. `overshoot`: tokens kept above what was
    asked for, because a call and its results stay together.
    """

    first_kept_entry_id: EntryId
    summarized_ids: list[EntryId]
    kept_ids: list[EntryId]
    split_turn: bool
    tokens_before: int
    tokens_after: int
    overshoot: int | UnsetType = UNSET
    read_files: list[str]
    modified_files: list[str]


class CompactResult(Position, kw_only=True):
    """The `plan` that was carried out as entry `entryId`, absent in a dry run. `summarizer` is a model or `offline`."""

    plan: CompactionPlan
    entry_id: EntryId | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    summarizer: str


class SummarizeBranchParams(ChangeParams, kw_only=True):
    """A branch, from below `ancestorId` (by default where it parts from the leaf's path) to `fromLeafId`.

    `dryRun` only says what would be summarised, and what the context would gain.
    """

    from_leaf_id: EntryId
    ancestor_id: EntryId | None | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    dry_run: bool = False


class SummarizeBranchResult(Position, kw_only=True):
    """The summary, hung on the leaf as `entryId`; absent in a dry run.

    `summarizedIds` are read for it, `omittedIds` did not fit. `tokens` is what the context gains, in a dry run with the
    longest summary.
    """

    summarized_ids: list[EntryId]
    omitted_ids: list[EntryId]
    tokens: int
    read_files: list[str]
    modified_files: list[str]
    entry_id: EntryId | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    summarizer: str
