"""Characters that act instead of showing: made visible, so that nothing in an export can move, hide or reverse text."""

from __future__ import annotations

import re

from piserver.entries import json

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # terminal escapes and other control characters; tab and line feed are left
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions
    "\ufff9-\ufffb]"
)


_BREAK = re.compile("\r\n|[\u2028\u2029]")


def visible(text: str) -> str:
    """`text` with control characters as their pictures (`␛`), direction marks as `⟨U+202E⟩`, lone surrogates as U+FFFD.

    CR LF, U+2028 and U+2029 become line feeds; tabs and line feeds stay.
    """
    return json.well_formed(_ACTING.sub(_picture, _BREAK.sub("\n", text)))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def line(text: str, length: int = 200) -> str:
    """`text` on one line, visible, at most `length` characters."""
    # Cut before joining: a title must not cost what the text behind it does.
    joined = " ".join(visible(text[: 4 * length]).split())
    return joined if len(joined) <= length else joined[: length - 1] + "…"
