"""The entry types, as a caller hands them in to be appended.

Each class is one type with its own fields; `id`, `parentId` and `timestamp` are given by the session that appends it.
Field names on the wire and in the file are the camel-case forms. A field left UNSET is left out of the line.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType


class Draft(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="type"):
    """An entry that has no place in a log yet."""


class MessageDraft(Draft, kw_only=True, tag="message"):
    """A message of the conversation; `message` is an object with a `role` (shapes: `piserver.entries.messages`)."""

    message: dict[str, Any]


class ThinkingLevelDraft(Draft, kw_only=True, tag="thinking_level_change"):
    """From here on the model thinks at this level: off, minimal, low, medium, high, xhigh or max."""

    thinking_level: str


class ModelDraft(Draft, kw_only=True, tag="model_change"):
    """From here on this model answers."""

    provider: str
    model_id: str


class ActiveToolsDraft(Draft, kw_only=True, tag="active_tools_change"):
    """From here on these tools are offered to the model."""

    active_tool_names: list[str]


class CompactionDraft(Draft, kw_only=True, tag="compaction"):
    """What lies before `first_kept_entry_id` on the path enters the context as this summary."""

    summary: str
    first_kept_entry_id: str | UnsetType = UNSET
    tokens_before: int = 0
    retained_tail: list[dict[str, Any]] | UnsetType = UNSET
    details: Any = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET
    system_message: dict[str, Any] | UnsetType = UNSET


class BranchSummaryDraft(Draft, kw_only=True, tag="branch_summary"):
    """What happened on a branch that was left; `from_id` is the target of the jump, `root` for the start."""

    from_id: str
    summary: str
    details: Any = UNSET
    usage: dict[str, Any] | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class CustomDraft(Draft, kw_only=True, tag="custom"):
    """Data of an extension; no part of the context unless a projector says otherwise."""

    custom_type: str
    data: Any = UNSET


class CustomMessageDraft(Draft, kw_only=True, tag="custom_message"):
    """A message of an extension; the model reads it as the user's. `content` is text or a list of blocks."""

    custom_type: str
    content: str | list[dict[str, Any]]
    display: bool = True
    details: Any = UNSET


class LabelDraft(Draft, kw_only=True, tag="label"):
    """A name for an entry; UNSET or blank clears it."""

    target_id: str
    label: str | UnsetType = UNSET


class SessionInfoDraft(Draft, kw_only=True, tag="session_info"):
    """The session's name; UNSET or blank clears it."""

    name: str | UnsetType = UNSET


class LeafDraft(Draft, kw_only=True, tag="leaf"):
    """A jump: the write position becomes `target_id`, None for before the first entry."""

    target_id: str | None


class UsageDraft(Draft, kw_only=True, tag="usage"):
    """Tokens and money spent outside the conversation; counted in totals, never in the context."""

    kind: str
    provider: str
    model: str
    usage: dict[str, Any]
    note: str | UnsetType = UNSET


class Replacement(Struct, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """New content for an entry in the context: text or a list of blocks."""

    content: str | list[dict[str, Any]]


class ContextEditDraft(Draft, kw_only=True, tag="context_edit"):
    """Leave an entry out of the context (None) or replace its content there. The latest edit on the path counts."""

    target_id: str
    replacement: Replacement | None


AnyDraft = (
    MessageDraft
    | ThinkingLevelDraft
    | ModelDraft
    | ActiveToolsDraft
    | CompactionDraft
    | BranchSummaryDraft
    | CustomDraft
    | CustomMessageDraft
    | LabelDraft
    | SessionInfoDraft
    | LeafDraft
    | UsageDraft
    | ContextEditDraft
)
