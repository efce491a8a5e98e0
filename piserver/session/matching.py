"""What a search looks for: words and exact phrases in any case, or a regular expression."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
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
_MOST_RANGES = 100
_MOST_MATCHES = 10_000
"""Matches that are looked at in one text, most of them empty: `x*` matches between any two letters."""
_ESCAPES = re.compile(rb"\\u(?!00[01])")
"""An escape of more than a control character: it may spell any letter."""
_FOLDING = (b"\xc3\x9f", b"\xe2\x84\xaa", b"\xc4", b"\xc5", b"\xc7", b"\xe1", b"\xef")
"""What letters that fold to ASCII begin with: ß and the Kelvin sign, whose first byte is common, then the first bytes
of all others (the dotted İ, the long s, the ligatures …). A single byte is found at once, a false alarm costs a
decoding."""
_PIECE = 1 << 18
"""Characters or bytes that are looked at in one go: a long turn would make every other thread wait for it."""
_OVERLAP = 256
"""Bytes of a piece that are looked at again with the next; longer needles are looked for in one go all the same."""
_ADDED = "cleared image thinking start left out replaced none true false"
"""Words that an entry's text may hold beside what stands in the entry (see `preview.search_text`)."""


class WordMatcher:
    """Every word and phrase must be somewhere in the text."""

    def __init__(self, query: str, *, match_case: bool = False) -> None:
        self._match_case = match_case
        terms = [phrase or word for phrase, word in _TERM.findall(query)]
        self._terms = [term if match_case else term.casefold() for term in terms]
        self.needles = tuple({run.encode(): None for term in self._terms for run in self._runs(term)})

    def _runs(self, term: str) -> list[str]:
        """The parts of a term that are spelt in JSON as they are; what is between them may be an escape or added."""
        plain = "".join(c if self._stays(c) else " " for c in term)
        return [run for run in plain.split() if run.lower() not in _ADDED]

    def _stays(self, c: str) -> bool:
        if c.isascii():
            return c.isalnum() or c == "_"
        category = unicodedata.category(c)
        if category in ("Cs", "Zs", "Zl", "Zp") or c == "\ufffd":
            return False
        # bytes.lower() knows ASCII only; other letters must have no case for a look at the bytes to be enough, and
        # folding must not bring them forth from others, as it does with marks.
        return self._match_case or (c.lower() == c.upper() and category != "Lm" and not category.startswith("M"))

    def may_match(self, raw: bytes) -> bool:
        missing = self.needles
        if len(raw) <= _PIECE or any(len(needle) > _OVERLAP for needle in missing):
            return not self.missing(missing, raw)
        for start in range(0, len(raw), _PIECE):
            missing = self.missing(missing, raw[max(0, start - _OVERLAP) : start + _PIECE])
        return not missing

    def missing(self, needles: tuple[bytes, ...], raw: bytes) -> tuple[bytes, ...]:
        text = raw if self._match_case else raw.lower()
        missing = tuple(needle for needle in needles if needle not in text)
        return () if missing and _hides(raw) else missing

    def find(self, text: str) -> list[Range]:
        if not self._match_case:
            return sorted(set(_places(text, self._terms)))
        each = [_find_all(text, term) for term in self._terms]
        return sorted({place for places in each for place in places}) if all(each) else []


def _hides(raw: bytes) -> bool:
    """Whether letters may be spelt here in a way that a look at the bytes does not see."""
    if b"\\u" in raw and _ESCAPES.search(raw):
        return True
    return not raw.isascii() and any(letter in raw for letter in _FOLDING)


def _fold(text: str) -> str:
    return "".join(text[start : start + _PIECE].casefold() for start in range(0, len(text), _PIECE))


def _places(text: str, terms: Sequence[str]) -> list[Range]:
    """Where case-folded terms are in a text; empty unless all of them are there."""
    folded = _fold(text)
    found: list[Range] = []
    for term in terms:
        places = _find_all(folded, term)
        if not places:
            return []
        found += places
    if len(folded) != len(text):
        # Folding has made one letter two (ß is ss): count back to the letters that stand in the text.
        origin = [index for index, letter in enumerate(text) for _ in letter.casefold()]
        found = [(origin[start], origin[end - 1] + 1) for start, end in found]
    return found


def _find_all(text: str, term: str) -> list[Range]:
    found: list[Range] = []
    start = text.find(term)
    while start >= 0 and len(found) < _MOST_RANGES:
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
        except UnicodeEncodeError:
            raise InvalidQueryError("not a regular expression: it holds half a surrogate pair") from None

    needles: tuple[bytes, ...] = ()

    def may_match(self, raw: bytes) -> bool:
        return True

    def missing(self, needles: tuple[bytes, ...], raw: bytes) -> tuple[bytes, ...]:
        return ()

    def find(self, text: str) -> list[Range]:
        try:
            matches = self._pattern.finditer(text)
            return self._ranges(matches)
        except UnicodeEncodeError:  # RE2 reads UTF-8, which has no halves of surrogate pairs
            return self._ranges(self._pattern.finditer(text.encode("utf-8", "replace").decode()))

    @staticmethod
    def _ranges(matches: Iterator[Any]) -> list[Range]:
        """The ranges of the matches that are not empty."""
        ranges = (match.span() for match in islice(matches, _MOST_MATCHES))
        return list(islice((range for range in ranges if range[1] > range[0]), _MOST_RANGES))


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
