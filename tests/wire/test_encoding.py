import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from piserver.protocol.base import Shape
from piserver.protocol.encoding import encode

TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=8)  # with lone surrogates
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(TEXT, children, max_size=4),
    max_leaves=12,
)


class Node(Shape, tag_field="type", tag="node"):
    entry_id: str
    parent_id: str | None = None
    label: str | UnsetType = UNSET
    body: Any = None


@given(JSON)
def test_everything_that_can_be_read_is_written_so_that_it_reads_the_same(value: Any) -> None:
    text = encode(value)
    text.decode("utf-8")
    assert json.loads(text) == value


@pytest.mark.parametrize("text", ["plain", "\ud83d"])
def test_structs_are_written_alike_with_and_without_a_lone_surrogate(text: str) -> None:
    node = Node(entry_id="a", body={"raw": msgspec.Raw(b'{"k": [1,  2]}'), text: text, 7: (1, {2})})
    assert b'{"k": [1,  2]}' in encode(node)
    assert json.loads(encode(node)) == {
        "type": "node",
        "entryId": "a",
        "parentId": None,
        "body": {"raw": {"k": [1, 2]}, text: text, "7": [1, [2]]},
    }


def test_what_json_does_not_have_becomes_null_or_is_refused() -> None:
    assert encode([float("nan"), float("inf"), "\ud83d"]) == b'[null,null,"\\ud83d"]'
    for value in (object(), ["\ud83d", object()]):
        with pytest.raises(TypeError):
            encode(value)
