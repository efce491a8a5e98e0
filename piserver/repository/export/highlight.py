"""Code with its tokens marked, by Pygments. The page's style sheet gives the colours."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygments.formatters import HtmlFormatter
    from pygments.lexer import Lexer

_LONGEST = 50_000
"""Characters beyond which code is shown without colours."""


def highlighted(code: str, language: str) -> str:
    """HTML of `code`, with spans for its tokens where `language` (a name, or a file's path) is known."""
    lexer = _lexer(_shape(language)) if language and len(code) <= _LONGEST else None
    if lexer is None:
        return escape(code)
    from pygments import highlight

    return highlight(code, lexer, _formatter()).removesuffix("\n")


def language_name(language: str) -> str:
    """A word for a fence's info string: the language's name or the file's extension; empty where that is no word."""
    word = _shape(language).rpartition(".")[2]
    return word if re.fullmatch(r"[A-Za-z0-9+#_-]{1,20}", word) else ""


def _shape(language: str) -> str:
    """What tells the language: a name as it is, of a path the file's name."""
    word = language.strip().split(maxsplit=1)[0] if language.strip() and "/" not in language else language.strip()
    name = PurePosixPath(word.replace("\\", "/")).name[-80:]
    suffix = PurePosixPath(name).suffix
    return f"file{suffix}" if suffix else name


@lru_cache(maxsize=64)
def _lexer(name: str) -> Lexer | None:
    from pygments.util import ClassNotFound

    lexers: Any = import_module("pygments.lexers")  # its functions are typed in part only
    for find in (lexers.get_lexer_by_name, lexers.get_lexer_for_filename):
        try:
            return find(name, stripnl=False, ensurenl=False)
        except ClassNotFound:
            continue
    return None


@lru_cache(maxsize=1)
def _formatter() -> HtmlFormatter[str]:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)
