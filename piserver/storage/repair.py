"""What is wrong with a session file, and mending it.

Mending changes no entry: those that can be read keep their bytes and their order, so ids, parents, leaf and context are
what they were. What is no entry is taken out of their way and kept beside the file.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import anyio.to_thread

from piserver.entries.codec import LineError, read_head
from piserver.entries.header import VERSION, Header
from piserver.entries.text import format_timestamp
from piserver.storage.base import ReadOnlyError, StorageError
from piserver.storage.clock import SYSTEM_CLOCK, Clock
from piserver.storage.files import append_aside, keep_backup, write_whole
from piserver.storage.lease import Lease
from piserver.storage.loader import Loader
from piserver.storage.locking import locked
from piserver.storage.pause import collector_paused
from piserver.storage.rewrite import upgraded_header
from piserver.tree import Diagnostic

StepKind = Literal["split-line", "set-aside-line", "set-aside-duplicate", "cut-tail", "end-last-line"]
"""What mending does: gives every entry found on a damaged line a line of its own; moves what is no entry, or a second
entry with an id that is taken, to `.damaged`; moves a last line that was cut off to `.torn`; ends the last line."""

_SETTLE = 1.0
"""Seconds for which a file must have stood unchanged, so that nobody is in the middle of writing it."""
_SLICE = 256 * 1024
"""Bytes after which the reading thread lets others run."""
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that mending does. `line` counts physical lines from 1; `offset` and `size` are bytes."""

    kind: StepKind
    line: int
    offset: int
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a file holds, everything that is wrong with it, and what mending would do.

    `lines` counts physical lines, `entries` what can be read. `refused` says why it must not be mended, or is None.
    """

    header: Header
    size: int
    sha256: str
    lines: int
    entries: int
    leaf_id: str | None
    diagnostics: list[Diagnostic]
    steps: list[Step]
    refused: str | None


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was done to a file, and the files beside it that hold what it was. Nothing done: no steps, no backup."""

    header: Header
    steps: list[Step]
    size: int
    sha256: str
    entries: int
    diagnostics: list[Diagnostic]
    """What mending cannot change: what whole entries say of each other."""
    backup: Path | None = None
    damaged: Path | None = None
    torn: Path | None = None


@dataclass(slots=True)
class _Plan:
    """The mended content in pieces, and what is left over."""

    steps: list[Step] = field(default_factory=list[Step])
    content: list[bytes] = field(default_factory=list[bytes])
    aside: list[tuple[Step, bytes]] = field(default_factory=list[tuple[Step, bytes]])
    torn: bytes = b""


async def verify(path: str | Path, *, clock: Clock = SYSTEM_CLOCK) -> Verdict:
    """Read a session file from its first byte to its last; nothing is changed.

    Raises FileNotFoundError, InvalidSessionError (no header), StorageError (cannot be read).
    """
    path = Path(path).resolve()
    holder = Lease(path, clock).look()
    held = f"it is held by {holder}" if holder is not None and not holder.is_here else None
    return await anyio.to_thread.run_sync(_verify, path, held)


def _verify(path: Path, held: str | None) -> Verdict:
    data, _ = _read(path)
    loader = _load(data)
    header = loader.finish()
    leaf = loader.tree.leaf
    return Verdict(
        header=header,
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        lines=loader.line,
        entries=len(loader.tree),
        leaf_id=leaf.id if leaf else None,
        diagnostics=loader.diagnostics,
        steps=_plan(data, loader).steps,
        refused=_newer(header) or held,
    )


async def repair(path: str | Path, *, clock: Clock = SYSTEM_CLOCK) -> Repaired:
    """Mend a session file: the third of the ways in which one changes other than by an append (see `rewrite`).

    The old content stays beside it as `.bak`. A file of an old version becomes one of the current version if there is
    something to mend. Raises FileNotFoundError, InvalidSessionError, ReadOnlyError (a newer version, or its mode
    forbids writing), LeaseHeldError, StorageError (somebody is writing, or it cannot be written; then it is as before).
    """
    path = Path(path).resolve()
    try:
        if not os.stat(path).st_mode & 0o222:
            raise ReadOnlyError(f"{path} is read-only: its mode forbids writing")
        async with locked(path, clock):
            Lease(path, clock).check()
            await _settled(path, clock)
            return await anyio.to_thread.run_sync(_repair, path)
    except (FileNotFoundError, StorageError):
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be repaired: {error.strerror or error}") from error


async def _settled(path: Path, clock: Clock) -> None:
    """Return when the file has not changed for a while. Raises StorageError if it does while we wait."""
    before = _mark(os.stat(path))
    if clock.now() - before[2] / 1e9 < _SETTLE:
        await clock.sleep(_SETTLE)
    if _mark(os.stat(path)) != before:
        raise StorageError(f"{path} is being written by another program: nothing was repaired")


