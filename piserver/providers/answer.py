"""An answer put together from the events of a provider's stream, by whoever listens to it.

It is whole at every moment: what was said before an abort or a failure is kept, except for a tool call whose arguments
had not come to their end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from piserver.entries import json
from piserver.providers.base import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Failed,
    Failure,
    Finished,
    Model,
    Started,
    StreamEvent,
    UsageReported,
)
from piserver.providers.usage import usage_of


@dataclass(slots=True)
class _Building:
    """A block under way."""

    start: BlockStarted
    pieces: list[str] = field(default_factory=list[str])

    def block(self) -> dict[str, Any]:
        text = json.well_formed("".join(self.pieces))
        match self.start.kind:
            case "text":
                return {"type": "text", "text": text}
            case "thinking":
                return {"type": "thinking", "thinking": text}
            case "toolCall":
                return {"type": "toolCall", "id": self.start.id, "name": self.start.name, "arguments": {}}


class Answer:
    """One answer of `model`, from its first event on; `timestamp` is in milliseconds since 1970.

    `failure` is set once it has failed, `stop_reason` is `pending` until it has ended.
    """

    def __init__(self, model: Model, timestamp: int) -> None:
        self.model = model
        self.stop_reason = "pending"
        self.failure: Failure | None = None
        self.usage: dict[str, Any] = usage_of(model.price)
        self._timestamp = timestamp
        self._extra: dict[str, Any] = {}
        self._building: dict[int, _Building] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: StreamEvent) -> None:
        """Take in the next event of the stream."""
        match event:
            case Started():
                if event.response_id:
                    self._extra["responseId"] = event.response_id
                if event.response_model and event.response_model != self.model.id:
                    self._extra["responseModel"] = event.response_model
            case BlockStarted():
                self._building[event.index] = _Building(event)
            case BlockDelta():
                self._building[event.index].pieces.append(event.delta)
            case BlockEnded():
                self._building.pop(event.index, None)
                self._blocks[event.index] = event.block
            case UsageReported():
                self.usage = event.usage
            case Finished():
                self.stop_reason, self.usage = event.reason, event.usage
                if isinstance(event.raw, str):
                    self._extra["rawStopReason"] = event.raw
            case Failed():
                self.stop_reason, self.failure = "error", event.failure
                self.usage = event.usage or self.usage
                self._extra["errorMessage"] = event.failure.message

    def abort(self, reason: str = "aborted by the user") -> None:
        """End the answer where it is."""
        self.stop_reason = "aborted"
        self._extra["errorMessage"] = reason

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The tool calls that are whole, in order."""
        return [block for _, block in sorted(self._blocks.items()) if block["type"] == "toolCall"]

    def message(self) -> dict[str, Any]:
        """The answer as the log has it, as far as it has come (shapes: `entries.messages`)."""
        ended = self.stop_reason != "pending"
        blocks = dict(self._blocks)
        for index, building in self._building.items():
            if not (ended and building.start.kind == "toolCall"):
                blocks[index] = building.block()
        return {
            "role": "assistant",
            "content": [block for _, block in sorted(blocks.items())],
            "api": self.model.api,
            "provider": self.model.provider,
            "model": self.model.id,
            "usage": self.usage,
            "stopReason": self.stop_reason,
            "timestamp": self._timestamp,
            **self._extra,
        }


def tool_call(id: str, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    """A tool call's block; arguments that are no JSON object are told in `argumentsError`, and are never run."""
    block: dict[str, Any] = {"type": "toolCall", "id": id, "name": name, "arguments": {}, **more}
    value: Any = {}
    try:
        if arguments.strip():
            value = json.loads(json.well_formed(arguments).encode())
    except ValueError as error:
        return block | {"argumentsError": f"the arguments are not JSON: {error}"}
    if not isinstance(value, dict):
        return block | {"argumentsError": "the arguments are not an object"}
    return block | {"arguments": value}
