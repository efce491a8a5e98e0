"""From the entries of a context to its messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from piserver.context.estimate import estimate_tokens
from piserver.context.select import Excluded, Reason, Selection, WhyOut
from piserver.entries import json
from piserver.entries.entry import Entry
from piserver.entries.text import parse_timestamp
from piserver.tree import Diagnostic, Node, State

Transform = Callable[[list[Entry]], list[Entry]]
"""Reorders, drops or replaces the entries of a context before they become messages."""
Projector = Callable[[Entry], Sequence[dict[str, Any]]]
"""Gives the messages of a `custom` entry of one `customType`."""


class ContextMessage:
    """One message of the context: its JSON as stored (`raw`), its source entry and why that is in."""

    __slots__ = ("_tokens", "_value", "node", "raw", "reason")

    def __init__(self, raw: bytes, node: Node, reason: Reason) -> None:
        self.raw = raw
        self.node = node
        self.reason: Reason = reason
        self._value: dict[str, Any] | None = None
        self._tokens: int | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The decoded message. Treat it as read-only."""
        if self._value is None:
            self._value = cast("dict[str, Any]", json.loads(self.raw))
        return self._value

    @property
    def tokens(self) -> int:
        """Estimated tokens of this message alone."""
        if self._tokens is None:
            self._tokens = estimate_tokens(self.value)
        return self._tokens


@dataclass(slots=True)
class Context:
    """What a model is given at a leaf, and where it came from."""

    leaf: Node | None
    state: State
    messages: list[ContextMessage]
    excluded: list[Excluded] = field(default_factory=list[Excluded])
    """Selected entries that gave no message. What a compaction left behind is `Selection.not_selected`."""
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    @property
    def values(self) -> list[dict[str, Any]]:
        """The messages, decoded."""
        return [message.value for message in self.messages]

    @property
    def stale_before(self) -> int:
        """How many messages at the start are older than the newest compaction: their usage no longer says anything."""
        return next(
            (i for i, m in enumerate(self.messages) if m.reason not in ("compaction", "kept")), len(self.messages)
        )


def project(
    selection: Selection,
    entries: Sequence[Entry],
    *,
    transforms: Sequence[Transform] = (),
    projectors: Mapping[str, Projector] | None = None,
) -> Context:
    """The messages of a selection; `entries` are its nodes' bodies, in the same order.

    An entry that a transform invents must carry the id of one in the selection, its source.
    """
    places: dict[str, tuple[Node, Reason]] = {
        node.id: (node, reason) for node, reason in zip(selection.nodes, selection.reasons, strict=True)
    }
    bodies = {entry.id: entry for entry in entries}
    edits = {target: bodies[edit.id] for target, edit in selection.edits.items()}
    chosen = list(entries)
    for transform in transforms:
        chosen = transform(chosen)
    context = Context(selection.leaf, selection.state, [], diagnostics=list(selection.diagnostics))
    # A compaction that carries the system message replaces those of the range that it kept.
    checkpoint = bool(entries) and entries[0].type == "compaction" and "systemMessage" in entries[0].value
    for entry in chosen:
        node, reason = places[entry.id]
        replaced = checkpoint and reason == "kept" and node.role == "system"
        made = "replaced-system" if replaced else _messages(entry, node, edits.get(entry.id), projectors or {}, context)
        if isinstance(made, str):
            context.excluded.append(Excluded(node, made))
        else:
            context.messages += [ContextMessage(raw, node, reason) for raw in made]
    left = places.keys() - {entry.id for entry in chosen}
    context.excluded += [Excluded(places[id][0], "transformed-out") for id in places if id in left]
    return context


def _messages(
    entry: Entry, node: Node, edit: Entry | None, projectors: Mapping[str, Projector], context: Context
) -> list[bytes] | WhyOut:
    """The messages of one entry, or why it has none."""
    made: list[bytes] | WhyOut
    match entry.type:
        case "message":
            raw = entry.message
            made = [_tolerant(raw)] if raw is not None and raw.startswith(b"{") else "empty"
        case "custom_message":
            made = [_custom_message(entry.value)]
        case "compaction":
            made = _compaction(entry.value)
        case "branch_summary":
            made = [_branch_summary(entry.value)] if entry.value.get("summary") else "empty"
        case "custom":
            projector = projectors.get(str(entry.value.get("customType")))
            made = [json.dumps(message) for message in projector(entry)] if projector else "not-a-message"
        case _:
            made = "not-a-message"
    if edit is None or isinstance(made, str):
        return made
    return _edited(made, entry, edit, context)


