"""Which messages may be appended."""

from typing import Any

import pytest

from piserver.entries.messages import InvalidEntryError, check_finite, check_message

RESULT = {"role": "toolResult", "toolCallId": "c", "toolName": "read"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "of a vendor", "more": 1}]},
        {"role": "user", "content": None},
        {"role": "system", "content": "x"},
        {"role": "assistant", "content": [], "vendor": {"field": 1}},
        {"role": "assistant", "content": None},
        RESULT | {"content": [], "isError": True},
        {"role": "bashExecution", "command": "ls", "output": ""},
        {"role": "custom", "customType": "c", "content": "x"},
        {"role": "of another program"},
    ],
)
def test_fit(message: dict[str, Any]) -> None:
    check_message(message)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({}, "message.role"),
        ({"role": ""}, "message.role"),
        ({"role": 7}, "message.role"),
        ({"role": "user"}, "message"),
        ({"role": "user", "content": 7}, "message.content"),
        ({"role": "user", "content": ["text"]}, "message.content[0]"),
        ({"role": "user", "content": [{"type": "text"}, {"text": "x"}]}, "message.content[1]"),
        ({"role": "assistant", "content": "x"}, "message.content"),
        (RESULT | {"content": "x", "isError": "no"}, "message.isError"),
        (RESULT | {"toolCallId": 7, "content": "x"}, "message.toolCallId"),
        ({"role": "bashExecution", "command": "ls"}, "message"),
        ({"role": "custom", "content": "x"}, "message"),
    ],
)
def test_unfit_names_the_field(message: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidEntryError) as refused:
        check_message(message)

    assert refused.value.field == field


def test_numbers_that_json_does_not_have_are_refused() -> None:
    check_finite({"a": [1e308]})
    with pytest.raises(InvalidEntryError):
        check_finite({"a": [float("inf")]})
