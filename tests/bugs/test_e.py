"""Two programs on one session."""

from pathlib import Path

from tests.bugs.conftest import Open
from tests.bugs.context import ids, said
from tests.storage.log import answer, user

BASE = (user("u1", None), answer("a2", "u1"))


async def test_e1_the_second_writer_takes_in_the_first_before_it_writes(open: Open) -> None:
    a = await open(*BASE)
    b = await open()
    [first] = (await a.append(said("u3"))).nodes
    told: list[tuple[str, list[str]]] = []
    b.listen(lambda change: told.append((change.origin.kind, ids(change.nodes))))
    done = await b.append(said("u4"))
    assert told == [("external", [first.id]), ("client", ids(done.nodes))]
    assert done.newer_leaf is not None
    assert done.newer_leaf.id == first.id, "that there are two branches now is said"
    await a.refresh()
    assert ids(a.storage.tree.nodes) == ids(b.storage.tree.nodes)


async def test_e1_reading_stays_possible_and_nobody_has_to_be_unlocked(open: Open) -> None:
    a = await open(*BASE)
    await a.append(said("u3"))
    b = await open()
    assert len(b.path()) == 3
    await b.append(said("u4"))
    assert len(b.path()) == 4


async def test_e2_no_program_rewrites_what_another_has_written(path: Path, open: Open) -> None:
    old = await open(*BASE)
    await old.append(said("begun"))
    other = await open()
    for number in range(20):
        await other.append(said(f"turn {number}"))
    await other.aclose()
    before = path.read_bytes()
    await old.append(said("late"))
    await old.move_to("u1")
    assert path.read_bytes().startswith(before)
    assert path.read_bytes().count(b"\n") == before.count(b"\n") + 2


async def test_e3_ids_are_never_given_twice(open: Open) -> None:
    a, b = await open(*BASE), await open()
    for number in range(100):
        await (a, b)[number % 2].append(said(str(number)))
    fresh = await open()
    assert (fresh.revision, fresh.diagnostics) == (102, [])
