"""Lines to heads, drafts to lines."""

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from piserver.entries.codec import Head, LineError, Usage, clean, compose, message_part, read_head, read_object
from piserver.entries.types import (
    AnyDraft,
    BranchSummaryDraft,
    CompactionDraft,
    ContextEditDraft,
    CustomDraft,
    CustomMessageDraft,
    Draft,
    LabelDraft,
    LeafDraft,
    MessageDraft,
    Replacement,
    SessionInfoDraft,
)

# A lone surrogate is JSON that the quick parsers refuse, so a line that has one is read the slow way.
ODD = b',"odd":"\\ud800"}'

VALUES = st.sampled_from([None, True, 0, 1.5, "", "text", [], ["a"], {}, {"a": 1}])
FIELDS = (
    *("parentId", "timestamp", "targetId", "label", "name", "thinkingLevel", "provider", "modelId", "model"),
    *("activeToolNames", "firstKeptEntryId", "retainedTail", "customType", "fromId", "replacement"),
)
USAGES = st.one_of(
    VALUES,
    st.dictionaries(st.sampled_from(["input", "output", "cacheRead", "totalTokens"]), st.integers(0, 9)),
    st.just({"input": 1, "cost": {"total": 0.5}}),
    st.just({"input": "1", "output": 2, "cost": 3}),
)
MESSAGES = st.one_of(
    VALUES,
    st.fixed_dictionaries({}, optional={"role": VALUES, "provider": VALUES, "model": VALUES, "stopReason": VALUES}),
    st.fixed_dictionaries({"role": st.just("assistant"), "usage": USAGES}),
)
ENTRIES = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "custom"]), "id": st.sampled_from(["a", "é"])},
    optional=dict.fromkeys(FIELDS, VALUES) | {"message": MESSAGES, "usage": USAGES},
)


def plain(head: Head) -> dict[str, Any]:
    """A head to compare; of the two raw fields only whether they are null matters."""
    fields = msgspec.structs.asdict(head)
    for name in ("retained_tail", "replacement"):
        if fields[name] is not UNSET:
            fields[name] = bytes(fields[name]) == b"null"
    return fields


@given(ENTRIES)
def test_any_entry_has_one_head_however_it_is_read(entry: dict[str, Any]) -> None:
    line = orjson.dumps(entry)

    assert plain(read_head(line[:-1] + ODD)) == plain(read_head(line))


def test_fields_of_another_type_are_as_good_as_absent() -> None:
    head = read_head(b'{"type":"leaf","id":"a","parentId":7,"timestamp":1,"targetId":[],"message":"m","usage":3}')

    assert (head.parent_id, head.timestamp, head.target_id, head.message, head.usage) == (UNSET, "", UNSET, None, None)


def test_null_and_absent_are_told_apart() -> None:
    assert read_head(b'{"type":"leaf","id":"a","parentId":null,"targetId":null}').target_id is None
    assert read_head(b'{"type":"leaf","id":"a"}').target_id is UNSET


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (Usage(input=1, output=2, cache_read=3, cache_write=4), 10),
        (Usage(input=1, output=2, total_tokens=7), 7),
        (Usage(), 0),
    ],
)
def test_total_of_usage(usage: Usage, total: float) -> None:
    assert usage.total == total


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not JSON"),
        (b'{"type":"message"', "not JSON"),
        (b'{"type":"message","id":"a","n":NaN}', "not JSON"),
        (b'{"type":"message","id":"a","n":01}', "not JSON"),
        (b'{"type":"message","id":"a"} {}', "not JSON"),
        (b"[]", "a JSON array, not an object"),
        (b"1.5", "a JSON number, not an object"),
        (b"true", "a JSON boolean, not an object"),
        (b"null", "a JSON null, not an object"),
        (b'"type"', "a JSON string, not an object"),
        (b'{"id":"a"}', "an entry without a type"),
        (b'{"type":"","id":"a"}', "an entry without a type"),
        (b'{"type":"message"}', "an entry without an id"),
        (b'{"type":"message","id":""}', "an entry without an id"),
        (b'{"type":"message","id":7}', "an entry without an id"),
    ],
)
def test_line_that_is_no_entry(line: bytes, reason: str) -> None:
    with pytest.raises(LineError, match=reason):
        read_head(line)


