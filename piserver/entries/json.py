"""The one door between JSON text and Python values.

orjson does the work. What it refuses although it is JSON (lone-surrogate escapes, which JavaScript writers produce,
numbers beyond any double, deep nesting) goes to the standard library and then to `nested`, so both are total.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, cast

import orjson

from piserver.entries import nested
from piserver.entries.nested import JSONError


def loads(data: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Ill-formed UTF-8 is read as U+FFFD, an integer beyond 64 bits as a double, a number such as 1e400 as infinity.
    Raises JSONError, also for NaN and Infinity literals, which Python's own parser would take.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        text = bytes(data).decode("utf-8", "replace")
        return json.loads(text, parse_int=nested.integer, parse_constant=_refuse_constant)
    except RecursionError:
        return nested.parse(bytes(data))
    except ValueError as error:
        raise JSONError(str(error)) from None


def dumps(value: Any) -> bytes:
    """Compact JSON in UTF-8. Lone surrogates become U+FFFD, so that strict parsers can read what we write.

    Raises TypeError for what JSON does not have. NaN and infinities must have been refused before (`non_finite`).
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        text = nested.serialise(value)
    return well_formed(text).encode()


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def non_finite(value: Any) -> bool:
    """Whether a NaN or an infinity hides anywhere in a JSON-like value."""
    stack: list[Any] = [[value]]
    while stack:
        item = stack.pop()
        inner = cast("dict[str, Any]", item).values() if isinstance(item, dict) else cast("list[Any]", item)
        for part in inner:
            if isinstance(part, str):  # nearly everything is
                continue
            if isinstance(part, float):
                if not math.isfinite(part):
                    return True
            elif isinstance(part, dict | list | tuple):
                stack.append(part)
    return False


def _refuse_constant(name: str) -> NoReturn:
    raise JSONError(f"{name} is not JSON")


__all__ = ["JSONError", "dumps", "loads", "non_finite", "well_formed"]
