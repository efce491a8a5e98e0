"""The methods `session/*`, put together: parameters in, session called, result out.

What they mean stands in the protocol. A failure that a client should know of becomes an error of the protocol here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from piserver.protocol.registry import METHODS
from piserver.repository import Repository
from piserver.server.desk import Desk
from piserver.server.dispatch import Request
from piserver.server.failures import as_request_error
from piserver.server.session_changes import ChangeMethods
from piserver.server.session_export import ExportMethods
from piserver.server.session_files import FileMethods
from piserver.server.session_reads import ReadMethods
from piserver.server.session_search import SearchMethods
from piserver.server.session_transcript import TranscriptMethods
from piserver.server.session_upkeep import UpkeepMethods
from piserver.server.wire import Server
from piserver.session import Durability

P = TypeVar("P")
R = TypeVar("R")


class SessionMethods:
    """Handlers over one repository for one client."""

    def __init__(self, server: Server, repository: Repository) -> None:
        self._server = server
        self._desk = Desk(server, repository)

    def register(self) -> None:
        """Make every method known to the server."""
        files, changes, reads = FileMethods(self._desk), ChangeMethods(self._desk), ReadMethods(self._desk)
        upkeep = UpkeepMethods(self._desk)
        handlers: dict[str, Callable[[Any, Request], Awaitable[Any]]] = {
            "session/create": files.create,
            "session/open": files.open,
            "session/close": files.close,
            "session/list": files.list_sessions,
            "session/latest": files.latest,
            "session/delete": files.delete,
            "session/fork": files.fork,
            "session/clone": files.clone,
            "session/rename": changes.rename,
            "session/append": changes.append,
            "session/moveTo": changes.move_to,
            "session/navigate": changes.navigate,
            "session/setLabel": changes.set_label,
            "session/editContext": changes.edit_context,
            "session/getTree": reads.get_tree,
            "session/getEntries": reads.get_entries,
            "session/getPath": reads.get_path,
            "session/getTranscript": TranscriptMethods(self._desk).get_transcript,
            "session/changes": reads.changes,
            "session/buildContext": reads.build_context,
            "session/search": SearchMethods(self._desk).search,
            "session/export": ExportMethods(self._desk).export,
            "session/stats": reads.stats,
            "session/verify": upkeep.verify,
            "session/repair": upkeep.repair,
            "session/lease": upkeep.lease,
        }
        for name, spec in METHODS.items():
            self._server.method(name, spec.params)(_guarded(handlers[name]))

    def set_program(self, program: str) -> None:
        """Call this server so where other servers are told of it."""
        self._desk.program = program

    def follow(self) -> None:
        """Tell of what other programs change, from now until the server ends."""
        self._server.spawn(self._desk.follow.run)

    def set_durability(self, durability: Durability) -> None:
        """Apply a changed setting to the sessions that are open."""
        for opened in self._desk.open_sessions.all():
            opened.session.durability = durability

    async def close(self) -> None:
        """Let go of all sessions."""
        await self._desk.open_sessions.close_all()


def _guarded(handler: Callable[[P, Request], Awaitable[R]]) -> Callable[[P, Request], Awaitable[R]]:
    """The handler with every expected failure turned into an error of the protocol."""

    async def guarded(params: P, request: Request) -> R:
        try:
            return await handler(params, request)
        except Exception as error:
            known = as_request_error(error)
            if known is error:
                raise
            raise known from error

    return guarded
