"""What differs from run to run in an example (ids, times, places), and what it stands for in this run."""

import os
import re
from typing import Any

_KINDS = {
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "file time": r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z",
    "entry": r"\b[0-9a-f]{8}\b",
}
_ANY_KIND = re.compile("|".join(f"({kind})" for kind in _KINDS.values()))
_MILLISECONDS = range(10**12, 10**13)
_WHOLE = {"epoch"}
"""Members that are placeholders as they are."""
_FREE = {
    "modified": str,
    "size": int,
    "version": str,
    "sha256": str,
    "pid": int,
    "host": str,
    "program": str,
}
"""Members that may hold anything of their type: what a file system, a release or a machine says."""
_PLACE_IN_FILE = re.compile(r".*\.(diagnostics|steps)\[\d+\]\.offset")
"""Where something stands in a file, whose header holds a path."""


class MismatchError(AssertionError):
    """An example and what really came differ; `path` leads to the place."""


class Placeholders:
    """Binds each placeholder at first sight and holds it to that afterwards.

    `given` are strings that stand for something known beforehand (paths). Two ids of the document are never one id.
    """

    def __init__(self, given: dict[str, str], real: dict[tuple[str, Any], Any] | None = None) -> None:
        self._given = given
        self._real = {} if real is None else real

    def fill(self, value: Any, key: str = "") -> Any:
        """An example with what its placeholders stand for; those that nobody has seen yet stand for themselves."""
        if isinstance(value, dict):
            return {name: self.fill(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, key) for item in value]
        if key == "processId":
            return os.getpid()
        if isinstance(value, str):
            if key in _WHOLE:
                return self._real.get((key, value), value)
            return self._parts(value, lambda kind, text: self._real.setdefault((kind, text), text))
        if type(value) is int and value in _MILLISECONDS:
            self._real.setdefault(("milliseconds", value), value)
        return value

    def match(self, expected: Any, actual: Any, path: str = "") -> None:
        """Hold what came against the example: the same members, the same values. Raises MismatchError."""
        key = path.rpartition(".")[2]
        if key in _FREE and type(expected) is type(actual) is _FREE[key]:
            return
        if _PLACE_IN_FILE.fullmatch(path) and type(expected) is type(actual) is int:
            return
        if isinstance(expected, dict) and isinstance(actual, dict):
            _equal(sorted(expected), sorted(actual), f"members of {path or 'the message'}")
            for name, item in expected.items():
                self.match(item, actual[name], f"{path}.{name}")
        elif isinstance(expected, list) and isinstance(actual, list):
            _equal(len(expected), len(actual), f"length of {path}")
            for index, (item, real) in enumerate(zip(expected, actual, strict=True)):
                self.match(item, real, f"{path}[{index}]")
        elif isinstance(expected, str) and isinstance(actual, str):
            self._match_text(expected, actual, path, key)
        elif type(expected) is type(actual) is int and expected in _MILLISECONDS:
            self._bind("milliseconds", expected, actual, path)
        else:
            _equal((type(expected), expected), (type(actual), actual), path)

    def _match_text(self, expected: str, actual: str, path: str, key: str) -> None:
        if key in _WHOLE:
            return self._bind(key, expected, actual, path)
        if key == "content":  # Markdown, in which a path may need what that of the document does not
            actual = actual.replace("\\_", "_")
        found: list[tuple[str, str]] = []

        def pattern(kind: str, text: str) -> str:
            found.append((kind, text))
            return f"\0{len(found) - 1}\0"

        shape = re.escape(self._parts(expected, pattern))
        shape = re.sub(r"\\?\0(\d+)\\?\0", lambda part: f"({_KINDS[found[int(part[1])][0]]})", shape)
        real = re.fullmatch(shape, actual)
        if real is None:
            raise MismatchError(f"{path}: {expected!r} is really {actual!r}")
        for (kind, text), value in zip(found, real.groups(), strict=True):
            self._bind(kind, text, value, path)
        return None

    def _parts(self, text: str, replace: Any) -> str:
        """The text with every placeholder replaced, given strings by what they are given for."""
        for name, value in self._given.items():
            if name in text:
                return value.join(self._parts(part, replace) for part in text.split(name))
        kinds = list(_KINDS)
        return _ANY_KIND.sub(lambda part: replace(kinds[(part.lastindex or 1) - 1], part[0]), text)

    def _bind(self, kind: str, text: Any, value: Any, path: str) -> None:
        known = self._real.setdefault((kind, text), value)
        if known != value:
            raise MismatchError(f"{path}: {text!r} was {known!r} before and is {value!r} here")
        if kind in ("uuid", "entry"):
            twice = [other for (k, other), v in self._real.items() if k == kind and v == value and other != text]
            if twice:
                raise MismatchError(f"{path}: {value!r} is {text!r} here and was {twice[0]!r} before")

    def copy(self) -> "Placeholders":
        return Placeholders(self._given, dict(self._real))

    def told(self, value: Any, key: str = "") -> Any:
        """What came, in the document's terms as far as they are known: how a failed example would be written."""
        back = {(kind, real): text for (kind, text), real in self._real.items()}
        if isinstance(value, dict):
            return {name: self.told(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.told(item, key) for item in value]
        if isinstance(value, str):
            if key in _WHOLE:
                return back.get((key, value), value)
            kinds = list(_KINDS)
            for name, real in self._given.items():
                value = value.replace(real, name)
            return _ANY_KIND.sub(lambda part: back.get((kinds[(part.lastindex or 1) - 1], part[0]), part[0]), value)
        return back.get(("milliseconds", value), value) if type(value) is int else value


def _equal(expected: Any, actual: Any, path: str) -> None:
    if expected != actual:
        raise MismatchError(f"{path}: {expected!r} is really {actual!r}")
