"""A context told to a model: each call answered once, nothing that a provider refuses, the same bytes each time."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.context import Change, TargetModel, convert_to_llm, replay
from piserver.context.replay import EMPTY_RESULT, IMAGE_FROM_TOOL, IMAGE_FROM_USER, NO_RESULT

SWIFT = TargetModel("acme", "anthropic-messages", "swift-1")
OTHER = TargetModel("umbra", "anthropic-messages", "dusk-2")
BLIND = TargetModel("acme", "anthropic-messages", "swift-1", images=False)

Message = dict[str, Any]
IMAGE = {"type": "image", "data": "iVBORw0", "mimeType": "image/png"}


def text(words: str) -> Message:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str | None = None) -> Message:
    return {"type": "thinking", "thinking": words} | ({"thinkingSignature": signature} if signature else {})


def call(id: str, **more: Any) -> Message:
    return {"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "a"}, **more}


def user(content: Any = "go on") -> Message:
    return {"role": "user", "content": content, "timestamp": 1}


def assistant(*blocks: Message, by: TargetModel = SWIFT, stop: str = "stop", **more: Any) -> Message:
    origin = {"api": by.api, "provider": by.provider, "model": by.model}
    return {"role": "assistant", "content": list(blocks), **origin, "stopReason": stop, "timestamp": 7, **more}


def result(id: str, content: Any = "done") -> Message:
    blocks = [text(content)] if isinstance(content, str) and content else content
    return {"role": "toolResult", "toolCallId": id, "toolName": "read", "content": blocks, "isError": False}


def told(messages: list[Message], target: TargetModel | None = SWIFT) -> list[Message]:
    return [item.message for item in replay(messages, target)[0]]


def changes(messages: list[Message], target: TargetModel | None = SWIFT) -> list[str]:
    return [change.kind for change in replay(messages, target)[1]]


def shape(messages: list[Message]) -> list[str]:
    """Each message as its role, a result with its call's id."""
    return [f"result {m['toolCallId']}" if m["role"] == "toolResult" else m["role"] for m in messages]


def test_what_needs_no_change_is_handed_on_as_it_is() -> None:
    messages = [user(), assistant(thinking("hm", "sig"), text("a"), call("c1")), result("c1"), user([text("b"), IMAGE])]

    assert told(messages) == messages
    assert changes(messages) == []


def test_input_is_not_changed() -> None:
    messages = [user([IMAGE, text(" ")]), assistant(text(""), call("a|b", thoughtSignature="s"), by=OTHER)]
    before = orjson.dumps(messages)

    assert told(messages, BLIND) != messages
    assert orjson.dumps(messages) == before


# Calls and results


def test_i1_call_without_a_result_gets_an_error_result_right_after_its_answer() -> None:
    sent = told([user(), assistant(call("c1")), user("next")])

    assert shape(sent) == ["user", "assistant", "result c1", "user"]
    assert (sent[2]["isError"], sent[2]["toolName"]) == (True, "read")
    assert sent[2]["content"] == [text(NO_RESULT)]


def test_inserted_result_takes_its_answers_time_so_that_the_bytes_stay_the_same() -> None:
    messages = [user(), assistant(call("c1"))]

    assert told(messages)[-1]["timestamp"] == 7
    assert orjson.dumps(told(messages)) == orjson.dumps(told(messages))


@pytest.mark.parametrize("stop", ["aborted", "error"])
def test_i2_result_of_an_answer_that_is_left_out_is_left_out_too(stop: str) -> None:
    messages = [user(), assistant(call("c1"), stop=stop), result("c1"), user("next")]

    assert shape(told(messages)) == ["user", "user"]
    assert changes(messages) == ["failed-answer-omitted", "unpaired-result-omitted"]


def test_second_result_of_a_call_is_left_out() -> None:
    messages = [assistant(call("c1")), result("c1", "first"), result("c1", "second")]

    assert told(messages) == messages[:2]
    assert changes(messages) == ["duplicate-result-omitted"]


def test_result_that_comes_after_the_next_user_message_does_not_answer_twice() -> None:
    messages = [assistant(call("c1")), user("meanwhile"), result("c1", "late")]

    sent = told(messages)

    assert shape(sent) == ["assistant", "result c1", "user"]
    assert sent[1]["content"] == [text(NO_RESULT)]
    assert changes(messages) == ["result-inserted", "unpaired-result-omitted"]


def test_call_that_an_answer_makes_twice_is_sent_once() -> None:
    messages = [assistant(call("c1"), call("c1")), result("c1")]

    assert told(messages) == [assistant(call("c1")), result("c1")]
    assert changes(messages) == ["duplicate-call-omitted"]


