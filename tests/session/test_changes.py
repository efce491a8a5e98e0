"""Whoever listens learns of every change once, in order, and of who caused it; whoever missed some can ask."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from piserver.entries.types import CustomDraft, MessageDraft
from piserver.session import BranchSummary, Change, Origin, Session, StaleCursorError, StaleLeafError
from piserver.storage import JsonlStorage, StorageError
from tests.session.conftest import Open, Recorder
from tests.storage.clock import ManualClock
from tests.storage.log import answer, header, log, user

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))
SAID = MessageDraft(message={"role": "user", "content": "x"})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def session(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Session]:
    """A session in a file of two entries."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(WHOLE)
    numbers = iter(range(1, 1000))
    session = Session(await JsonlStorage.open(path, clock=clock), new_id=lambda: f"e{next(numbers)}")
    yield session
    await session.aclose()


def others_write(session: Session, *lines: bytes, end: bytes = b"\n") -> None:
    with Path(session.storage.path or "").open("ab") as file:
        file.write(b"\n".join(lines) + end)


async def test_the_origin_is_the_callers(open_log: Open, recorder: Recorder) -> None:
    session = open_log(user("u1", None))
    session.listen(recorder)
    await session.append(SAID)
    await session.append(SAID, origin=Origin("agent", "run-1"))
    await session.move_to("u1", BranchSummary("S"), origin=Origin("client", 7))
    await session.set_name("n", origin=Origin("client", 8))
    assert [(c.origin.kind, c.origin.id) for c in recorder.changes] == [
        ("client", None),
        ("agent", "run-1"),
        ("client", 7),
        ("client", 8),
    ]


async def test_listeners_are_told_in_turn_until_they_leave(open_log: Open) -> None:
    session = open_log()
    told: list[str] = []
    leave = session.listen(lambda change: told.append("first"))
    session.listen(lambda change: told.append("second"))
    await session.append(SAID)
    leave()
    await session.append(SAID)
    assert told == ["first", "second", "second"]


async def test_a_listener_sees_the_session_as_it_is_told(open_log: Open) -> None:
    session = open_log()
    seen: list[tuple[int, bool]] = []

    def listener(change: Change) -> None:
        seen.append((session.revision, session.leaf is change.leaf is change.nodes[-1]))

    session.listen(listener)
    await session.append(SAID)
    await session.append(SAID)
    assert seen == [(1, True), (2, True)]


async def test_what_others_appended_is_told_before_what_is_written_next(session: Session, recorder: Recorder) -> None:
    session.listen(recorder)
    others_write(session, user("x1", "a2"), answer("x2", "x1"))
    done = await session.append(SAID)
    assert recorder.told == [(["x1", "x2"], "external", "a2"), (["e1"], "client", "e1")]
    assert done.nodes[0].parent_id == "a2", "the leaf stays where this session has it"
    assert done.newer_leaf is session.node("x2")
    assert (await session.append(SAID)).newer_leaf is None


async def test_bookkeeping_of_others_is_no_newer_leaf(session: Session) -> None:
    others_write(session, b'{"type":"label","id":"l","parentId":"a2","timestamp":"","targetId":"u1","label":"x"}')
    assert (await session.append(SAID)).newer_leaf is None
    assert session.storage.label("u1") == "x"


async def test_others_may_write_at_the_same_moment(session: Session, recorder: Recorder) -> None:
    session.listen(recorder)
    write = session.storage.write

    def after_others(lines: list[bytes]) -> object:
        others_write(session, user("x1", "a2"))
        return write(lines)

    session.storage.write = after_others
    done = await session.append(SAID, CustomDraft(custom_type="c"))
    assert [node.id for node in done.nodes] == ["e1", "e2"]
    assert recorder.told == [(["x1"], "external", "e2"), (["e1", "e2"], "client", "e2")]
    assert session.leaf_id == "e2"


