"""Scripts that the offline model plays.

A script is a list of steps, or an object with them as `steps`; each call of the model plays the next one:

    [{"thinking": "Let me look.", "text": "I read the file first.",
      "calls": [{"name": "read", "arguments": {"path": "notes.txt"}}]},
     {"failure": {"kind": "rate-limit", "retryAfter": 1}},
     {"text": "It says hello.", "pieceDelayMs": 20}]

A step may wait (`delayMs` before its first word, `pieceDelayMs` between pieces), stop short (`stop: "length"`), fail
(`failure`, after `after` pieces of what it says) and state its own `usage` (`input`, `output`, `cacheRead`,
`cacheWrite` in tokens).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from piserver.entries import json
from piserver.providers.base import FailureKind, StopReason

Count = Annotated[int, Meta(ge=0)]


class ScriptError(ValueError):
    """A script that cannot be played; the message says where it is wrong."""


class _Part(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, rename="camel"):
    pass


class ScriptedCall(_Part, kw_only=True, frozen=True):
    """A tool call. `json` is sent in place of `arguments`, fit or not; without `id` it is numbered."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    json: str | UnsetType = UNSET
    id: str | UnsetType = UNSET


class ScriptedFailure(_Part, kw_only=True, frozen=True):
    """How a step fails. `retryAfter` is in seconds, `after` counts the pieces said before."""

    kind: FailureKind
    message: str | UnsetType = UNSET
    retry_after: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    after: Count = 0


class ScriptedUsage(_Part, kw_only=True, frozen=True):
    """Tokens, where they are not to be counted from the text."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0


class Step(_Part, kw_only=True, frozen=True):
    """One answer."""

    thinking: str = ""
    text: str = ""
    calls: list[ScriptedCall] = field(default_factory=list[ScriptedCall])
    stop: StopReason | UnsetType = UNSET
    failure: ScriptedFailure | UnsetType = UNSET
    usage: ScriptedUsage | UnsetType = UNSET
    delay_ms: Count = 0
    piece_delay_ms: Count = 0


class _Steps(_Part, kw_only=True, frozen=True):
    steps: list[Step]


class Script:
    """Steps and how many of them have been played."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self.played = 0

    @classmethod
    def of(cls, value: Any) -> Script:
        """The script that a JSON value describes. Raises ScriptError."""
        try:
            steps = (
                msgspec.convert(value, _Steps).steps if isinstance(value, dict) else msgspec.convert(value, list[Step])
            )
            return cls(steps)
        except msgspec.ValidationError as error:
            raise ScriptError(f"script: {error}") from None

    @classmethod
    def load(cls, path: Path) -> Script:
        """The script in a file. Raises ScriptError, also for a file that cannot be read."""
        try:
            return cls.of(json.loads(path.read_bytes()))
        except OSError as error:
            raise ScriptError(f"script {path}: {error.strerror}") from None
        except ValueError as error:
            raise ScriptError(f"script {path}: {error}") from None

    def next(self) -> Step | None:
        """The next step, None when all are played."""
        if self.played == len(self._steps):
            return None
        self.played += 1
        return self._steps[self.played - 1]
