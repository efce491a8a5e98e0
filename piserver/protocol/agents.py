"""The methods `agent/*`: turns, what waits for them, and what a person is asked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from piserver.agent.events import AnyEvent, Outcome, Phase
from piserver.protocol.base import Params, Shape
from piserver.protocol.sessions import SessionParams
from piserver.protocol.shapes import EntryId, ModelRef, Position

AgentStatus = Literal["idle", "working", "needs-you", "failed"]
"""A session at a glance: nothing runs, a run is on, it waits for a person's answer, the last run failed."""

Decision = Literal["allow", "allow-session", "deny"]


class SayParams(SessionParams, kw_only=True):
    """What a person says: `text`, and images as blocks `{type: "image", data, mimeType}`; one of both at least."""

    text: str = ""
    images: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class PromptParams(SayParams, kw_only=True):
    """What a person says, and how the run is to go.

    `command` is the name of a skill or prompt template (`agent/commands`), `text` then its arguments. `expectedLeafId`
    and `idempotencyKey` as for every change. `maxTurns` and `maxCost` (USD) bound this run instead of the settings.
    `script` is played by the offline model.
    """

    command: str | UnsetType = UNSET
    expected_leaf_id: EntryId | None | UnsetType = UNSET
    idempotency_key: str | UnsetType = UNSET
    max_turns: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    max_cost: Annotated[float, Meta(gt=0)] | UnsetType = UNSET
    script: Any = UNSET


class PromptResult(Position, kw_only=True):
    """The prompt is accepted and in the log as `entryId`; what follows are the events of run `runId`."""

    run_id: str
    entry_id: EntryId


class QueueResult(Shape, kw_only=True):
    """All that waits to be said, in order."""

    session_id: str
    steer: list[str]
    follow_up: list[str]
    next_turn: list[str]


class AbortParams(SessionParams, kw_only=True):
    """Which run is to end, by default the one that is on."""

    run_id: str | UnsetType = UNSET


class AbortResult(Position, kw_only=True):
    """The run has settled; null if none was on. `steer` and `followUp` are the texts that were not said any more."""

    run_id: str | None
    steer: list[str]
    follow_up: list[str]


class Approval(Shape, kw_only=True):
    """What a person is asked before a tool runs.

    `title` is one line, `reason` says why it is asked. Where a file would change: `path`, `diff` (unified), and its
    whole text before (`oldText`, null: there is no such file) and after (`newText`), unless it is large.
    """

    session_id: str
    run_id: str
    approval_id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    title: str
    reason: str
    path: str | UnsetType = UNSET
    diff: str | UnsetType = UNSET
    old_text: str | None | UnsetType = UNSET
    new_text: str | UnsetType = UNSET


class ApprovalAnswer(Params, kw_only=True):
    """What the person says.

    `allow` this once, `allow-session`: and what is like it until the session is closed, `deny` with a `message` for the
    model. With `allow`, `arguments` are run in place of those that were asked about; with `newText` that becomes the
    content of the file instead of what the call would have made of it.
    """

    decision: Decision
    message: str | UnsetType = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET
    new_text: str | UnsetType = UNSET


class ApproveParams(ApprovalAnswer, kw_only=True):
    """The answer to a question that stands in `agent/state`, whoever was asked it."""

    session_id: str
    approval_id: str


class ApproveResult(Shape, kw_only=True):
    """The question is answered."""

    session_id: str
    approval_id: str


class ContextUse(Shape, kw_only=True):
    """How full the model's window is; `level` is `warning` from 70 percent on and `error` from 90."""

    tokens: int
    window: int
    percent: float
    level: Literal["ok", "warning", "error"]


class RunState(Shape, kw_only=True):
    """A run that is on. `partial` is the answer under way as far as it has come, `seq` the number of the last event.

    `runningCalls` are the tool calls under way, `{toolCallId, toolName, title, text}`.
    """

    run_id: str
    turn: int
    seq: int
    partial: dict[str, Any] | None
    running_calls: list[RunningCall]


class RunningCall(Shape, kw_only=True):
    """A tool call under way; `text` is what it has put out so far, its end where it is long."""

    tool_call_id: str
    tool_name: str
    title: str
    text: str


class StateResult(Position, kw_only=True):
    """All that an editor shows of a session's agent.

    `model`, `thinkingLevel` and `activeToolNames` are what the next call of a model is made with; `modelProblem` says
    why that model cannot be called. `cost` is in USD over the whole file.
    """

    status: AgentStatus
    phase: Phase
    run: RunState | None
    approvals: list[Approval]
    steer: list[str]
    follow_up: list[str]
    next_turn: list[str]
    model: ModelRef
    model_name: str
    model_problem: str | UnsetType = UNSET
    thinking_level: str
    thinking_levels: list[str]
    active_tool_names: list[str]
    context: ContextUse
    cost: float
    trusted: bool
    last_outcome: Outcome | UnsetType = UNSET


class Command(Shape, kw_only=True):
    """A skill or prompt template. `source` says where it comes from: the person's own folder or the workspace's."""

    name: str
    kind: Literal["skill", "prompt"]
    description: str
    source: Literal["user", "workspace"]
    path: str
    argument_hint: str | UnsetType = UNSET


class CommandsResult(Shape, kw_only=True):
    """What can be invoked by name. `problems` are sentences about files that could not be used."""

    session_id: str
    commands: list[Command]
    problems: list[str]


class AgentEvent(Shape, kw_only=True):
    """One event of a run. `seq` counts the run's events from 1, without gaps.

    A client that was slow finds a gap: deltas (`message_update`, `tool_execution_update`) may be left out or put
    together; nothing else ever is.
    """

    session_id: str
    run_id: str
    seq: int
    event: AnyEvent


class StatusChanged(Shape, kw_only=True):
    """A session's status at a glance has changed."""

    session_id: str
    status: AgentStatus
