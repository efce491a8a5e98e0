"""Tokens and what they cost, in the shape of the log."""

from __future__ import annotations

from typing import Any

from piserver.providers.base import Price

_MILLION = 1_000_000


def usage_of(
    price: Price,
    *,
    input: int = 0,
    output: int = 0,
    cache_read: int = 0,
    cache_write: int = 0,
    reasoning: int | None = None,
) -> dict[str, Any]:
    """Usage of one request. `input` counts the tokens outside the cache; `reasoning` is a part of `output`."""
    costs = {
        "input": input * price.input / _MILLION,
        "output": output * price.output / _MILLION,
        "cacheRead": cache_read * price.cache_read / _MILLION,
        "cacheWrite": cache_write * price.cache_write / _MILLION,
    }
    usage: dict[str, Any] = {
        "input": input,
        "output": output,
        "cacheRead": cache_read,
        "cacheWrite": cache_write,
        "totalTokens": input + output + cache_read + cache_write,
        "cost": costs | {"total": sum(costs.values())},
    }
    if reasoning:
        usage["reasoning"] = reasoning
    return usage
