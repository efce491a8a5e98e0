"""What every provider takes and answers.

A provider turns one `Request` into a stream of events: `Started`, then blocks (each `BlockStarted`, any number of
`BlockDelta`, `BlockEnded`) and `UsageReported` in between, then exactly one of `Finished` or `Failed`. A failure may
come first; nothing comes behind either. Whoever consumes the stream puts the message together (`answer.Answer`), so
that what was said before an abort is kept; cancelling the consumer ends the request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType, field

Api = Literal["anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai", "offline"]
"""The wire format by which a model is reached; it stands in each answer's `api`."""

Level = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers."""

StopReason = Literal["stop", "length", "toolUse"]

FailureKind = Literal[
    "rate-limit",
    "overloaded",
    "server",
    "network",
    "timeout",
    "cut-off",
    "overflow",
    "auth",
    "quota",
    "refused",
    "invalid-request",
    "missing-package",
    "unknown",
]
"""Why a request failed. `cut-off`: the stream ended before its end. `overflow`: the context is larger than the window.
`quota`: a limit that waiting a minute does not lift. `refused`: the model or its safety filter declined to answer.
`missing-package`: the vendor's SDK is not installed."""


class Price(Struct, frozen=True, kw_only=True, rename="camel"):
    """USD for a million tokens."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0


class Model(Struct, frozen=True, kw_only=True, rename="camel"):
    """A model and how it is reached.

    `thinking_levels` maps a `Level` to the vendor's word, None where the model has no such level; a level that is
    absent has its own name, `xhigh` and `max` only exist if mapped. `context_window` and `max_tokens` (of an answer)
    are tokens. `compat` holds the vendor's peculiarities as `models.json` names them.
    """

    provider: str
    id: str
    name: str
    api: Api
    base_url: str | None = None
    reasoning: bool = False
    thinking_levels: dict[str, str | None] = field(default_factory=dict[str, str | None])
    input: tuple[Literal["text", "image"], ...] = ("text",)
    price: Price = Price()
    context_window: int = 128_000
    max_tokens: int = 16_384
    headers: dict[str, str] = field(default_factory=dict[str, str])
    compat: dict[str, Any] = field(default_factory=dict[str, Any])


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it; `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(Struct, frozen=True, kw_only=True):
    """One call of a model.

    `messages` are user, assistant and toolResult messages after the replay transform for this model (`context.replay`).
    `level` is one that the model has. `max_tokens` caps the answer, None for the model's own limit. `cache_key` is the
    session's id for turns; None for requests that must not use or fill a prompt cache. `script` is for the offline
    provider alone.
    """

    model: Model
    messages: list[dict[str, Any]]
    system: str = ""
    tools: list[ToolSpec] = field(default_factory=list[ToolSpec])
    level: Level = "off"
    max_tokens: int | None = None
    cache_key: str | None = None
    api_key: str | None = None
    script: Any = None

    def __repr__(self) -> str:  # never shows the key
        return f"Request({self.model.provider}/{self.model.id}, {len(self.messages)} messages)"


class Failure(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Why a request failed, in a sentence for a person, free of keys.

    `retryable`: the same request may succeed later. `retry_after` is in seconds, where the vendor named it; `status` is
    the HTTP status.
    """

    kind: FailureKind
    message: str
    retryable: bool = False
    retry_after: float | None = None
    status: int | None = None


class Started(Struct, frozen=True, kw_only=True):
    """The vendor has begun to answer."""

    response_id: str | None = None
    response_model: str | None = None


class BlockStarted(Struct, frozen=True, kw_only=True):
    """A block begins; `index` counts the answer's blocks from 0. A tool call has its `id` and `name`."""

    index: int
    kind: Literal["text", "thinking", "toolCall"]
    id: str = ""
    name: str = ""


class BlockDelta(Struct, frozen=True, kw_only=True):
    """More of a block: text, thought, or a piece of a tool call's JSON arguments."""

    index: int
    delta: str


class BlockEnded(Struct, frozen=True, kw_only=True):
    """A block is whole; `block` is what goes into the log, signatures included (shapes: `entries.messages`)."""

    index: int
    block: dict[str, Any]


class UsageReported(Struct, frozen=True, kw_only=True):
    """Tokens and cost so far, in the log's shape: input, output, cacheRead, cacheWrite, totalTokens, cost."""

    usage: dict[str, Any]


class Finished(Struct, frozen=True, kw_only=True):
    """The answer is complete. `raw` is the vendor's own word for why it stopped."""

    reason: StopReason
    usage: dict[str, Any]
    raw: str | UnsetType = UNSET


class Failed(Struct, frozen=True, kw_only=True):
    """The answer did not come, or broke off; `usage` is what it cost all the same."""

    failure: Failure
    usage: dict[str, Any] | None = None


StreamEvent = Started | BlockStarted | BlockDelta | BlockEnded | UsageReported | Finished | Failed


class Provider(Protocol):
    """Reaches models of one API family."""

    def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Ask a model. Everything that goes wrong comes as `Failed`; nothing but cancellation is raised."""
        ...
