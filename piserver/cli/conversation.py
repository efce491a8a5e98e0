"""The words of the demonstration: a bug in an importer, mended in two ways."""

from __future__ import annotations

from typing import Any

from piserver.entries.types import MessageDraft

__all__ = ["ask", "call", "result", "say"]


def ask(text: str) -> MessageDraft:
    """A person's message."""
    return MessageDraft(message={"role": "user", "content": text})


def say(text: str, *calls: dict[str, Any], model: str = "claude-opus-4-5", tokens: int = 1800) -> MessageDraft:
    """A model's answer with its tool calls, and what it cost."""
    written = 40 + 2 * len(text)
    usage = {
        "input": tokens,
        "output": written,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": tokens + written,
        "cost": {
            "input": tokens * 3e-6,
            "output": written * 15e-6,
            "cacheRead": 0,
            "cacheWrite": 0,
            "total": tokens * 3e-6 + written * 15e-6,
        },
    }
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}, *calls],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": model,
        "usage": usage,
        "stopReason": "toolUse" if calls else "stop",
    }
    return MessageDraft(message=message)


def call(id: str, name: str, **arguments: str) -> dict[str, Any]:
    """A tool call, as a block of an answer."""
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def result(id: str, name: str, text: str) -> MessageDraft:
    """What a tool gave."""
    message = {
        "role": "toolResult",
        "toolCallId": id,
        "toolName": name,
        "content": [{"type": "text", "text": text}],
        "isError": False,
    }
    return MessageDraft(message=message)
