"""Session files with random damage: they open or are refused with a reason, and looking at them changes nothing."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from types import FrameType

import anyio

from piserver.context import convert_to_llm
from piserver.entries.header import InvalidSessionError
from piserver.entries.text import trim
from piserver.entries.types import MessageDraft
from piserver.repository import Repository
from piserver.session import Session
from piserver.storage import ReadOnlyError
from piserver.storage.glance import glance
from tests.server.files import fingerprint
from tests.soak.mutations import BYTES, LINES, mutated
from tests.vectors.answers import CASES

PATIENCE = 60
"""Seconds after which a file counts as one that hangs."""
_LARGE = 64 * 1024
_SHARE_OF_LARGE = 0.02


def originals(peer_data: str | None = os.environ.get("PISERVER_PEER_DATA")) -> list[bytes]:
    """The files of the test data and, where they are, of the real implementations."""
    folders = [CASES]
    if peer_data:
        folders += [Path(peer_data) / "real", Path(peer_data) / "vectors" / "cases"]
    return [file.read_bytes() for folder in folders for file in sorted(folder.glob("*.jsonl"))]


def run(folder: Path, *, count: int, seed: int) -> str:
    """Try so many damaged files, and say what they came to. Raises AssertionError with the number of the file."""
    folder.mkdir(exist_ok=True)
    small = [data for data in originals() if len(data) < _LARGE]
    large = [data for data in originals() if len(data) >= _LARGE]
    outcomes: Counter[str] = Counter()
    start, slowest = perf_counter(), 0.0
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        few = large if large and rng.random() < _SHARE_OF_LARGE else small
        data = mutated(rng.choice(few), rng, BYTES + LINES)
        begun = perf_counter()
        try:
            with _watchdog():
                outcomes[anyio.run(check, data, folder)] += 1
        except BaseException as error:
            error.add_note(f"file {number} of seed {seed}, kept as {folder / 'seen' / 'session.jsonl'}")
            raise
        slowest = max(slowest, perf_counter() - begun)
    seen = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.most_common())
    return f"{count:,} damaged files: {seen}; slowest {slowest:.2f} s ({perf_counter() - start:.0f} s)"


@contextmanager
def _watchdog() -> Generator[None]:
    def bark(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


async def check(data: bytes, folder: Path) -> str:
    """Open one file, ask it everything, fork it, and only then append. Answers what became of it."""
    path = folder / "seen" / "session.jsonl"
    path.parent.mkdir(exist_ok=True)
    for left in path.parent.iterdir():
        left.unlink()
    path.write_bytes(data)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    before = fingerprint(path.parent)
    repository = Repository(folder / "forks", durability="never")
    glance(path)
    try:
        session = await repository.open(path)
    except InvalidSessionError as refused:
        if refused.line is None:
            raise AssertionError("no line is named") from refused
        assert fingerprint(path.parent) == before
        return "refused with the line"
    try:
        await _ask(session)
        _check_report(session, data)
        await _fork(session, repository)
        assert fingerprint(path.parent) == before, "looking at it changed something"
        known = [node.id for node in session.storage.tree.nodes]
        problems = len(session.diagnostics)
        try:
            await session.append(MessageDraft(message={"role": "user", "content": "goes on", "timestamp": 1}))
        except ReadOnlyError:
            assert fingerprint(path.parent) == before
            return "opened read-only"
        after = [node.id for node in session.storage.tree.nodes]
        assert after == [*known, session.leaf_id]
    finally:
        await session.aclose()
    again = await repository.open(path)
    await again.aclose()
    assert [node.id for node in again.storage.tree.nodes] == after, "a new reader finds something else"
    return "opened with problems reported" if problems else "opened as sound"


async def _ask(session: Session) -> None:
    rows = await session.rows(filter="all", limit=1_000_000)
    assert {row.entry.id for row in rows.rows} == {node.id for node in session.storage.tree.nodes}
    context = await session.build_context()
    for message in context.messages:
        convert_to_llm(message.value)
    await session.context_tokens()
    session.statistics()


def _check_report(session: Session, data: bytes) -> None:
    """Every problem names a line, and no line that is not blank is passed over without a word."""
    unplaced = [problem for problem in session.diagnostics if problem.line is None]
    assert not unplaced, f"no line is named: {unplaced[:3]}"
    told = {problem.line for problem in session.diagnostics} | {node.line for node in session.storage.tree.nodes}
    filled = [number for number, line in enumerate(data.split(b"\n"), 1) if trim(line.decode("utf-8", "replace"))]
    silent = [number for number in filled[1:] if number not in told]
    assert not silent, f"nothing is said of lines {silent[:5]}"


async def _fork(session: Session, repository: Repository) -> None:
    leaf = session.leaf
    if leaf is None or leaf.type == "leaf":
        return
    forked = (await repository.fork(session, leaf.id, "at")).session
    await forked.aclose()
    assert forked.storage.path is not None
    again = await repository.open(forked.storage.path)
    await again.aclose()
    Path(forked.storage.path).unlink()
    assert leaf.id in again.storage.tree
    assert [node.id for node in again.storage.tree.nodes if node.orphaned] == []
