"""From entries to messages: what the case files do not show."""

from typing import Any

import orjson
import pytest

from piserver.context import Context, project, select
from piserver.entries.entry import Entry
from piserver.entries.header import Header
from piserver.storage import MemoryStorage

HEADER = Header("s", "2025-03-01T10:00:00.000Z", "/home/dev")
TIME = "2025-03-01T10:00:01.500Z"
MS = 1_740_823_201_500


async def context_of(*entries: dict[str, Any], **options: Any) -> Context:
    """The context at the last of entries `a`, `b`, `c` …, each the parent of the next."""
    names = "abcdefghij"
    lines = [
        orjson.dumps({**entry, "id": id, "parentId": parent, "timestamp": TIME})
        for id, parent, entry in zip(names, [None, *names], entries, strict=False)
    ]
    storage = MemoryStorage.create(HEADER, lines)
    selection = select(storage.tree, storage.leaf)
    return project(selection, await storage.read(selection.nodes), **options)


def message(role: str, content: Any = "text", **more: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def edit(target: str, *replacement: Any) -> dict[str, Any]:
    return {"type": "context_edit", "targetId": target} | ({"replacement": replacement[0]} if replacement else {})


def excluded(context: Context) -> list[tuple[str, str]]:
    return [(out.node.id, out.reason) for out in context.excluded]


def sources(context: Context) -> list[tuple[str, str]]:
    return [(m.node.id, m.reason) for m in context.messages]


async def test_each_message_names_its_entry_and_why_it_is_in() -> None:
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryId": "b", "systemMessage": {"role": "system"}}
    context = await context_of(message("user"), message("system"), message("user"), compaction, message("assistant"))

    assert sources(context) == [("d", "compaction"), ("d", "compaction"), ("c", "kept"), ("e", "after-compaction")]
    assert excluded(context) == [("b", "replaced-system")]
    assert context.stale_before == 3


async def test_usage_is_trusted_from_the_first_message_that_no_compaction_kept() -> None:
    kept = {"type": "compaction", "summary": "s", "firstKeptEntryId": "a"}

    assert (await context_of(message("user"), message("assistant"))).stale_before == 0
    assert (await context_of(message("user"), kept)).stale_before == 2
    assert (await context_of(message("user"), kept, message("user"))).stale_before == 2


async def test_entry_that_gives_no_message_is_excluded_with_the_reason() -> None:
    context = await context_of(
        message("user"),
        {"type": "message"},
        {"type": "branch_summary", "fromId": "a", "summary": ""},
        {"type": "custom", "customType": "note"},
        {"type": "model_change", "provider": "acme", "modelId": "swift-1"},
        {"type": "of another program"},
        edit("a", None),
    )

    assert context.messages == []
    assert excluded(context) == [
        ("a", "edited-out"),
        ("b", "empty"),
        ("c", "empty"),
        ("d", "not-a-message"),
        ("e", "not-a-message"),
        ("f", "not-a-message"),
        ("g", "not-a-message"),
    ]


@pytest.mark.parametrize(("role", "empty"), [("user", []), ("assistant", []), ("toolResult", []), ("system", "")])
@pytest.mark.parametrize("missing", [{"content": None}, {}])
async def test_null_or_missing_content_is_empty_content(role: str, empty: Any, missing: dict[str, Any]) -> None:
    context = await context_of({"type": "message", "message": {"role": role, "kept": 1.0, **missing}})

    assert context.values == [{"role": role, "kept": 1.0, "content": empty}]


async def test_shell_run_has_no_content_and_needs_none() -> None:
    run = {"role": "bashExecution", "command": "ls", "output": "a"}

    assert (await context_of({"type": "message", "message": run})).values == [run]


async def test_messages_made_of_entries_take_the_entries_time_in_ms() -> None:
    context = await context_of(
        {"type": "custom_message", "customType": "note", "content": "n", "display": False, "details": {"x": 1}},
        {"type": "branch_summary", "fromId": "root", "summary": "left"},
        {"type": "custom_message", "customType": "note", "content": None},
    )

    assert context.values == [
        {
            "role": "custom",
            "customType": "note",
            "content": "n",
            "display": False,
            "details": {"x": 1},
            "timestamp": MS,
        },
        {"role": "branchSummary", "summary": "left", "fromId": "root", "timestamp": MS},
        {"role": "custom", "customType": "note", "content": [], "timestamp": MS},
    ]


# Context edits


@pytest.mark.parametrize("role", ["assistant", "toolResult"])
async def test_text_in_place_of_an_answer_or_a_result_becomes_a_block(role: str) -> None:
    context = await context_of(message(role, [], x=1), edit("a", {"content": "short"}))

    assert context.values == [{"role": role, "content": [{"type": "text", "text": "short"}], "x": 1}]


async def test_text_in_place_of_a_user_message_stays_text() -> None:
    context = await context_of(message("user", [{"type": "text", "text": "long"}]), edit("a", {"content": "short"}))

    assert context.values == [{"role": "user", "content": "short"}]


@pytest.mark.parametrize("replacement", [(), ({},), ({"content": None},), ("text",), (1,)])
async def test_edit_without_a_usable_replacement_is_ignored_and_reported(replacement: tuple[Any, ...]) -> None:
    context = await context_of(message("user"), edit("a", *replacement))

    assert context.values == [{"role": "user", "content": "text"}]
    assert [(d.kind, d.entry_id) for d in context.diagnostics] == [("bad-context-edit", "b")]


@pytest.mark.parametrize(
    "entry",
    [
        message("bashExecution", command="ls", output="a"),
        message("system"),
        {"type": "branch_summary", "fromId": "root", "summary": "left"},
    ],
)
async def test_only_what_has_content_of_its_own_can_be_replaced_but_everything_left_out(entry: dict[str, Any]) -> None:
    unedited = await context_of(entry)

    assert (await context_of(entry, edit("a", {"content": "x"}))).values == unedited.values
    assert (await context_of(entry, edit("a", None))).values == []


# Extension points


async def test_custom_entry_is_projected_by_its_types_projector() -> None:
    def project_note(entry: Entry) -> list[dict[str, Any]]:
        return [message("user", note)["message"] for note in entry.value["data"]]

    notes = {"type": "custom", "customType": "note", "data": ["one", "two"]}
    other = {"type": "custom", "customType": "other", "data": ["three"]}
    context = await context_of(notes, other, projectors={"note": project_note})

    assert context.values == [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    assert sources(context) == [("a", "on-path"), ("a", "on-path")]
    assert excluded(context) == [("b", "not-a-message")]


async def test_transforms_run_in_order_over_the_entries_and_what_they_drop_is_told() -> None:
    def without_last(entries: list[Entry]) -> list[Entry]:
        return entries[:-1]

    def turned_round(entries: list[Entry]) -> list[Entry]:
        return entries[::-1]

    questions = [message("user", number) for number in ("1", "2", "3")]
    context = await context_of(*questions, transforms=[without_last, turned_round])

    assert [value["content"] for value in context.values] == ["2", "1"]
    assert excluded(context) == [("c", "transformed-out")]
    other_way = await context_of(*questions, transforms=[turned_round, without_last])
    assert [value["content"] for value in other_way.values] == ["3", "2"]


async def test_lone_surrogate_stays_in_the_messages() -> None:
    line = b'{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"\\ud83d"}}'
    storage = MemoryStorage.create(HEADER, [line])
    selection = select(storage.tree, storage.leaf)
    context = project(selection, await storage.read(selection.nodes))

    assert context.messages[0].raw == b'{"role":"user","content":"\\ud83d"}'
    assert context.values[0]["content"] == "\ud83d"


@pytest.mark.parametrize("role", [{"a": 1}, ["user"], None, 7])
async def test_a_role_that_is_no_word_breaks_nothing(role: Any) -> None:
    context = await context_of(message(role, None), message(role), edit("b", {"content": "x"}))

    assert [value["role"] for value in context.values] == [role, role]