def test_missing_results_come_after_those_that_are_there() -> None:
    messages = [assistant(call("c1"), call("c2"), call("c3")), result("c2"), user()]

    assert shape(told(messages)) == ["assistant", "result c2", "result c1", "result c3", "user"]


def test_failed_answer_between_a_call_and_its_result_does_not_part_them() -> None:
    messages = [assistant(call("c1")), assistant(text("half"), stop="error"), result("c1"), user()]

    assert shape(told(messages)) == ["assistant", "result c1", "user"]


def test_i8_context_that_begins_with_a_result_begins_with_the_next_message() -> None:
    summary = {"role": "compactionSummary", "summary": "s", "timestamp": 1}
    llm = [convert_to_llm(message) for message in [result("c0"), summary, result("c1"), user(), {"role": "system"}]]

    sent, changed = replay(llm, OTHER)

    assert [item.index for item in sent] == [1, 3]
    assert changed == [Change("unpaired-result-omitted", 0, "c0"), Change("unpaired-result-omitted", 2, "c1")]


# What is empty


@pytest.mark.parametrize(
    "content", [[], None, "", " \n", [text("")], [thinking("only", "sig")], [thinking("t"), text(" ")]]
)
def test_i4_answer_without_content_is_left_out(content: Any) -> None:
    messages = [user(), assistant() | {"content": content}, user("again")]

    assert told(messages) == [user(), user("again")]


def test_i4_message_without_a_content_field_is_left_out() -> None:
    assert told([user(), {"role": "assistant"}, {"role": "user"}]) == [user()]


def test_i4_blank_text_beside_others_is_dropped() -> None:
    assert told([assistant(text(""), call("c1")), result("c1")]) == [assistant(call("c1")), result("c1")]
    assert told([user([text("\t"), IMAGE, text("b")])]) == [user([IMAGE, text("b")])]


@pytest.mark.parametrize("content", ["", None, [], [text("")], [text(" "), text("\n")]])
def test_i4_empty_result_says_so(content: Any) -> None:
    sent = told([assistant(call("c1")), result("c1", content)])

    assert sent[1]["content"] == [text(EMPTY_RESULT)]


def test_result_that_is_an_image_alone_is_not_empty() -> None:
    messages = [assistant(call("c1")), result("c1", [IMAGE])]

    assert told(messages) == messages


# Another model


def test_i3_own_signed_thinking_is_kept_even_without_text() -> None:
    redacted = thinking("", "payload") | {"redacted": True}
    messages = [assistant(thinking("", "sig"), redacted, text("a"))]

    assert told(messages) == messages


def test_i3_own_unsigned_thinking_is_kept_unless_blank() -> None:
    assert told([assistant(thinking("hm"), thinking(" "), text("a"))]) == [assistant(thinking("hm"), text("a"))]


@pytest.mark.parametrize("block", [thinking("hm"), thinking("", "sig"), thinking("hm", "sig") | {"redacted": True}])
def test_i3_thinking_of_another_model_is_dropped(block: Message) -> None:
    messages = [assistant(block, text("a"), by=OTHER)]

    assert told(messages) == [assistant(text("a"), by=OTHER)]
    assert changes(messages) == ["thinking-dropped"]


@pytest.mark.parametrize("field", ["provider", "api", "model"])
def test_same_model_means_provider_and_api_and_model(field: str) -> None:
    messages = [assistant(thinking("hm", "sig"), text("a")) | {field: "another"}]

    assert changes(messages) == ["thinking-dropped"]


def test_signatures_of_another_model_are_removed() -> None:
    messages = [
        assistant(text("a") | {"textSignature": "s"}, call("c1", thoughtSignature="s"), by=OTHER),
        result("c1"),
    ]

    assert told(messages) == [assistant(text("a"), call("c1"), by=OTHER), result("c1")]
    assert changes(messages) == ["signature-removed", "signature-removed"]


def test_without_a_target_every_model_is_told_its_own_words() -> None:
    messages = [assistant(thinking("hm", "sig"), call("a|b", thoughtSignature="s"), by=OTHER), result("a|b")]

    assert told(messages, None) == messages


def test_call_and_result_get_the_same_new_id() -> None:
    sent, changed = replay([assistant(call("a|b"), by=OTHER), result("a|b")], SWIFT)

    assert [item.message for item in sent] == [assistant(call("a_b"), by=OTHER), result("a_b")]
    assert changed == [Change("call-id-changed", 0, "a|b → a_b")]