@pytest.mark.parametrize("opening", [b'{"a":', b"["])
def test_structure_is_checked_to_any_depth(opening: bytes) -> None:
    closing = b"}" if opening.startswith(b"{") else b"]"
    line = b'{"type":"custom","id":"a","data":' + opening * 5000 + b"1" + closing * 5000 + b"}"

    assert read_head(line).id == "a"
    assert read_object(line)["id"] == "a"
    with pytest.raises(LineError):
        read_head(line.replace(b"1" + closing, b"1," + closing, 1))


def test_ill_formed_utf8_is_replaced_and_nothing_else() -> None:
    assert clean(b'{"a":"\xff\\u00e9 \xc3\xa9 \xed\xa0\xbd"}') == '{"a":"\ufffd\\u00e9 é \ufffd\ufffd\ufffd"}'.encode()
    assert clean(b'{"a": 1.0e0}') == b'{"a": 1.0e0}'
    assert read_head(b'{"type":"label","id":"a","label":"\xff"}').label == "\ufffd"


@pytest.mark.parametrize("message", [b'{"role": "user",  "n": 1.0e0}', b"null", b'"text"', b'{"\\u0061":[{}]}'])
@pytest.mark.parametrize("end", [b"}", ODD])
def test_message_is_cut_out_as_it_stands(message: bytes, end: bytes) -> None:
    assert message_part(b'{"type":"message","message": ' + message + b' ,"x":1' + end) == message


@pytest.mark.parametrize("end", [b"}", ODD])
def test_of_two_messages_the_last_counts_and_of_none_none(end: bytes) -> None:
    assert message_part(b'{"message":{"a":1},"message":{"b":2}' + end) == b'{"b":2}'
    assert message_part(b'{"x":1' + end) is None


# Drafts

DRAFTS: list[tuple[Draft, bytes]] = [
    (
        MessageDraft(message={"role": "user", "content": "é"}),
        '"type":"message",@,"message":{"role":"user","content":"é"}'.encode(),
    ),
    (LeafDraft(target_id=None), b'"type":"leaf",@,"targetId":null'),
    (LabelDraft(target_id="a", label="x"), b'"type":"label",@,"targetId":"a","label":"x"'),
    (LabelDraft(target_id="a"), b'"type":"label",@,"targetId":"a"'),
    (SessionInfoDraft(name="n"), b'"type":"session_info",@,"name":"n"'),
    (CustomDraft(custom_type="c", data=None), b'"type":"custom",@,"customType":"c","data":null'),
    (
        CustomMessageDraft(custom_type="c", content="x"),
        b'"type":"custom_message",@,"customType":"c","content":"x","display":true',
    ),
    (
        CompactionDraft(summary="s", first_kept_entry_id="a", tokens_before=9),
        b'"type":"compaction",@,"summary":"s","firstKeptEntryId":"a","tokensBefore":9',
    ),
    (
        BranchSummaryDraft(from_id="root", summary="s", from_hook=True),
        b'"type":"branch_summary",@,"fromId":"root","summary":"s","fromHook":true',
    ),
    (ContextEditDraft(target_id="a", replacement=None), b'"type":"context_edit",@,"targetId":"a","replacement":null'),
    (
        ContextEditDraft(target_id="a", replacement=Replacement(content="x")),
        b'"type":"context_edit",@,"targetId":"a","replacement":{"content":"x"}',
    ),
]


@pytest.mark.parametrize(("draft", "line"), DRAFTS)
def test_line_of_a_draft(draft: Draft, line: bytes) -> None:
    place = b'"id":"i","parentId":null,"timestamp":"t"'

    assert compose(draft, "i", None, "t") == b"{" + line.replace(b"@", place) + b"}"


@pytest.mark.parametrize("draft", [draft for draft, _ in DRAFTS])
def test_draft_comes_back_from_its_fields(draft: Draft) -> None:
    fields = read_object(compose(draft, "i", "p", "t"))
    for name in ("id", "parentId", "timestamp"):
        del fields[name]

    assert msgspec.convert(fields, AnyDraft) == draft


def test_draft_refuses_fields_that_its_type_does_not_have() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `labels`"):
        msgspec.convert({"type": "label", "targetId": "a", "labels": "x"}, AnyDraft)


def test_draft_with_a_value_that_json_does_not_have_is_not_written() -> None:
    with pytest.raises(TypeError):
        compose(CustomDraft(custom_type="c", data={1, 2}), "i", None, "t")


def test_lone_surrogate_in_a_draft_is_written_as_the_replacement_character() -> None:
    draft = MessageDraft(message={"role": "user", "content": "\ud83d and \ud83d\ude00"})

    assert read_object(compose(draft, "i", None, "t"))["message"]["content"] == "\ufffd and \U0001f600"
