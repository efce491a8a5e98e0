"""Text rules that the session format takes from JavaScript, where its other writers live."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_SPACE = (
    "\t\n\v\f\r \xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def trim(text: str) -> str:
    """`text` without outer white space, as JavaScript's `trim` sees it: U+FEFF counts, U+001C and U+200B do not."""
    return text.strip(_SPACE)


def one_line(text: str) -> str:
    """A session name: line breaks become spaces, the outside is trimmed."""
    return trim(re.sub(r"[\r\n]+", " ", text))


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the measure of every size and estimate in this format."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_timestamp(ms: int) -> str:
    """Milliseconds since 1970 as ISO-8601 UTC with milliseconds and `Z`."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_ISO = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)


def parse_timestamp(text: str) -> int | None:
    """Milliseconds since 1970 of an entry's timestamp; None if it is no date.

    ISO-8601 is read as JavaScript reads it: a time without a zone as UTC, digits beyond milliseconds cut, day 31 of a
    shorter month carried over. The mail date form (`1 Mar 2025`) and `Mar 1, 2025` are taken as well.
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return _parse_words(text)
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    if not 1 <= int(day or 1) <= 31:
        return None
    offset = timedelta()
    if zone and zone.upper() != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
    try:
        moment = datetime(int(year), int(month or 1), 1, int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
        moment += timedelta(days=int(day or 1) - 1) - offset
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + int((fraction or "0")[:3].ljust(3, "0"))


def _parse_words(text: str) -> int | None:
    moment: datetime | None = None
    for form in ("%b %d, %Y", "%b %d, %Y %H:%M:%S"):
        try:
            moment = datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        moment = moment or parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(milliseconds=1)
