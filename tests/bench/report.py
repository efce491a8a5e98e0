"""The rows of the table, and the table as Markdown."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from piserver import __version__

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

Unit = Literal["s", "B"]


@dataclass(frozen=True)
class Target:
    """At most so much is wanted: as a `ratio`, as an `amount`, or as the `excess` over the other."""

    kind: Literal["ratio", "amount", "excess"]
    limit: float


@dataclass(frozen=True)
class Row:
    """One measurement of ours beside another, in seconds or bytes. `whose` is the other; text where it has failed."""

    what: str
    ours: float
    theirs: float | str | None = None
    whose: str = ""
    target: Target | None = None
    unit: Unit = "s"
    detail: str | None = None
    """Shown in place of `ours`."""

    @property
    def ratio(self) -> float | None:
        """Ours to theirs."""
        return self.ours / self.theirs if isinstance(self.theirs, float | int) and self.theirs else None

    @property
    def reached(self) -> bool | None:
        """Whether the target is; None without one."""
        if self.target is None:
            return None
        reached: float | None = self.ours
        if self.target.kind == "ratio":
            reached = self.ratio
        elif self.target.kind == "excess":
            reached = self.ours - self.theirs if isinstance(self.theirs, float | int) else None
        return reached is not None and reached <= self.target.limit

    def cells(self) -> tuple[str, ...]:
        """The columns of the table."""
        theirs = "" if self.theirs is None else self.theirs
        if not isinstance(theirs, str):
            theirs = shown(theirs, self.unit)
        ratio = "" if self.ratio is None else f"{self.ratio:.2g}" if self.ratio < 10 else f"{self.ratio:.0f}"
        reached = {None: "", True: "yes", False: "**no**"}[self.reached]
        return (
            self.what,
            self.detail or shown(self.ours, self.unit),
            " ".join(filter(None, (theirs, f"({self.whose})" if self.whose else ""))),
            ratio,
            self._target(),
            reached,
        )

    def _target(self) -> str:
        if self.target is None:
            return ""
        if self.target.kind == "ratio":
            return f"≤ {self.target.limit:g}"
        amount = shown(self.target.limit, self.unit)
        return f"≤ {amount}" if self.target.kind == "amount" else f"≤ {amount} more"


def shown(value: float, unit: Unit) -> str:
    """A quantity for people, with about three digits."""
    scales = ((1e6, "MB"), (1e3, "kB")) if unit == "B" else ((1, "s"), (1e-3, "ms"), (1e-6, "µs"))
    scale, name = next((pair for pair in scales if abs(value) >= pair[0]), scales[-1])
    number = value / scale
    return f"{number:.0f} {name}" if number >= 100 else f"{number:.3g} {name}"


def table(rows: Sequence[Row]) -> str:
    """All rows as a Markdown table."""
    head = ("", "piserver", "compared with", "ratio", "target", "reached")
    lines = [head, ("---", "---:", "---:", "---:", "---:", ":---:"), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def machine(node_version: str) -> str:
    """What it was measured on, in one line."""
    return (
        f"piserver {__version__}, {platform.python_implementation()} {platform.python_version()}, "
        f"Node {node_version.strip().removeprefix('v')}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}. "
        "Medians; each measurement in a process of its own, by turns."
    )


def update(file: Path, text: str) -> None:
    """Put text between the marks of a file. Raises ValueError if it has none."""
    content = file.read_text(encoding="utf-8")
    marked = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
    if not marked.search(content):
        raise ValueError(f"{file} has no region between {BEGIN} and {END}")
    file.write_text(marked.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", content), encoding="utf-8")
