"""The methods that look after a session's file and say who writes it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from msgspec import UNSET

from piserver.protocol import upkeep as p
from piserver.protocol.errors import RequestError
from piserver.repository import SessionNotFoundError
from piserver.server import views
from piserver.server.desk import Desk, chosen, file_at
from piserver.server.dispatch import Request
from piserver.server.open_sessions import OpenSession, unbroken
from piserver.storage.repair import repair, verify


class UpkeepMethods:
    """Handlers over the files themselves."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def verify(self, params: p.VerifyParams, request: Request) -> p.VerifyResult:
        path, opened = await self._file(params)
        try:
            found = await verify(path)
        except FileNotFoundError:
            raise SessionNotFoundError(f"there is no file {path}") from None
        return p.VerifyResult(
            path=str(path),
            session_id=opened.handle if opened else found.header.id,
            version=_number(found.header.version),
            size=found.size,
            sha256=found.sha256,
            lines=found.lines,
            entries=found.entries,
            leaf_id=found.leaf_id,
            diagnostics=[views.diagnostic(problem) for problem in found.diagnostics],
            steps=[views.step(step) for step in found.steps],
            refused=found.refused,
        )

    async def repair(self, params: p.RepairParams, request: Request) -> p.RepairResult:
        path, opened = await self._file(params)
        mend = partial(repair, path)
        try:
            # An open session is read anew from what has taken its file's place.
            done = await unbroken(partial(opened.session.rewrite, mend) if opened else mend)
        except FileNotFoundError:
            raise SessionNotFoundError(f"there is no file {path}") from None
        return p.RepairResult(
            path=str(path),
            session_id=opened.handle if opened else done.header.id,
            size=done.size,
            sha256=done.sha256,
            entries=done.entries,
            steps=[views.step(step) for step in done.steps],
            diagnostics=[views.diagnostic(problem) for problem in done.diagnostics],
            backup=_text(done.backup),
            damaged=_text(done.damaged),
            torn=_text(done.torn),
        )

    async def lease(self, params: p.LeaseParams, request: Request) -> p.LeaseResult:
        opened = await self._desk.open_sessions.get(params.session_id)
        lease = opened.session.storage.lease
        assert lease is not None, "every session of a server lies in a file"
        previous = None
        if params.action == "take":
            take = partial(lease.take, self._desk.program, chosen(params.purpose), force=params.force)
            previous = await unbroken(take)
        elif params.action == "release":
            await unbroken(lease.release)
        owner = lease.look()
        return p.LeaseResult(
            session_id=opened.handle,
            owner=None if owner is None else views.lease_owner(owner),
            own=owner is not None and owner.is_here,
            previous=UNSET if previous is None else views.lease_owner(previous),
        )

    async def _file(self, params: p.VerifyParams) -> tuple[Path, OpenSession | None]:
        """The file that is meant, and the session in it if that is open."""
        if (params.path is UNSET) == (params.session_id is UNSET):
            raise RequestError("invalid-params", "give either sessionId or path", data={"field": "path"})
        sessions = self._desk.open_sessions
        if isinstance(params.session_id, str):
            opened = sessions.find(params.session_id)
            return (opened.path if opened else await sessions.locate(params.session_id)), opened
        path = file_at(str(params.path))
        return path, sessions.at(path)


def _number(version: float) -> float:
    return int(version) if version == version // 1 else version


def _text(path: Any) -> str | None:
    return None if path is None else str(path)
