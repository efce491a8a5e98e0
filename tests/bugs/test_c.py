"""Forks and navigation."""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from piserver.repository import Repository
from piserver.session import BranchSummary, Session
from tests.bugs.conftest import Open
from tests.bugs.context import ids, said, sources
from tests.storage.log import answer, call, compaction, entry, header, label, log, message, result, user

BASE = (user("u1", None), answer("a2", "u1"))
Fork = Callable[..., Awaitable[Session]]


@pytest.fixture
async def fork(repository: Repository) -> AsyncIterator[Fork]:
    """Forks and closes the fork when the test is over."""
    forks: list[Session] = []

    async def fork(session: Session, entry_id: str, position: str = "at") -> Session:
        forks.append((await repository.fork(session, entry_id, position)).session)
        return forks[-1]

    yield fork
    for session in forks:
        await session.aclose()


def every(session: Session) -> list[str]:
    return ids(session.storage.tree.nodes)


async def test_c1_labels_on_the_path_leave_no_gap(open: Open, fork: Fork) -> None:
    session = await open(
        *BASE,
        label("l3", "a2", "a2", "mark"),
        entry("model_change", "m4", "l3", provider="p", modelId="m"),
        user("u5", "m4"),
    )
    child = await fork(session, "u5")
    assert len(child.storage.tree.roots) == 1
    assert child.diagnostics == []
    assert await sources(child) == await sources(session, "u5")
    assert child.storage.label("a2") == "mark"


async def test_c2_the_fork_grows_and_its_parent_does_not(path: Path, open: Open, fork: Fork) -> None:
    session = await open(*BASE)
    before = path.read_bytes()
    child = await fork(session, "a2")
    await child.append(said("u3"))
    assert path.read_bytes() == before
    assert Path(child.storage.path or "").read_bytes().count(b"\n") == 4


async def test_c3_a_fork_before_the_first_message(path: Path, open: Open, fork: Fork) -> None:
    child = await fork(await open(*BASE), "u1", "before")
    file = Path(child.storage.path or "")
    assert file.stem.endswith(f"_{child.id}")
    assert json.loads(file.read_bytes())["id"] == child.id
    assert child.header.parent_session == str(path)
    assert await sources(child) == []


async def test_c4_a_fork_ends_at_its_entry_with_the_times_as_they_were(open: Open, fork: Fork) -> None:
    lines = [
        *BASE,
        user("u3", "a2"),
        user("u4", "u3", "steer"),
        answer("a5", "u4"),
        user("u6", "a5"),
        answer("a7", "u6"),
    ]
    child = await fork(await open(*lines), "a2")
    assert Path(child.storage.path or "").read_bytes().split(b"\n", 1)[1] == log(*BASE)


async def test_c5_references_inside_entries_still_hold(open: Open, fork: Fork) -> None:
    session = await open(
        *BASE,
        user("u3", "a2"),
        call("a4", "u3", "c"),
        result("t5", "a4", "c"),
        compaction("k6", "t5", "S", "u3"),
        user("u7", "k6"),
    )
    child = await fork(session, "u7")
    assert await sources(child) == ["k6", "u3", "a4", "t5", "u7"]
    assert (await child.build_context()).values == (await session.build_context()).values


async def test_c6_a_fork_of_a_compacted_session_holds_nothing_twice(path: Path, open: Open, fork: Fork) -> None:
    session = await open(*BASE, compaction("k3", "a2", "S", "a2"), user("u4", "k3"))
    child = await fork(session, "u4")
    assert sorted(every(child)) == sorted(set(every(child))) == sorted(ids(session.path()))
    entries = Path(child.storage.path or "").read_bytes().split(b"\n", 1)[1]
    assert len(entries) <= len(path.read_bytes().split(b"\n", 1)[1])


async def test_c7_what_was_rewound_stays_behind(open: Open, fork: Fork) -> None:
    session = await open(*(user(f"u{n}", f"u{n - 1}" if n > 1 else None) for n in range(1, 6)))
    await session.move_to("u3")
    done = await session.append(said("u4'"), said("u4''"))
    child = await fork(session, done.nodes[-1].id)
    assert every(child) == ["u1", "u2", "u3", *ids(done.nodes)]


async def test_c8_a_move_keeps_the_branch_that_it_leaves(open: Open) -> None:
    session = await open(*BASE, user("u3", "a2"), answer("a9", "u3"))
    await session.move_to("u1")
    await session.append(said("other"))
    assert "a9" in [row.entry.id for row in (await session.rows()).rows if row.children == 0]
    await session.move_to("a9")
    assert await sources(session) == ["u1", "a2", "u3", "a9"]


