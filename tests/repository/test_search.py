"""What is found in one session, in which order, and on which branch it lies."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.repository import Repository
from piserver.repository.search import Hit, Scope, file_may_match, newest_below, search_session
from piserver.session import Session
from piserver.session.matching import matcher
from piserver.storage import MemoryStorage, StorageError
from piserver.tree import Tree
from tests.repository.conftest import Keep
from tests.storage.log import TIME, answer, call, entry, header, label, line, log, message, name, result, user

Find = Callable[..., Awaitable[list[Hit]]]


async def find(session: Session, query: str, scope: Scope | None = None, *, regex: bool = False) -> list[Hit]:
    wanted = matcher(query, regex=regex)
    return [hit async for hit, _ in search_session(session, query, wanted, scope or Scope()) if hit is not None]


def ids(hits: list[Hit]) -> list[str | None]:
    return [hit.node.id if hit.node else None for hit in hits]


def in_memory(*lines: bytes) -> Session:
    return Session(MemoryStorage(log(header(), *lines)))


ESCAPES = (
    rb'{"type":"message","id":"x","parentId":null,"message":'
    rb'{"role":"user","content":"\u006eeedle \u00c9t\u00e9 \"q\" a\/b \\"}}'
)
FORKED = (
    user("u1", None, "the needle"),
    answer("a2", "u1", "one way"),
    user("u3", "a2", "needle here"),
    label("l4", "u3", "a2", "good point"),
    user("u5", "a2", "needle there"),
    answer("a6", "u5", "nothing"),
    entry("leaf", "j7", "a6", targetId="u3"),
)
"""u1 a2, below that u3 (with l4) and u5 a6; a jump back to u3."""


async def test_the_newest_comes_first_with_its_branch() -> None:
    hits = await find(in_memory(*FORKED), "needle")
    assert ids(hits) == ["u5", "u3", "u1"]
    branches = [hit.branch for hit in hits]
    assert all(branches)
    assert [(b.leaf_id, b.label, b.on_path) for b in branches if b] == [
        ("j7", None, False),
        ("l4", None, True),
        ("j7", "good point", True),
    ]
    assert {hit.match for hit in hits} == {"text"}


async def test_the_label_is_the_one_nearest_to_the_branch_s_end() -> None:
    session = in_memory(
        user("u1", None, "start"),
        user("u2", "u1"),
        user("u3", "u2"),
        label("l4", "u3", "u1", "far"),
        label("l5", "l4", "u2", "near"),
        user("u6", "u1"),
    )
    [hit] = await find(session, "start")
    assert hit.branch
    assert (hit.branch.leaf_id, hit.branch.label) == ("u6", "far")
    [hit] = await find(session, '"u3"')
    assert hit.branch
    assert (hit.branch.leaf_id, hit.branch.label) == ("l5", None)
    [_, hit] = await find(session, "u2")
    assert hit.branch
    assert (hit.branch.leaf_id, hit.branch.label) == ("l5", "near")


async def test_labels_ids_and_the_name_are_found_first() -> None:
    session = in_memory(
        user("needle", None, "a needle"), label("l2", "needle", "needle", "Needle"), name("n3", "l2", "NEEDLES")
    )
    hits = await find(session, "needle")
    assert [(hit.match, hit.snippet) for hit in hits][:3] == [
        ("name", "NEEDLES"),
        ("id", "needle"),
        ("label", "Needle"),
    ]
    assert ids(hits)[:3] == [None, "needle", "needle"]
    assert [hit.snippet[slice(*hit.ranges[0])] for hit in hits[:3]] == ["NEEDLE", "needle", "Needle"]
    assert ("text", "a needle") in [(hit.match, hit.snippet) for hit in hits[3:]]


async def test_what_is_no_name_any_more_is_found_if_such_entries_are_asked_for() -> None:
    session = in_memory(
        user("u1", None, "x"),
        label("l2", "u1", "u1", "zebra"),
        label("l3", "l2", "u1", None),
        name("n4", "l3", "zebra"),
        name("n5", "n4", "other"),
    )
    assert await find(session, "zebra") == []
    assert ids(await find(session, "zebra", Scope(types=frozenset({"label", "session_info"})))) == ["n4", "l2"]


async def test_roles_and_types_narrow_what_is_searched() -> None:
    session = in_memory(
        user("needle", None, "needle"),
        answer("a2", "needle", "needle"),
        result("r3", "a2", "c", "needle"),
        entry("branch_summary", "b4", "r3", fromId="a2", summary="needle"),
        label("l5", "b4", "a2", "needle"),
        name("n6", "l5", "needle"),
    )
    assert ids(await find(session, "needle", Scope(roles=frozenset({"assistant", "toolResult"})))) == ["a2", "r3", "a2"]
    assert ids(await find(session, "needle", Scope(types=frozenset({"branch_summary"})))) == ["b4"]
    assert ids(await find(session, "needle", Scope(frozenset({"user"}), frozenset({"message"})))) == [
        "needle",
        "needle",
    ]


@pytest.mark.parametrize(
    ("line", "query"),
    [
        (message("x", None, "assistant", [{"type": "thinking", "thinking": "a secret plan"}]), "plan"),
        (call("x", None, "c", path="src/parser.py"), "src/parser.py"),
        (call("x", None, "c", path="src/parser.py"), "read"),
        (call("x", None, "c", path="a.py", edits=[{"old": "n = 1", "new": "n = 2"}]), '"n = 2"'),
        (result("x", None, "c", "line one\nline two"), '"line two"'),
        (message("x", None, "bashExecution", "", command="make test", output="3 failed"), "make failed"),
        (entry("compaction", "x", None, summary="What was done", firstKeptEntryId="x", tokensBefore=1), "done"),
        (entry("custom_message", "x", None, customType="t", content="for the model", display=True), "model"),
        (entry("model_change", "x", None, provider="acme", modelId="m-1"), "acme/m-1"),
        (ESCAPES, '"needle Été" "\\" a/b'),
        (message("x", None, "user", "half \ud83d a pair"), "pair"),
    ],
)  # fmt: skip
async def test_everything_that_can_be_read_is_searched(line: bytes, query: str) -> None:
    hits = await find(in_memory(line, user("y", "x", "something else")), query)
    assert ids(hits) == ["x"]


async def test_old_formats_are_searched(keep: Keep, tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    said = [
        {"role": "user", "content": "a needle"},
        {"role": "assistant", "content": [{"type": "text", "text": "hay"}]},
    ]
    path.write_bytes(log(header(version=None), *[line(type="message", timestamp=TIME, message=m) for m in said]))
    before = path.read_bytes()
    session = await keep(await Repository(tmp_path).open(path))
    assert file_may_match(path, matcher("needle hay"))
    assert [hit.snippet for hit in await find(session, "needle")] == ["a needle"]
    assert path.read_bytes() == before


async def test_progress_is_told_and_counts_what_was_passed_over() -> None:
    session = in_memory(*[user(f"u{n}", f"u{n - 1}" if n else None, "x" * 300) for n in range(1200)])
    looked = [
        count async for hit, count in search_session(session, "nothing", matcher("nothing"), Scope()) if hit is None
    ]
    assert looked == sorted(looked)
    assert looked[-1] == 1200
    assert len(looked) > 2
    narrow = Scope(roles=frozenset({"nobody"}))
    assert [c async for _, c in search_session(session, "x", matcher("x"), narrow)] == [1200]


async def test_one_huge_entry_holds_up_no_others() -> None:
    session = in_memory(user("u1", None, "needle"), user("u2", "u1", "hay " * 500_000), user("u3", "u2", "needle"))
    seen = [
        (hit.node.id if hit and hit.node else None, looked)
        async for hit, looked in search_session(session, "needle", matcher("needle"), Scope())
    ]
    assert seen == [("u3", 1), (None, 1), (None, 2), ("u1", 3), (None, 3)]


async def test_what_comes_while_it_is_searched_is_not_found() -> None:
    session = in_memory(*[user(f"u{n}", f"u{n - 1}" if n else None, "needle") for n in range(3)])
    hits: list[Hit] = []
    async for hit, _ in search_session(session, "needle", matcher("needle"), Scope()):
        if hit is not None:
            hits.append(hit)
            await session.set_label("u0", "needle")
    assert ids(hits) == ["u2", "u1", "u0"]


async def test_a_file_that_is_replaced_meanwhile_ends_the_search(keep: Keep, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = await keep(
        header(), *[user(f"u{n}", f"u{n - 1}" if n else None, "needle " * 99) for n in range(1500)], path=path
    )
    search = search_session(session, "needle", matcher("needle"), Scope())
    await anext(search)
    path.with_name("new").write_bytes(log(header(), user("v1", None, "hay")))
    path.with_name("new").replace(path)
    await session.storage.refresh()
    with pytest.raises(StorageError, match="replaced"):
        async for _ in search:
            pass


def test_a_file_is_ruled_out_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(log(header(), user("u1", None, "One NEEDLE"), user("u2", "u1", "\u89e3\u6790")))
    assert file_may_match(path, matcher("needle one"))  # in different entries, for all that the bytes say
    assert file_may_match(path, matcher("解析"))
    assert file_may_match(path, matcher("n.*e", regex=True))
    assert file_may_match(path, matcher("é"))
    assert not file_may_match(path.with_name("missing"), matcher("é"))
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(log(header(), user("u1", None, "One NEEDLE")))
    assert not file_may_match(plain, matcher("needle haystack"))
    assert not file_may_match(plain, matcher("needle", match_case=True))
    assert file_may_match(plain, matcher("N" * 1000))


@given(st.integers(1, 2), st.integers(0, 40))
def test_a_word_is_found_wherever_it_stands_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: int, back: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "long.jsonl"
    path.write_bytes(b"." * (pieces * 2**20 - back) + b"NEEDLE" + b"." * 300)
    assert file_may_match(path, matcher("needle"))


def test_the_newest_descendant_is_found_where_parents_come_after_their_children() -> None:
    session = in_memory(user("c", "p"), user("p", "g"), user("g", None), user("d", "p"), user("e", "g"))
    tree: Tree = session.storage.tree
    assert [tree.nodes[index].id for index in newest_below(tree)] == ["c", "d", "e", "d", "e"]
