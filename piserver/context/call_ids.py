"""Tool-call ids as another vendor's API takes them.

Each API allows its own characters and length. Ids that were distinct stay distinct: where cleaning makes two alike, the
later gets a hash of what it was.
"""

from __future__ import annotations

import hashlib
import re

_LENGTHS = {
    "anthropic-messages": 64,
    "bedrock-converse-stream": 64,
    "google-generative-ai": 64,
    "openai-completions": 40,
}
_GOOGLE_NEEDS_IDS = re.compile(r"claude|gpt-oss|gemini-([3-9]|\d\d)")


class CallIds:
    """The new ids of the calls of one context; the same call always gets the same one."""

    def __init__(self, api: str, model: str) -> None:
        self._api = api
        self._model = model
        self._new: dict[str, str] = {}
        self._taken: set[str] = set()

    def keep(self, id: str) -> None:
        """Reserve an id that stays as it is."""
        self._taken.add(self._new.setdefault(id, id))

    def translate(self, id: str, *, same_vendor: bool) -> str:
        """The id of a call made by another model; `same_vendor` says whether provider and API are the target's."""
        if id not in self._new:
            clean = new = self._clean(id, same_vendor) or "call"
            attempt = 0
            while new in self._taken:
                mark = "_" + _hash(f"{id}{attempt or ''}")[:8]
                new = clean[: _LENGTHS.get(self._api, 64) - len(mark)] + mark
                attempt += 1
            self._new[id] = new
            self._taken.add(new)
        return self._new[id]

    def find(self, id: str) -> str:
        """The present id of a call met before; unchanged if there was none."""
        return self._new.get(id, id)

    def _clean(self, id: str, same_vendor: bool) -> str:
        match self._api:
            case "anthropic-messages" | "bedrock-converse-stream":
                return _safe(id)[:64]
            case "google-generative-ai" if _GOOGLE_NEEDS_IDS.search(self._model):
                return _safe(id)[:64]
            case "openai-responses" | "openai-codex-responses" | "azure-openai-responses":
                return _response_id(id, same_vendor)
            case "openai-completions":
                flat = _safe(id.partition("|")[0]) or _safe(id)
                return flat if len(flat) <= 40 else f"{flat[:31]}_{_hash(id)[:8]}"
            case _:
                return id


def _response_id(id: str, same_vendor: bool) -> str:
    """`call|item`: both parts cleaned; an item of another vendor is named anew, one of another model left out."""
    call, bar, item = id.partition("|")
    call = _safe(call)[:64].rstrip("_")
    if not bar or same_vendor:
        return call
    item = _safe(item)[:64].rstrip("_")
    if not item.startswith("fc_"):
        item = "fc_" + _hash(id)[:16]
    return f"{call}|{item}"


def _safe(id: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
