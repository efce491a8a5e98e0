"""Export of a session: read in batches, shown in worker threads, cancellable in between."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import anyio.to_thread
from msgspec import UNSET, UnsetType

from piserver.entries.codec import clean
from piserver.entries.entry import Entry
from piserver.repository.export import jsonl, markdown
from piserver.repository.export.page import Page, document
from piserver.repository.export.plan import Plan, plan_path, plan_tree
from piserver.repository.export.redaction import Redaction, Redactor
from piserver.repository.export.story import Story, tell
from piserver.repository.layout import file_name
from piserver.session import Session
from piserver.session.transcript.page import described
from piserver.session.transcript.parts import Section
from piserver.session.transcript.sections import Reader
from piserver.tree import Node, statistics_of

Form = Literal["markdown", "jsonl", "html"]
Scope = Literal["path", "tree"]
Progress = Callable[[int, int], object]
"""Told on the event loop how many entries of how many are done."""

_BATCH = 200
"""Entries that are read, and shown, between two looks at whether the export was cancelled."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What came out: the content in pieces, and under which name and type it may be kept."""

    chunks: Sequence[bytes]
    media_type: str
    file_name: str
    redactions: Sequence[Redaction] = ()
    """What was replaced by `redact`; the secrets themselves are not in here."""

    @property
    def content(self) -> bytes:
        """The content in one piece."""
        return b"".join(self.chunks)


async def export(
    session: Session,
    form: Form,
    *,
    scope: Scope = "path",
    entry_id: str | None | UnsetType = UNSET,
    redact: bool = False,
    now: int | None = None,
    progress: Progress | None = None,
) -> Exported:
    """One path of a session, or its whole tree, as Markdown, as one HTML page, or as a session file.

    The path is that to `entry_id`, by default to the leaf; None is the empty path. The page needs no network and runs
    nothing that the session says. The session file (`jsonl`) is a copy that stands alone: it has an id of its own,
    begins at `now` (ms since 1970, by default the present), and names the file it comes from as `parentSession`; a
    tree's entries are there byte for byte, a path's as in a fork.

    With `redact`, keys, tokens and passwords of the usual shapes become `[redacted:KIND]`; ids, and what a vendor has
    signed or encrypted, stay. That is a net and not a proof: a secret without a known shape passes.

    What is exported is the session at the time of the call; `progress` is told how far that is. Raises
    EntryNotFoundError, ValueError for an entry given with a tree, StorageError.
    """
    if scope == "tree" and entry_id is not UNSET:
        raise ValueError("a tree is exported whole: an entry can be named for a path alone")
    leaf = session.leaf if entry_id is UNSET else None if entry_id is None else session.node(entry_id)
    redactor = Redactor() if redact else None
    if form == "jsonl":
        start = now if now is not None else time.time_ns() // 10**6
        return await _session_file(session, scope, leaf, redactor, start, progress)
    return await _Reading(session, scope, leaf, redactor).shown(form, progress)


async def _session_file(
    session: Session, scope: Scope, leaf: Node | None, redactor: Redactor | None, now: int, progress: Progress | None
) -> Exported:
    header = jsonl.header_of_copy(session, now)
    if scope == "tree":
        lines = await jsonl.lines_of_tree(session, now)
    else:
        lines = await jsonl.lines_of_path(session, session.storage.path_to(leaf))
    chunks = [jsonl.header_line(header, redactor) + b"\n"]
    for start in range(0, len(lines), _BATCH):
        chunk = await anyio.to_thread.run_sync(_joined, lines[start : start + _BATCH], redactor)
        chunks.append(chunk)
        if progress:
            progress(min(start + _BATCH, len(lines)), len(lines))
    name = file_name(header.timestamp, header.id)
    return Exported(chunks, "application/x-ndjson", name, redactor.redactions if redactor else ())


def _joined(lines: list[bytes], redactor: Redactor | None) -> bytes:
    return b"".join((redactor.line(line) if redactor else line) + b"\n" for line in lines)


class _Reading:
    """One session on its way to a page that people read."""

    def __init__(self, session: Session, scope: Scope, leaf: Node | None, redactor: Redactor | None) -> None:
        self._session = session
        self._scope = scope
        self._leaf = leaf
        self._redactor = redactor
        self._size = session.revision  # now: the log may grow meanwhile
        named = next((node.id for node in reversed(session.storage.tree.nodes) if node.type == "session_info"), None)
        self._title = self._text(session.name or "", named)
        self._labels = {id: self._text(label.text, label.entry.id) for id, label in session.storage.tree.labels.items()}
        edits = session.select(leaf.id if leaf else None).edits
        self._edits = {id: described(edit) for id, edit in edits.items()}

    def _text(self, text: str, entry_id: str | None) -> str:
        return self._redactor.text(text, entry_id) if self._redactor else text

    async def shown(self, form: Literal["markdown", "html"], progress: Progress | None) -> Exported:
        plan = await anyio.to_thread.run_sync(self._plan)
        reader = Reader(self._labels, self._edits)
        page = Page(plan)
        previews: dict[str, str] = {}
        body: list[bytes] = []

        def show(nodes: list[Node], lines: list[bytes]) -> None:
            sections = self._sections(reader, nodes, lines)
            previews.update((section.node.id, section.preview) for section in sections)
            body.append(
                (page.add(sections) if form == "html" else markdown.sections(sections, plan, previews)).encode()
            )

        for start in range(0, len(plan.nodes), _BATCH):
            nodes = plan.nodes[start : start + _BATCH]
            await anyio.to_thread.run_sync(show, nodes, await self._session.storage.lines(nodes))
            if progress:
                progress(min(start + _BATCH, len(plan.nodes)), len(plan.nodes))
        story = self._story(plan, previews)
        if form == "html":
            chunks = [*document(story, plan, page.outline(), body, self._leaf)]
        else:
            outline = "".join(markdown.contents(plan, previews, self._labels)) if plan.whole else ""
            chunks = [markdown.head(story).encode(), outline.encode(), *body]
        suffix, media_type = ("html", "text/html") if form == "html" else ("md", "text/markdown")
        redactions = self._redactor.redactions if self._redactor else ()
        return Exported(chunks, f"{media_type}; charset=utf-8", f"{_slug(story.title)}.{suffix}", redactions)

    def _plan(self) -> Plan:
        if self._scope == "tree":
            return plan_tree(self._session, self._size, self._leaf)
        return plan_path(self._session, self._session.storage.path_to(self._leaf))

    def _sections(self, reader: Reader, nodes: list[Node], lines: list[bytes]) -> list[Section]:
        sections: list[Section] = []
        for node, line in zip(nodes, lines, strict=True):
            raw = self._redactor.line(line, node.id) if self._redactor else line
            sections.append(reader.section(node, Entry(node.id, node.type, clean(raw))))
        return sections

    def _story(self, plan: Plan, previews: dict[str, str]) -> Story:
        header = self._session.header
        asked = (previews[node.id] for node in plan.nodes if node.role == "user")
        return tell(
            title=self._title or next(asked, ""),
            session_id=header.id,
            cwd=header.cwd,
            created=header.timestamp,
            statistics=statistics_of(plan.nodes),
            branches=plan.ends,
        )


def _slug(title: str) -> str:
    """A file's name that every system takes."""
    words = re.sub(r"[^\w]+", "-", title.lower()).strip("-_")[:60].strip("-_")
    return words or "session"
