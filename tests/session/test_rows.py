"""The rows: the tree flattened, filtered, searched and collapsed, as an editor draws it."""

from collections.abc import Iterable

import pytest

from piserver.entries.types import MessageDraft
from piserver.session import EntryNotFoundError, Row, RowWindow
from tests.session.conftest import Open
from tests.storage.log import answer, call, compaction, entry, jump, label, message, name, result, user

BRANCHED = (
    user("u1", None),
    answer("a2", "u1"),
    user("b1", "a2"),
    answer("b2", "b1"),
    user("c1", "b2"),
    user("c2", "b2"),
    user("d1", "a2"),
    answer("d2", "d1"),
    user("r1", None),
)


def drawn(window: RowWindow | Iterable[Row]) -> list[str]:
    """Rows as text: guides, id."""
    rows = window.rows if isinstance(window, RowWindow) else window
    return [row.guides + row.entry.id for row in rows]


async def test_branches_are_indented_runs_are_not(open_log: Open) -> None:
    window = await open_log(*BRANCHED).rows()
    assert drawn(window) == ["u1", "a2", "+b1", "|b2", "|+c1", "|Lc2", "Ld1", " d2", "r1"]
    assert (window.total, window.offset, window.leaf_row) == (9, 0, 8)
    assert [row.children for row in window.rows] == [1, 2, 1, 2, 0, 0, 1, 0, 0]


async def test_siblings_are_in_file_order_whatever_their_times(open_log: Open) -> None:
    late = user("late", "u1").replace(b"2026", b"2020")
    odd = user("odd", "u1").replace(b"2026-01-02T03:04:05.678Z", b"whenever")
    assert drawn(await open_log(user("u1", None), user("x", "u1"), late, odd).rows()) == ["u1", "+x", "+late", "Lodd"]


async def test_the_path_the_leaf_and_the_context_are_marked(open_log: Open) -> None:
    session = open_log(*BRANCHED)
    await session.move_to("b2")
    rows = (await session.rows()).rows
    assert [row.entry.id for row in rows if row.on_path] == ["u1", "a2", "b1", "b2"]
    assert [row.entry.id for row in rows if row.leaf] == ["b2"]
    assert [row.entry.id for row in rows if row.in_context] == ["u1", "a2", "b1", "b2"]
    await session.move_to(None)
    window = await session.rows()
    assert window.leaf_row is None
    assert not any(row.on_path or row.leaf or row.in_context for row in window.rows)


async def test_the_context_mark_agrees_with_the_context(open_log: Open) -> None:
    session = open_log(
        user("u1", None),
        compaction("k1", "u1", "S1", "u1"),
        user("u2", "k1"),
        answer("a2", "u2"),
        user("u3", "a2"),
        compaction("k2", "u3", "S2", "a2"),
        answer("bad", "k2", stopReason="error"),
        user("u4", "bad"),
        answer("a5", "u4"),
        entry("context_edit", "x", "a5", targetId="u4", replacement=None),
    )
    marked = {row.entry.id for row in (await session.rows()).rows if row.in_context}
    sources = {message.node.id for message in (await session.build_context()).messages}
    assert marked == {"k2", "a2", "u3", "a5"}
    assert sources - {"bad"} == marked
    assert [row.entry.id for row in (await session.rows()).rows if row.entry.failed] == ["bad"]


FILTERED = (
    message("s0", None, "system", "rules"),
    user("u1", "s0"),
    entry("model_change", "m2", "u1", provider="p", modelId="m"),
    call("a3", "m2", "c1", path="/etc/hosts"),
    result("t4", "a3", "c1"),
    answer("a5", "t4"),
    label("l6", "a5", "t4", "found it"),
    name("n7", "l6", "session"),
    entry("custom", "c8", "n7", customType="x"),
    entry("alien", "x9", "c8"),
    user("u10", "x9"),
    jump("j11", "u10", "a5"),
)


@pytest.mark.parametrize(
    ("filter", "shown"),
    [
        ("default", ["u1", "a3", "t4", "a5", "x9", "u10"]),
        ("no-tools", ["u1", "a5", "x9", "u10"]),
        ("user-only", ["u1", "u10"]),
        ("labeled", ["t4"]),
        ("all", ["s0", "u1", "m2", "a3", "t4", "a5", "l6", "n7", "c8", "x9", "u10", "j11"]),
    ],
)
async def test_filters(open_log: Open, filter: str, shown: list[str]) -> None:
    session = open_log(*FILTERED)
    window = await session.rows(filter=filter)
    assert drawn(window) == shown
    assert window.total == len(shown)


async def test_a_hidden_leaf_marks_its_nearest_visible_ancestor(open_log: Open) -> None:
    session = open_log(*FILTERED)
    await session.move_to("c8")
    for filter, marked in (("default", ["a5"]), ("user-only", ["u1"]), ("labeled", ["t4"]), ("all", ["c8"])):
        rows = (await session.rows(filter=filter)).rows
        assert [row.entry.id for row in rows if row.leaf] == marked


async def test_hidden_entries_pass_their_children_on(open_log: Open) -> None:
    session = open_log(
        user("u1", None), label("l2", "u1", "u1", "x"), user("u3", "l2"), user("u4", "l2"), user("u5", "u1")
    )
    assert drawn(await session.rows()) == ["u1", "+u3", "+u4", "Lu5"]
    hidden_root = open_log(name("n1", None, "x"), user("u2", "n1"), user("u3", "n1"))
    assert drawn(await hidden_root.rows()) == ["u2", "u3"]


