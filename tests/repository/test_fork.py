"""Forks and clones stand alone: ids kept, every parent there, the same context, the source untouched."""

import json
from pathlib import Path

import pytest

from piserver.entries.types import MessageDraft
from piserver.repository import InvalidForkTargetError, Repository
from piserver.session import Session
from tests.repository.conftest import Keep
from tests.storage.log import (
    TIME,
    answer,
    call,
    compaction,
    entry,
    header,
    jump,
    label,
    line,
    log,
    message,
    name,
    result,
    user,
)

SAID = MessageDraft(message={"role": "user", "content": "x"})


def content(session: Session) -> bytes:
    return Path(session.storage.path or "").read_bytes()


def ids(session: Session) -> list[str]:
    return [node.id for node in session.storage.tree.nodes]


async def messages(session: Session, at: str | None) -> list[object]:
    return (await session.build_context(at)).values


def check_alone(session: Session) -> None:
    """Every parent is in the file, no id twice, nothing to report."""
    lines = [json.loads(line) for line in content(session).splitlines()]
    known = [line["id"] for line in lines[1:]]
    assert len(set(known)) == len(known)
    assert all(line["parentId"] is None or line["parentId"] in known for line in lines[1:])
    assert session.diagnostics == []
    assert lines[0]["id"] == session.id
    assert Path(session.storage.path or "").name.endswith(f"_{session.id}.jsonl")


async def test_at_copies_the_path_as_it_stands(repository: Repository, keep: Keep) -> None:
    lines = [user("u1", None), answer("a2", "u1"), user("u3", "a2"), answer("a4", "u3")]
    lines[1] = lines[1][:-1] + b', "extra": 1.50e0, "s":"\\ud83d"}'
    source = await keep(header(metadata={"k": 1}), *lines)
    before = content(source)
    fork = await repository.fork(source, "a2", "at")
    await keep(fork.session)
    assert content(fork.session).split(b"\n", 1)[1] == log(*lines[:2])
    assert fork.editor_text is None
    assert (fork.session.header.parent_session, fork.session.header.metadata) == (source.storage.path, {"k": 1})
    assert fork.session.header.cwd == source.header.cwd
    assert fork.session.leaf_id == "a2"
    check_alone(fork.session)
    await fork.session.append(SAID)
    assert content(source) == before
    assert ids(source) == ["u1", "a2", "u3", "a4"]
    assert len([info async for info in repository.list()]) == 2


async def test_before_ends_at_the_parent_and_gives_the_text(repository: Repository, keep: Keep) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    source = await keep(header(), user("u1", None), answer("a2", "u1"), message("u3", "a2", "user", blocks))
    fork = await repository.fork(source, "u3", cwd="/w/other")
    await keep(fork.session)
    assert (ids(fork.session), fork.editor_text) == (["u1", "a2"], "ab")
    assert fork.session.header.cwd == "/w/other"
    assert Path(fork.session.storage.path or "").parent.name == "--w-other--"
    first = await repository.fork(source, "u1", "before")
    await keep(first.session)
    assert (ids(first.session), first.editor_text, first.session.leaf_id) == ([], "u1", None)
    check_alone(first.session)


@pytest.mark.parametrize(
    ("target", "position"), [("ghost", "at"), ("ghost", "before"), ("a2", "before"), ("j3", "at"), ("j3", "before")]
)
async def test_a_bad_target_makes_no_file(repository: Repository, keep: Keep, target: str, position: str) -> None:
    source = await keep(header(), user("u1", None), answer("a2", "u1"), jump("j3", "a2", "u1"))
    before = sorted(repository.root.rglob("*"))
    with pytest.raises(InvalidForkTargetError):
        await repository.fork(source, target, position)
    assert sorted(repository.root.rglob("*")) == before


async def test_labels_and_the_name_come_along(repository: Repository, keep: Keep) -> None:
    source = await keep(
        header(),
        user("u1", None),
        label("l2", "u1", "u1", "on the path"),
        answer("a3", "l2"),
        jump("j4", "a3", "u1"),
        user("x5", "u1"),
        label("l6", "x5", "u1", "later, elsewhere"),
        label("l7", "l6", "a3", "only elsewhere"),
        label("l8", "l7", "x5", "of another branch"),
        name("n9", "l8", "old"),
        name("n10", "n9", "new"),
    )
    fork = (await repository.fork(source, "a3", "at")).session
    await keep(fork)
    assert ids(fork) == ["u1", "l2", "a3", "l6", "l7", "n10"]
    check_alone(fork)
    assert {id: item.text for id, item in fork.storage.tree.labels.items()} == {
        "u1": "later, elsewhere",
        "a3": "only elsewhere",
    }
    assert fork.name == "new"
    assert await messages(fork, fork.leaf_id) == await messages(source, "a3")


async def test_what_was_cleared_elsewhere_stays_cleared(repository: Repository, keep: Keep) -> None:
    source = await keep(
        header(),
        user("u1", None),
        label("l2", "u1", "u1", "x"),
        name("n3", "l2", "name"),
        answer("a4", "n3"),
        jump("j5", "a4", "u1"),
        label("l6", "u1", "u1", None),
        name("n7", "l6", ""),
    )
    fork = (await repository.fork(source, "a4", "at")).session
    await keep(fork)
    assert (fork.storage.tree.labels, fork.name) == ({}, None)
    check_alone(fork)


