from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw, UnsetType

from piserver.client.decoding import decode, decode_message
from piserver.entries.json import JSONError
from piserver.protocol.base import Shape


class Item(Shape):
    message_text: str
    body: Raw
    more: Raw | UnsetType = UNSET


class Items(Shape):
    items: list[Item]
    by_name: dict[str, str | None] = msgspec.field(default_factory=dict)


def test_what_is_raw_keeps_its_bytes() -> None:
    items = decode(b'{"items":[{"messageText":"a","body":{ "n": 1.50 },"new":1}]}', Items)

    assert bytes(items.items[0].body) == b'{ "n": 1.50 }'


def test_half_an_emoji_is_read_in_strings_and_in_what_is_raw() -> None:
    data = rb'{"items":[{"messageText":"cut \ud83d","body":{"text":"\ude00"},"more":["\ud83d"]}],"byName":{"x":null}}'

    items = decode(data, Items)

    assert items.items[0].message_text == "cut \ud83d"
    assert bytes(items.items[0].body) == rb'{"text":"\ude00"}'
    assert items.items[0].more is not UNSET
    assert decode(items.items[0].more, Any) == ["\ud83d"]
    assert items.by_name == {"x": None}


def test_half_an_emoji_does_not_hide_the_message_around_it() -> None:
    message = decode_message(rb'{"jsonrpc":"2.0","id":7,"result":{"text":"\ud83d"}}')

    assert message.id == 7
    assert decode(message.result, dict[str, str]) == {"text": "\ud83d"}  # pyright: ignore[reportArgumentType]


def test_ill_formed_utf8_is_read_as_the_replacement_character() -> None:
    assert decode(b'["\xff"]', list[str]) == ["\N{REPLACEMENT CHARACTER}"]


def test_deep_nesting_is_read() -> None:
    depth = 5000
    message = decode_message(b'{"id":1,"result":' + b"[" * depth + b"]" * depth + b"}")

    assert bytes(message.result) == b"[" * depth + b"]" * depth  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("data", [b"", b"{", b"NaN", b"{'a': 1}"])
def test_what_is_no_json_is_an_error(data: bytes) -> None:
    with pytest.raises(JSONError):
        decode(data, Any)


@pytest.mark.parametrize("text", [rb"\ud83d", b"whole"])
def test_a_value_of_another_type_is_an_error(text: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(b'{"items":[{"messageText":1,"body":"%b"}]}' % text, Items)
