"""The list of sessions: what lies in the folders, newest first, with what is known of each file.

Facts come from the cache where a file has not changed since they were read; the rest is read in small batches, so that
a list can be shown at once and filled in.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from piserver.entries.text import parse_timestamp
from piserver.repository.cache import ListCache
from piserver.repository.layout import folder_name, same_directory
from piserver.storage.glance import SessionInfo, glance, peek


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Which sessions a list shows.

    Those of a working directory (by their header), with all words of `query` in their name, first message or directory,
    and last changed between `since` and `until` (ms since 1970).
    """

    cwd: str | None = None
    query: str = ""
    since: int | None = None
    until: int | None = None

    def shows(self, info: SessionInfo) -> bool:
        """Whether a session with these facts is shown."""
        modified = parse_timestamp(info.modified) or 0
        if (self.since is not None and modified < self.since) or (self.until is not None and modified > self.until):
            return False
        text = " ".join((info.name or "", info.first_message or "", info.cwd)).casefold()
        return all(word in text for word in self.query.casefold().split())


class Place(NamedTuple):
    """A file of the list and its status."""

    path: Path
    status: os.stat_result


class Listing:
    """The session files under `root`. All methods do file work: call them in a worker thread."""

    def __init__(self, root: Path, cache: ListCache) -> None:
        self.root = root
        self._cache = cache

    def places(self, cwd: str | None = None) -> list[Place]:
        """The files, newest first; with `cwd` those whose header names it (a broken one belongs where it lies)."""
        found = [place for place in self._files() if cwd is None or self._belongs(place, cwd)]
        return sorted(found, key=lambda place: (-place.status.st_mtime_ns, place.path))

    def at_once(self, place: Place) -> SessionInfo | None:
        """What is known of a file without reading more than its header; None if it went away."""
        known = self._cache.get(str(place.path), place.status)
        try:
            return known or peek(place.path)
        except FileNotFoundError:
            return None

    def whole(self, places: list[Place]) -> list[SessionInfo]:
        """All facts of some files; those that went away are left out."""
        found: list[SessionInfo] = []
        for place in places:
            info = self._cache.get(str(place.path), place.status)
            if info is None:
                try:
                    info = glance(place.path)
                except FileNotFoundError:
                    continue
                self._cache.put(str(place.path), place.status, info)
            found.append(info)
        return found

    def save(self) -> None:
        """Keep what was learnt for the next time."""
        self._cache.save(self.root, {str(place.path) for place in self._files()})

    def last_known(self, place: Place) -> SessionInfo | None:
        """The facts of a file when it was last read, whatever has become of it since."""
        return self._cache.last(str(place.path))

    def folders(self) -> list[Path]:
        """The folders in which sessions may lie: the root and those in it."""
        try:
            return [self.root, *(Path(entry.path) for entry in os.scandir(self.root) if entry.is_dir())]
        except OSError:
            return [self.root]

    def files(self, folder: Path) -> Iterator[Place]:
        """The session files of one folder."""
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            try:
                if entry.name.endswith(".jsonl"):
                    yield Place(Path(entry.path), os.stat(entry.path))
            except OSError:  # deleted meanwhile
                continue

    def _files(self) -> Iterator[Place]:
        for folder in self.folders():
            yield from self.files(folder)

    def _belongs(self, place: Place, cwd: str) -> bool:
        info = self.at_once(place)
        if info is None:
            return False
        if info.broken is not None:
            return place.path.parent.name == folder_name(cwd)
        return same_directory(info.cwd, cwd)