def test_ids_that_differ_in_a_replaced_character_stay_distinct() -> None:
    messages = [assistant(call("a|b"), call("a/b"), call("a_b"), by=OTHER), result("a/b", "slash"), result("a_b", "_")]

    sent = told(messages)

    ids = [block["id"] for block in sent[0]["content"]]
    assert len(set(ids)) == 3
    assert [m["content"][0]["text"] for m in sent[1:] if m["toolCallId"] == ids[1]] == ["slash"]
    assert [m["content"][0]["text"] for m in sent[1:] if m["toolCallId"] == ids[2]] == ["_"]


def test_id_that_the_target_made_itself_is_not_given_to_another_call() -> None:
    messages = [assistant(call("a|b"), by=OTHER), result("a|b"), assistant(call("a_b")), result("a_b")]

    first, _, second, _ = told(messages)

    assert second["content"][0]["id"] == "a_b"
    assert first["content"][0]["id"] != "a_b"


# Images


def test_images_are_replaced_for_a_model_that_takes_none() -> None:
    messages = [
        user([text("look"), IMAGE, IMAGE, text("and"), IMAGE]),
        assistant(call("c1")),
        result("c1", [IMAGE, IMAGE]),
    ]

    question, _, answer = told(messages, BLIND)

    assert question["content"] == [text("look"), text(IMAGE_FROM_USER), text("and"), text(IMAGE_FROM_USER)]
    assert answer["content"] == [text(IMAGE_FROM_TOOL)]
    assert changes(messages, BLIND) == ["image-replaced"] * 5


def test_image_after_a_placeholder_adds_no_second_one() -> None:
    assert told([user([text(IMAGE_FROM_USER), IMAGE])], BLIND) == [user([text(IMAGE_FROM_USER)])]


# Whatever comes in


IDS = st.sampled_from(["c1", "c2", "a|b", "a/b", "a_b", "", "é" * 70, "x" * 70, "x" * 71, "call_1|fc_2", "call_1|fc_3"])
WORDS = st.sampled_from(["", " ", "hello", "\ud800", IMAGE_FROM_USER])
MODELS = st.sampled_from([SWIFT, OTHER, TargetModel("openai", "openai-responses", "o9")])
BLOCKS = st.one_of(
    WORDS.map(text),
    st.builds(thinking, WORDS, st.sampled_from([None, "sig"])),
    IDS.map(call),
    IDS.map(lambda id: call(id, thoughtSignature="s")),
    st.just(IMAGE),
    st.just("no block"),
)
CONTENT = st.one_of(st.none(), WORDS, st.lists(BLOCKS, max_size=4))
MESSAGES = st.one_of(
    CONTENT.map(user),
    st.builds(result, IDS, CONTENT),
    st.builds(
        lambda content, by, stop: assistant(by=by, stop=stop) | {"content": content},
        CONTENT,
        MODELS,
        st.sampled_from(["stop", "toolUse", "length", "error", "aborted"]),
    ),
    st.none(),
)
TARGETS = st.builds(
    TargetModel,
    st.sampled_from(["acme", "openai", "google"]),
    st.sampled_from(["anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai", "own"]),
    st.sampled_from(["swift-1", "gemini-3-pro"]),
    st.booleans(),
)


@given(st.lists(MESSAGES, max_size=12), TARGETS)
def test_any_context_is_told_with_every_call_answered_once_directly_after(
    messages: list[Any], target: TargetModel
) -> None:
    sent = [item.message for item in replay(messages, target)[0]]

    waiting: list[str] = []
    for message in sent:
        if message["role"] == "toolResult":
            assert message["toolCallId"] in waiting
            waiting.remove(message["toolCallId"])
            assert message["content"]
        else:
            assert waiting == []
        if message["role"] == "assistant":
            assert message["stopReason"] not in ("error", "aborted")
            waiting = [block["id"] for block in message["content"] if block["type"] == "toolCall"]
            assert len(set(waiting)) == len(waiting)
        assert message["content"]
        assert all(b["type"] != "text" or b["text"].strip() for b in message["content"] if isinstance(b, dict))
    assert waiting == []


@given(st.lists(MESSAGES, max_size=12), TARGETS)
def test_any_context_is_told_the_same_again(messages: list[Any], target: TargetModel) -> None:
    once, _ = replay(messages, target)
    twice, changed = replay([item.message for item in once], target)

    assert [item.message for item in twice] == [item.message for item in once]
    assert changed == []
    assert replay(messages, target)[0] == once


@given(st.lists(IDS, unique=True), TARGETS)
def test_any_calls_of_another_model_have_distinct_ids(ids: list[str], target: TargetModel) -> None:
    messages = [user(), assistant(*(call(id) for id in ids), by=TargetModel("else", "else", "where"))]

    sent = told(messages, target)

    made = [block["id"] for message in sent if message["role"] == "assistant" for block in message["content"]]
    assert len(set(made)) == len(ids)
    assert all(made)
