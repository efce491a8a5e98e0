"""Moving the leaf: `move_to` is the bare jump, `navigate` what a person does in a tree view."""

import pytest

from piserver.entries.types import MessageDraft
from piserver.session import BranchSummary, EntryNotFoundError, Session
from piserver.storage import StorageError
from tests.session.conftest import CountingStorage, Open, Recorder
from tests.storage.log import answer, compaction, entry, jump, label, message, name, user

LINES = (
    user("u1", None, "first"),
    answer("a2", "u1"),
    user("u3", "a2", "third"),
    answer("a4", "u3"),
    entry("custom_message", "m5", "a4", customType="c", content=[{"type": "text", "text": "note"}], display=True),
    answer("a6", "m5"),
)


async def written(session: Session) -> list[dict[str, object]]:
    """What was appended since the session was opened, without the times."""
    nodes = session.storage.entries_since(len(LINES))
    entries = [entry.value for entry in await session.storage.read(nodes)]
    return [{key: value for key, value in entry.items() if key != "timestamp"} for entry in entries]


async def test_a_move_is_a_leaf_entry_on_the_leaf_that_is_left(open_log: Open, recorder: Recorder) -> None:
    session = open_log(*LINES)
    session.listen(recorder)
    moved = await session.move_to("a2")
    assert moved.leaf is session.leaf is session.node("a2")
    assert moved.leaf_entry is not None
    assert moved.summary_entry is None
    assert await written(session) == [{"type": "leaf", "id": "e0001", "parentId": "a6", "targetId": "a2"}]
    assert recorder.told == [(["e0001"], "client", "a2")]


async def test_the_start_is_a_target_too(open_log: Open) -> None:
    session = open_log(*LINES)
    moved = await session.move_to(None, BranchSummary("S"))
    assert await written(session) == [
        {"type": "leaf", "id": "e0001", "parentId": "a6", "targetId": None},
        {"type": "branch_summary", "id": "e0002", "parentId": None, "fromId": "root", "summary": "S"},
    ]
    assert moved.leaf is moved.summary_entry is session.leaf
    await session.move_to(None)
    assert session.leaf is None
    assert (await session.build_context()).messages == []


async def test_moving_to_where_the_leaf_is_writes_nothing(open_log: Open, recorder: Recorder) -> None:
    session = open_log(*LINES)
    session.listen(recorder)
    moved = await session.move_to("a6")
    assert (moved.leaf, moved.leaf_entry, moved.summary_entry) == (session.node("a6"), None, None)
    assert (await written(session), recorder.told) == ([], [])


async def test_but_a_summary_is_written_all_the_same(open_log: Open) -> None:
    session = open_log(*LINES)
    moved = await session.move_to("a6", BranchSummary("S"))
    assert moved.leaf_entry is None
    assert await written(session) == [
        {"type": "branch_summary", "id": "e0001", "parentId": "a6", "fromId": "a6", "summary": "S"}
    ]


async def test_a_summary_hangs_on_the_target_in_the_same_write(open_log: Open) -> None:
    session = open_log(*LINES)
    details = {"readFiles": ["a"], "modifiedFiles": []}
    moved = await session.move_to("a2", BranchSummary("S", details, {"input": 3}, from_hook=True))
    assert session.storage.writes == 1
    assert (await written(session))[1] == {
        "type": "branch_summary",
        "id": "e0002",
        "parentId": "a2",
        "fromId": "a2",
        "summary": "S",
        "details": details,
        "usage": {"input": 3},
        "fromHook": True,
    }
    assert moved.leaf is moved.summary_entry
    [brief] = await session.summaries([session.node("e0002")])
    assert brief.left_leaf_id == "a6"


async def test_an_unknown_target_writes_nothing(open_log: Open) -> None:
    session = open_log(*LINES)
    for move in (session.move_to("ghost", BranchSummary("S")), session.navigate("ghost")):
        with pytest.raises(EntryNotFoundError):
            await move
    assert session.storage.writes == 0


async def test_a_failed_move_moves_nothing(open_log: Open, recorder: Recorder) -> None:
    session = open_log(*LINES)
    session.listen(recorder)
    storage = session.storage
    assert isinstance(storage, CountingStorage)
    storage.fail = StorageError("full")
    with pytest.raises(StorageError):
        await session.navigate("a2", summary=BranchSummary("S"), label="x")
    assert (session.leaf_id, session.revision, recorder.told) == ("a6", len(LINES), [])


