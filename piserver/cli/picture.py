"""A picture of what the terminal shows, the same every time, for a page about the project."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from piserver.cli.drawing import draw_header, draw_row, legend, print_line
from piserver.cli.story import Contexts, draw_contexts
from piserver.protocol.sessions import Snapshot

__all__ = ["write_picture"]

WIDTH = 104

FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono"


def write_picture(path: Path, snapshot: Snapshot, contexts: Contexts) -> None:
    """Draws the tree and the contexts as SVG. Nothing in it depends on the time, the place, or random ids."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=False
    )
    print_line(console, draw_header(snapshot, where=False))
    console.print()
    for row in snapshot.rows.rows:
        print_line(console, draw_row(row))
    print_line(console, legend())
    console.print()
    draw_contexts(console, contexts)
    # Rich names a font of the web, which is not fetched for a picture within a page.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", console.export_svg(title="piserver"), flags=re.DOTALL)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg.replace("Fira Code", FONTS), encoding="utf-8")