async def test_bookkeeping_on_the_path_keeps_the_chain_whole(repository: Repository, keep: Keep) -> None:
    source = await keep(
        header(),
        user("u1", None),
        answer("a2", "u1"),
        label("l3", "a2", "a2", "mark"),
        entry("model_change", "m4", "l3", provider="p", modelId="m"),
        user("u5", "m4"),
        call("a6", "u5", "c"),
        result("t7", "a6", "c"),
        compaction("k8", "t7", "S", "u5"),
        user("u9", "k8"),
    )
    for target in ids(source):
        fork = (await repository.fork(source, target, "at")).session
        await keep(fork)
        check_alone(fork)
        assert len(fork.storage.tree.roots) == 1
        assert await messages(fork, target) == await messages(source, target)
        assert await messages(fork, fork.leaf_id) == await messages(source, target)
        expected = "mark" if "a2" in ids(fork) else None
        assert fork.storage.label("a2") == expected


async def test_an_orphaned_path_gets_a_root(repository: Repository, keep: Keep) -> None:
    source = await keep(header(), user("u1", None), user("u2", "ghost"), answer("a3", "u2"))
    fork = (await repository.fork(source, "a3", "at")).session
    await keep(fork)
    assert ids(fork) == ["u2", "a3"]
    check_alone(fork)


async def test_a_jump_at_the_end_of_the_path_does_not_move_the_forks_leaf(repository: Repository, keep: Keep) -> None:
    source = await keep(header(), user("u1", None), answer("a2", "u1"), jump("j3", "a2", "u1"), user("u4", "j3"))
    fork = (await repository.fork(source, "u4", "before")).session
    await keep(fork)
    assert fork.leaf_id == "a2"
    assert await messages(fork, fork.leaf_id) == await messages(source, "j3")


async def test_old_versions_are_forked_as_new_ones(repository: Repository, keep: Keep) -> None:
    old = line(type="message", timestamp=TIME, message={"role": "hookMessage", "customType": "c", "content": "x"})
    source = await keep(header(None), old, old)
    before = content(source)
    fork = (await repository.fork(source, ids(source)[1], "at")).session
    await keep(fork)
    assert fork.header.version == 3
    assert ids(fork) == ids(source)
    assert await messages(fork, fork.leaf_id) == await messages(source, source.leaf_id)
    check_alone(fork)
    assert content(source) == before


async def test_a_fork_of_a_fork(repository: Repository, keep: Keep) -> None:
    first = await keep(header(), user("u1", None), answer("a2", "u1"))
    second = (await repository.fork(first, "a2", "at")).session
    await keep(second)
    await first.append(SAID)
    await second.append(SAID)
    third = (await repository.fork(second, second.leaf_id or "", "at")).session
    await keep(third)
    assert ids(third) == ids(second)
    assert third.header.parent_session == second.storage.path
    assert second.header.parent_session == first.storage.path


TREE = (
    header(),
    user("u1", None),
    answer("a2", "u1"),
    user("x3", "u1"),
    user("r4", None),
    label("l5", "r4", "a2", "x"),
    name("n6", "l5", "name"),
)


async def test_a_clone_has_all_branches_and_the_same_leaf(repository: Repository, keep: Keep) -> None:
    source = await keep(*TREE)
    clone = await keep(await repository.clone(source))
    assert content(clone).split(b"\n", 1)[1] == log(*TREE[1:])
    assert (clone.header.parent_session, clone.id != source.id) == (source.storage.path, True)
    assert (clone.leaf_id, clone.name, clone.storage.label("a2")) == ("n6", "name", "x")
    check_alone(clone)
    await source.move_to("a2")
    moved = await keep(await repository.clone(source))
    assert moved.leaf_id == "a2"
    assert content(moved).split(b"\n", 1)[1] == content(source).split(b"\n", 1)[1]


async def test_a_clone_has_the_leaf_of_the_session_not_of_the_file(repository: Repository, keep: Keep) -> None:
    source = await keep(*TREE)
    with Path(source.storage.path or "").open("ab") as file:
        file.write(log(user("theirs", "u1")))
    await source.refresh()
    assert source.leaf_id == "n6"
    clone = await keep(await repository.clone(source))
    assert clone.leaf_id == "n6"
    assert ids(clone)[:-1] == ids(source)
    assert clone.storage.tree.nodes[-1].type == "leaf"
    check_alone(clone)


async def test_a_clone_of_nothing(repository: Repository, keep: Keep) -> None:
    source = await keep(header())
    clone = await keep(await repository.clone(source))
    assert (ids(clone), clone.leaf_id) == ([], None)


async def test_a_clone_leaves_damage_behind(repository: Repository, keep: Keep) -> None:
    source = await keep(header(), user("u1", None), b"{nope", user("u1", None), user("u2", "u1"))
    clone = await keep(await repository.clone(source))
    assert ids(clone) == ["u1", "u2"]
    check_alone(clone)
