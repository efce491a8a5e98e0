"""The methods that read a session. None of them waits for a change that is being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio.to_thread
from msgspec import UNSET, Raw

from piserver.context import (
    Context,
    TargetModel,
    convert_to_llm,
    estimate_context_tokens,
    estimate_tokens,
    project,
    replay,
)
from piserver.entries import json
from piserver.entries.entry import Entry
from piserver.protocol import sessions as p
from piserver.protocol import shapes
from piserver.protocol.encoding import encode
from piserver.protocol.errors import RequestError
from piserver.server import views
from piserver.server.desk import Desk, at, window
from piserver.server.dispatch import Request
from piserver.server.subscriptions import told
from piserver.session import StaleCursorError

T = TypeVar("T")

_LOOP_BYTES = 512 * 1024
"""Bytes of entries beyond which a context is computed in a worker thread."""
_BATCH = 16
"""Entries of an answer that are read at a time: each may be many megabytes."""


class ReadMethods:
    """Handlers that answer from the log."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def get_tree(self, params: p.GetTreeParams, request: Request) -> p.GetTreeResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        rows = await window(opened.session, params)
        return p.GetTreeResult(**views.position(opened.session, opened.handle), window=rows)

    async def get_entries(self, params: p.GetEntriesParams, request: Request) -> p.GetEntriesResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        entries: list[Raw] = []
        size = 0
        for start in range(0, len(params.ids), _BATCH):
            for entry in await opened.session.entries(params.ids[start : start + _BATCH]):
                if entries and size + len(entry.raw) > params.max_bytes:
                    size = params.max_bytes
                    break
                size += len(entry.raw)
                entries.append(Raw(entry.raw))
            if len(entries) < min(start + _BATCH, len(params.ids)):
                break
        return p.GetEntriesResult(
            **views.position(opened.session, opened.handle), entries=entries, remaining=params.ids[len(entries) :]
        )

    async def get_path(self, params: p.GetPathParams, request: Request) -> p.GetPathResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        session = opened.session
        path = session.path(at(params.entry_id))
        page = path[params.offset : params.offset + params.limit]
        place = views.position(session, opened.handle)
        entries = [views.summary(entry) for entry in await session.summaries(page)]
        return p.GetPathResult(**place, total=len(path), offset=params.offset, entries=entries)

    async def changes(self, params: p.ChangesParams, request: Request) -> p.ChangesResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        session = opened.session
        try:
            nodes = session.changes_since(params.since, params.epoch)
        except StaleCursorError as error:
            snapshot = await self._desk.snapshot(opened, request, p.RowsParams(), subscribe=False)
            raise RequestError("stale-cursor", str(error), data={"snapshot": snapshot}) from None
        page = nodes[: params.limit]
        place, newer = views.position(session, opened.handle), session.newer_leaf
        labels, name = told(session, page)
        return p.ChangesResult(
            **place,
            since=params.since,
            through=params.since + len(page),
            appended=[views.summary(entry) for entry in await session.summaries(page)],
            labels=labels,
            name=name,
            newer_leaf_id=newer.id if newer else None,
        )

    async def build_context(self, params: p.BuildContextParams, request: Request) -> p.BuildContextResult | Raw:
        opened = await self._desk.open_sessions.get(params.session_id)
        session = opened.session
        selection = session.select(at(params.entry_id))
        place = views.position(session, opened.handle)
        entries = await session.storage.read(selection.nodes)

        def build() -> p.BuildContextResult:
            context = project(selection, entries)
            result = p.BuildContextResult(
                **place,
                entry_id=selection.leaf.id if selection.leaf else None,
                form=params.form,
                state=views.state(context.state),
                messages=[],
                tokens=None,
                excluded=[],
                changes=[],
                diagnostics=[views.diagnostic(found) for found in context.diagnostics],
            )
            if params.excluded:
                left_out = [*selection.not_selected(), *context.excluded]
                result.excluded = [
                    shapes.ExcludedEntry(entry_id=item.node.id, reason=item.reason)
                    for item in sorted(left_out, key=lambda item: item.node.index)
                ]
            if params.form == "llm":
                _fill_llm(result, context, params)
            else:
                result.messages = views.messages(context, estimates=params.estimates)
                if params.estimates:
                    result.tokens = _context_tokens(context)
            return result

        return await _computed(build, entries)

    async def stats(self, params: p.StatsParams, request: Request) -> p.StatsResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        session = opened.session
        entry_id = at(params.entry_id)
        path = session.statistics(entry_id)
        place = views.position(session, opened.handle)
        file = views.statistics(session.storage.statistics)
        tokens, answer = await session.context_tokens(entry_id)
        return p.StatsResult(
            **place,
            file=file,
            path=views.statistics(path),
            context=shapes.ContextTokens(
                total=tokens.tokens,
                usage=tokens.usage_tokens,
                trailing=tokens.trailing_tokens,
                usage_entry_id=answer.id if answer else None,
            ),
            window=None,
            percent=None,
        )


async def _computed(work: Callable[[], T], entries: Sequence[Entry]) -> T | Raw:
    """The result of work on entries; large work is done, and its result made JSON, in a worker thread."""
    if sum(len(entry.raw) for entry in entries) <= _LOOP_BYTES:  # quicker than the way to a thread and back
        return work()
    return await anyio.to_thread.run_sync(lambda: Raw(encode(work())))


def _context_tokens(context: Context) -> shapes.ContextTokens:
    """The estimate of a whole context as it stands in the log."""
    sources = [message.node.id for message in context.messages]
    return views.tokens(estimate_context_tokens(context.values, context.stale_before), sources)


def _fill_llm(result: p.BuildContextResult, context: Context, params: p.BuildContextParams) -> None:
    """The messages as a provider takes them, and what was changed for that."""
    target: TargetModel | None = None
    if isinstance(params.model, p.TargetModel):
        model = params.model
        target = TargetModel(model.provider, model.api, model.model_id, model.images)
    replayed, changes = replay([convert_to_llm(message.value) for message in context.messages], target)
    sources = [context.messages[item.index] for item in replayed]
    result.messages = [
        shapes.ContextMessage(
            message=Raw(json.dumps(item.message)),
            entry_id=source.node.id,
            reason=source.reason,
            tokens=estimate_tokens(item.message) if params.estimates else UNSET,
        )
        for item, source in zip(replayed, sources, strict=True)
    ]
    result.changes = [
        shapes.ContextChange(
            kind=change.kind, entry_id=context.messages[change.index].node.id, detail=views.given(change.detail)
        )
        for change in changes
    ]
    if params.estimates:
        fresh = [item.index for item in replayed]
        stale_before = sum(index < context.stale_before for index in fresh)
        estimate = estimate_context_tokens([item.message for item in replayed], stale_before)
        result.tokens = views.tokens(estimate, [source.node.id for source in sources])
