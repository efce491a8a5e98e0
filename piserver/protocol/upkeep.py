"""The methods `session/verify`, `session/repair` and `session/lease`: the state of a file, and who writes it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from piserver.protocol.base import Params, Shape
from piserver.protocol.sessions import SessionParams
from piserver.protocol.shapes import Diagnostic, EntryId, LeaseOwner
from piserver.storage.repair import StepKind

# Files


class VerifyParams(Params, kw_only=True):
    """A session by `sessionId` or by the `path` of its file, which is not opened for that."""

    session_id: str | UnsetType = UNSET
    path: str | UnsetType = UNSET


class RepairStep(Shape, kw_only=True):
    """One thing that mending does to a file. `line` counts physical lines from 1; `offset` and `size` are bytes.

    `split-line`: entries found on a damaged line get lines of their own. `set-aside-line`: what is no entry goes to
    `.damaged`. `set-aside-duplicate`: so does an entry whose id another one has already. `cut-tail`: what a crash left
    of the last line goes to `.torn`. `end-last-line`: the last line gets its end.
    """

    kind: StepKind
    line: int
    offset: int
    size: int
    reason: str


class VerifyResult(Shape, kw_only=True):
    """What was found in a file, all `diagnostics`, and the `steps` that `session/repair` would take.

    `size` is in bytes, `lines` counts physical lines, `entries` those that can be read. `refused` says why the file
    would not be repaired at this moment; null if nothing hinders that.
    """

    path: str
    session_id: str
    version: float
    size: int
    sha256: str
    lines: int
    entries: int
    leaf_id: EntryId | None
    diagnostics: list[Diagnostic]
    steps: list[RepairStep]
    refused: str | None


class RepairParams(VerifyParams, kw_only=True):
    """A session by `sessionId` or by the `path` of its file."""


class RepairResult(Shape, kw_only=True):
    """What was done, and the file as it is now.

    `backup` holds what it was, `damaged` and `torn` what was taken out; null where there was nothing to keep. Without
    `steps` nothing was wrong that could be mended, and nothing was changed. `diagnostics` are what remains: what whole
    entries say of each other.
    """

    path: str
    session_id: str
    size: int
    sha256: str
    entries: int
    steps: list[RepairStep]
    diagnostics: list[Diagnostic]
    backup: str | None
    damaged: str | None
    torn: str | None


# Writing together


class LeaseParams(SessionParams, kw_only=True):
    """`status`: who has the session. `take`: have it, for the server's own changes alone. `release`: give it back.

    `force` takes it from somebody who has it. `purpose` is shown to others.
    """

    action: Literal["status", "take", "release"] = "status"
    force: bool = False
    purpose: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET


class LeaseResult(Shape, kw_only=True):
    """Who has the session now; null if nobody has. `own`: it is this server.

    `previous`: who has lost it by being taken over from, or by ending without giving it back.
    """

    session_id: str
    owner: LeaseOwner | None
    own: bool
    previous: LeaseOwner | UnsetType = UNSET


class LeaseChanged(Shape, kw_only=True):
    """Another server has the session than before, or none (null). `lost`: this server had it, and has it no more."""

    session_id: str
    owner: LeaseOwner | None
    lost: bool | UnsetType = UNSET