@pytest.mark.parametrize(
    ("target", "leaf", "text"), [("u3", "a2", "third"), ("u1", None, "first"), ("m5", "a4", "note"), ("a4", "a4", None)]
)
async def test_navigate_goes_before_what_a_person_wrote(
    open_log: Open, target: str, leaf: str | None, text: str | None
) -> None:
    session = open_log(*LINES)
    moved = await session.navigate(target)
    assert (session.leaf_id, moved.editor_text) == (leaf, text)
    assert await written(session) == [{"type": "leaf", "id": "e0001", "parentId": "a6", "targetId": leaf}]


async def test_sending_again_grows_a_sibling(open_log: Open) -> None:
    session = open_log(*LINES)
    await session.navigate("u3")
    [again] = (await session.append(MessageDraft(message={"role": "user", "content": "third, better"}))).nodes
    assert [node.id for node in session.node("a2").children] == ["u3", again.id]
    assert [node.id for node in session.path("a6")] == ["u1", "a2", "u3", "a4", "m5", "a6"]


async def test_the_text_of_blocks_is_joined(open_log: Open) -> None:
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "", "mimeType": "i"},
        {"type": "text", "text": "b"},
    ]
    session = open_log(*LINES, message("u7", "a6", "user", blocks))
    moved = await session.navigate("u7")
    assert moved.editor_text == "ab"
    assert session.leaf_id == "a6"


async def test_a_label_names_the_summary(open_log: Open) -> None:
    session = open_log(*LINES)
    moved = await session.navigate("u3", summary=BranchSummary("S"), label=" way back ")
    assert session.storage.writes == 1
    assert [(e["type"], e["id"], e["parentId"]) for e in await written(session)] == [
        ("leaf", "e0001", "a6"),
        ("branch_summary", "e0002", "a2"),
        ("label", "e0003", "e0002"),
    ]
    assert session.storage.label("e0002") == "way back"
    assert moved.summary_entry is session.node("e0002")
    assert moved.label_entry is moved.leaf is session.leaf


async def test_without_a_summary_it_names_the_target(open_log: Open) -> None:
    session = open_log(*LINES)
    await session.navigate("u3", label="here")
    assert session.storage.writes == 1
    assert session.storage.label("u3") == "here"
    assert session.leaf is not None
    assert (session.leaf.type, session.leaf.parent_id) == ("label", "a2")


@pytest.mark.parametrize("blank", [None, "", " \ufeff"])
async def test_a_blank_label_is_none(open_log: Open, blank: str | None) -> None:
    session = open_log(*LINES)
    moved = await session.navigate("a2", label=blank)
    assert moved.label_entry is None
    assert len(await written(session)) == 1


async def test_navigating_to_where_the_leaf_is(open_log: Open) -> None:
    session = open_log(*LINES)
    moved = await session.navigate("a6", label="end")
    assert moved.leaf_entry is None
    assert [e["type"] for e in await written(session)] == ["label"]


async def test_a_summary_that_is_not_json_is_refused(open_log: Open) -> None:
    session = open_log(*LINES)
    with pytest.raises(ValueError, match="NaN"):
        await session.move_to("a2", BranchSummary("S", usage={"input": float("nan")}))
    assert session.leaf_id == "a6"
    assert session.storage.writes == 0


NEWER = {
    "bookkeeping on an older branch": ((user("x1", "a2"), answer("x2", "x1"), label("l", "a2", "a2", "x")), "x2"),
    "several of it": ((answer("x1", "a2"), entry("custom", "c", "a6", customType="c"), name("n", "c", "x")), "x1"),
    "a message is no bookkeeping": ((answer("x1", "a6"), user("x2", "a2")), None),
    "nor is a compaction": ((answer("x1", "a6"), compaction("k", "a2", "S", "a2")), None),
    "a jump was wanted": ((answer("x1", "a6"), jump("j", "x1", "a2"), label("l", "a2", "a2", "x")), None),
    "bookkeeping on the newest branch": ((label("l", "a6", "a2", "x"),), None),
}


@pytest.mark.parametrize(("lines", "newer"), NEWER.values(), ids=NEWER.keys())
async def test_a_newer_branch_is_pointed_out(open_log: Open, lines: tuple[bytes, ...], newer: str | None) -> None:
    session = open_log(*LINES, *lines)
    assert (session.newer_leaf.id if session.newer_leaf else None) == newer
    if newer is not None:
        assert session.leaf is session.storage.leaf
        await session.move_to(newer)
        assert session.newer_leaf is None
