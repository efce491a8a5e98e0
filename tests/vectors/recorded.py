"""How answers are written into JSON files, here and by the real implementations whose answers were recorded."""

import hashlib
import math
from typing import Any

LONG = 4000
"""Strings of more UTF-16 units are written as their length and hash."""


def recorded(value: Any) -> Any:
    """The written form of a value: no long strings, and no number that JSON does not have.

    Applied to its own result it changes nothing.
    """
    match value:
        case float() if not math.isfinite(value):
            return {"$number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
        case float() if value == 0 and math.copysign(1, value) < 0:
            return {"$number": "-0"}
        case str() if len(utf16 := value.encode("utf-16-le", "surrogatepass")) > 2 * LONG:
            # A lone surrogate is hashed as U+FFFD.
            sha256 = hashlib.sha256(utf16.decode("utf-16-le", "replace").encode()).hexdigest()
            return {"$long": {"length": len(utf16) // 2, "sha256": sha256}}
        case dict():
            return {key: recorded(item) for key, item in value.items()}
        case list() | tuple():
            return [recorded(item) for item in value]
        case _:
            return value
