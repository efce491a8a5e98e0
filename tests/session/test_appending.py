"""Appends are decided one at a time, in the order of the calls; a failed one fails alone."""

import json
import math
import uuid
from collections.abc import Callable

import anyio
import pytest

from piserver.entries.messages import InvalidEntryError
from piserver.entries.types import (
    ActiveToolsDraft,
    CompactionDraft,
    ContextEditDraft,
    CustomDraft,
    CustomMessageDraft,
    Draft,
    LabelDraft,
    LeafDraft,
    MessageDraft,
    ModelDraft,
    SessionInfoDraft,
    ThinkingLevelDraft,
    UsageDraft,
)
from piserver.session import EntryNotFoundError, Session, StaleLeafError
from piserver.storage import MemoryStorage, ReadOnlyError, StorageError
from tests.session.conftest import CountingStorage, Open, Recorder
from tests.storage.log import answer, call, compaction, header, jump, label, log, result, user


def said(text: str) -> MessageDraft:
    return MessageDraft(message={"role": "user", "content": text})


def ids(nodes: object) -> list[str]:
    return [node.id for node in nodes]


async def test_an_entry_hangs_on_the_leaf_and_becomes_it(open_log: Open) -> None:
    session = open_log()
    first = await session.append(said("one"))
    second = await session.append(said("two"))
    assert session.leaf is second.leaf is second.nodes[0]
    assert second.nodes[0].parent is first.nodes[0]
    [entry, _] = await session.entries(["e0001", "e0002"])
    assert json.loads(entry.raw) == {
        "type": "message",
        "id": "e0001",
        "parentId": None,
        "timestamp": "1970-01-01T00:00:01.000Z",
        "message": {"role": "user", "content": "one", "timestamp": 1000},
    }
    assert list(json.loads(entry.raw)) == ["type", "id", "parentId", "timestamp", "message"]


async def test_a_thousand_concurrent_appends_are_one_chain_in_the_order_of_the_calls(open_log: Open) -> None:
    session = open_log()
    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(session.append, said(str(number)))
    path = session.path()
    assert len(path) == session.revision == 1000
    entries = await session.entries(ids(path))
    assert [entry.value["message"]["content"] for entry in entries] == [str(number) for number in range(1000)]


async def test_a_batch_is_one_write_and_one_chain(open_log: Open, recorder: Recorder) -> None:
    session = open_log(user("u1", None))
    session.listen(recorder)
    done = await session.append(said("a"), LeafDraft(target_id="u1"), said("b"), CustomDraft(custom_type="c"))
    assert session.storage.writes == 1
    assert [(node.id, node.parent_id) for node in done.nodes] == [
        ("e0001", "u1"),
        ("e0002", "e0001"),
        ("e0003", "u1"),
        ("e0004", "e0003"),
    ]
    assert session.leaf_id == "e0004"
    assert recorder.told == [(["e0001", "e0002", "e0003", "e0004"], "client", "e0004")]


async def test_nothing_to_append_writes_nothing(open_log: Open, recorder: Recorder) -> None:
    session = open_log(user("u1", None))
    session.listen(recorder)
    assert (await session.append()).nodes == []
    assert (session.storage.writes, recorder.told) == (0, [])


async def test_a_failed_write_fails_alone(open_log: Open, recorder: Recorder) -> None:
    session = open_log(user("u1", None))
    session.listen(recorder)
    storage = session.storage
    assert isinstance(storage, CountingStorage)
    failed: list[str] = []

    async def append(text: str) -> None:
        try:
            await session.append(said(text))
        except StorageError:
            failed.append(text)

    storage.fail = StorageError("full")
    async with anyio.create_task_group() as group:
        for text in ("a", "b", "c"):
            group.start_soon(append, text)
    assert failed == ["a"]
    entries = await session.entries(ids(session.path()))
    assert [entry.value["message"]["content"] for entry in entries] == ["u1", "b", "c"]
    assert [change.leaf for change in recorder.changes] == session.path()[1:]


REFUSED: dict[str, tuple[Draft, str]] = {
    "label": (LabelDraft(target_id="ghost", label="x"), "ghost"),
    "edit": (ContextEditDraft(target_id="ghost", replacement=None), "ghost"),
    "jump": (LeafDraft(target_id="ghost"), "ghost"),
    "compaction": (CompactionDraft(summary="S", first_kept_entry_id="ghost"), "ghost"),
}


