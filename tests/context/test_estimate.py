"""Token estimates: characters / 4, rounded up, counted as JavaScript counts them."""

from typing import Any

import pytest

from piserver.context import ContextTokens, estimate_context_tokens, estimate_tokens
from piserver.entries import json


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(usage: Any = None, stop: str = "stop", words: str = "four") -> dict[str, Any]:
    answer = {"role": "assistant", "content": [{"type": "text", "text": words}], "stopReason": stop}
    return answer if usage is None else answer | {"usage": usage}


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("four", 1), ("fives", 2), ("🦉🦉", 1), ("🦉🦉a", 2)])
def test_text_counts_in_utf16_units_rounded_up(text: str, tokens: int) -> None:
    assert estimate_tokens(user(text)) == tokens
    assert estimate_tokens(user([{"type": "text", "text": text}])) == tokens


@pytest.mark.parametrize("role", ["user", "custom", "toolResult"])
def test_image_counts_4800_characters(role: str) -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}

    assert estimate_tokens({"role": role, "content": [image, {"type": "text", "text": "four"}]}) == 1201


def test_answer_counts_text_thinking_and_calls() -> None:
    blocks = [
        {"type": "text", "text": "four"},
        {"type": "thinking", "thinking": "thinking"},
        {"type": "toolCall", "id": "not counted", "name": "read", "arguments": {"path": "ä"}},
        {"type": "unknown", "text": "not counted"},
    ]

    assert estimate_tokens({"role": "assistant", "content": blocks}) == (4 + 8 + 4 + len('{"path":"ä"}')) / 4


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (rb'{"a": "\ud800"}', r'{"a":"\ud800"}'),
        ('{"a": "\ufffd"}'.encode(), '{"a":"\ufffd"}'),
        (rb'{"a": "\ud83d\ude00"}', '{"a":"xx"}'),
        (rb'{"a": "\n\u0000/"}', r'{"a":"\n\u0000/"}'),
        (b'{"a": [1, true, null]}', '{"a":[1,true,null]}'),
    ],
)
def test_arguments_count_as_the_compact_json_that_javascript_writes(arguments: bytes, written: str) -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "toolCall", "name": "", "arguments": json.loads(arguments)}] * 4,
    }

    assert estimate_tokens(message) == len(written)


def test_shell_run_counts_command_and_output_and_a_summary_its_text() -> None:
    assert estimate_tokens({"role": "bashExecution", "command": "ls -l", "output": "abc"}) == 2
    assert estimate_tokens({"role": "branchSummary", "summary": "12345678"}) == 2
    assert estimate_tokens({"role": "compactionSummary", "summary": "12345678"}) == 2


@pytest.mark.parametrize(
    "message",
    [{}, {"role": "system", "content": "you"}, {"role": "user"}, {"role": "user", "content": [None, 1, "a", {}]}],
)
def test_what_has_no_known_content_counts_nothing(message: dict[str, Any]) -> None:
    assert estimate_tokens(message) == 0


def test_context_starts_from_the_last_usage_and_estimates_what_follows() -> None:
    messages = [user("not counted"), assistant({"totalTokens": 100}), user("four"), user("fives")]

    assert estimate_context_tokens(messages) == ContextTokens(103, 100, 3, 1)


def test_context_without_usage_is_estimated() -> None:
    assert estimate_context_tokens([user("four"), assistant()]) == ContextTokens(2, 0, 2, None)
    assert estimate_context_tokens([]) == ContextTokens(0, 0, 0, None)


def test_usage_without_a_total_is_added_up() -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "totalTokens": 0}

    assert estimate_context_tokens([assistant(usage)]).usage_tokens == 18


@pytest.mark.parametrize(
    "unusable",
    [
        assistant({"totalTokens": 50}, "error"),
        assistant({"totalTokens": 50}, "aborted"),
        assistant({"totalTokens": 0}),
        assistant({"totalTokens": "many"}),
        assistant({"totalTokens": float("inf")}),
        assistant("much"),
        {"role": "user", "content": "four", "usage": {"totalTokens": 50}},
    ],
)
def test_usage_of_failed_answers_and_odd_usage_is_passed_over(unusable: dict[str, Any]) -> None:
    assert estimate_context_tokens([assistant({"totalTokens": 100}), unusable]) == ContextTokens(101, 100, 1, 0)


def test_usage_from_before_a_compaction_is_not_the_base() -> None:
    messages = [user("four"), assistant({"totalTokens": 100}), user("four")]

    assert estimate_context_tokens(messages, 2) == ContextTokens(3, 0, 3, None)
    assert estimate_context_tokens(messages, 1) == ContextTokens(101, 100, 1, 1)
