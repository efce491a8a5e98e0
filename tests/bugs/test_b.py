"""Wrong context."""

from pathlib import Path

import pytest

from piserver.entries.types import MessageDraft, ModelDraft
from piserver.repository import Repository, SessionNotFoundError
from piserver.session import EntryNotFoundError
from tests.bugs.conftest import Open
from tests.bugs.context import replied, said, sent, sources
from tests.storage.log import answer, call, compaction, entry, message, result, user

BASE = (user("u1", None), answer("a2", "u1"))


async def test_b1_a_missing_parent_is_said(open: Open) -> None:
    session = await open(*BASE, compaction("k3", "a2", "S", "a2"), user("u4", "ghost"), answer("a5", "u4"))
    context = await session.build_context("a5")
    assert [message.node.id for message in context.messages] == ["u4", "a5"]
    [report] = context.diagnostics
    assert (report.kind, report.entry_id, "ghost" in report.message) == ("missing-parent", "u4", True)
    assert [row.entry.id for row in (await session.rows()).rows if row.orphaned] == ["u4"]
    assert "missing-parent" in [d.kind for d in session.diagnostics]


async def test_b2_bookkeeping_at_the_end_points_to_the_longer_branch(open: Open) -> None:
    session = await open(
        *BASE,
        entry("custom", "c3", "a2", customType="progress"),
        user("u4", "a2"),
        answer("a5", "u4"),
        entry("custom", "c6", "a2", customType="progress"),
    )
    assert session.leaf_id == "c6"
    assert session.newer_leaf is session.node("a5")


async def test_b3_among_many_branches_the_leaf_is_the_same_after_a_restart(open: Open) -> None:
    session = await open(user("root", None))
    for turn in range(3):
        for branch in range(5):
            await session.move_to("root" if turn == 0 else session.storage.tree.leaves()[branch].id)
            await session.append(said(f"{turn}.{branch}"))
    await session.move_to(session.node("root").children[2].id)
    again = await open()
    assert again.leaf_id == session.leaf_id
    leaves = [row.entry for row in (await again.rows()).rows if row.children == 0]
    assert len(leaves) == 5
    assert all(leaf.timestamp for leaf in leaves)


async def test_b4_of_two_entries_with_one_id_the_first_counts(open: Open) -> None:
    session = await open(
        user("u1", None), entry("custom", "x2", "u1", customType="snapshot"), answer("x2", "u1"), user("u3", "x2")
    )
    assert session.node("x2").type == "custom"
    assert await sources(session) == ["u1", "u3"]
    assert [(d.kind, d.line, d.entry_id) for d in session.diagnostics] == [("duplicate-id", 4, "x2")]


async def test_b5_results_of_parallel_calls_are_all_on_the_path(open: Open) -> None:
    calls = [{"type": "toolCall", "id": id, "name": "t", "arguments": {}} for id in ("c1", "c2")]
    session = await open(user("u1", None), message("a2", "u1", "assistant", calls))
    for id in ("c1", "c2"):
        done = await session.append(
            MessageDraft(message={"role": "toolResult", "toolCallId": id, "toolName": "t", "content": id})
        )
        assert done.warnings == []
    first, second = session.path()[2:]
    assert second.parent is first
    found, changes = await sent(session)
    assert (found, changes) == (["u1", "a2", first.id, second.id], [])


async def test_b6_only_the_last_compaction_of_the_path_counts(open: Open) -> None:
    session = await open(
        *BASE,
        compaction("k3", "a2", "S1", "a2"),
        user("u4", "k3"),
        compaction("k5", "u4", "S2", "u4"),
        user("u6", "k5"),
    )
    assert await sources(session) == ["k5", "u4", "u6"]


