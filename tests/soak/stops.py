"""What must hold after a stop at any step to the disk: the old bytes, what was acknowledged, and the way on.

Each scenario is done once for every step it takes, with a disk that stops there; then the folder is looked at as the
next start of the program would find it, and the scenario is done again on what was left.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from piserver.entries.types import LabelDraft, MessageDraft
from piserver.repository import Repository
from piserver.session import BranchSummary, Session
from piserver.storage import StorageError
from tests.soak.faults import Disk, How, Stopped
from tests.storage.log import answer, header, jump, label, log, name, user
from tests.vectors.answers import CASES

HOWS: tuple[How, ...] = ("before", "halfway", "error")
TORN = user("u9", "a4")[:60]
TREE = log(
    header(), user("u1", None), answer("a2", "u1"), label("l3", "a2", "u1", "here"), answer("a4", "l3"),
    jump("j5", "a4", "a2"), user("u6", "a2"), name("n7", "u6", "a name"),
)  # fmt: skip


class Acknowledged:
    """What the program said was done: ids of entries in the source, paths of new sessions. Each is told at once."""

    def __init__(self, tell: Callable[[str], object] = lambda line: None) -> None:
        self.entries: list[str] = []
        self.files: list[Path] = []
        self._tell = tell

    def entry(self, *ids: str) -> None:
        for id in ids:
            self.entries.append(id)
            self._tell(f"entry {id}")

    def file(self, path: str | None) -> None:
        assert path is not None
        self.files.append(Path(path))
        self._tell(f"file {path}")

    def read(self, line: str) -> None:
        """Take over what another process has told."""
        kind, _, what = line.partition(" ")
        if kind == "entry":
            self.entries.append(what)
        else:
            self.files.append(Path(what))


@dataclass(frozen=True)
class Place:
    """A sessions folder with the scenario's source in it."""

    root: Path

    @property
    def repository(self) -> Repository:
        return Repository(self.root, durability="always")

    @property
    def source(self) -> Path:
        return self.root / "--w-app--" / "source.jsonl"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Session]:
        session = await self.repository.open(self.source)
        try:
            yield session
        finally:
            await session.aclose()


