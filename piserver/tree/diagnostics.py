"""What was found wrong with a session file. Diagnostics are warnings: the session opens all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DiagnosticKind = Literal[
    "malformed-line",
    "recovered-entry",
    "torn-tail",
    "duplicate-id",
    "missing-parent",
    "absent-parent",
    "parent-cycle",
    "bad-leaf-target",
    "bad-label",
    "bad-context-edit",
    "missing-message",
    "off-path-first-kept",
    "header",
    "newer-version",
    "missing-cwd",
]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `line` counts physical lines from 1, `offset` bytes from the file's start."""

    kind: DiagnosticKind
    message: str
    line: int | None = None
    offset: int | None = None
    entry_id: str | None = None