def _repair(path: Path) -> Repaired:
    data, status = _read(path)
    loader = _load(data)
    header = loader.finish()
    if newer := _newer(header):
        raise ReadOnlyError(f"{path} is read-only: {newer}")
    plan = _plan(data, loader)
    if not plan.steps:
        digest = hashlib.sha256(data).hexdigest()
        return Repaired(header, [], len(data), digest, len(loader.tree), loader.diagnostics)
    mended = b"".join(plan.content)
    after = _load(mended)
    if _meaning(after) != _meaning(loader):  # a fault of ours; better a damaged file than another conversation
        raise StorageError(f"repairing {path} would change what it says: nothing was done")
    damaged = torn = None
    if plan.aside:
        damaged = append_aside(path, "damaged", map(_described, plan.aside))
    if plan.torn:
        torn = append_aside(path, "torn", [plan.torn.rstrip(b"\n") + b"\n"])
    backup = keep_backup(path)
    write_whole(path, [mended], replace=True, check=partial(_check_unchanged, path, status))
    return Repaired(
        header=after.finish(),
        steps=plan.steps,
        size=len(mended),
        sha256=hashlib.sha256(mended).hexdigest(),
        entries=len(after.tree),
        diagnostics=after.diagnostics,
        backup=backup,
        damaged=damaged,
        torn=torn,
    )


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    try:
        if not path.is_file() and path.exists():
            raise StorageError(f"{path} is not a file")
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            return file.read(), status
    except (FileNotFoundError, StorageError):
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error


def _load(data: bytes) -> Loader:
    loader, offset, file = Loader(), 0, io.BytesIO(data)
    with collector_paused():
        while lines := file.readlines(_SLICE):
            offset = loader.feed_all(lines, offset)
            time.sleep(0)  # give way, as opening does
    loader.finish()
    return loader


def _newer(header: Header) -> str | None:
    return f"the file has the newer format version {header.version:g}" if header.version > VERSION else None


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _check_unchanged(path: Path, status: os.stat_result) -> None:
    if _mark(os.stat(path)) != _mark(status):
        raise StorageError(f"{path} has changed while it was being repaired: it stays as it is")


def _meaning(loader: Loader) -> tuple[object, ...]:
    """All that mending must not change; what an entry says is in its bytes, which are copied."""
    tree = loader.tree
    return (
        [(node.id, node.parent_id, node.type, node.depth) for node in tree.nodes],
        tree.leaf and tree.leaf.id,
        {id: label.text for id, label in tree.labels.items()},
        tree.name,
    )


# Planning


def _plan(data: bytes, loader: Loader) -> _Plan:
    """Go through the physical lines and sort their bytes."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for node in loader.tree.nodes:
        found[node.line].append(node.index)
    reasons = {problem.line: problem.message for problem in loader.diagnostics if problem.kind != "recovered-entry"}
    plan, keep = _Plan(), partial(_kept, loader)
    offset = 0
    line = b""
    for number, line in enumerate(io.BytesIO(data), 1):
        nodes = found.get(number, [])
        whole = len(nodes) == 1 and loader.lengths[nodes[0]] == len(line)
        if number == loader.header_line:
            plan.content.append(upgraded_header(line, loader))
        elif whole:
            plan.content.append(keep(nodes[0], line))
        elif not nodes and not line.strip(_SPACE):
            plan.content.append(line)
        else:
            _sort_out(plan, loader, number, offset, line, nodes, reasons.get(number, "no entry"))
        offset += len(line)
    if plan.content and not plan.content[-1].endswith(b"\n"):
        plan.content.append(b"\n")
        plan.steps.append(Step("end-last-line", loader.line, offset, 0, "the last line has no end"))
    return plan


def _kept(loader: Loader, index: int, line: bytes) -> bytes:
    """An entry's line in the current version, with the end that it has."""
    if not loader.upgraded:
        return line
    return loader.upgraded[index] + (b"\n" if line.endswith(b"\n") else b"")


def _sort_out(
    plan: _Plan, loader: Loader, number: int, offset: int, line: bytes, nodes: list[int], reason: str
) -> None:
    """A damaged line: its entries get lines of their own, what is between them is put aside."""
    if nodes:
        count = "an entry" if len(nodes) == 1 else f"{len(nodes)} entries"
        plan.steps.append(Step("split-line", number, offset, len(line), f"{count} on a damaged line"))
    start = 0
    for index in nodes:
        place = loader.offsets[index] - offset
        _put_aside(plan, loader, number, offset + start, line[start:place], reason)
        start = place + loader.lengths[index]
        plan.content.append(line[place:start] + b"\n")
    _put_aside(plan, loader, number, offset + start, line[start:], reason)


def _put_aside(plan: _Plan, loader: Loader, number: int, offset: int, data: bytes, reason: str) -> None:
    if not data.strip(_SPACE):
        return
    if loader.torn is not None and loader.torn[0] == offset:
        plan.steps.append(Step("cut-tail", number, offset, len(data), reason))
        plan.torn = data
        return
    data = data.removesuffix(b"\n")
    step = Step("set-aside-duplicate" if _is_entry(data) else "set-aside-line", number, offset, len(data), reason)
    plan.steps.append(step)
    plan.aside.append((step, data))


def _is_entry(data: bytes) -> bool:
    try:
        read_head(data)
    except LineError:
        return False
    return True


def _described(piece: tuple[Step, bytes]) -> bytes:
    """What stands in `.damaged`: a line that says where the bytes were, and then these as they are."""
    step, data = piece
    when = format_timestamp(time.time_ns() // 1_000_000)
    head = f"# {when} line {step.line}, offset {step.offset}, {step.size} bytes: {step.reason}\n"
    return head.encode("utf-8", "backslashreplace") + data + b"\n"