class _Parts(Struct):
    role: str | UnsetType = UNSET
    content: Raw | UnsetType = UNSET


_HAS_CONTENT = re.compile(
    rb'\{"role":"(?:user|assistant|system|toolResult","toolCallId":"[^"\\]*","toolName":"[^"\\]*)","content":["\[]'
)
_decode_parts = msgspec.json.Decoder(_Parts).decode
_WITH_CONTENT = ("user", "assistant", "toolResult", "custom", "system")  # no set: a role may be any JSON


def _tolerant(raw: bytes) -> bytes:
    """The message as stored; null or missing content becomes empty content."""
    # Nearly every message begins in one of a few ways, and then nothing need be decoded to see that it has content.
    if _HAS_CONTENT.match(raw) and b'"content":null' not in raw:
        return raw
    try:
        parts = _decode_parts(raw)
        content = parts.content
        if content is not UNSET and bytes(content) != b"null":
            return raw
    except (msgspec.MsgspecError, RecursionError):
        pass
    message = cast("dict[str, Any]", json.loads(raw))
    if message.get("role") not in _WITH_CONTENT or message.get("content") is not None:
        return raw
    return json.dumps(message | {"content": "" if message["role"] == "system" else []})


def _timestamp(entry: dict[str, Any]) -> int | None:
    timestamp = entry.get("timestamp")
    return parse_timestamp(timestamp) if isinstance(timestamp, str) else None


def _custom_message(entry: dict[str, Any]) -> bytes:
    message: dict[str, Any] = {"role": "custom", "customType": entry.get("customType"), "content": entry.get("content")}
    if message["content"] is None:
        message["content"] = []
    for name in ("display", "details"):
        if name in entry:
            message[name] = entry[name]
    return json.dumps(message | {"timestamp": _timestamp(entry)})


def _compaction(entry: dict[str, Any]) -> list[bytes]:
    summary = {
        "role": "compactionSummary",
        "summary": entry.get("summary"),
        "tokensBefore": entry.get("tokensBefore"),
        "timestamp": _timestamp(entry),
    }
    made = [
        json.dumps(
            {name: value for name, value in summary.items() if name != "tokensBefore" or "tokensBefore" in entry}
        )
    ]
    if isinstance(entry.get("systemMessage"), dict):
        made.insert(0, json.dumps(entry["systemMessage"]))
    tail = entry.get("retainedTail")
    if isinstance(tail, list):
        made += [_tolerant(json.dumps(message)) for message in cast("list[Any]", tail) if isinstance(message, dict)]
    return made


def _branch_summary(entry: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "role": "branchSummary",
            "summary": entry.get("summary"),
            "fromId": entry.get("fromId"),
            "timestamp": _timestamp(entry),
        }
    )


_EDITABLE = ("user", "assistant", "toolResult", "custom")


def _edited(made: list[bytes], entry: Entry, edit: Entry, context: Context) -> list[bytes] | WhyOut:
    """Apply a context edit: null leaves the entry out, `{content}` replaces its content."""
    change = edit.value
    if "replacement" in change and change["replacement"] is None:
        return "edited-out"
    replacement = change.get("replacement")
    content: Any = cast("dict[str, Any]", replacement).get("content") if isinstance(replacement, dict) else None
    if not isinstance(content, str | list):
        reason = f"context edit {edit.id} has no usable replacement and is ignored"
        context.diagnostics.append(Diagnostic("bad-context-edit", reason, None, None, edit.id))
        return made
    if entry.type not in ("message", "custom_message"):
        return made
    message = cast("dict[str, Any]", json.loads(made[0]))
    if message.get("role") not in _EDITABLE:
        return made
    if isinstance(content, str) and message["role"] in ("assistant", "toolResult"):
        content = [{"type": "text", "text": content}]
    return [json.dumps(message | {"content": content})]
