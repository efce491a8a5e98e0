"""The method `session/search`: hits as they are found, progress, and a quick end when it is cancelled."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import anyio.to_thread

from piserver.entries.text import utf16_length
from piserver.protocol.errors import RequestError
from piserver.protocol.search import Branch, SearchHit, SearchParams, SearchResult
from piserver.repository import SessionNotFoundError
from piserver.repository.search import Hit, Scope, file_may_match, search_session
from piserver.server.desk import Desk, chosen
from piserver.server.dispatch import Request
from piserver.session import Session
from piserver.session.matching import InvalidQueryError, Matcher, matcher


class SearchMethods:
    """Handlers that look for things."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, params: SearchParams, request: Request) -> SearchResult:
        try:
            wanted = matcher(params.query, regex=params.regex, match_case=params.match_case)
        except InvalidQueryError as error:
            raise RequestError("invalid-params", str(error), data={"field": "query"}) from None
        request.progress.begin("Searching", percentage=0)
        scope = Scope(frozenset(params.roles), frozenset(params.types))
        result = SearchResult(hits=[], sessions_searched=0, limited=False)
        seen: set[tuple[str, str]] = set()
        async with aclosing(self._sessions(params, wanted, request)) as sessions:
            async for session, handle in sessions:
                result.sessions_searched += 1
                async for hit, looked in search_session(session, params.query, wanted, scope):
                    if hit is None:
                        request.progress.report(f"{looked} entries", 100 * looked // max(session.revision, 1))
                    elif not _is_copy(hit, seen):
                        if len(result.hits) == params.limit:
                            result.limited = True
                            return self._answer(result, request)
                        result.hits.append(_hit(hit, session, handle))
                        await self._stream(result, request)
        return self._answer(result, request)

    async def _stream(self, result: SearchResult, request: Request) -> None:
        """Send the newest hit at once, if the client wants that."""
        if request.partial_result_token is not None:
            part = SearchResult(hits=result.hits[-1:], sessions_searched=result.sessions_searched, limited=False)
            self._desk.server.push("$/progress", {"token": request.partial_result_token, "value": part})
            await self._desk.server.drained()

    @staticmethod
    def _answer(result: SearchResult, request: Request) -> SearchResult:
        if request.partial_result_token is not None:
            result.hits = []
        return result

    async def _sessions(
        self, params: SearchParams, wanted: Matcher, request: Request
    ) -> AsyncGenerator[tuple[Session, str]]:
        """The sessions to search, newest first; those that cannot hold a match are passed over unread."""
        session_id = chosen(params.session_id)
        if session_id is not None:
            opened = await self._desk.open_sessions.get(session_id)
            yield opened.session, opened.handle
            return
        paths = await self._desk.repository.paths(chosen(params.cwd))
        for number, path in enumerate(paths):
            request.progress.report(path.name, 100 * number // len(paths))
            opened = self._desk.open_sessions.at(path)
            if opened is not None:
                yield opened.session, opened.handle
            elif await anyio.to_thread.run_sync(file_may_match, path, wanted):
                session = await self._open(path)
                if session is not None:
                    try:
                        yield session, session.id
                    finally:
                        await session.aclose()

    async def _open(self, path: Path) -> Session | None:
        try:
            return await self._desk.repository.open(path)
        except (OSError, ValueError, SessionNotFoundError):
            return None  # a file that is no session, or went away: the list says so, a search passes on


def _is_copy(hit: Hit, seen: set[tuple[str, str]]) -> bool:
    """Whether this is an entry found before: a fork holds its source's entries, ids and times included."""
    if hit.node is None or hit.match != "text":
        return False
    key = (hit.node.id, hit.node.timestamp)
    known = key in seen
    seen.add(key)
    return known


def _hit(hit: Hit, session: Session, handle: str) -> SearchHit:
    node, branch = hit.node, hit.branch
    return SearchHit(
        session_id=handle,
        path=session.storage.path or "",
        session_name=session.name,
        match=hit.match,
        snippet=hit.snippet,
        ranges=[(utf16_length(hit.snippet[:start]), utf16_length(hit.snippet[:end])) for start, end in hit.ranges],
        entry_id=node.id if node else None,
        type=node.type if node else None,
        role=node.role if node else None,
        timestamp=node.timestamp if node else None,
        branch=Branch(
            leaf_id=branch.leaf_id,
            label=branch.label,
            last_activity=branch.last_activity,
            on_path=branch.on_path,
        )
        if branch
        else None,
    )
