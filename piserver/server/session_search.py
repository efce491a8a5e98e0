"""The method `session/search`: hits as they are found, progress, and a quick end when it is cancelled."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from piserver.entries.text import utf16_length
from piserver.protocol.errors import RequestError
from piserver.protocol.search import Branch, SearchHit, SearchParams, SearchResult, TextRange
from piserver.repository import SessionNotFoundError
from piserver.repository.search import Hit, Scope, file_may_match, search_session
from piserver.server.desk import Desk, chosen
from piserver.server.dispatch import Request
from piserver.session import Session
from piserver.session.matching import InvalidQueryError, Matcher, matcher
from piserver.storage import StorageError


@dataclass(frozen=True, slots=True)
class _Place:
    """A session to be searched, under the id by which the client knows it; it is number `number` of `count`."""

    session: Session
    handle: str
    number: int
    count: int


class SearchMethods:
    """Handlers that look for things."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def search(self, params: SearchParams, request: Request) -> SearchResult:
        if isinstance(params.session_id, str) and isinstance(params.cwd, str):
            raise RequestError("invalid-params", "give either sessionId or cwd", data={"field": "cwd"})
        try:
            wanted = matcher(params.query, regex=params.regex, match_case=params.match_case)
        except InvalidQueryError as error:
            raise RequestError("invalid-params", str(error), data={"field": "query"}) from None
        request.progress.begin("Searching", percentage=0)
        search = _Search(self._desk, params, request, wanted)
        async with aclosing(search.places()) as places:
            async for place in places:
                try:
                    await search.look_in(place)
                except StorageError:
                    if isinstance(params.session_id, str):
                        raise
                    # It was closed, deleted or replaced meanwhile: what it held is of no use any more.
                if search.result.limited:
                    break
        if request.partial_result_token is not None:
            search.result.hits = []
        return search.result


class _Search:
    """One search on its way."""

    def __init__(self, desk: Desk, params: SearchParams, request: Request, wanted: Matcher) -> None:
        self._desk = desk
        self._params = params
        self._request = request
        self._wanted = wanted
        self._scope = Scope(frozenset(params.roles), frozenset(params.types))
        self._seen: set[tuple[str, str]] = set()
        self._percentage = 0
        self.result = SearchResult(hits=[], sessions_searched=0, limited=False)

    async def look_in(self, place: _Place) -> None:
        """Search one session, up to the limit."""
        session, result = place.session, self.result
        async with aclosing(search_session(session, self._params.query, self._wanted, self._scope)) as hits:
            async for hit, looked in hits:
                if hit is None:
                    self._report((place.number + looked / max(session.revision, 1)) / place.count)
                elif not _is_copy(hit, self._seen):
                    if len(result.hits) == self._params.limit:
                        result.limited = True
                        return
                    result.hits.append(_hit(hit, session, place.handle))
                    await self._stream()

    async def _stream(self) -> None:
        """Send the newest hit at once, if the client wants that."""
        token, result = self._request.partial_result_token, self.result
        if token is not None:
            part = SearchResult(hits=result.hits[-1:], sessions_searched=result.sessions_searched, limited=False)
            self._desk.server.push("$/progress", {"token": token, "value": part})
            await self._desk.server.drained()

    def _report(self, done: float) -> None:
        percentage = min(int(100 * done), 100)
        if percentage > self._percentage:
            self._percentage = percentage
            self._request.progress.report(percentage=percentage)

    async def places(self) -> AsyncGenerator[_Place]:
        """The sessions to search, newest first; those that cannot hold a match are passed over unread."""
        if isinstance(self._params.session_id, str):
            opened = await self._desk.open_sessions.get(self._params.session_id)
            self.result.sessions_searched = 1
            yield _Place(opened.session, opened.handle, 0, 1)
            return
        paths = await self._desk.repository.paths(chosen(self._params.cwd))
        for number, path in enumerate(paths):
            self._report(number / len(paths))
            opened = self._desk.open_sessions.at(path)
            if opened is not None:
                self.result.sessions_searched += 1
                yield _Place(opened.session, opened.handle, number, len(paths))
            elif not await anyio.to_thread.run_sync(file_may_match, path, self._wanted, abandon_on_cancel=True):
                self.result.sessions_searched += 1
            elif (session := await self._open(path)) is not None:
                self.result.sessions_searched += 1
                try:
                    yield _Place(session, session.id, number, len(paths))
                finally:
                    with anyio.CancelScope(shield=True):
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
        ranges=[
            TextRange(start=utf16_length(hit.snippet[:start]), end=utf16_length(hit.snippet[:end]))
            for start, end in hit.ranges
        ],
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
