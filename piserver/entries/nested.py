"""JSON without recursion: for the rare text that a recursive parser refuses.

orjson stops at 1,024 levels, the standard library at the interpreter's recursion limit. A session line may be nested
more deeply than either and is still JSON. These functions keep their own stack, so depth costs memory alone. They are
some fifty times slower than orjson and are called only after it has refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any, NamedTuple, cast

_TOKEN = re.compile(
    rb"[ \t\r\n]*(?:"
    rb"(?P<punctuation>[{}\[\],:])"
    rb'|(?P<string>"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")'
    rb"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![0-9.])"
    rb"|(?P<word>true|false|null)"
    rb")"
)
_WORDS = {b"true": True, b"false": False, b"null": None}


class JSONError(ValueError):
    """The text is not JSON."""


class Token(NamedTuple):
    """One token of a JSON value: its kind, its bytes' place, how many containers are open before it, and its part.

    `kind` is `punctuation`, `string`, `number` or `word`; `part` is `key` for a member's name, `value` for the first
    token of a value, and empty for the rest.
    """

    kind: str
    start: int
    end: int
    depth: int
    part: str


class Member(NamedTuple):
    """One member of an object: its name and where its bytes lie."""

    key: str
    start: int
    value_start: int
    value_end: int


def tokens(data: bytes, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of the one JSON value that begins at `start`, and stop behind it.

    Raises JSONError where the text stops being JSON.
    """
    stack = bytearray()
    expect = "value"
    position = start
    while True:
        match = _TOKEN.match(data, position)
        if match is None:
            raise JSONError(f"not JSON at byte {position}")
        kind = cast(str, match.lastgroup)
        begin, position = match.span(kind)
        depth = len(stack)
        first = data[begin] if kind == "punctuation" else 0
        if expect in ("value", "value-or-end") and (kind != "punctuation" or first in b"{["):
            yield Token(kind, begin, position, depth, "value")
            if first == 0:
                expect = "more"
            else:
                stack.append(first)
                expect = "key-or-end" if first == 0x7B else "value-or-end"
                continue
        elif expect in ("key", "key-or-end") and kind == "string":
            yield Token(kind, begin, position, depth, "key")
            expect = "colon"
            continue
        elif expect == "colon" and first == 0x3A:
            expect = "value"
            continue
        elif expect == "more" and first == 0x2C:
            expect = "key" if stack[-1] == 0x7B else "value"
            continue
        elif expect in ("more", "key-or-end", "value-or-end") and stack and first == stack[-1] + 2:
            stack.pop()
            yield Token(kind, begin, position, depth - 1, "")
            expect = "more"
        else:
            raise JSONError(f"not JSON at byte {begin}")
        if not stack:
            return


def end_of_value(data: bytes, start: int = 0) -> int:
    """The offset just behind the JSON value that begins at `start`. Raises JSONError."""
    end = start
    for token in tokens(data, start):
        end = token.end
    return end


def _string(data: bytes, token: Token) -> str:
    return json.loads(data[token.start : token.end].decode("utf-8", "replace"))


def members(data: bytes) -> list[Member]:
    """The members of the object that `data` is, in order, duplicates included. Raises JSONError if it is none."""
    found: list[Member] = []
    key: Token | None = None
    value_start = -1
    end = 0
    for token in tokens(data):
        end = token.end
        if token.depth == 0 and data[token.start] not in b"{}":
            raise JSONError("not an object")
        if token.depth == 1 and token.part == "key":
            key = token
        elif token.depth == 1 and key is not None:
            if token.part == "value":
                value_start = token.start
            if token.part == "" or token.kind != "punctuation":
                found.append(Member(_string(data, key), key.start, value_start, token.end))
    if data[end:].strip(b" \t\r\n"):
        raise JSONError(f"more text behind the value at byte {end}")
    return found


def integer(text: str) -> int | float:
    """The value of an integer literal: what 64 bits cannot hold becomes a double, as orjson and JavaScript read it."""
    value = int(text) if len(text) <= 20 else float(text)
    return value if -(2**63) <= value < 2**64 else float(value)


def parse(data: bytes) -> Any:
    """The Python value of a JSON text of any depth. Raises JSONError."""
    root: list[Any] = []
    stack: list[list[Any] | dict[str, Any]] = [root]
    keys: list[str] = []
    end = 0
    for token in tokens(data):
        end = token.end
        first = data[token.start]
        if token.part == "key":
            keys.append(_string(data, token))
            continue
        if token.part == "":
            stack.pop()
            continue
        value: Any
        if token.kind == "punctuation":
            value = {} if first == 0x7B else []
        elif token.kind == "string":
            value = _string(data, token)
        elif token.kind == "word":
            value = _WORDS[data[token.start : token.end]]
        else:
            text = data[token.start : token.end].decode()
            value = float(text) if any(c in text for c in ".eE") else integer(text)
        parent = stack[-1]
        if isinstance(parent, dict):
            parent[keys.pop()] = value
        else:
            parent.append(value)
        if isinstance(value, dict | list):
            stack.append(cast("list[Any] | dict[str, Any]", value))
    if data[end:].strip(b" \t\r\n"):
        raise JSONError(f"more text behind the value at byte {end}")
    return root[0]


def serialise(value: Any) -> str:
    """Compact JSON of a value of any depth; lone surrogates stay in the text. Raises TypeError, JSONError for NaN."""
    out: list[str] = []
    stack: list[Iterator[Any]] = [iter([value])]
    closers: list[str] = [""]
    fresh = [True]
    while stack:
        try:
            item = next(stack[-1])
        except StopIteration:
            stack.pop()
            fresh.pop()
            out.append(closers.pop())
            continue
        if not fresh[-1]:
            out.append(",")
        fresh[-1] = False
        if isinstance(item, tuple) and closers[-1] == "}":
            key, item = cast("tuple[str, Any]", item)
            out.append(encode_basestring(key) + ":")
        if isinstance(item, dict):
            pairs = cast("dict[str, Any]", item)
            out.append("{")
            stack.append(iter(pairs.items()))
            closers.append("}")
            fresh.append(True)
        elif isinstance(item, list | tuple):
            out.append("[")
            stack.append(iter(cast("list[Any]", item)))
            closers.append("]")
            fresh.append(True)
        else:
            out.append(_scalar(item))
    return "".join(out)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise JSONError("NaN and infinities are not JSON")
        return float.__repr__(value)
    raise TypeError(f"not JSON: {type(value).__name__}")


__all__ = ["JSONError", "Member", "Token", "end_of_value", "integer", "members", "parse", "serialise", "tokens"]