Work = Callable[[Place, Acknowledged], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """`data` is the source's content; `work` does everything again when an error (not a stop) comes in between."""

    name: str
    data: bytes
    work: Work

    def lay_out(self, root: Path) -> Place:
        place = Place(root)
        place.source.parent.mkdir(parents=True)
        place.source.write_bytes(self.data)
        _grow_old(place.source)
        return place


def _grow_old(path: Path) -> None:
    """Nobody seems to be writing to the file any more."""
    os.utime(path, (1_700_000_000, 1_700_000_000))


def message(text: str) -> MessageDraft:
    return MessageDraft(message={"role": "user", "content": text, "timestamp": 1})


async def _despite(change: Callable[[], Awaitable[Any]]) -> Any:
    """The result of a change, which is tried once more after an error, without a restart in between."""
    try:
        return await change()
    except StorageError:
        return await change()


async def append(place: Place, done: Acknowledged) -> None:
    async with place.open() as session:
        for number in range(3):
            appended = await _despite(partial(session.append, message(f"text {number}")))
            done.entry(*(node.id for node in appended.nodes))


async def batch(place: Place, done: Acknowledged) -> None:
    async with place.open() as session:
        target = session.storage.tree.nodes[0].id
        drafts = [message("one"), LabelDraft(target_id=target, label="x"), message("two " * 100)]
        appended = await _despite(lambda: session.append(*drafts))
        done.entry(*(node.id for node in appended.nodes))


async def move(place: Place, done: Acknowledged) -> None:
    async with place.open() as session:
        target = session.storage.tree.nodes[0].id
        moved = await _despite(lambda: session.navigate(target, summary=BranchSummary("left"), label="here"))
        done.entry(*(node.id for node in (moved.leaf_entry, moved.summary_entry, moved.label_entry) if node))


async def create(place: Place, done: Acknowledged) -> None:
    session = await _despite(lambda: place.repository.create("/w/new", name="a name"))
    done.file(session.storage.path)
    await session.aclose()


async def create_in_empty(place: Place, done: Acknowledged) -> None:
    path = place.source.with_name("empty.jsonl")
    if not path.exists():
        path.touch()
    if path.stat().st_size == 0:
        session = await _despite(lambda: place.repository.create("/w/app", path=path))
        done.file(session.storage.path)
        await session.aclose()


async def fork(place: Place, done: Acknowledged) -> None:
    async with place.open() as session:
        forked = await _despite(lambda: place.repository.fork(session, "u6", "at"))
        done.file(forked.session.storage.path)
        await forked.session.aclose()


async def clone(place: Place, done: Acknowledged) -> None:
    async with place.open() as session:
        await session.move_to("a4")
        cloned = await _despite(lambda: place.repository.clone(session))
        done.file(cloned.storage.path)
        await cloned.aclose()


def scenarios() -> list[Scenario]:
    """Everything that writes, on every kind of file where that makes a difference."""
    old = {name: (CASES / f"{name}.jsonl").read_bytes() for name in ("v1-plain", "v1-compaction-index")}
    old["v2"] = (CASES / "v2-hook-message.jsonl").read_bytes()
    return [
        Scenario("append", TREE, append),
        Scenario("append behind a missing line end", TREE[:-1], append),
        Scenario("append behind a torn tail", TREE + TORN, append),
        Scenario("batch", TREE, batch),
        Scenario("batch behind a torn tail", TREE + TORN, batch),
        Scenario("move", TREE, move),
        *(Scenario(f"append to {name}", data, append) for name, data in old.items()),
        Scenario("append to v1 with a torn tail", old["v1-plain"] + TORN, append),
        Scenario("create", TREE, create),
        Scenario("create in an empty file", TREE, create_in_empty),
        Scenario("fork", TREE, fork),
        Scenario("clone", TREE, clone),
    ]


def stops(scenario: Scenario, folder: Path) -> Iterator[str]:
    """Do the scenario with a stop at each step in each way; yields the name of each step. Raises AssertionError."""
    for how in HOWS:
        for number in count():
            place = scenario.lay_out(folder / f"{how}{number}")
            disk, done = Disk(number, how), Acknowledged()
            with pytest.MonkeyPatch.context() as patch:
                disk.install(patch)
                try:
                    anyio.run(scenario.work, place, done)
                except (Stopped, StorageError, OSError) as error:
                    _expected(error, how)
            if not disk.reached:
                break
            step = f"{scenario.name}: {how} step {number} ({disk.steps[number]})"
            try:
                check(scenario, place, done)
            except Exception as error:
                error.add_note(step)
                raise
            yield step


def _expected(error: BaseException, how: How) -> None:
    if (how == "error") == isinstance(error, Stopped):
        raise error


def check(scenario: Scenario, place: Place, done: Acknowledged) -> None:
    """What the next start finds, and that it can go on from there. Raises AssertionError."""
    _check_old_bytes(scenario, place)
    for path in place.root.rglob("*.jsonl"):
        _grow_old(path)
    anyio.run(_check_next_start, scenario, place, done)
    again = Acknowledged()
    anyio.run(scenario.work, place, again)
    done.entries += again.entries
    done.files += again.files
    anyio.run(_check_next_start, scenario, place, done)
    _check_old_bytes(scenario, place)


def _check_old_bytes(scenario: Scenario, place: Place) -> None:
    """The file still begins with what it had, or what it had is kept beside it."""
    now = place.source.read_bytes()
    if now.startswith(scenario.data):
        return
    backup = place.source.with_name("source.jsonl.bak")
    if backup.exists():
        assert backup.read_bytes() == scenario.data
        return
    aside = place.source.with_name("source.jsonl.torn")
    settled = scenario.data.removesuffix(TORN)
    assert settled != scenario.data, "old bytes are gone"
    assert now.startswith(settled)
    assert TORN + b"\n" in aside.read_bytes()  # perhaps behind the beginning of an earlier attempt


async def _check_next_start(scenario: Scenario, place: Place, done: Acknowledged) -> None:
    known = await _entries_of(scenario.data, place)
    async with place.open() as session:
        tree = session.storage.tree
        assert [node.id for node in tree.nodes][: len(known)] == known
        assert [id for id in done.entries if id not in tree] == []
        assert [node.id for node in tree.nodes if node.orphaned] == []
        assert {d.kind for d in session.diagnostics} <= {"torn-tail", "malformed-line", "recovered-entry"}
        await session.build_context()
    listed = {info.path: info.broken async for info in place.repository.list()}
    empty = str(place.source.with_name("empty.jsonl"))
    assert [path for path, broken in listed.items() if broken and path != empty] == []
    assert [path for path in done.files if str(path) not in listed] == []
    for path in map(Path, listed):
        if path != place.source and path.stat().st_size:
            await _check_new_session(path, place)


async def _check_new_session(path: Path, place: Place) -> None:
    """A file that came to be is whole, whether that was acknowledged or not."""
    session = await place.repository.open(path)
    try:
        assert session.diagnostics == []
        assert [node.id for node in session.storage.tree.nodes if node.orphaned] == []
        if session.header.parent_session is not None:
            assert {"u1", "a2", "u6"} <= {node.id for node in session.storage.tree.nodes}
    finally:
        await session.aclose()


async def _entries_of(data: bytes, place: Place) -> list[str]:
    original = place.root.parent / "original"
    original.write_bytes(data)
    session = await place.repository.open(original)
    await session.aclose()
    return [node.id for node in session.storage.tree.nodes]