async def test_refreshing_tells_what_is_new_once(session: Session, recorder: Recorder) -> None:
    session.listen(recorder)
    await session.refresh()
    others_write(session, user("x1", "a2"))
    await session.refresh()
    await session.refresh()
    assert recorder.told == [(["x1"], "external", "a2")]
    assert session.newer_leaf is session.node("x1")
    assert session.leaf_id == "a2"


async def test_what_comes_in_while_a_torn_line_is_waited_for_is_told_too(
    session: Session, recorder: Recorder, clock: ManualClock
) -> None:
    session.listen(recorder)
    theirs = user("x1", "a2")
    others_write(session, theirs[:20], end=b"")
    clock.during_sleep = lambda: others_write(session, theirs[20:])
    await session.append(SAID)
    assert recorder.told == [(["x1"], "external", "a2"), (["e1"], "client", "e1")]


async def test_a_stale_caller_changes_nothing_on_disk(session: Session) -> None:
    path = Path(session.storage.path or "")
    others_write(session, b'{"torn', end=b"")
    before = path.read_bytes()
    with pytest.raises(StaleLeafError):
        await session.append(SAID, expected_leaf="u1")
    with pytest.raises(LookupError):
        await session.move_to("ghost")
    with pytest.raises(LookupError):
        await session.set_label("ghost", "x")
    assert path.read_bytes() == before


async def test_another_content_resets(session: Session, recorder: Recorder) -> None:
    session.listen(recorder)
    epoch = session.storage.epoch
    Path(session.storage.path or "").write_bytes(log(header(), user("n1", None), user("a2", "n1")))
    await session.refresh()
    [change] = recorder.changes
    assert (change.reset, [node.id for node in change.nodes], change.leaf) == (True, ["n1", "a2"], session.node("a2"))
    with pytest.raises(StaleCursorError):
        session.changes_since(1, epoch)
    assert [row.entry.id for row in (await session.rows()).rows] == ["n1", "a2"]
    await session.append(SAID)
    assert [node.id for node in session.path()] == ["n1", "a2", "e1"]


async def test_a_leaf_that_is_gone_gives_way_to_the_files(session: Session) -> None:
    Path(session.storage.path or "").write_bytes(log(header(), user("n1", None)))
    await session.refresh()
    assert session.leaf_id == "n1"


async def test_a_file_replaced_while_it_is_made_ready_is_not_written(session: Session, clock: ManualClock) -> None:
    path = Path(session.storage.path or "")
    others_write(session, b'{"torn', end=b"")
    clock.during_sleep = lambda: path.write_bytes(log(header(), user("n1", None)))
    with pytest.raises(StorageError, match="nothing was written"):
        await session.append(SAID)
    assert path.read_bytes() == log(header(), user("n1", None))
    assert session.leaf_id == "n1"
    await session.append(SAID)
    assert [node.id for node in session.path()] == ["n1", "e1"]


async def test_changes_since_a_revision(open_log: Open) -> None:
    session = open_log(user("u1", None))
    await session.append(SAID, SAID)
    epoch = session.storage.epoch
    assert [node.id for node in session.changes_since(1, epoch)] == ["e0001", "e0002"]
    assert session.changes_since(3, epoch) == []
    for revision, other in ((4, epoch), (-1, epoch), (1, "elsewhere")):
        with pytest.raises(StaleCursorError):
            session.changes_since(revision, other)


async def test_a_snapshot_and_what_follows_are_everything_once(session: Session, recorder: Recorder) -> None:
    await session.append(SAID)
    snapshot = [node.id for node in session.changes_since(0, session.storage.epoch)]
    session.listen(recorder)
    others_write(session, user("x1", "a2"))
    await session.append(SAID)
    await session.move_to("u1")
    told = [id for ids, _, _ in recorder.told for id in ids]
    assert snapshot + told == [node.id for node in session.storage.tree.nodes]


async def test_after_closing_nothing_is_written(session: Session) -> None:
    await session.aclose()
    with pytest.raises(StorageError, match="closed"):
        await session.append(SAID)
    assert Path(session.storage.path or "").read_bytes() == WHOLE
