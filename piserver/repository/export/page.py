"""The HTML form: one page that needs nothing but itself.

All text of the session passes `escape` or the Markdown renderer; a content-security policy stands behind them: nothing
is loaded, and only the style and the script of this package run, which are known by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from piserver.repository.export.highlight import highlighted
from piserver.repository.export.images import data_url, placeholder
from piserver.repository.export.plan import Branch, Plan
from piserver.repository.export.prose import to_html
from piserver.repository.export.story import Story, anchor, moment
from piserver.session.transcript.parts import Code, Diff, Fold, Image, Part, Prose, Remark, Section
from piserver.session.transcript.visible import visible
from piserver.tree import Node

_GUIDES = {"|": "v", "+": "t", "L": "l", " ": "b"}
_DEEPEST = 10
"""Levels of guides that a row shows; of deeper ones the last."""


@lru_cache(maxsize=1)
def _style() -> str:
    return (files(__package__ or "") / "page.css").read_text("utf-8")


@lru_cache(maxsize=1)
def _script() -> str:
    return (files(__package__ or "") / "page.js").read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


class Page:
    """Draws the entries of one plan, in the plan's order."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._previews: dict[str, str] = {}  # of what has been added
        self._rows: list[str] = []
        self._before: Section | None = None

    def add(self, sections: Iterable[Section]) -> str:
        """The articles of these entries; their rows of the outline are kept for `outline`."""
        out: list[str] = []
        for section in sections:
            if section.node.id in self._plan.guides:
                self._rows.append(self._row(section))
                self._previews[section.node.id] = section.preview
            out.append(self._article(section))
            self._before = section
        return "".join(out)

    def outline(self) -> str:
        """The list of links to the entries that were added."""
        return "".join(self._rows)

    def _row(self, section: Section) -> str:
        node = section.node
        guides = self._plan.guides[node.id]
        shown = guides[-_DEEPEST:]
        deep = '<i class="g d"></i>' if len(guides) > len(shown) else ""
        lines = "".join(f'<i class="g {_GUIDES.get(mark, "b")}"></i>' for mark in shown)
        kind = section.kind
        if kind == "assistant" and all(isinstance(part, Fold) for part in section.parts):
            kind = "tool"
        quiet = kind == "tool" and not guides.endswith(("+", "L")) and section.label is None
        label = f'<b class="label">{_text(section.label)}</b>' if section.label else ""
        branch = self._plan.branches.get(node.id)
        start = branch is not None and branch.start is None and branch.number > 1
        classes = f"{kind}{self._off(node)}{' quiet' if quiet else ''}{' start' if start else ''}"
        text = _text(section.preview[:120])
        return f'<li class="{classes}">{deep}{lines}<a href="#{anchor(node)}">{label}<bdi>{text}</bdi></a></li>\n'

    def _off(self, node: Node) -> str:
        return "" if node.id in self._plan.on_path else " off"

    def _article(self, section: Section) -> str:
        node, parent = section.node, section.node.parent
        up = "" if parent is None else f' data-up="{parent.index}"'
        body = "".join(map(_part, section.parts))
        return (
            f'<article id="{anchor(node)}" class="{section.kind}{self._off(node)}" data-n="{node.index}"{up}>'
            f"{self._fork(self._plan.branches.get(node.id))}{self._header(section)}"
            f"{f'<div class=body>{body}</div>' if body else ''}</article>\n"
        )

    def _header(self, section: Section) -> str:
        node, before = section.node, self._before
        label = f'<b class="label">{_text(section.label)}</b>' if section.label else ""
        link = f'<a class="anchor" href="#{anchor(node)}" title="Link to entry {_text(node.id[:64])}">#</a>'
        time = f"<time>{_text(moment(node))}</time>"
        about = f'<span class="about">{_text(section.about)}</span>' if section.about else ""
        if section.kind in ("tool", "shell", "opaque", "system"):
            return f"<header>{label}{link}</header>"
        goes_on = (
            section.kind == "assistant"
            and before is not None
            and before.kind in ("assistant", "tool")
            and before.node is node.parent
        )
        if goes_on:
            return f'<header class="goes-on">{label}{link}</header>'
        return f"<header><h2>{_text(section.title)}</h2>{about}{label}{time}{link}</header>"

    def _fork(self, branch: Branch | None) -> str:
        if branch is None:
            return ""
        start = branch.start
        origin = ""
        if start is not None:
            name = _text(self._previews.get(start.id, start.id)[:60])
            origin = f' from <a href="#{anchor(start)}"><bdi>{name}</bdi></a>'
        word = "Branch" if start else "Beginning"
        beside = "".join(
            f' · <a href="#{anchor(node)}">{name}</a>'
            for node, name in ((branch.previous, "previous"), (branch.next, "next"))
            if node is not None
        )
        alone = f'<button class="scripted" data-show="{branch.tip.index}">read this one alone</button>'
        return f'<p class="fork"><b>{word} {branch.number} of {branch.count}</b>{origin}{beside} {alone}</p>'


