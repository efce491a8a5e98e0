"""What the handlers of `session/*` share: the open sessions, who watches them, and the answers that several give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from piserver.entries.text import format_timestamp
from piserver.protocol import sessions as p
from piserver.protocol import shapes
from piserver.protocol.errors import RequestError
from piserver.repository import Repository
from piserver.server import views
from piserver.server.dispatch import Request
from piserver.server.follow import Follow
from piserver.server.open_sessions import OpenSession, OpenSessions
from piserver.server.subscriptions import Subscriptions
from piserver.server.wire import Server
from piserver.session import Session
from piserver.session.session import CURRENT
from piserver.storage.glance import SessionInfo, message_line
from piserver.tree import Diagnostic

T = TypeVar("T")

_MOST_DIAGNOSTICS = 100


class Desk:
    """One repository, served to one client."""

    def __init__(self, server: Server, repository: Repository) -> None:
        self.server = server
        self.repository = repository
        self.program = "piserver"  # as it is told to other servers
        self.subscriptions = Subscriptions(server)
        self.follow = Follow(self)
        self.open_sessions = OpenSessions(repository, server.spawn, self._opened)

    def _opened(self, opened: OpenSession) -> None:
        self.subscriptions.attach(opened)
        self.follow.attach(opened)

    async def info(self, opened: OpenSession) -> shapes.SessionInfo:
        """An open session as a list shows it. Raises OSError if its file cannot be looked at."""
        return views.info(await session_info(opened.session), opened.handle)

    def tell_list(self, reason: p.ListReason, info: shapes.SessionInfo) -> None:
        """Tell the client of a session that came or got another name."""
        self.server.push(
            "session/listChanged", p.ListChanged(reason=reason, session_id=info.id, path=info.path, info=info)
        )

    def tell_deleted(self, id: str, path: Path) -> None:
        """Tell the client of a session that is gone."""
        self.server.push("session/listChanged", p.ListChanged(reason="deleted", session_id=id, path=str(path)))

    async def snapshot(
        self, opened: OpenSession, request: Request, rows: p.RowsParams, *, subscribe: bool = True
    ) -> p.Snapshot:
        """A session as it is now; with `subscribe`, what comes after it is sent once this has been answered."""
        session = opened.session
        while True:
            revision = session.revision
            page = await window(session, rows)
            info = await session_info(session)
            if revision == session.revision:
                break
        if subscribe:  # the answer is sent before anything else can happen
            request.after_answer(lambda: self.subscriptions.watch(opened))
        diagnostics = [*_surroundings(session), *session.diagnostics]
        newer = session.newer_leaf
        return p.Snapshot(
            **views.position(session, opened.handle),
            info=views.info(info, opened.handle),
            newer_leaf_id=newer.id if newer else None,
            read_only=session.storage.read_only,
            lease=foreign_lease(session),
            state=views.state(session.select().state),
            statistics=views.statistics(session.storage.statistics),
            diagnostics=[views.diagnostic(found) for found in diagnostics[:_MOST_DIAGNOSTICS]],
            diagnostics_total=len(diagnostics),
            rows=page,
        )


def foreign_lease(session: Session) -> shapes.LeaseOwner | UnsetType:
    """Which other server has a session for its own changes."""
    lease = session.storage.lease
    owner = lease.look() if lease else None
    return UNSET if owner is None or owner.is_here else views.lease_owner(owner)


def _surroundings(session: Session) -> list[Diagnostic]:
    """What is wrong around a session rather than in its file."""
    cwd = session.header.cwd
    if not cwd or os.path.isdir(cwd):
        return []
    return [Diagnostic("missing-cwd", f"the session's working directory {cwd} is not there")]


async def window(session: Session, params: p.RowsParams) -> shapes.RowWindow:
    """A window of the tree."""
    rows = await session.rows(
        filter=params.filter,
        query=params.query,
        collapsed=frozenset(params.collapsed),
        offset=params.offset,
        limit=params.limit,
        around=chosen(params.around),
    )
    return views.window(rows, params.filter)


async def session_info(session: Session) -> SessionInfo:
    """What a list shows of a session, from what is known of it anyhow."""
    storage = session.storage
    assert storage.path is not None
    first = next((node for node in storage.tree.nodes if node.role == "user"), None)
    [line] = await storage.lines([first]) if first else [None]
    status = Path(storage.path).stat()
    return SessionInfo(
        id=session.id,
        path=storage.path,
        cwd=session.header.cwd,
        created=session.header.timestamp,
        modified=format_timestamp(status.st_mtime_ns // 1_000_000),
        size=status.st_size,
        name=session.name,
        first_message=message_line(line) or None if line else None,
        message_count=storage.statistics.messages,
        parent_session=session.header.parent_session,
    )


def named(text: str, field: str = "path") -> str:
    """A parameter that becomes the name of a file. Raises RequestError (invalid-params) if no file can have it."""
    try:
        possible = "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise RequestError("invalid-params", f"`{field}` is nothing that a file can be called.", data={"field": field})
    return text


def file_at(path: str) -> Path:
    """The file that a parameter `path` names; `~` is the person's home. Raises RequestError (invalid-params)."""
    return Path(os.path.expanduser(named(path))).resolve()


def at(entry_id: Any) -> Any:
    """The entry that a parameter names, by default the leaf."""
    return CURRENT if entry_id is UNSET else entry_id


def chosen(value: T | UnsetType) -> T | None:
    """A parameter's value; None where it is absent."""
    return None if value is UNSET else value
