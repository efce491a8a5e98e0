"""How many tokens a message is likely to cost: characters / 4, no tokenizer.

Characters are UTF-16 code units; an image counts as 4,800 of them. Lists of messages start from the last usage that a
provider has reported, where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from piserver.entries import json
from piserver.entries.text import utf16_length

IMAGE_CHARACTERS = 4800


def estimate_tokens(message: Mapping[str, Any]) -> int:
    """Estimated tokens of one message of any role."""
    return -(-_characters(message) // 4)


def _characters(message: Mapping[str, Any]) -> int:
    match message.get("role"):
        case "assistant":
            return sum(_assistant_block(block) for block in _blocks(message.get("content")))
        case "bashExecution":
            return _length(message.get("command")) + _length(message.get("output"))
        case "branchSummary" | "compactionSummary":
            return _length(message.get("summary"))
        case "user" | "custom" | "toolResult":
            content = message.get("content")
            return _length(content) if isinstance(content, str) else sum(map(_block, _blocks(content)))
        case _:
            return 0


def _assistant_block(block: Mapping[str, Any]) -> int:
    match block.get("type"):
        case "text":
            return _length(block.get("text"))
        case "thinking":
            return _length(block.get("thinking"))
        case "toolCall":
            return _length(block.get("name")) + _json_length(block.get("arguments", {}))
        case _:
            return 0


def _block(block: Mapping[str, Any]) -> int:
    if block.get("type") == "image":
        return IMAGE_CHARACTERS
    return _length(block.get("text")) if block.get("type") == "text" else 0


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    if not isinstance(content, list):
        return []
    return [cast("Mapping[str, Any]", block) for block in cast("list[Any]", content) if isinstance(block, dict)]


def _json_length(value: Any) -> int:
    """Length of the compact JSON that JavaScript writes, in which a lone surrogate is an escape of six characters."""
    text = json.dumps(value).decode()
    lone = text.count("\ufffd") - sum(part.count("\ufffd") for part in _strings(value)) if "\ufffd" in text else 0
    return utf16_length(text) + 5 * lone


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in cast("dict[str, Any]", item).items():
                stack += (key, inner)
        elif isinstance(item, list):
            stack.extend(cast("list[Any]", item))


def _length(text: Any) -> int:
    return utf16_length(text) if isinstance(text, str) else 0


@dataclass(frozen=True, slots=True)
class ContextTokens:
    """An estimate for a list of messages: what a provider reported, plus the estimate of what came after.

    `usage_index` is the message whose usage was taken, None if none could be.
    """

    tokens: int
    usage_tokens: int
    trailing_tokens: int
    usage_index: int | None


def estimate_context_tokens(messages: Sequence[Mapping[str, Any]], stale_before: int = 0) -> ContextTokens:
    """Estimate a whole context.

    Usage of messages before index `stale_before` (kept from before a compaction) is not used.
    """
    for index in range(len(messages) - 1, stale_before - 1, -1):
        used = _usable_usage(messages[index])
        if used:
            trailing = sum(estimate_tokens(message) for message in messages[index + 1 :])
            return ContextTokens(used + trailing, used, trailing, index)
    everything = sum(estimate_tokens(message) for message in messages)
    return ContextTokens(everything, 0, everything, None)


def _usable_usage(message: Mapping[str, Any]) -> int:
    """The total that an answer reported; 0 for failed answers and for none."""
    usage = message.get("usage")
    if message.get("role") != "assistant" or message.get("stopReason") in ("error", "aborted"):
        return 0
    if not isinstance(usage, dict):
        return 0
    parts = cast("dict[str, Any]", usage)
    total = parts.get("totalTokens") or sum(
        _number(parts.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite")
    )
    return int(_number(total))


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else 0
