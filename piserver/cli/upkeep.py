"""`piserver verify` and `piserver repair`: the state of a session's file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anyio
import click

from piserver.cli.failures import told_in_a_line
from piserver.cli.sessions import is_path
from piserver.client import connect
from piserver.protocol.shapes import Diagnostic
from piserver.protocol.upkeep import RepairResult, RepairStep, VerifyResult

__all__ = ["repair", "verify"]


def verify(session: str) -> int:
    """Says what is wrong with a file; returns 1 if anything is."""
    with told_in_a_line():
        found = anyio.run(_verify, session)
    click.echo(f"{found.path}\nsession {found.session_id}, version {found.version:g}, {_counted(found)}")
    click.echo(f"sha256 {found.sha256}")
    _tell_findings(found.diagnostics)
    if found.steps:
        click.echo("piserver repair would:")
        _tell_steps(found.steps)
    if found.refused is not None and found.steps:
        click.echo(f"  but not now: {found.refused}")
    wrong = bool(found.diagnostics or found.steps)
    if not wrong:
        click.echo("Nothing is wrong.")
    return int(wrong)


def repair(session: str) -> None:
    """Mends a file and says what was done."""
    with told_in_a_line():
        done = anyio.run(_repair, session)
    click.echo(done.path)
    if not done.steps:
        click.echo("There was nothing to mend.")
    _tell_steps(done.steps)
    for what, path in (("what was taken out", done.damaged), ("the torn tail", done.torn), ("backup", done.backup)):
        if path is not None:
            click.echo(f"{what}: {path}")
    if done.diagnostics:
        click.echo("This remains:")
        _tell_findings(done.diagnostics)


async def _verify(session: str) -> VerifyResult:
    async with connect() as client:
        return await client.verify(**_named(session))


async def _repair(session: str) -> RepairResult:
    async with connect() as client:
        return await client.repair(**_named(session))


def _named(session: str) -> Any:
    return {"path": session} if is_path(session) else {"session_id": session}


def _counted(found: VerifyResult) -> str:
    return f"{found.entries} entries on {found.lines} lines, {found.size} bytes"


def _tell_findings(findings: Iterable[Diagnostic]) -> None:
    for found in findings:
        place = f"line {found.line}: " if isinstance(found.line, int) and not found.message.startswith("line ") else ""
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in found.message)
        click.echo(f"  {place}{text} [{found.kind}]")


_WORDS = {
    "split-line": "give every entry a line of its own",
    "set-aside-line": "move what is no entry to .damaged",
    "set-aside-duplicate": "move the second entry of this id to .damaged",
    "cut-tail": "move the torn tail to .torn",
    "end-last-line": "end the last line",
}


def _tell_steps(steps: Iterable[RepairStep]) -> None:
    for step in steps:
        click.echo(f"  line {step.line}, byte {step.offset}: {_WORDS.get(step.kind, step.kind)} ({step.size} bytes)")
