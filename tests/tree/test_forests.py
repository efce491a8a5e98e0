"""Whatever the entries are, the index says of them what walking them one by one says."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from piserver.tree import Node, Tree
from tests.tree.forests import FORESTS, Fields, Forest, grown


def ids(nodes: list[Node] | tuple[()]) -> list[str]:
    return [node.id for node in nodes]


@given(FORESTS, st.booleans())
def test_every_entry_is_reached_once_from_the_roots(entries: list[Fields], loading: bool) -> None:
    tree = grown(entries, loading=loading)

    reached: list[Node] = []
    waiting = list(tree.roots)
    while waiting:
        node = waiting.pop()
        reached.append(node)
        waiting += node.children

    assert sorted(ids(reached)) == sorted(Forest(entries).order)
    assert ids(tree.nodes) == Forest(entries).order
    for siblings in (tree.roots, *(node.children for node in tree.nodes)):
        assert [node.index for node in siblings] == sorted(node.index for node in siblings)


@pytest.mark.parametrize("loading", [False, True])
@pytest.mark.parametrize("order", list(permutations("abcd")))
def test_cycle_is_reached_from_its_earliest_entry_once(order: tuple[str, ...], loading: bool) -> None:
    parents = {"a": "b", "b": "c", "c": "a", "d": "c"}
    entries = [{"type": "custom", "id": id, "parentId": parents[id], "timestamp": "t"} for id in order]
    tree, forest = grown(entries, loading=loading), Forest(entries)

    earliest = min("abc", key=order.index)
    assert ids(tree.roots) == [earliest]
    assert [d.entry_id for d in tree.diagnostics] == [earliest]
    for node in tree.nodes:
        assert ids(tree.path(node)) == forest.path(node.id)
        assert ids(node.children) == [id for id in order if forest.parent(id) == node.id]
        assert node.depth == len(forest.path(node.id)) - 1


@given(FORESTS, st.booleans())
def test_path_depth_and_state(entries: list[Fields], loading: bool) -> None:
    tree, forest = grown(entries, loading=loading), Forest(entries)

    for node in tree.nodes:
        assert ids(tree.path(node)) == forest.path(node.id)
        assert node.depth == len(forest.path(node.id)) - 1
        model = node.state.model
        told = None if model is None else tuple(None if v is UNSET else v for v in (model.provider, model.model_id))
        assert (told, node.state.thinking_level, node.state.active_tool_names) == forest.state(node.id)
        compactions = [id for id in forest.path(node.id) if forest.by_id[id]["type"] == "compaction"]
        assert (node.state.compaction.id if node.state.compaction else None) == (compactions or [None])[-1]


@given(FORESTS, st.booleans())
def test_orphaned_is_a_root_whose_parent_is_named(entries: list[Fields], loading: bool) -> None:
    tree, forest = grown(entries, loading=loading), Forest(entries)

    orphans = [id for id in forest.order if forest.parent(id) is None and forest.by_id[id]["parentId"]]
    assert [node.id for node in tree.nodes if node.orphaned] == orphans
    reported = [d.entry_id for d in tree.diagnostics if d.kind in ("missing-parent", "parent-cycle")]
    assert sorted(str(id) for id in reported) == sorted(orphans)
    assert len(entries) - len(forest.order) == sum(d.kind == "duplicate-id" for d in tree.diagnostics)


@given(FORESTS, st.booleans())
def test_leaf_labels_and_name(entries: list[Fields], loading: bool) -> None:
    tree, forest = grown(entries, loading=loading), Forest(entries)

    labels: dict[str, str] = {}
    name: str | None = None
    for entry in forest.by_id.values():
        if entry["type"] == "label":
            labels[entry["targetId"]] = entry.get("label", "").strip()
        elif entry["type"] == "session_info":
            name = entry.get("name", "").replace("\n", " ") or None
    assert {id: label.text for id, label in tree.labels.items()} == {id: text for id, text in labels.items() if text}
    assert tree.name == name
    assert (tree.leaf.id if tree.leaf else None) == forest.leaf()


@given(FORESTS, st.booleans())
def test_ancestors(entries: list[Fields], loading: bool) -> None:
    tree, forest = grown(entries, loading=loading), Forest(entries)

    for a in tree.nodes:
        for b in tree.nodes:
            shared = [x for x, y in zip(forest.path(a.id), forest.path(b.id), strict=False) if x == y]
            ancestor = Tree.common_ancestor(a, b)
            assert (ancestor.id if ancestor else None) == (shared or [None])[-1]
            assert Tree.is_ancestor(a, b) == (a.id in forest.path(b.id))
    assert Tree.common_ancestor(None, tree.leaf) is None


@given(FORESTS, st.integers(1, 4))
def test_query_gives_the_newest_first(entries: list[Fields], limit: int) -> None:
    tree, forest = grown(entries), Forest(entries)

    for node in tree.nodes:
        messages = [id for id in forest.path(node.id)[::-1] if forest.by_id[id]["type"] == "message"]
        assert ids(tree.query(node, frozenset({"message"}))) == messages
        assert ids(tree.query(node, frozenset({"message"}), limit)) == messages[:limit]


@given(FORESTS, st.booleans())
def test_leaves_are_the_entries_that_are_nobodys_parent(entries: list[Fields], loading: bool) -> None:
    tree, forest = grown(entries, loading=loading), Forest(entries)

    parents = {forest.parent(id) for id in forest.order}
    assert ids(tree.leaves()) == [id for id in forest.order if id not in parents]
