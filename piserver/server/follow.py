"""What to do about the changes that other programs make: sessions that are open grow, and the list changes.

A change is looked up, not believed: what is told is the difference between the files and what was known of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Set
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from piserver.protocol import sessions as p
from piserver.server import views
from piserver.server.open_sessions import OpenSession
from piserver.session import Change
from piserver.storage import StorageError
from piserver.storage.follow import changes

if TYPE_CHECKING:
    from piserver.repository.catalogue import News
    from piserver.server.desk import Desk

log = logging.getLogger(__name__)

_WARNING = 2

_State = tuple[int, ...]
"""What differs when a file was changed or exchanged; empty for one that is not there."""


class Follow:
    """Follows the open sessions of a desk, and the folders of its repository."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._states: dict[str, _State] = {}  # of the files of open sessions, when they were last looked at

    def attach(self, opened: OpenSession) -> None:
        """Tell of the name that another program gives to a session."""
        name = opened.session.name

        def changed(change: Change) -> None:
            nonlocal name
            before, name = name, opened.session.name
            if change.origin.kind == "external" and name != before:
                self._desk.server.spawn(self._tell_open, "renamed", opened, finish=True)

        opened.session.listen(changed)

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._look(None)
        async with aclosing(changes(self._folders, _warn_of_polling)) as found:
            async for paths in found:
                await self._look(paths)

    def _folders(self) -> Set[Path]:
        return self._desk.repository.catalogue.folders | {
            opened.path.parent for opened in self._desk.open_sessions.all()
        }

    async def _look(self, paths: Set[Path] | None) -> None:
        """Look at the open sessions and, where something may have changed, at the list."""
        open = self._desk.open_sessions.all()
        self._states = {opened.handle: self._states[opened.handle] for opened in open if opened.handle in self._states}
        for opened in open:
            self._look_at(opened)
            if opened.session.storage.lease is not None:
                opened.session.storage.lease.look()  # tells of a change by itself
        catalogue = self._desk.repository.catalogue
        if paths is None or paths or catalogue.is_due:
            files = {opened.path for opened in open}
            found = await anyio.to_thread.run_sync(catalogue.look, paths, files, abandon_on_cancel=True)
            for news in catalogue.take_in(found):
                self._tell(news)

    def _look_at(self, opened: OpenSession) -> None:
        state, before = _state(opened.path), self._states.get(opened.handle)
        if state == before or (not state and self._desk.repository.catalogue.is_changing):
            return
        self._states[opened.handle] = state
        listed = self._desk.repository.catalogue.covers(opened.path)  # then its coming and going is told with the list
        if not state:
            text = f"{opened.path} was deleted or moved. Nothing can be added to this session until the file is back."
            self._desk.server.push("window/showMessage", {"type": _WARNING, "message": text})
            if not listed:
                self._desk.tell_deleted(opened.handle, opened.path)
            return
        if before == ():
            log.info("%s is back", opened.path)
        self._desk.server.spawn(self._refresh, opened)
        if before == () and not listed:
            self._desk.server.spawn(self._tell_open, "created", opened)

    async def _refresh(self, opened: OpenSession) -> None:
        try:
            await opened.session.refresh()
        except StorageError as error:
            if self._desk.open_sessions.find(opened.handle) is opened and _state(opened.path):
                log.warning("%s", error)

    async def _tell_open(self, reason: p.ListReason, opened: OpenSession) -> None:
        """Tell of an open session, unless it is gone again."""
        try:
            info = await self._desk.info(opened)
        except OSError:
            return
        self._desk.tell_list(reason, info)

    def _tell(self, news: News) -> None:
        opened = self._desk.open_sessions.at(news.path)
        if news.info is None or news.reason is None:
            id = opened.handle if opened else news.before.id if news.before else ""
            self._desk.tell_deleted(id, news.path)
        else:
            self._desk.tell_list(news.reason, views.info(news.info, opened.handle if opened else None))


def _state(path: Path) -> _State:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _warn_of_polling(reason: str) -> None:
    log.warning("Changes by other programs are looked for once a second; the system does not tell of them: %s", reason)
