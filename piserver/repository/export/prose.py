"""Markdown that people and models wrote: as HTML, and as Markdown that cannot break out of the document around it.

Markup other than Markdown's is text: no HTML passes, links lead to http(s) and mail only, images become text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from piserver.repository.export.highlight import highlighted
from piserver.session.transcript.visible import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST = 100_000
"""Characters beyond which text is shown as it is: not every text is parsed in linear time."""
_DEMOTED = 2
"""Headings inside a message are this much lower than those of the document."""


def to_html(text: str) -> str:
    """HTML of a Markdown text. It holds no attribute but `href`, `rel`, `start` and `class`."""
    text = visible(text)
    if len(text) > _LONGEST:
        return f'<pre class="plain">{escape(text)}</pre>\n'
    return _renderer().render(text)


def to_markdown(text: str) -> str:
    """The text as Markdown whose meaning stays inside: no HTML, no remote image, no heading of the document's level.

    Text that resists becomes a fenced block.
    """
    text = visible(text)
    if len(text) <= _LONGEST:
        tamed = _tamed(text)
        if _is_tame(tamed):
            return tamed
    return fence(text)


def fence(text: str, language: str = "") -> str:
    """A fenced block with `text` as it is."""
    longest = max(map(len, re.findall("`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{ticks}"


def plain(text: str) -> str:
    """One line of text as Markdown that shows just that."""
    return re.sub(r"([\\`*_\[\]<>#|~&$])", r"\\\1", " ".join(visible(text).split()))


# To HTML


@lru_cache(maxsize=1)
def _renderer() -> MarkdownIt:
    parser = _parser(html=False)
    parser.validateLink = _leads_outside
    renderer: Any = parser.renderer  # the type that it is declared with knows no rules
    renderer.rules |= {
        "image": _image,
        "link_open": _link_open,
        "heading_open": _heading,
        "heading_close": _heading,
        "fence": _fence,
        "code_block": _fence,
        "th_open": _cell,
        "td_open": _cell,
    }
    return parser


def _parser(*, html: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])


def _leads_outside(url: str) -> bool:
    return re.match(r"(?:https?://|mailto:)[^\s]", url, re.IGNORECASE) is not None


def _image(tokens: Sequence[Token], index: int, *_: Any) -> str:
    """An image on another machine would be fetched by whoever opens the page, so its address is only named."""
    token = tokens[index]
    return escape(f"[image {token.content}: {token.attrs.get('src', '')}]")


def _link_open(tokens: Sequence[Token], index: int, *_: Any) -> str:
    url = str(tokens[index].attrs.get("href", ""))
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">'


def _heading(tokens: Sequence[Token], index: int, *_: Any) -> str:
    token = tokens[index]
    level = min(6, int(token.tag[1:]) + _DEMOTED)
    return f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n"


def _fence(tokens: Sequence[Token], index: int, *_: Any) -> str:
    token = tokens[index]
    return f"<pre><code>{highlighted(token.content, token.info)}</code></pre>\n"


def _cell(tokens: Sequence[Token], index: int, *_: Any) -> str:
    """A cell without the style attribute that its alignment would have: the page's policy allows none."""
    return f"<{tokens[index].tag}>"


# To Markdown that stays inside

_CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(?:.|\n(?![ \t]*\n))*?(?<!`)\1(?!`)")
_OPENING = re.compile(r"(\\*)(!(?=\[)|<(?!https?://[^\s<>]*>))")
_ATX = re.compile(r"^( {0,3})(#{1,6})(?=\s|$)")


@lru_cache(maxsize=2)
def _reader(*, html: bool) -> MarkdownIt:
    parser = _parser(html=html)
    parser.validateLink = lambda url: True
    return parser


def _tamed(text: str) -> str:
    """HTML and images escaped, headings demoted, an open fence closed."""
    lines = text.rstrip("\n").split("\n")
    verbatim = [False] * len(lines)
    tokens = _reader(html=False).parse(text)
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        start, end = token.map
        if token.type in ("fence", "code_block"):
            verbatim[start:end] = [True] * (end - start)
            if token.type == "fence" and token.level == 0 and not _is_closed(lines[start:end], token.markup):
                lines.append(token.markup)  # only the last block of a text can be open
                verbatim.append(True)
        elif token.type == "heading_open" and token.level == 0:
            marks = "#" * min(6, int(token.tag[1:]) + _DEMOTED)
            if token.markup.startswith("#"):
                lines[start] = _ATX.sub(rf"\g<1>{marks}", lines[start])
            else:
                title = " ".join(tokens[place + 1].content.split())
                lines[start:end] = [f"{marks} {title}"] + [""] * (end - start - 1)
    out: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and verbatim[end] == verbatim[start]:
            end += 1
        run = "\n".join(lines[start:end])
        out.append(run if verbatim[start] else _without_markup(run))
        start = end
    return "\n".join(out).strip("\n")


def _is_closed(block: Sequence[str], markup: str) -> bool:
    """Whether the last line of a fenced block is its closing fence."""
    end = block[-1].strip()
    return len(block) > 1 and len(end) >= len(markup) and not end.strip(markup[0])


def _without_markup(text: str) -> str:
    """`<` and `![` escaped, except in code spans."""
    out: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(text):
        out += [_OPENING.sub(_escape, text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*out, _OPENING.sub(_escape, text[end:])])


def _escape(match: re.Match[str]) -> str:
    slashes, opening = match.groups()
    return match[0] if len(slashes) % 2 else f"{slashes}\\{opening}"


_PROBE = "zzprobezz"


def _is_tame(text: str) -> bool:
    """Whether nothing in the text acts beyond it, as a reader that lets HTML pass would see it."""
    tokens = _reader(html=True).parse(f"{text}\n\n## {_PROBE}\n")
    if [token.content for token in tokens[-2:-1]] != [_PROBE] or tokens[-3].level != 0:
        return False
    for token in tokens[:-3]:
        if token.type == "html_block" or (token.type == "heading_open" and token.tag < "h3" and token.level == 0):
            return False
        for child in token.children or ():
            url = child.attrs.get("href")
            if child.type in ("html_inline", "image") or (isinstance(url, str) and not _harmless(url)):
                return False
    return True


def _harmless(url: str) -> bool:
    """Whether a link leads outside by http(s) or mail, or is relative: `src/app.py`, `#part`."""
    return _leads_outside(url) or re.match(r"[^:/?#]*(?:[/?#]|$)", url) is not None