async def test_c9_a_fork_of_a_fork_is_of_that_fork(open: Open, fork: Fork, repository: Repository) -> None:
    a = await open(*BASE)
    b = await fork(a, "a2")
    await a.append(said("in a"))
    await b.append(said("in b"))
    c = await fork(b, b.leaf_id or "")
    again = await repository.open(c.storage.path or "")
    assert every(again) == every(b)
    assert again.header.parent_session == b.storage.path
    assert b.header.parent_session == a.storage.path
    await again.aclose()


async def test_c10_a_summary_tells_which_branch_was_left(open: Open) -> None:
    session = await open(user("u1", None), user("u2", "u1"), answer("a9", "u2"))
    await session.move_to("u2", BranchSummary("S"))
    for each in (session, await open()):
        [row] = [row for row in (await each.rows()).rows if row.entry.type == "branch_summary"]
        [stored] = await each.entries([row.entry.id])
        assert (stored.value["fromId"], stored.value["parentId"], row.entry.left_leaf_id) == ("u2", "u2", "a9")


async def test_c12_a_fork_needs_its_parent_no_more(path: Path, open: Open, fork: Fork, repository: Repository) -> None:
    child = await fork(await open(*BASE), "a2")
    await repository.delete(path, permanent=True)
    again = await repository.open(child.storage.path or "")
    assert await sources(again) == ["u1", "a2"]
    assert [info.parent_session async for info in repository.list()] == [str(path)]
    await again.aclose()
    await repository.delete(child.storage.path or "", permanent=True)
    assert [info async for info in repository.list()] == []


@pytest.mark.parametrize("aborted", [False, True])
async def test_c13_a_lone_first_message_is_a_target(open: Open, fork: Fork, aborted: bool) -> None:
    block = {"type": "toolCall", "id": "c", "name": "t", "arguments": {}}
    turn = [message("a2", "u1", "assistant", [block], stopReason="aborted")] if aborted else []
    session = await open(user("u1", None), *turn)
    assert every(await fork(session, "u1")) == ["u1"]
    await session.move_to("u1")
    assert await sources(session) == ["u1"]
    await session.move_to(None)
    assert await sources(session) == []


async def test_c14_branches_are_drawn_where_they_start_in_file_order(open: Open) -> None:
    session = await open(
        user("b", None),
        user("x", "b").replace(b"2026-01", b"2030-01"),
        *(user(id, parent) for id, parent in zip("efg", "bef", strict=True)),
        user("y", "b").replace(b"2026-01-02T03:04:05.678Z", b"no date"),
    )
    rows = (await session.rows()).rows
    assert [row.guides + row.entry.id for row in rows] == ["b", "+x", "+e", "|f", "|g", "Ly"]


async def test_c15_a_move_is_one_line_and_an_append_none_beside_its_own(path: Path, open: Open) -> None:
    session = await open(*BASE, user("u3", "a2"))
    count = path.read_bytes().count(b"\n")
    await session.move_to("a2")
    assert path.read_bytes().count(b"\n") == count + 1
    assert (await open()).leaf_id == "a2"
    for number in range(5):
        await session.append(said(str(number)))
    assert path.read_bytes().count(b"\n") == count + 6


async def test_c16_no_file_but_the_sessions_is_touched(tmp_path: Path, open: Open, fork: Fork) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "main.py").write_text("print()\n")

    def state() -> list[tuple[str, str, int]]:
        return [(p.name, hashlib.sha256(p.read_bytes()).hexdigest(), p.stat().st_mtime_ns) for p in work.iterdir()]

    before = state()
    session = await open(data=log(header(cwd=str(work)), *BASE, user("u3", "a2")))
    await session.move_to("u1", BranchSummary("S", {"readFiles": [], "modifiedFiles": ["main.py"]}))
    await session.navigate("u3", label="x")
    await fork(session, "a2")
    assert state() == before


async def test_c18_a_fork_is_one_session_more_and_takes_messages(
    open: Open, fork: Fork, repository: Repository
) -> None:
    session = await open(*BASE)
    before = {info.path async for info in repository.list("/w/app")}
    child = await fork(session, "a2")
    await child.append(said("u3"))
    await session.append(said("u3"))
    after = {info.path async for info in repository.list("/w/app")}
    assert after == before | {child.storage.path}