async def test_an_answer_with_text_beside_its_call_is_no_tool_traffic(open_log: Open) -> None:
    blocks = [{"type": "text", "text": "look"}, {"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]
    thinking = [{"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "id": "c", "name": "r", "arguments": {}}]
    session = open_log(
        message("a1", None, "assistant", blocks),
        message("a2", "a1", "assistant", thinking),
        message("a3", "a2", "assistant", []),
    )
    assert drawn(await session.rows(filter="no-tools")) == ["a1", "a3"]


async def test_a_query_wants_every_word_in_any_case(open_log: Open) -> None:
    session = open_log(
        user("u1", None, "Grüße from the north"),
        answer("a2", "u1", "the NORTH wind"),
        call("a3", "a2", "c1", path="/north/wind"),
        label("l4", "a3", "u1", "Compass"),
        user("u5", "l4", "a\\b \ud83d north"),
    )
    for query, found in (
        ("north", ["u1", "a2", "a3", "u5"]),
        ("wind  NORTH", ["a2", "a3"]),
        ("GRÜSSE", ["u1"]),
        ("compass", ["u1"]),
        ("a\\b", ["u5"]),
        ("nothing", []),
        ("  ", ["u1", "a2", "a3", "u5"]),
    ):
        assert drawn(await session.rows(query=query)) == found, query
    assert drawn(await session.rows(query="north", filter="user-only")) == ["u1", "u5"]


async def test_a_search_takes_in_what_is_appended(open_log: Open) -> None:
    session = open_log(user("u1", None, "needle"))
    assert drawn(await session.rows(query="needle")) == ["u1"]
    await session.append(MessageDraft(message={"role": "user", "content": "another needle"}))
    assert drawn(await session.rows(query="needle")) == ["u1", "e0001"]
    await session.set_label("u1", "thread")
    assert drawn(await session.rows(query="thread")) == ["u1"]
    await session.set_label("u1", None)
    assert drawn(await session.rows(query="thread")) == []


async def test_windows(open_log: Open) -> None:
    session = open_log(*(user(f"u{n}", f"u{n - 1}" if n else None) for n in range(100)))
    window = await session.rows(offset=40, limit=3)
    assert (drawn(window), window.offset, window.total, window.leaf_row) == (["u40", "u41", "u42"], 40, 100, 99)
    assert drawn(await session.rows(offset=98, limit=5)) == ["u98", "u99"]
    assert drawn(await session.rows(offset=200, limit=5)) == []
    around = await session.rows(around="u50", limit=4)
    assert (drawn(around), around.offset) == (["u48", "u49", "u50", "u51"], 48)
    assert drawn(await session.rows(around="u0", limit=4)) == ["u0", "u1", "u2", "u3"]
    with pytest.raises(EntryNotFoundError):
        await session.rows(around="ghost")


async def test_around_a_hidden_entry_is_around_its_nearest_visible_ancestor(open_log: Open) -> None:
    session = open_log(user("u1", None), user("u2", "u1"), label("l3", "u2", "u1", "x"), user("u4", "l3"))
    window = await session.rows(around="l3", limit=1)
    assert drawn(window) == ["u2"]


async def test_collapsing_hides_what_is_below(open_log: Open) -> None:
    session = open_log(*BRANCHED)
    await session.move_to("c1")
    window = await session.rows(collapsed=frozenset({"b1", "r1"}))
    assert drawn(window) == ["u1", "a2", "+b1", "Ld1", " d2", "r1"]
    [row] = [row for row in window.rows if row.collapsed]
    assert (row.entry.id, row.hidden, row.children, row.leaf) == ("b1", 3, 1, True)
    nested = await session.rows(collapsed=frozenset({"u1", "b1"}))
    assert drawn(nested) == ["u1", "r1"]
    assert nested.rows[0].hidden == 7


async def test_orphans_are_roots_that_say_so(open_log: Open) -> None:
    session = open_log(user("u1", None), user("u2", "ghost"), user("u3", "u4"), user("u4", "u3"))
    rows = (await session.rows()).rows
    assert sorted(row.entry.id for row in rows) == ["u1", "u2", "u3", "u4"]
    assert [row.entry.id for row in rows if row.orphaned] == ["u2", "u3"]


async def test_previews_are_one_short_line(open_log: Open) -> None:
    session = open_log(
        user("u1", None, "two\n\tlines\x1b[31m"),
        user("u2", "u1", "x" * 500),
        call("a3", "u2", "c1", path="/etc/hosts"),
        user("u4", "a3", "half \ud83d pair"),
    )
    previews = [row.entry.preview for row in (await session.rows()).rows]
    assert previews[0] == "two lines [31m"
    assert len(previews[1]) == 160
    assert previews[2] == "[read /etc/hosts]"
    assert previews[3] == "half \ufffd pair"


async def test_rows_follow_the_log(open_log: Open) -> None:
    session = open_log(user("u1", None))
    assert drawn(await session.rows()) == ["u1"]
    await session.append(MessageDraft(message={"role": "user", "content": "x"}))
    await session.set_label("u1", "first")
    window = await session.rows()
    assert drawn(window) == ["u1", "e0001"]
    assert window.rows[0].entry.label == "first"
    assert window.rows[1].leaf


async def test_a_long_log_is_drawn_in_a_thread_to_the_same_effect(open_log: Open) -> None:
    lines = [user("u0", None), *(user(f"u{n}", f"u{(n - 1) // 2}") for n in range(1, 6000))]
    session = open_log(*lines)
    window = await session.rows(limit=5)
    assert window.total == 6000
    assert [row.entry.id for row in window.rows] == ["u0", "u1", "u3", "u7", "u15"]
    assert [row.guides for row in window.rows] == ["", "+", "|+", "||+", "|||+"]
