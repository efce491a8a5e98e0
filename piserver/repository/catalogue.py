"""What lies in the sessions folder, remembered from look to look, so that a look can tell what others have changed.

A look is work with files, for a worker thread; what it found is taken in on the loop, where our own changes are made
known too. So each change is told once, whoever comes first.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from piserver.repository.listing import Listing, Place
from piserver.storage.glance import SessionInfo, names_since

_SETTLE = 1.0
"""Seconds for which a file that is no session must have stood unchanged: before, it may be half written."""
_USUAL = re.compile(r".*_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl")


class Seen(NamedTuple):
    """A file as it was seen: its session's id, which file it is (device, inode), and how far its lines are known."""

    id: str
    identity: tuple[int, int]
    read: int


class News(NamedTuple):
    """A file that is not as it was `before`; without a `reason` there is nothing to tell. `info` is None if it is gone.

    `path` is as the list shows it.
    """

    key: Path
    path: Path
    before: Seen | None
    now: Seen | None
    reason: Literal["created", "deleted", "renamed"] | None
    info: SessionInfo | None = None


class Catalogue:
    """The files of a listing. The first look only remembers them. `clock` gives seconds since 1970."""

    def __init__(self, listing: Listing, clock: Callable[[], float] = time.time) -> None:
        self._listing = listing
        self._clock = clock
        self._seen: dict[Path, Seen] = {}  # by the file's name in its real folder
        self._folders = {_real(listing.root): listing.root}  # real ones, and as the list shows them
        self._again: set[Path] = set()  # to be looked at once more
        self._begun = False
        self._own_changes = 0

    @property
    def folders(self) -> Set[Path]:
        """The folders in which sessions lie, as far as they are known."""
        return self._folders.keys()

    @property
    def is_due(self) -> bool:
        """Whether a look is due even if nothing has changed."""
        return bool(self._again)

    def covers(self, path: Path) -> bool:
        """Whether a file is called as a session of the list is, and lies where one does."""
        key, root = _key(path), _real(self._listing.root)
        return key.suffix == ".jsonl" and root in (key.parent, key.parent.parent)

    # Our own changes

    @contextmanager
    def own_change(self) -> Generator[None]:
        """While a file of our own comes or goes nothing is told; `made` or `forget` ends it."""
        self._own_changes += 1
        try:
            yield
        finally:
            self._own_changes -= 1

    @property
    def is_changing(self) -> bool:
        """Whether a file of our own is about to come or go."""
        return self._own_changes > 0

    def made(self, path: Path, id: str) -> None:
        """Remember a file that we have made or named ourselves."""
        if self.covers(path):
            try:
                self._seen[_key(path)] = _seen(id, path.stat())
            except OSError:  # deleted meanwhile
                self._seen.pop(_key(path), None)

    def forget(self, path: Path) -> None:
        """Forget a file that we have deleted ourselves."""
        self._seen.pop(_key(path), None)
        self._again.add(_key(path))  # a look that is under way may have seen it still

    # Others'

    def look(self, paths: Set[Path] | None, open: Set[Path]) -> list[News]:
        """What is not as it was at these paths, or anywhere. Of `open` files it is known otherwise what they say."""
        again, self._again = self._again, set()
        if paths is None or not self._begun or any(self._is_folder(path) for path in paths):
            present = self._everything()
            gone = [(key, seen) for key, seen in list(self._seen.items()) if key not in present]
        else:
            looked = {key: self._place(key) for key in {*paths, *again} if key.suffix == ".jsonl"}
            present = {key: place for key, place in looked.items() if place is not None}
            gone = [(key, seen) for key in looked if key not in present and (seen := self._seen.get(key))]
        found = [News(key, self._shown(key), seen, None, "deleted") for key, seen in gone]
        if not self._begun:
            begin = ((key, place, self._id(place)) for key, place in present.items() if key not in self._seen)
            return [News(key, place.path, None, _seen(id, place.status), None) for key, place, id in begin]
        for key, place in present.items():
            before = self._seen.get(key)
            found += self._compare(key, place, before, key in open) if before else self._new(key, place)
        return found

    def take_in(self, found: list[News]) -> list[News]:
        """Remember what a look has found; answers what others are to be told of it."""
        self._begun = True
        told: list[News] = []
        for news in found:
            overtaken = self._seen.get(news.key) is not news.before
            if overtaken or (news.reason and (self.is_changing or (news.now is None) == news.path.exists())):
                self._again.add(news.key)  # changed by ourselves since that look, or just being changed
                continue
            if news.now is None:
                del self._seen[news.key]
            else:
                self._seen[news.key] = news.now
            if news.reason:
                told.append(news)
        return told

    def _everything(self) -> dict[Path, Place]:
        folders = {_real(folder): folder for folder in self._listing.folders()}
        self._folders = folders
        return {
            real / place.path.name: place for real, folder in folders.items() for place in self._listing.files(folder)
        }

    def _is_folder(self, path: Path) -> bool:
        """Whether a path is a folder of sessions that is new or gone, or is the root itself."""
        root = _real(self._listing.root)
        return path == root or (path.parent == root and path.suffix != ".jsonl" and not path.is_file())

    def _shown(self, key: Path) -> Path:
        return self._folders.get(key.parent, key.parent) / key.name

    def _place(self, key: Path) -> Place | None:
        if key.parent not in self._folders:
            return None
        try:
            return Place(self._shown(key), os.stat(key))
        except OSError:
            return None

    def _id(self, place: Place) -> str:
        """The id of a file's session. A usual name ends in it; others have to be read."""
        if usual := _USUAL.fullmatch(place.path.name):
            return usual[1]
        info = self._listing.at_once(place)
        return info.id if info else place.path.stem

    def _new(self, key: Path, place: Place) -> list[News]:
        info = self._whole(key, place)
        return [] if info is None else [News(key, place.path, None, _seen(info.id, place.status), "created", info)]

    def _compare(self, key: Path, place: Place, before: Seen, is_open: bool) -> list[News]:
        now = _seen(before.id, place.status)
        if now == before:
            return []
        if is_open:
            return [News(key, place.path, before, now, None)]
        if now.identity == before.identity and now.read > before.read:
            try:
                named, read = names_since(place.path, before.read)
            except OSError:
                return []
            info = self._whole(key, place) if named else None
            reason = "renamed" if info else None
            return [News(key, place.path, before, now._replace(read=read), reason, info)]
        known = self._listing.last_known(place)
        info = self._whole(key, place)
        if info is None:
            return []
        now = now._replace(id=info.id)
        if info.id != before.id:  # told as a session that went and one that came
            return [
                News(key, place.path, before, now, "deleted"),
                News(key, place.path, now, now, "created", info),
            ]
        reason = None if known is not None and known.name == info.name else "renamed"
        return [News(key, place.path, before, now, reason, info)]

    def _whole(self, key: Path, place: Place) -> SessionInfo | None:
        """What a list shows of a file; None if it went away, or may be half written: then it is looked at again."""
        found = self._listing.whole([place])
        if not found:
            return None
        if found[0].broken is not None and abs(self._clock() - place.status.st_mtime) < _SETTLE:
            self._again.add(key)
            return None
        return found[0]


def _seen(id: str, status: os.stat_result) -> Seen:
    return Seen(id, (status.st_dev, status.st_ino), status.st_size)


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _key(path: Path) -> Path:
    return _real(path.parent) / path.name
