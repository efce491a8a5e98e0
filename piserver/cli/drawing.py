"""A session in the terminal: its header, the rows of its tree, its warnings, a context.

Everything is drawn from what the server sends; nothing here knows how a tree is made. The functions return
`rich.text.Text`, so that colour is a matter of the console.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from piserver.protocol.sessions import Snapshot
from piserver.protocol.shapes import EntrySummary, Row

__all__ = [
    "LOOKS",
    "age",
    "clean",
    "count",
    "draw_entry",
    "draw_header",
    "draw_row",
    "draw_warnings",
    "legend",
    "print_line",
]

MOST_LEVELS = 12
_GUIDES = {"|": "│  ", "+": "├─ ", "L": "└─ "}

# An icon and a style for each role, or type where there is no role.
LOOKS = {
    "user": ("❯", "bold cyan"),  # noqa: RUF001  # nobody types it
    "assistant": ("◆", "green"),
    "toolResult": ("↳", "blue"),
    "bashExecution": ("!", "blue"),
    "custom": ("+", "magenta"),
    "custom_message": ("+", "magenta"),
    "compaction": ("≡", "yellow"),
    "branch_summary": ("≈", "yellow"),
}


def draw_row(row: Row, now: datetime | None = None, *, ids: bool = False) -> Text:
    """One line of the tree; with `now`, how long ago it was written stands before it."""
    line = Text()
    if now is not None:
        line.append(f"{age(row.timestamp, now):>4} ", "dim")
    if ids:
        line.append(f"{clean(row.id)} ", "dim")
    line.append_text(_mark(row))
    line.append(_guides(row.guides), "dim")
    line.append_text(draw_entry(row, faded=row.on_path is not True))
    if row.orphaned is True:
        line.append("  (what it follows is missing)", "red")
    return line


def _guides(guides: str) -> str:
    """Three columns for each level; of very many the last, so that there is room for words."""
    cut = "… " if len(guides) > MOST_LEVELS else ""
    return cut + "".join(_GUIDES.get(guide, "   ") for guide in guides[-MOST_LEVELS:])


def _mark(row: Row) -> Text:
    if row.leaf is True:
        return Text("▶ ", "bold cyan")
    if row.in_context is True:
        return Text("● ", "green")
    return Text("○ " if row.on_path is True else "  ", "dim")


def draw_entry(entry: EntrySummary, *, faded: bool = False) -> Text:
    """An entry in brief: icon, label, and its first words; what is no message is named by its type."""
    icon, style = LOOKS.get(entry.role or entry.type, ("·", "dim"))
    dim = " dim" if faded else ""
    line = Text().append(f"{icon} ", style + dim)
    if entry.label is not UNSET:
        line.append(f"[{clean(entry.label)}] ", "bold yellow")
    if entry.type not in ("message", "custom_message"):
        line.append(f"{clean(entry.type.removesuffix('_change').replace('_', ' '))}: ", "dim italic")
    if entry.failed is True:
        line.append("✗ ", "bold red")
    said = "bold" if entry.role == "user" else "red" if entry.failed is True else ""
    if entry.role in ("toolResult", "bashExecution") or (entry.type not in LOOKS and entry.type != "message"):
        said = "dim"
    words = clean(entry.preview) or f"({clean(entry.role or 'nothing')})"
    line.append(words, said + dim if dim not in said else said)
    return line


def draw_header(snapshot: Snapshot, *, where: bool = True) -> Text:
    """The session in a line: its name, its directory (`where`), sizes, cost, the model at the leaf."""
    info, totals, model = snapshot.info, snapshot.statistics, snapshot.state.model
    line = Text().append(clean(info.name or info.first_message or "(no name)"), "bold")
    facts = [info.cwd] if where and info.cwd else []
    facts.append(count(totals.entries, "entry", "entries"))
    facts.append(count(totals.messages, "message", "messages"))
    if totals.usage.total_tokens:
        facts.append(f"{totals.usage.total_tokens:,.0f} tokens")
    if totals.usage.cost:
        facts.append(f"${totals.usage.cost:.2f}")
    if model is not None:
        facts.append(f"{model.provider}/{model.model_id}")
    for fact in facts:
        line.append(" ").append(f"· {clean(fact)}", "dim")
    return line


def draw_warnings(snapshot: Snapshot) -> Iterator[Text]:
    """What the person should know of the file, a line each."""
    if snapshot.read_only is not None:
        yield Text(f"⚠ Nothing can be written: {clean(snapshot.read_only)}", "yellow")
    if snapshot.newer_leaf_id is not None:
        yield Text(f"⚠ Another branch was written to later: {clean(snapshot.newer_leaf_id)}", "yellow")
    for found in snapshot.diagnostics:
        line = f"line {found.line}"
        where = "" if found.line is UNSET or line in found.message else f"{line}: "
        yield Text(f"⚠ {where}{clean(found.message)} ({found.kind})", "yellow")
    if (more := snapshot.diagnostics_total - len(snapshot.diagnostics)) > 0:
        yield Text(f"⚠ and {more} more", "yellow")


def legend(indent: int = 0) -> Text:
    """What the marks before the rows mean."""
    marks = (("▶", "bold cyan", "the leaf"), ("●", "green", "a model sees it"), ("○", "dim", "on the path, not seen"))
    meanings = [Text.assemble((mark, style), " ", (meaning, "dim")) for mark, style, meaning in marks]
    return Text(" " * indent).append_text(Text("   ").join(meanings))


def age(timestamp: str, now: datetime) -> str:
    """How long ago that was in at most four characters: now, 5m, 3h, 12d, 8w, 2y; empty if nobody knows."""
    try:
        minutes = int((now - datetime.fromisoformat(timestamp)).total_seconds() // 60)
    except (TypeError, ValueError, OverflowError):  # TypeError: it does not know its zone
        return ""
    for size, unit, most in ((1, "m", 60), (60, "h", 24), (1440, "d", 14), (10080, "w", 52)):
        if minutes < size:
            return "now"
        if minutes < size * most:
            return f"{minutes // size}{unit}"
    return f"{minutes // 525600 or 1}y"


def print_line(console: Console, line: Text) -> None:
    """One line on a terminal, cut where it ends; elsewhere all of it."""
    if console.is_terminal or console.record:
        console.print(line, no_wrap=True, overflow="ellipsis", highlight=False)
    else:
        console.print(line, soft_wrap=True, highlight=False)


def count(number: int, one: str, many: str) -> str:
    """A number of things."""
    return f"{number:,} {one if number == 1 else many}"


def clean(text: str) -> str:
    """Without control characters, which could do anything to a terminal, and without lone surrogates."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
