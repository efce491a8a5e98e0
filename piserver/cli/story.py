"""A demonstration as it is told: numbered steps, and what was checked at each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from piserver.cli.drawing import draw_entry, draw_row, print_line
from piserver.protocol.sessions import BuildContextResult
from piserver.protocol.shapes import EntrySummary, Row

__all__ = ["Contexts", "Story", "draw_contexts"]

Contexts = Mapping[str, tuple[BuildContextResult, list[EntrySummary]]]
"""Contexts with the entries of their paths, each under the title of its column."""


class Story:
    """Tells on a console; `passed` as long as every check held."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.passed = True
        self._checks = 0
        self._steps = 0

    def step(self, title: str) -> None:
        """The next step, in a line."""
        self._steps += 1
        self.console.print()
        print_line(self.console, Text.assemble((f"{self._steps:>2} ", "bold cyan"), (title, "bold")))

    def check(self, held: bool, claim: str) -> None:
        """Whether a claim held."""
        self._checks += 1
        self.passed = self.passed and held
        mark = ("   ✓ ", "bold green") if held else ("   ✗ ", "bold red")
        print_line(self.console, Text.assemble(mark, (claim, "" if held else "bold red")))

    def rows(self, rows: Iterable[Row]) -> None:
        """A piece of the tree."""
        for row in rows:
            print_line(self.console, Text("     ").append_text(draw_row(row)))

    def contexts(self, contexts: Contexts) -> None:
        """What a model is given at several entries, side by side."""
        draw_contexts(self.console, contexts, indent=5)

    def note(self, text: str) -> None:
        """Something worth knowing."""
        print_line(self.console, Text(f"     {text}", "dim"))

    def end(self) -> int:
        """The last line; returns the exit code."""
        self.console.print()
        if self.passed:
            print_line(self.console, Text(f"   All {self._checks} checks held.", "bold green"))
        else:
            print_line(self.console, Text("   Not every check held; see the lines with ✗.", "bold red"))
        return 0 if self.passed else 1


def draw_contexts(console: Console, contexts: Contexts, *, indent: int = 0, most: int = 12) -> None:
    """Contexts side by side; of a long one the last `most` messages."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    columns: list[list[Text]] = []
    for title, (context, path) in contexts.items():
        entries = {entry.id: entry for entry in path}
        tokens = f", ~{context.tokens.total:,} tokens" if context.tokens is not None else ""
        head = Text.assemble((title, "bold"), (f"\n{len(context.messages)} messages{tokens}", "dim"))
        table.add_column(head, ratio=1, no_wrap=True, overflow="ellipsis")
        shown = [message.entry_id for message in context.messages[-most:]]
        columns.append([draw_entry(entries[id]) for id in shown if id in entries])
    for line in zip_longest(*columns, fillvalue=Text()):
        table.add_row(*line)
    console.print(Padding(table, (0, 0, 0, indent)))
