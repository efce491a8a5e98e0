"""The sessions under one folder."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import uuid6
from msgspec import UNSET

from piserver.entries import codec
from piserver.entries.header import Header
from piserver.entries.text import format_timestamp, one_line
from piserver.entries.types import SessionInfoDraft
from piserver.repository.cache import ListCache
from piserver.repository.catalogue import Catalogue
from piserver.repository.fork import Position, clone_lines, fork_lines, fork_path
from piserver.repository.layout import file_name, folder_name, sessions_root
from piserver.repository.listing import ListFilter, Listing
from piserver.session import Durability, Session
from piserver.session.preview import message_text
from piserver.storage import JsonlStorage, StorageError
from piserver.storage.glance import SessionInfo, peek
from piserver.storage.jsonl import Progress

_BATCH = 32
"""Files that a list looks at between two of its answers."""


MAX_BYTES = 8 << 30
"""The largest session file that is opened, unless it is set: beyond it the index alone takes gigabytes of memory."""


class SessionTooLargeError(ValueError):
    """A session file that is larger than is opened. `size` and `limit` are bytes."""

    def __init__(self, path: Path, size: int, limit: int) -> None:
        super().__init__(f"{path} has {size:,} bytes; files over {limit:,} bytes are not opened")
        self.size = size
        self.limit = limit


class SessionNotFoundError(LookupError):
    """No session has this id, path or working directory."""


@dataclass(frozen=True, slots=True)
class Forked:
    """A new session made from another, and the text of the message before which it was forked."""

    session: Session
    editor_text: str | None = None


class Repository:
    """Creates, finds and removes session files under `root` (see `layout`).

    `clock` gives milliseconds since 1970. `cache` is the file in which lists keep what they have learnt (see
    `layout.list_cache`); without one it is forgotten with the object.
    """

    def __init__(
        self,
        root: str | Path | None = None,
        *,
        durability: Durability = "structure",
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        cache: Path | None = None,
    ) -> None:
        self._cache = ListCache(cache)
        self.set_root(root if root is not None else sessions_root())
        self.durability: Durability = durability
        self.max_bytes = MAX_BYTES
        self._clock = clock

    def set_root(self, root: str | Path) -> None:
        """Look for sessions, and make new ones, in another folder from now on."""
        self.root = Path(root).expanduser().absolute()
        self._listing = Listing(self.root, self._cache)
        self.catalogue = Catalogue(self._listing)

    def _session(self, storage: JsonlStorage) -> Session:
        return Session(storage, durability=self.durability, clock=self._clock)

    async def create(
        self,
        cwd: str,
        *,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        path: str | Path | None = None,
    ) -> Session:
        """A new, empty session; its header, and its name if one is given, are on disk together when this returns.

        `path` names the file instead of the usual place; an empty file there becomes the session. Raises
        FileExistsError, StorageError.
        """
        header = self._header(cwd, metadata=metadata)
        place = Path(path) if path is not None else self._place(header)
        empty = place.is_file() and place.stat().st_size == 0
        named: list[bytes] = []
        if name is not None:
            draft = SessionInfoDraft(name=one_line(name) or UNSET)
            named = [codec.compose(draft, secrets.token_hex(4), None, header.timestamp)]
        return self._session(await JsonlStorage.create(place, header, named, replace=empty))

    async def open(self, path: str | Path, progress: Progress | None = None) -> Session:
        """Open a session file; not a byte of it changes.

        Raises SessionNotFoundError, SessionTooLargeError, InvalidSessionError, StorageError.
        """
        path = Path(path)
        try:
            if (size := path.stat().st_size) > self.max_bytes:
                raise SessionTooLargeError(path, size, self.max_bytes)
            return self._session(await JsonlStorage.open(path, progress))
        except FileNotFoundError:
            raise SessionNotFoundError(f"there is no file {path}") from None

    async def find(self, session_id: str) -> Path:
        """The file whose header has this id. Raises SessionNotFoundError."""
        return await anyio.to_thread.run_sync(self._find, session_id)

    def _find(self, session_id: str) -> Path:
        files = [place.path for place in self._listing.places()]
        # The usual name ends in the id, so the file is nearly always found without reading the others.
        for path in sorted(files, key=lambda path: not path.stem.endswith(f"_{session_id}")):
            try:
                info = peek(path)
            except FileNotFoundError:
                continue
            if info.broken is None and info.id == session_id:
                return path
        raise SessionNotFoundError(f"there is no session {session_id} under {self.root}")

    async def list(
        self,
        cwd: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        filter: ListFilter | None = None,
    ) -> AsyncGenerator[SessionInfo]:
        """All sessions, or those whose header names `cwd`, newest first.

        A file that cannot be read as a session is listed as broken, with the others of its folder. `progress` is told
        how many files of how many have been looked at.
        """
        wanted = filter or ListFilter(cwd)
        places = await anyio.to_thread.run_sync(self._listing.places, wanted.cwd)
        try:
            for start in range(0, len(places), _BATCH):
                for info in await anyio.to_thread.run_sync(self._listing.whole, places[start : start + _BATCH]):
                    if wanted.shows(info):
                        yield info
                if progress:
                    progress(min(start + _BATCH, len(places)), len(places))
        finally:  # whoever has enough has made us learn something all the same
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._listing.save)

    async def list_at_once(self, filter: ListFilter) -> list[SessionInfo]:
        """What `list` will show, as far as that is known without reading whole files; None stands for what is not.

        Empty where everything is known, as `list` is as quick then.
        """

        def look() -> list[SessionInfo]:
            places = self._listing.places(filter.cwd)
            known = [info for place in places if (info := self._listing.at_once(place)) is not None]
            if all(info.message_count is not None or info.broken is not None for info in known):
                return []
            # Words are in a name or a message, of which a file that is not read yet may have any.
            return [
                info for info in known if filter.shows(info) and (info.message_count is not None or not filter.query)
            ]

        return await anyio.to_thread.run_sync(look)

    async def paths(self, cwd: str | None = None) -> list[Path]:
        """The files of the sessions, or of those whose header names `cwd`, newest first."""
        return [place.path for place in await anyio.to_thread.run_sync(self._listing.places, cwd)]

    async def latest(self, cwd: str) -> SessionInfo:
        """The session to go on with: the newest one whose header names `cwd`. Raises SessionNotFoundError."""
        for place in await anyio.to_thread.run_sync(self._listing.places, cwd):
            for info in await anyio.to_thread.run_sync(self._listing.whole, [place]):
                if info.broken is None:
                    return info
        raise SessionNotFoundError(f"there is no session for {cwd}")

    async def delete(self, path: str | Path, *, permanent: bool = False) -> None:
        """Move a session file, and what was kept beside it, to the desktop's trash; with `permanent` remove it.

        A broken session can be deleted where sessions lie; elsewhere a file must be one. Raises SessionNotFoundError,
        StorageError (nothing was removed).
        """
        path = Path(path)
        if not path.is_file():
            raise SessionNotFoundError(f"there is no file {path}")
        info = await anyio.to_thread.run_sync(peek, path)
        if info.broken is not None and not self._is_place(path):
            raise SessionNotFoundError(f"{path} is no session: {info.broken}")
        beside = sorted(path.parent.glob(f"{_escaped(path.name)}.*"))
        await anyio.to_thread.run_sync(partial(_remove, [path, *beside], permanent=permanent))

    async def fork(
        self, session: Session, entry_id: str, position: Position = "before", cwd: str | None = None
    ) -> Forked:
        """A new session with the path up to an entry; the source stays as it is.

        `before` takes a user message and returns its text. Raises InvalidForkTargetError (then there is no new file),
        StorageError.
        """
        path = fork_path(session, entry_id, position)
        lines = await fork_lines(session, path)
        text: str | None = None
        if position == "before":
            [entry] = await session.entries([entry_id])
            text = message_text(cast("dict[str, Any]", entry.value["message"]))
        header = self._header(cwd or session.header.cwd, session)
        return Forked(self._session(await JsonlStorage.create(self._place(header), header, lines)), text)

    async def clone(self, session: Session) -> Session:
        """A new session with all branches of another and the same leaf. Raises StorageError."""
        header = self._header(session.header.cwd, session)
        id = secrets.token_hex(4)
        while id in session.storage.tree:
            id = secrets.token_hex(4)
        lines = await clone_lines(session, header.timestamp, id)
        return self._session(await JsonlStorage.create(self._place(header), header, lines))

    def _header(self, cwd: str, source: Session | None = None, metadata: dict[str, Any] | None = None) -> Header:
        return Header(
            id=str(uuid6.uuid7()),
            timestamp=format_timestamp(self._clock()),
            cwd=cwd,
            parent_session=source.storage.path if source else None,
            metadata=source.header.metadata if source else metadata,
        )

    def _place(self, header: Header) -> Path:
        return self.root / folder_name(header.cwd) / file_name(header.timestamp, header.id)

    def _is_place(self, path: Path) -> bool:
        """Whether a file lies where sessions do and is called as one."""
        return path.suffix == ".jsonl" and self.root.resolve() in path.resolve().parents


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _remove(paths: list[Path], *, permanent: bool) -> None:
    """Remove the first of the files, and if that could be done the others as far as possible."""
    from send2trash import send2trash

    remove = os.unlink if permanent else send2trash
    try:
        remove(paths[0])
    except OSError as error:
        advice = "" if permanent else "; it can be deleted for good with permanent"
        raise StorageError(f"{paths[0]} cannot be deleted: {error.strerror or error}{advice}") from error
    for path in paths[1:]:
        with suppress(OSError):
            if path.suffix == ".lease":  # which says nothing without the session, and nothing later
                path.unlink()
            else:
                remove(path)