@pytest.mark.parametrize(("draft", "missing"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_target_must_be_there(open_log: Open, draft: Draft, missing: str) -> None:
    session = open_log(user("u1", None))
    with pytest.raises(EntryNotFoundError, match=missing):
        await session.append(said("x"), draft)
    assert (session.revision, session.storage.writes) == (1, 0)


INVALID: dict[str, tuple[Draft, str]] = {
    "NaN in a message": (MessageDraft(message={"role": "user", "content": "x", "n": [math.nan]}), "NaN"),
    "infinity in data": (CustomDraft(custom_type="c", data={"a": math.inf}), "infinite"),
    "bare NaN": (CustomDraft(custom_type="c", data=math.nan), "NaN"),
    "NaN in usage": (UsageDraft(kind="k", provider="p", model="m", usage={"input": math.nan}), "NaN"),
    "no role": (MessageDraft(message={"content": "x"}), "role"),
    "a result without its call": (MessageDraft(message={"role": "toolResult", "content": []}), "toolCallId"),
    "kept entry elsewhere": (CompactionDraft(summary="S", first_kept_entry_id="u2"), "path"),
}


@pytest.mark.parametrize(("draft", "reason"), INVALID.values(), ids=INVALID.keys())
async def test_what_must_not_be_written_is_refused(open_log: Open, draft: Draft, reason: str) -> None:
    session = open_log(user("u1", None), user("u2", "u1"), jump("j3", "u2", "u1"))
    with pytest.raises(InvalidEntryError, match=reason):
        await session.append(draft)
    assert session.storage.writes == 0


async def test_the_callers_idea_of_the_leaf(open_log: Open) -> None:
    session = open_log(user("u1", None))
    with pytest.raises(StaleLeafError) as stale:
        await session.append(said("x"), expected_leaf="u0")
    assert stale.value.leaf_id == "u1"
    with pytest.raises(StaleLeafError):
        await session.append(said("x"), expected_leaf=None)
    with pytest.raises(StaleLeafError):
        await session.move_to(None, expected_leaf=None)
    with pytest.raises(StaleLeafError):
        await session.navigate("u1", expected_leaf=None)
    assert session.storage.writes == 0
    await session.append(said("x"), expected_leaf="u1")
    await session.move_to(None, expected_leaf="e0001")
    await session.append(said("y"), expected_leaf=None)
    assert session.leaf is not None
    assert session.leaf.parent is None


def repeating(*given: str) -> Callable[[], str]:
    """Gives these ids, then the last one for ever."""
    rest = list(given)
    return lambda: rest.pop(0) if len(rest) > 1 else rest[0]


async def test_ids_that_are_taken_are_not_given_again(open_log: Open) -> None:
    session = open_log(user("taken", None), new_id=repeating("taken", "a", "a", "taken", "b", "a"))
    done = await session.append(said("1"), said("2"))
    assert ids(done.nodes) == ["a", "b"]
    [third] = (await session.append(said("3"))).nodes
    assert str(uuid.UUID(third.id)) == third.id, "after too many collisions a full UUID"


async def test_ids_are_eight_hexadecimal_digits() -> None:
    session = Session(MemoryStorage(log(header())))
    [node] = (await session.append(said("x"))).nodes
    assert len(node.id) == 8
    assert int(node.id, 16) >= 0


async def test_a_newer_file_is_not_written() -> None:
    session = Session(MemoryStorage(log(header(4), user("u1", None))))
    with pytest.raises(ReadOnlyError):
        await session.append(said("x"))
    with pytest.raises(ReadOnlyError):
        await session.move_to(None)
    assert session.leaf_id == "u1"


async def test_labels(open_log: Open) -> None:
    session = open_log(user("u1", None))
    [node] = (await session.set_label("u1", " start ")).nodes
    assert session.storage.label("u1") == "start"
    assert session.leaf is node
    await session.set_label(node.id, "label of a label")
    await session.set_label("u1", "\ufeff \u00a0")
    assert session.storage.label("u1") is None
    assert session.storage.label(node.id) == "label of a label"
    await session.set_label(node.id, None)
    assert session.storage.tree.labels == {}
    cleared = (await session.entries([session.leaf_id or ""]))[0]
    assert "label" not in cleared.value
    with pytest.raises(EntryNotFoundError):
        await session.set_label("ghost", "x")


async def test_names(open_log: Open) -> None:
    session = open_log()
    await session.set_name(" two\r\nlines\n")
    assert session.name == "two lines"
    await session.append(SessionInfoDraft(name="an\nother"))
    [entry] = await session.entries([session.leaf_id or ""])
    assert entry.value["name"] == session.name == "an other"
    await session.set_name(" \n ")
    assert session.name is None


async def test_state_entries_set_the_state(open_log: Open) -> None:
    session = open_log(user("u1", None))
    await session.append(
        ModelDraft(provider="p", model_id="m"),
        ThinkingLevelDraft(thinking_level="high"),
        ActiveToolsDraft(active_tool_names=["read"]),
    )
    assert session.leaf is not None
    state = session.leaf.state
    assert state.model is not None
    assert (state.model.provider, state.model.model_id) == ("p", "m")
    assert (state.thinking_level, state.active_tool_names) == ("high", ["read"])


async def test_an_entry_can_leave_the_context_be_replaced_and_come_back(open_log: Open) -> None:
    blocks = [{"type": "text", "text": "a2"}]
    session = open_log(user("u1", None), answer("a2", "u1"), user("u3", "a2"))

    async def contents() -> list[object]:
        return [message["content"] for message in (await session.build_context()).values]

    before = await contents()
    assert before == ["u1", blocks, "u3"]
    await session.edit_context("a2", None)
    assert await contents() == ["u1", "u3"]
    await session.edit_context("a2", "shorter")
    assert await contents() == ["u1", [{"type": "text", "text": "shorter"}], "u3"]
    await session.edit_context("u1", [{"type": "text", "text": "edited"}])
    assert (await contents())[0] == [{"type": "text", "text": "edited"}]
    await session.restore_context("a2")
    await session.restore_context("u1")
    assert await contents() == before
    assert [m["content"] for m in (await session.build_context("u3")).values] == before, "at older places too"
    with pytest.raises(EntryNotFoundError):
        await session.edit_context("ghost", None)


async def test_an_empty_answer_comes_back_empty(open_log: Open) -> None:
    session = open_log(user("u1", None), answer("a2", "u1").replace(b'[{"type":"text","text":"a2"}]', b"null"))
    before = (await session.build_context()).values
    await session.edit_context("a2", None)
    await session.restore_context("a2")
    assert (await session.build_context()).values == before


async def test_custom_messages_can_be_edited_too(open_log: Open) -> None:
    session = open_log()
    [node] = (await session.append(CustomMessageDraft(custom_type="c", content="note"))).nodes
    await session.edit_context(node.id, None)
    assert (await session.build_context()).messages == []
    await session.restore_context(node.id)
    assert [m["content"] for m in (await session.build_context()).values] == ["note"]


async def test_a_result_on_another_branch_than_its_call_is_pointed_out(open_log: Open) -> None:
    session = open_log(user("u1", None), call("a2", "u1", "c1"), jump("j3", "a2", "u1"))
    draft = MessageDraft(message={"role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": []})
    astray = await session.append(draft)
    assert len(astray.warnings) == 1
    await session.move_to("a2")
    assert (await session.append(draft)).warnings == []
    assert (await session.append(draft)).warnings == []


async def test_a_compaction_keeps_from_an_entry_of_the_path(open_log: Open) -> None:
    session = open_log(user("u1", None), answer("a2", "u1"), user("u3", "a2"))
    await session.append(CompactionDraft(summary="S", first_kept_entry_id="u3", tokens_before=10))
    roles = [message["role"] for message in (await session.build_context()).values]
    assert roles == ["compactionSummary", "user"]


async def test_statistics_of_a_path_and_of_the_file(open_log: Open) -> None:
    session = open_log(user("u1", None), answer("a2", "u1"), answer("a3", "u1"), result("t4", "a3", "c"))
    assert session.storage.statistics.messages == 4
    assert session.statistics().messages == 3
    assert session.statistics("a2").total.total_tokens == 15
    assert session.statistics(None).entries == 0


async def test_reading(open_log: Open) -> None:
    session = open_log(user("u1", None), answer("a2", "u1"), label("l3", "a2", "a2", "x"))
    assert ids(session.path()) == ["u1", "a2", "l3"]
    assert ids(session.path("u1")) == ["u1"]
    assert session.path(None) == []
    for wrong in (session.path, session.select, session.statistics, session.node):
        with pytest.raises(EntryNotFoundError):
            wrong("ghost")
    with pytest.raises(EntryNotFoundError):
        await session.entries(["u1", "ghost"])
    [brief] = await session.summaries([session.node("a2")])
    assert (brief.id, brief.parent_id, brief.role, brief.preview, brief.label) == ("a2", "u1", "assistant", "a2", "x")


async def test_an_older_compaction_is_never_changed(open_log: Open) -> None:
    session = open_log(user("u1", None), answer("a2", "u1"), compaction("k3", "a2", "S1", "a2"), user("u4", "k3"))
    first = (await session.entries(["k3"]))[0].raw
    await session.append(CompactionDraft(summary="S2", first_kept_entry_id="u4"))
    await session.move_to("u4")
    assert (await session.build_context()).values[0]["summary"] == "S1"
    assert (await session.entries(["k3"]))[0].raw == first
