"""The offline model: built in, without network or key.

It plays a script (`script`), or answers from the conversation by a few rules and says what it is. It is what tests and
the demonstration run on, and what a person meets who has configured nothing yet.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from itertools import count
from typing import Any, cast

import anyio
import anyio.lowlevel
from msgspec import UNSET

from piserver.context.estimate import estimate_tokens
from piserver.entries import json
from piserver.providers.answer import tool_call
from piserver.providers.base import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Failed,
    Failure,
    Finished,
    Model,
    Request,
    Started,
    StreamEvent,
    UsageReported,
)
from piserver.providers.failures import RETRYABLE
from piserver.providers.script import Script, ScriptedCall, Step
from piserver.providers.usage import usage_of

OFFLINE = Model(
    provider="offline",
    id="scripted",
    name="Offline model",
    api="offline",
    reasoning=True,
    input=("text", "image"),
)
_PIECE = 16
"""Characters of a piece, about four tokens."""

_WHAT_IT_IS = (
    "I am the offline model: I need no network and no key, and I do not think. To talk to a real model, put a vendor's "
    "API key into the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY) and choose one of its models. "
    "Until then I can do what follows one of these words: `read PATH`, `list PATH`, `run COMMAND`, "
    '`write PATH: TEXT`, `replace "OLD" with "NEW" in PATH`.'
)


class OfflineProvider:
    """Plays `script`, or that of a request, step by step."""

    def __init__(self, script: Script | None = None) -> None:
        self._script = script

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """The next step of the script, as a vendor would stream it."""
        script = cast("Script | None", request.script) or self._script
        step = script.next() if script else _reply(request)
        if step is None:
            yield _failed("invalid-request", f"the script has no step {cast('Script', script).played + 1}")
            return
        tokens = _tokens(request)
        if tokens > request.model.context_window:
            window = request.model.context_window
            yield _failed("overflow", f"the prompt is too long: {tokens:,} tokens, and the window has {window:,}")
            return
        await anyio.sleep(step.delay_ms / 1000)
        failure = step.failure or None
        said = 0
        if failure is None or failure.after:
            yield Started(response_id=f"offline-{len(request.messages)}")
        for event in _blocks(step, len(request.messages)):
            if isinstance(event, BlockDelta):
                if failure is not None and said >= failure.after:
                    break
                said += 1
                if step.piece_delay_ms:
                    await anyio.sleep(step.piece_delay_ms / 1000)
                else:
                    await anyio.lowlevel.checkpoint()
            elif failure is not None and said >= failure.after:
                break
            yield event
        usage = _usage(request.model, step, tokens)
        if failure is not None:
            message = failure.message or f"the script says: {failure.kind}"
            yield _failed(failure.kind, message, failure.retry_after or None, usage if failure.after else None)
            return
        yield UsageReported(usage=usage)
        yield Finished(reason=step.stop or ("toolUse" if step.calls else "stop"), usage=usage)


def _failed(kind: Any, message: str, retry_after: float | None = None, usage: dict[str, Any] | None = None) -> Failed:
    failure = Failure(kind=kind, message=message, retryable=kind in RETRYABLE, retry_after=retry_after)
    return Failed(failure=failure, usage=usage)


def _blocks(step: Step, messages: int) -> Iterator[StreamEvent]:
    """What a step says, in pieces."""
    index = count()
    if step.thinking:
        place = next(index)
        yield BlockStarted(index=place, kind="thinking")
        yield from _pieces(place, step.thinking)
        yield BlockEnded(index=place, block={"type": "thinking", "thinking": step.thinking})
    if step.text:
        place = next(index)
        yield BlockStarted(index=place, kind="text")
        yield from _pieces(place, step.text)
        yield BlockEnded(index=place, block={"type": "text", "text": step.text})
    for number, call in enumerate(step.calls):
        place = next(index)
        id = call.id or f"call-{messages}-{number}"
        yield BlockStarted(index=place, kind="toolCall", id=id, name=call.name)
        text = call.json if call.json is not UNSET else json.dumps(call.arguments).decode()
        yield from _pieces(place, text)
        yield BlockEnded(index=place, block=tool_call(id, call.name, text))


def _pieces(index: int, text: str) -> Iterator[BlockDelta]:
    for start in range(0, len(text), _PIECE):
        yield BlockDelta(index=index, delta=text[start : start + _PIECE])


def _tokens(request: Request) -> int:
    return len(request.system) // 4 + sum(map(estimate_tokens, request.messages))


def _usage(model: Model, step: Step, tokens: int) -> dict[str, Any]:
    if step.usage:
        told = step.usage
        return usage_of(
            model.price,
            input=told.input,
            output=told.output,
            cache_read=told.cache_read,
            cache_write=told.cache_write,
        )
    said = len(step.thinking) + len(step.text) + sum(len(json.dumps(call.arguments)) for call in step.calls)
    reasoning = -(-len(step.thinking) // 4)
    return usage_of(model.price, input=tokens, output=-(-said // 4), reasoning=reasoning)


# Without a script


def _reply(request: Request) -> Step:
    """What the offline model says by itself: it does what it is told in one of a few forms, once."""
    last = request.messages[-1] if request.messages else {}
    if last.get("role") == "toolResult":
        word = "failed" if last.get("isError") else "answered"
        return Step(text=f"The tool {last.get('toolName')} {word}:\n\n{_quoted(_text(last))}")
    said = _text(last)
    call = _command(said)
    if call is not None and any(tool.name == call.name for tool in request.tools):
        return Step(text=f"I call {call.name}, as you say.", calls=[call])
    turns = sum(1 for message in request.messages if message.get("role") == "user")
    return Step(
        thinking=f"This is message {turns} of yours." if request.level != "off" else "",
        text=f"You said:\n\n{_quoted(said)}\n\n{_WHAT_IT_IS}",
    )


_FORMS = {
    "read": re.compile(r"(?is)^read (?P<path>\S.*)$"),
    "ls": re.compile(r"(?is)^list(?: (?P<path>\S.*))?$"),
    "bash": re.compile(r"(?is)^run (?P<command>\S.*)$"),
    "write": re.compile(r"(?is)^write (?P<path>[^:]+): ?(?P<content>.*)$"),
    "edit": re.compile(r'(?is)^replace "(?P<oldText>.+)" with "(?P<newText>.*)" in (?P<path>\S.*)$'),
}
"""What a person may say, and the tool that is called with its parts."""


def _command(text: str) -> ScriptedCall | None:
    for name, form in _FORMS.items():
        match = form.match(text.strip())
        if match:
            said: dict[str, Any] = {key: value for key, value in match.groupdict().items() if value is not None}
            if name == "edit":
                said = {"path": said.pop("path"), "edits": [said]}
            return ScriptedCall(name=name, arguments=said)
    return None


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = cast("list[dict[str, Any]]", content or [])
    return "\n".join(str(block.get("text")) if block.get("type") == "text" else "(image)" for block in blocks)


def _quoted(text: str) -> str:
    lines = text.strip().splitlines()
    shown = [f"> {line[:200]}" for line in lines[:12]]
    return "\n".join([*shown, f"> … {len(lines) - 12} more lines"] if len(lines) > 12 else shown)
