"""What a search looks for: words and exact phrases in any case, or a regular expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

Range = tuple[int, int]
"""Where a match lies in a text: start and end, in characters."""


class InvalidQueryError(ValueError):
    """A query that cannot be searched for; the text says why."""


class Matcher(Protocol):
    """Finds a query in texts."""

    needles: tuple[bytes, ...]
    """Lower-case (unless case matters) bytes that stand in the JSON of every entry that matches; see `may_match`."""

    def find(self, text: str) -> list[Range]:
        """Where the query is in a text, in order; empty if it is not."""
        ...

    def may_match(self, raw: bytes) -> bool:
        """Whether an entry with this JSON could match: a quick look that rules most out without decoding them."""
        ...

    def missing(self, needles: tuple[bytes, ...], raw: bytes) -> tuple[bytes, ...]:
        """Those of `needles` that are not in `raw`; none if `raw` spells letters in ways that hide them."""
        ...


def matcher(query: str, *, regex: bool = False, match_case: bool = False) -> Matcher:
    """The matcher of a query: all its words, with "quoted" ones as phrases, or one regular expression (RE2's syntax).

    Raises InvalidQueryError for a blank query or a malformed expression.
    """
    if not query.strip():
        raise InvalidQueryError("the query is empty")
    return RegexMatcher(query, match_case=match_case) if regex else WordMatcher(query, match_case=match_case)


_TERM = re.compile(r'"([^"]+)"|(\S+)')
_HIDDEN = re.compile(rb"\\u(?!00[01])")  # an escape of something other than a control character
_ESCAPED = re.compile(r'["\\/\x00-\x1f\x7f]')


class WordMatcher:
    """Every word and phrase must be somewhere in the text."""

    def __init__(self, query: str, *, match_case: bool = False) -> None:
        self._match_case = match_case
        terms = [phrase or word for phrase, word in _TERM.findall(query)]
        self._terms = [term if match_case else term.casefold() for term in terms]
        self.needles = tuple(needle for term in self._terms if (needle := self._needle(term)) is not None)

    def _needle(self, term: str) -> bytes | None:
        """The bytes of a term as they stand in JSON; None if they may be spelt differently there."""
        if _ESCAPED.search(term):
            return None
        if self._match_case:
            return term.encode("utf-8", "replace")
        # bytes.lower() knows ASCII only; other letters must have no case for a look at the bytes to be enough.
        if all(c.isascii() or c.lower() == c.upper() for c in term):
            return term.encode("utf-8", "replace").lower()
        return None

    def may_match(self, raw: bytes) -> bool:
        return not self.missing(self.needles, raw)

    def missing(self, needles: tuple[bytes, ...], raw: bytes) -> tuple[bytes, ...]:
        text = raw if self._match_case else raw.lower()
        missing = tuple(needle for needle in needles if needle not in text)
        return () if missing and _HIDDEN.search(raw) else missing

    def find(self, text: str) -> list[Range]:
        folded = text if self._match_case else _fold(text)
        found: list[Range] = []
        for term in self._terms:
            places = _places(folded, term)
            if not places:
                return []
            found += places
        return sorted(set(found))


def _fold(text: str) -> str:
    """Case-folded, but of the same length, so that places stay places (ß stays ß)."""
    folded = text.casefold()
    return folded if len(folded) == len(text) else "".join(c if len(f := c.casefold()) != 1 else f for c in text)


def _places(text: str, term: str) -> list[Range]:
    found: list[Range] = []
    start = text.find(term)
    while start >= 0 and len(found) < 100:
        found.append((start, start + len(term)))
        start = text.find(term, start + len(term))
    return found


class RegexMatcher:
    """A regular expression. RE2 takes time linear in the text, so no expression can bring the server to a halt."""

    def __init__(self, pattern: str, *, match_case: bool = False) -> None:
        re2: Any = import_module("re2")  # only those who search for expressions need it; it has no types
        options = re2.Options()
        options.case_sensitive = match_case
        options.log_errors = False
        try:
            self._pattern = re2.compile(pattern, options)
        except re2.error as error:
            reason = error.args[0] if error.args else b"malformed"
            raise InvalidQueryError(f"not a regular expression: {_text(reason)}") from None

    needles: tuple[bytes, ...] = ()

    def may_match(self, raw: bytes) -> bool:
        return True

    def missing(self, needles: tuple[bytes, ...], raw: bytes) -> tuple[bytes, ...]:
        return ()

    def find(self, text: str) -> list[Range]:
        found: list[Range] = []
        for match in self._pattern.finditer(text):
            if match.end() > match.start():
                found.append(match.span())
            if len(found) >= 100:
                break
        return found


def snippet(text: str, ranges: Sequence[Range], width: int = 160) -> tuple[str, list[Range]]:
    """The text around the first match, on one line of at most `width` characters, and where matches lie in it."""
    first = ranges[0][0]
    start = max(0, min(first - width // 3, len(text) - width))
    cut = text[start : start + width]
    shown = [(max(a - start, 0), min(b - start, len(cut))) for a, b in ranges if a - start < len(cut) and b > start]
    line = "".join(" " if c.isspace() or not c.isprintable() else c for c in cut)
    if start > 0:
        line = "…" + line[1:]
    if start + width < len(text):
        line = line[:-1] + "…"
    return line, shown


def _text(reason: str | bytes) -> str:
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
