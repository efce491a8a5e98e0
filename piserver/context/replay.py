"""The context made fit for a provider: what one model said, told to another, with every tool call answered once.

The log is never edited for a provider's sake; this runs before each request. It is a function of its input alone, so
the same context always gives the same bytes, and it reports all that it changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from piserver.context.call_ids import CallIds

ChangeKind = Literal[
    "image-replaced",
    "thinking-dropped",
    "signature-removed",
    "call-id-changed",
    "duplicate-call-omitted",
    "failed-answer-omitted",
    "empty-message-omitted",
    "blank-text-dropped",
    "result-inserted",
    "unpaired-result-omitted",
    "duplicate-result-omitted",
    "empty-result-filled",
]

IMAGE_FROM_USER = "(image left out: this model takes no images)"
IMAGE_FROM_TOOL = "(image in the tool's result left out: this model takes no images)"
NO_RESULT = "No result was recorded for this tool call."
EMPTY_RESULT = "(no output)"


@dataclass(frozen=True, slots=True)
class TargetModel:
    """The model that will read the context: provider, API family, model id, and whether it takes images."""

    provider: str
    api: str
    model: str
    images: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that was changed. `index` is the message's place in the input, `detail` names the block or call."""

    kind: ChangeKind
    index: int
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A message for the provider and the place of its source in the input."""

    message: dict[str, Any]
    index: int


def replay(
    messages: Sequence[Mapping[str, Any] | None], target: TargetModel | None = None
) -> tuple[list[Replayed], list[Change]]:
    """Make LLM messages (None: a place without one) fit for `target`, or for the models that wrote them if None."""
    changes: list[Change] = []
    adapted: list[Replayed] = []
    ids = CallIds(target.api, target.model) if target else None
    if ids is not None:
        for message in messages:
            if message is not None and _same_model(message, target):
                for block in _list(message.get("content")):
                    if block.get("type") == "toolCall":
                        ids.keep(str(block.get("id")))
    for index, message in enumerate(messages):
        if message is None:
            continue
        content = message.get("content")
        copy = dict(message, content=[] if content is None else content)
        if target is not None and not target.images:
            copy["content"] = _without_images(copy, index, changes)
        if copy.get("role") == "user" and isinstance(copy["content"], list):
            copy["content"] = _without_blank_text(_list(copy["content"]), index, changes)
        elif copy.get("role") == "assistant":
            copy["content"] = _assistant_blocks(copy, target, ids, index, changes)
        elif copy.get("role") == "toolResult" and ids is not None:
            copy["toolCallId"] = ids.find(str(copy.get("toolCallId")))
        adapted.append(Replayed(copy, index))
    return _paired(adapted, changes), changes


def _list(content: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _without_images(message: dict[str, Any], index: int, changes: list[Change]) -> Any:
    """One placeholder for each run of images in a user message or a tool result."""
    if message.get("role") not in ("user", "toolResult") or not isinstance(message["content"], list):
        return message["content"]
    placeholder = IMAGE_FROM_USER if message["role"] == "user" else IMAGE_FROM_TOOL
    blocks: list[dict[str, Any]] = []
    for block in _list(message["content"]):
        if block.get("type") != "image":
            blocks.append(block)
            continue
        changes.append(Change("image-replaced", index))
        if not blocks or blocks[-1].get("text") != placeholder:
            blocks.append({"type": "text", "text": placeholder})
    return blocks


def _without_blank_text(blocks: list[dict[str, Any]], index: int, changes: list[Change]) -> list[dict[str, Any]]:
    kept = [block for block in blocks if block.get("type") != "text" or _has_text(block.get("text"))]
    changes += [Change("blank-text-dropped", index)] * (len(blocks) - len(kept))
    return kept


def _assistant_blocks(
    message: dict[str, Any], target: TargetModel | None, ids: CallIds | None, index: int, changes: list[Change]
) -> list[dict[str, Any]]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    same_vendor = target is not None and (message.get("provider"), message.get("api")) == (target.provider, target.api)
    same = _same_model(message, target)
    blocks: list[dict[str, Any]] = []
    called: set[str] = set()
    for block in _without_blank_text(_list(content), index, changes):
        match block.get("type"):
            case "thinking":
                signed = bool(block.get("thinkingSignature")) or bool(block.get("redacted"))
                if same and (signed or _has_text(block.get("thinking"))):
                    blocks.append(block)
                else:
                    changes.append(Change("thinking-dropped", index))
            case "text":
                blocks.append(block if same else _without(block, "textSignature", index, changes))
            case "toolCall":
                id = str(block.get("id"))
                if id in called:
                    changes.append(Change("duplicate-call-omitted", index, id))
                    continue
                called.add(id)
                blocks.append(_call(block, same, same_vendor, ids, index, changes))
            case _:
                blocks.append(block)
    return blocks


def _same_model(message: Mapping[str, Any], target: TargetModel | None) -> bool:
    """Whether the target wrote this answer itself: provider, API family and model all match."""
    if target is None:
        return True
    return (message.get("provider"), message.get("api"), message.get("model")) == (
        target.provider,
        target.api,
        target.model,
    )


def _call(
    block: dict[str, Any], same: bool, same_vendor: bool, ids: CallIds | None, index: int, changes: list[Change]
) -> dict[str, Any]:
    id = str(block.get("id"))
    if same or ids is None:
        return block
    new = ids.translate(id, same_vendor=same_vendor)
    if new != id:
        changes.append(Change("call-id-changed", index, f"{id} → {new}"))
    return _without(block, "thoughtSignature", index, changes) | {"id": new}


def _without(block: dict[str, Any], name: str, index: int, changes: list[Change]) -> dict[str, Any]:
    if name not in block:
        return block
    changes.append(Change("signature-removed", index, name))
    return {key: value for key, value in block.items() if key != name}


def _has_text(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


class _Open:
    """The calls of the latest answer: where it stands, and which calls have no result yet."""

    def __init__(self, answer: Replayed) -> None:
        self.answer = answer
        calls = [block for block in _list(answer.message["content"]) if block.get("type") == "toolCall"]
        self.missing = {str(call.get("id")): call for call in calls}
        self.answered: set[str] = set()


def _paired(messages: list[Replayed], changes: list[Change]) -> list[Replayed]:
    """Leave out failed and empty messages; give every call exactly one result, directly after its answer."""
    out: list[Replayed] = []
    open_calls: _Open | None = None

    def close() -> None:
        nonlocal open_calls
        if open_calls is not None:
            for id, call in open_calls.missing.items():
                changes.append(Change("result-inserted", open_calls.answer.index, id))
                out.append(Replayed(_missing_result(id, call, open_calls.answer.message), open_calls.answer.index))
        open_calls = None

    for item in messages:
        message = item.message
        if message.get("role") == "toolResult":
            id = str(message.get("toolCallId"))
            if open_calls is not None and id in open_calls.missing:
                open_calls.answered.add(id)
                del open_calls.missing[id]
                out.append(Replayed(_filled(message, item.index, changes), item.index))
            else:
                seen = open_calls is not None and id in open_calls.answered
                changes.append(
                    Change("duplicate-result-omitted" if seen else "unpaired-result-omitted", item.index, id)
                )
            continue
        if message.get("role") == "assistant" and message.get("stopReason") in ("error", "aborted"):
            changes.append(Change("failed-answer-omitted", item.index))
            continue
        if _is_empty(message):
            changes.append(Change("empty-message-omitted", item.index))
            continue
        close()
        out.append(item)
        if message.get("role") == "assistant":
            open_calls = _Open(item)
    close()
    return out


def _is_empty(message: dict[str, Any]) -> bool:
    """Whether nothing is left that may be sent: no text, no image, no call. Thinking alone is no answer."""
    content = message["content"]
    if isinstance(content, str):
        return not content.strip()
    blocks = [block for block in _list(content) if block.get("type") != "thinking"]
    return all(block.get("type") == "text" and not _has_text(block.get("text")) for block in blocks)


def _missing_result(id: str, call: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "toolResult",
        "toolCallId": id,
        "toolName": call.get("name"),
        "content": [{"type": "text", "text": NO_RESULT}],
        "isError": True,
        "timestamp": answer.get("timestamp"),
    }


def _filled(message: dict[str, Any], index: int, changes: list[Change]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [block for block in _list(content) if block.get("type") != "text" or _has_text(block.get("text"))]
    if blocks:
        return message | {"content": blocks}
    changes.append(Change("empty-result-filled", index))
    return message | {"content": [{"type": "text", "text": EMPTY_RESULT}]}
