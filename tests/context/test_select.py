"""Which entries of a path are in the context."""

from hypothesis import given

from piserver.context import select
from piserver.context.select import Selection
from piserver.tree import Tree
from tests.tree.forests import FORESTS, Fields, Forest, grown


def selected(tree: Tree, id: str) -> Selection:
    return select(tree, tree.get(id))


def reasons(selection: Selection) -> dict[str, str]:
    return {node.id: reason for node, reason in zip(selection.nodes, selection.reasons, strict=True)}


@given(FORESTS)
def test_entries_are_those_of_the_path_or_what_the_newest_compaction_keeps(entries: list[Fields]) -> None:
    tree, forest = grown(entries), Forest(entries)

    for node in tree.nodes:
        selection = select(tree, node)
        assert [chosen.id for chosen in selection.nodes] == forest.context(node.id)
        assert selection.state is node.state
        left = [out.node.id for out in selection.not_selected()]
        assert sorted(left + forest.context(node.id)) == sorted(forest.path(node.id))


def chain(*entries: Fields) -> Tree:
    """Entries `a`, `b`, `c` …, each the parent of the next."""
    names = "abcdefghij"
    return grown(
        [
            {"type": "message", "message": {"role": "user"}, **entry, "id": id, "parentId": parent, "timestamp": "t"}
            for id, parent, entry in zip(names, [None, *names], entries, strict=False)
        ]
    )


COMPACTION = {"type": "compaction", "summary": "s"}


def test_before_the_first_entry_there_is_no_context() -> None:
    selection = select(chain({}), None)

    assert selection.nodes == []
    assert selection.state.model is None


def test_each_entry_is_in_or_out_for_a_reason() -> None:
    tree = chain({}, COMPACTION, {}, {}, COMPACTION | {"firstKeptEntryId": "d"}, {})
    selection = selected(tree, "f")

    assert reasons(selection) == {"e": "compaction", "d": "kept", "f": "after-compaction"}
    assert [(out.node.id, out.reason) for out in selection.not_selected()] == [
        ("c", "before-compaction"),
        ("b", "older-compaction"),
        ("a", "before-compaction"),
    ]
    assert reasons(selected(tree, "a")) == {"a": "on-path"}


def test_older_compaction_in_the_kept_range_is_passed_over() -> None:
    selection = selected(chain({}, COMPACTION, {}, COMPACTION | {"firstKeptEntryId": "a"}), "d")

    assert reasons(selection) == {"d": "compaction", "a": "kept", "c": "kept"}
    assert [(out.node.id, out.reason) for out in selection.not_selected()] == [("b", "older-compaction")]


def test_first_kept_entry_that_is_not_on_the_path_keeps_nothing_and_is_reported() -> None:
    tree = chain({}, {}, COMPACTION | {"firstKeptEntryId": "gone"}, {})
    selection = selected(tree, "d")

    assert reasons(selection) == {"c": "compaction", "d": "after-compaction"}
    assert [(d.kind, d.entry_id) for d in selection.diagnostics] == [("off-path-first-kept", "c")]


def test_compaction_that_names_itself_keeps_nothing_and_means_it() -> None:
    selection = selected(chain({}, COMPACTION | {"firstKeptEntryId": "b"}), "b")

    assert reasons(selection) == {"b": "compaction"}
    assert selection.diagnostics == []


def test_edits_are_those_of_the_path_the_newest_counting() -> None:
    edit = {"type": "context_edit", "targetId": "a", "replacement": None}
    tree = chain({}, edit, {}, edit)

    assert {target: node.id for target, node in selected(tree, "d").edits.items()} == {"a": "d"}
    assert {target: node.id for target, node in selected(tree, "c").edits.items()} == {"a": "b"}
    assert selected(tree, "a").edits == {}