async def test_b6_a_kept_entry_off_the_path_is_said(open: Open) -> None:
    session = await open(*BASE, user("x3", "u1"), compaction("k4", "a2", "S", "x3"), user("u5", "k4"))
    context = await session.build_context()
    assert [message.node.id for message in context.messages] == ["k4", "u5"]
    assert [(d.kind, d.entry_id) for d in context.diagnostics] == [("off-path-first-kept", "k4")]


async def test_b6_an_unknown_leaf_is_an_error(open: Open) -> None:
    session = await open(*BASE)
    with pytest.raises(EntryNotFoundError):
        await session.build_context("ghost")


async def test_b6_an_entry_that_is_its_own_parent_ends_the_walk(open: Open) -> None:
    session = await open(*BASE, user("u3", "u3"), answer("a4", "u3"))
    assert await sources(session, "a4") == ["u3", "a4"]
    assert any(d.entry_id == "u3" for d in session.diagnostics)


async def test_b7_failed_answers_are_seen_but_not_sent(open: Open) -> None:
    session = await open(
        user("u1", None),
        message("a2", "u1", "assistant", [], stopReason="error", errorMessage="overloaded"),
        answer("a3", "a2"),
    )
    found, changes = await sent(session)
    assert found == ["u1", "a3"]
    assert [change.kind for change in changes] == ["failed-answer-omitted"]
    rows = {row.entry.id: row for row in (await session.rows()).rows}
    assert (rows["a2"].entry.failed, rows["a2"].in_context) == (True, False)


async def test_b8_a_compaction_that_is_superseded_is_not_marked_as_in_the_context(open: Open) -> None:
    session = await open(
        user("u1", None),
        answer("a1", "u1"),
        user("u2", "a1"),
        answer("a2", "u2"),
        compaction("c1", "a2", "S1", "u2"),
        user("u3", "c1"),
        answer("a3", "u3"),
        compaction("c2", "a3", "S2", "a2"),
    )
    assert await sources(session) == ["c2", "a2", "u3", "a3"]
    marked = {row.entry.id for row in (await session.rows()).rows if row.in_context}
    assert marked == {"c2", "a2", "u3", "a3"}


async def test_b9_a_result_on_another_branch_than_its_call_is_not_sent(open: Open) -> None:
    session = await open(user("u1", None), call("a2", "u1", "c1"))
    await session.move_to("u1")
    done = await session.append(
        MessageDraft(message={"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": "late"})
    )
    assert len(done.warnings) == 1
    found, changes = await sent(session)
    assert found == ["u1"]
    assert [change.kind for change in changes] == ["unpaired-result-omitted"]


async def test_b10_a_fork_sees_what_its_source_saw(open: Open, repository: Repository) -> None:
    session = await open(
        *BASE,
        compaction("k3", "a2", "S", "u1"),
        entry("model_change", "m4", "k3", provider="p", modelId="m"),
        call("a5", "m4", "c"),
        result("t6", "a5", "c"),
        user("u7", "a2"),
        answer("a8", "u7"),
    )
    for node in session.storage.tree.nodes:
        fork = (await repository.fork(session, node.id, "at")).session
        assert (await fork.build_context()).values == (await session.build_context(node.id)).values
        await fork.aclose()


async def test_b11_a_file_that_vanished_is_an_error(path: Path, repository: Repository) -> None:
    session = await repository.create("/w/app", path=path)
    await session.aclose()
    path.unlink()
    with pytest.raises(SessionNotFoundError):
        await repository.open(path)
    assert list(path.parent.iterdir()) == []


async def test_b12_the_state_is_the_paths_before_and_after_a_restart(open: Open) -> None:
    session = await open(*BASE)
    await session.append(ModelDraft(provider="p2", model_id="m2"), said("u3"))
    await session.append(replied("a4"))
    later = session.leaf_id
    await session.move_to("a2")
    for each in (session, await open()):
        state = (await each.build_context()).state
        assert (each.leaf_id, state.model and state.model.model_id) == ("a2", "m")
        assert later is not None
        assert [node.id for node in each.path(later)][:2] == ["u1", "a2"]