def document(story: Story, plan: Plan, outline: str, articles: Iterable[bytes], leaf: Node | None) -> Iterator[bytes]:
    """The whole page, in pieces."""
    policy = (
        f"default-src 'none'; style-src {_hash(_style())}; script-src {_hash(_script())}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    facts = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in story.facts)
    title = _text(story.title)
    views = (
        '<button class="scripted" data-show="all" aria-pressed="true">Whole tree</button>'
        f'<button class="scripted" data-show="{leaf.index}" aria-pressed="false">Current path</button>'
        if plan.whole and leaf is not None
        else ""
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=False)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#transcript">Skip to the transcript</a>\n<aside>\n<div class="tools">'
        f'{views}<button class="scripted" data-fold="open">Unfold all</button>'
        '<button class="scripted" data-theme-switch title="Light or dark" aria-label="Light or dark">◐</button></div>\n'
        '<label class="switch"><input type="checkbox" id="tool-rows" checked> Tool calls in the outline</label>\n'
        f'<nav aria-label="Outline"><ol>\n{outline}</ol></nav>\n</aside>\n'
        f'<main id="transcript">\n<header class="title"><h1>{title}</h1><dl>{facts}</dl></header>\n'
    ).encode()
    yield from articles
    yield f"</main>\n<script>{_script()}</script>\n</body>\n</html>\n".encode()


def _part(part: Part) -> str:
    match part:
        case Prose(text):
            return f'<div class="prose" dir="auto">{to_html(text)}</div>'
        case Code(text, language):
            return f"<pre><code>{highlighted(visible(text).strip(chr(10)), language)}</code></pre>"
        case Diff(lines):
            return f'<pre class="diff"><code>{"".join(map(_diff_line, lines))}</code></pre>'
        case Image():
            return _image(part)
        case Remark(text, failure):
            return f'<p class="remark{" failure" if failure else ""}">{_text(text)}</p>'
        case Fold():
            inner = "".join(map(_part, part.parts))
            classes = f"{part.kind}{' failure' if part.failure else ''}"
            title = f" <span><bdi>{_text(part.title)}</bdi></span>" if part.title else ""
            if not part.parts:
                return f'<p class="bare {classes}"><b>{_text(part.name)}</b>{title}</p>'
            return (
                f'<details class="{classes}"{" open" if part.open else ""}>'
                f"<summary><b>{_text(part.name)}</b>{title}</summary>{inner}</details>"
            )


_DIFF_LINES = {"+": "add", "-": "del", "@": "hunk"}


def _diff_line(text: str) -> str:
    kind = _DIFF_LINES.get(text[:1])
    shown = _text(text) or " "
    return f'<span class="{kind}">{shown}</span>' if kind else f"<span>{shown}</span>"


def _image(image: Image) -> str:
    url = data_url(image)
    if url is None:
        return f'<p class="remark">{_text(placeholder(image))}</p>'
    return f'<img src="{url}" alt="" loading="lazy" decoding="async">'


def _text(text: str) -> str:
    return escape(visible(text))
