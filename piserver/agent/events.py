"""What happens during a run, in the order in which listeners hear of it.

A run is everything from an accepted prompt to `settled`; a turn is one model call and its tools:

    run   = agent_start, (turn | retry | compaction | idle)*, agent_end … settled
    turn  = turn_start, injected message*, answer, tool*, result message*, turn_end, save_point

`agent_end` may be followed by a retry, a compaction or a further round of turns, each ended by an `agent_end` of its
own; `settled` is the last event of a run and comes once. A message is in the log before its `message_end` is told.
Deltas are for display; what counts is `message_end` and the entry it names.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Outcome = Literal["done", "failed", "aborted", "limit"]
"""How a run ended."""

Queue = Literal["steer", "followUp", "nextTurn"]

Phase = Literal["idle", "turn", "compaction", "branch_summary", "retry"]
"""What a session's harness is doing."""


class Event(Struct, kw_only=True, rename="camel", tag_field="type"):
    """One thing that happened."""


class AgentStart(Event, tag="agent_start"):
    """Turns begin."""


class TurnStart(Event, tag="turn_start"):
    """A model will be called; `turn` counts the run's turns from 1. With what, is said as the log says it."""

    turn: int
    provider: str
    model_id: str
    thinking_level: str
    active_tool_names: list[str]


class MessageStart(Event, tag="message_start"):
    """A message begins: a user's that goes in, a model's answer that is being made, or a tool's result."""

    role: str


class MessageUpdate(Event, tag="message_update"):
    """A piece of the answer under way.

    `contentIndex` counts the answer's blocks. A `toolcall_start` carries `id` and `name`, a delta `delta`, `usage` the
    tokens and cost so far.
    """

    kind: Literal[
        "text_start",
        "text_delta",
        "text_end",
        "thinking_start",
        "thinking_delta",
        "thinking_end",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_end",
        "usage",
    ]
    content_index: int | UnsetType = UNSET
    delta: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    usage: dict[str, Any] | UnsetType = UNSET


class MessageEnd(Event, tag="message_end"):
    """A message is in the log as `entryId`. `message` is absent where it is too large for a notification.

    `stopReason` and `errorMessage` are an answer's.
    """

    role: str
    entry_id: str
    message: dict[str, Any] | UnsetType = UNSET
    stop_reason: str | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


class ToolExecutionStart(Event, tag="tool_execution_start"):
    """A call is taken up. `title` is one line for a person; `arguments` is absent where it is too large."""

    tool_call_id: str
    tool_name: str
    title: str
    arguments: dict[str, Any] | UnsetType = UNSET


class ApprovalRequested(Event, tag="approval_requested"):
    """A person is asked whether a call may run."""

    approval_id: str
    tool_call_id: str
    tool_name: str
    title: str
    reason: str


class ApprovalResolved(Event, tag="approval_resolved"):
    """Whether a call may run, and who said so: the `rule` that allows or denies it, a `person`, or nobody (`absent`).

    `approvalId` is absent where nobody was asked. `changed`: the person changed the arguments.
    """

    tool_call_id: str
    tool_name: str
    decision: Literal["allow", "allow-session", "deny"]
    by: Literal["rule", "person", "absent"]
    approval_id: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    changed: bool | UnsetType = UNSET


class ToolExecutionUpdate(Event, tag="tool_execution_update"):
    """What a tool has put out so far, its end where it is long."""

    tool_call_id: str
    text: str


class ToolExecutionEnd(Event, tag="tool_execution_end"):
    """A call has ended. `text` is its result, cut where it is long; the result's entry has all of it."""

    tool_call_id: str
    tool_name: str
    is_error: bool
    duration_ms: int
    text: str
    details: Any = UNSET


class TurnEnd(Event, tag="turn_end"):
    """A turn is in the log: its answer and the results of its calls, by entry id."""

    turn: int
    entry_id: str
    result_ids: list[str]


class SavePoint(Event, tag="save_point"):
    """What was to wait for the turn's end is written; `hadPendingWrites` says whether there was anything."""

    had_pending_writes: bool


class QueueUpdate(Event, tag="queue_update"):
    """What waits to be said: texts, in order."""

    steer: list[str]
    follow_up: list[str]
    next_turn: list[str]


class RetryStart(Event, tag="auto_retry_start"):
    """A failed model call will be made again after `delayMs`; it can be aborted."""

    attempt: int
    max_attempts: int
    delay_ms: int
    reason: str
    error_message: str


class RetryEnd(Event, tag="auto_retry_end"):
    """The attempts are over."""

    success: bool
    attempt: int


class CompactionStart(Event, tag="compaction_start"):
    """The context is being compacted: by hand, because it is large, or because it was too large."""

    reason: Literal["manual", "threshold", "overflow"]


class CompactionEnd(Event, tag="compaction_end"):
    """The compaction is over. `entryId` is absent where nothing was written; `willRetry`: the call is made again."""

    reason: Literal["manual", "threshold", "overflow"]
    aborted: bool
    will_retry: bool
    entry_id: str | UnsetType = UNSET
    error_message: str | UnsetType = UNSET


class Notice(Event, tag="notice"):
    """Something that a person should know of this run, once: that the offline model answers, say."""

    message: str


class LimitReached(Event, tag="limit_reached"):
    """The run stops: too many turns, too much money (USD), or the same call again and again."""

    limit: Literal["maxTurns", "maxCost", "repeatedCall"]
    value: float


class AgentEnd(Event, tag="agent_end"):
    """Turns have ended. `willRetry`: the last call failed and will be made again."""

    will_retry: bool


class Settled(Event, tag="settled"):
    """The run is over, everything is on disk, and nothing of it follows. `queued` counts messages for the next turn."""

    outcome: Outcome
    turns: int
    queued: int
    error_message: str | UnsetType = UNSET
    failure: str | UnsetType = UNSET
    """The kind of a provider's failure (`providers.base.FailureKind`)."""


AnyEvent = (
    AgentStart
    | TurnStart
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ApprovalRequested
    | ApprovalResolved
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | TurnEnd
    | SavePoint
    | QueueUpdate
    | RetryStart
    | RetryEnd
    | CompactionStart
    | CompactionEnd
    | Notice
    | LimitReached
    | AgentEnd
    | Settled
)
