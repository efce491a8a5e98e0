"""From the session's own values to the shapes of the wire. No decisions are made here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Raw, UnsetType

from piserver import tree
from piserver.context import Context, ContextTokens
from piserver.entries.text import format_timestamp
from piserver.protocol import shapes, upkeep
from piserver.session import EntrySummary, Filter, Row, RowWindow, Session
from piserver.storage import Owner
from piserver.storage.glance import SessionInfo
from piserver.storage.repair import Step

T = TypeVar("T")


def given(value: T | None) -> T | UnsetType:
    """The value, or UNSET for None: absent on the wire instead of null."""
    return UNSET if value is None else value


def flag(value: bool) -> bool | UnsetType:
    """A mark that is only sent when it is set."""
    return True if value else UNSET


def position(session: Session, handle: str) -> dict[str, Any]:
    """The fields of `Position`."""
    return {
        "session_id": handle,
        "epoch": session.storage.epoch,
        "revision": session.revision,
        "leaf_id": session.leaf_id,
    }


def info(source: SessionInfo, handle: str | None = None) -> shapes.SessionInfo:
    """A session of a list."""
    return shapes.SessionInfo(
        id=handle or source.id,
        path=source.path,
        cwd=source.cwd,
        created=source.created,
        modified=source.modified,
        size=source.size,
        name=source.name,
        first_message=source.first_message,
        message_count=source.message_count,
        parent_session=source.parent_session,
        broken=given(source.broken),
    )


def diagnostic(source: tree.Diagnostic) -> shapes.Diagnostic:
    """One finding."""
    return shapes.Diagnostic(
        kind=source.kind,
        message=source.message,
        line=given(source.line),
        offset=given(source.offset),
        entry_id=given(source.entry_id),
    )


def lease_owner(source: Owner) -> shapes.LeaseOwner:
    """Who has a session."""
    return shapes.LeaseOwner(
        program=source.program,
        pid=source.pid,
        host=source.host,
        started=format_timestamp(int(source.started * 1000)),
        since=source.since,
        purpose=source.purpose,
        remote=flag(source.is_remote),
    )


def step(source: Step) -> upkeep.RepairStep:
    """One step of mending a file."""
    return upkeep.RepairStep(
        kind=source.kind, line=source.line, offset=source.offset, size=source.size, reason=source.reason
    )


def state(source: tree.State) -> shapes.ContextState:
    """What holds at an entry."""
    model = source.model
    return shapes.ContextState(
        model=None if model is None else shapes.ModelRef(provider=model.provider, model_id=model.model_id),
        thinking_level=source.thinking_level,
        active_tool_names=source.active_tool_names,
    )


def _summary_fields(entry: EntrySummary) -> dict[str, Any]:
    return {
        "id": entry.id,
        "parent_id": entry.parent_id,
        "index": entry.index,
        "type": entry.type,
        "role": entry.role,
        "timestamp": entry.timestamp,
        "preview": entry.preview,
        "label": given(entry.label),
        "failed": flag(entry.failed),
        "left_leaf_id": given(entry.left_leaf_id),
    }


def summary(entry: EntrySummary) -> shapes.EntrySummary:
    """An entry in brief."""
    return shapes.EntrySummary(**_summary_fields(entry))


def row(source: Row) -> shapes.Row:
    """One line of the tree."""
    return shapes.Row(
        **_summary_fields(source.entry),
        guides=source.guides,
        children=source.children,
        hidden=source.hidden or UNSET,
        collapsed=flag(source.collapsed),
        on_path=flag(source.on_path),
        leaf=flag(source.leaf),
        in_context=flag(source.in_context),
        orphaned=flag(source.orphaned),
    )


def window(source: RowWindow, filter: Filter) -> shapes.RowWindow:
    """Some lines of the tree."""
    return shapes.RowWindow(
        filter=filter,
        total=source.total,
        offset=source.offset,
        leaf_row=source.leaf_row,
        rows=[row(item) for item in source.rows],
    )


def _usage(source: tree.ModelUsage) -> shapes.Usage:
    return shapes.Usage(
        input=_plain(source.input),
        output=_plain(source.output),
        cache_read=_plain(source.cache_read),
        cache_write=_plain(source.cache_write),
        total_tokens=_plain(source.total_tokens),
        cost=source.cost,
    )


def _plain(tokens: float) -> float:
    """Counts are whole numbers unless a file says otherwise."""
    return int(tokens) if tokens == tokens // 1 else tokens


def statistics(source: tree.Statistics) -> shapes.Statistics:
    """Totals."""
    return shapes.Statistics(
        entries=source.entries,
        messages=source.messages,
        roles=source.roles,
        usage=_usage(source.total),
        models={name: _usage(usage) for name, usage in source.by_model.items()},
    )


def tokens(source: ContextTokens, sources: Sequence[str]) -> shapes.ContextTokens:
    """An estimate; `sources` are the messages' entry ids."""
    return shapes.ContextTokens(
        total=source.tokens,
        usage=source.usage_tokens,
        trailing=source.trailing_tokens,
        usage_entry_id=None if source.usage_index is None else sources[source.usage_index],
    )


def messages(context: Context, *, estimates: bool) -> list[shapes.ContextMessage]:
    """The messages of a context, their JSON as stored."""
    return [
        shapes.ContextMessage(
            message=Raw(message.raw),
            entry_id=message.node.id,
            reason=message.reason,
            tokens=message.tokens if estimates else UNSET,
        )
        for message in context.messages
    ]
