"""From an entry to what is shown of it."""

from __future__ import annotations

from typing import Any, cast

from piserver.entries.entry import Entry
from piserver.session.preview import content_blocks, preview
from piserver.session.transcript.calls import content_parts, fold_result, pretty
from piserver.session.transcript.parts import Code, Fold, Part, Prose, Remark, Section
from piserver.session.transcript.visible import line
from piserver.tree import Node

_TYPED = 6_000
"""Characters of a person's text beyond which it is folded."""


class Reader:
    """Reads the entries of one session, parents before children: a result is shown knowing the call it answers."""

    def __init__(self, labels: dict[str, str], edits: dict[str, str]) -> None:
        """`labels` and `edits` by entry id: an entry's label, and what the context has in its place."""
        self._labels = labels
        self._edits = edits
        self._calls: dict[str, dict[str, Any]] = {}

    def section(self, node: Node, entry: Entry) -> Section:
        """What is shown of one entry."""
        section = self._section(node, entry)
        section.label = self._labels.get(node.id)
        prefix = {"summary": "Summary: ", "compaction": "Compacted: "}.get(section.kind, "")
        text = preview(entry)
        section.preview = line(prefix + (text.lstrip("# ") if prefix else text)) or section.title
        if node.id in self._edits:
            section.parts.append(Remark(self._edits[node.id]))
        if node.orphaned:
            section.parts.append(Remark(f"its parent {line(node.parent_id or '', 40)} is not above it in the file"))
        return section

    def _section(self, node: Node, entry: Entry) -> Section:
        value = entry.value
        match node.type:
            case "message":
                message = value.get("message")
                fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
                return self._message(node, fields)
            case "custom_message":
                title = line(_string(value.get("customType")), 60) or "Extension"
                return Section(node, "custom", title, parts=list(content_parts(value.get("content"))))
            case "compaction":
                return self._compaction(node, value)
            case "branch_summary":
                return Section(node, "summary", "Summary of a branch that was left", parts=_prose(value.get("summary")))
            case _:
                return _bookkeeping(node, value)

    def _message(self, node: Node, message: dict[str, Any]) -> Section:
        content = message.get("content")
        match message.get("role"):
            case "user":
                return Section(node, "user", "User", parts=[_pasted(part) for part in content_parts(content)])
            case "assistant":
                return self._answer(node, message)
            case "toolResult":
                call = self._calls.get(_string(message.get("toolCallId")))
                return Section(node, "tool", "Tool", parts=[fold_result(message, call)])
            case "bashExecution":
                return Section(node, "shell", "Shell", parts=[_shell_run(message)])
            case "system":
                return Section(node, "system", "System prompt", parts=[_system(message)])
            case "custom":
                title = line(_string(message.get("customType")), 60) or "Extension"
                return Section(node, "custom", title, parts=list(content_parts(content)))
            case role:
                title = line(str(role), 60) if role is not None else "A message without a role"
                return Section(node, "opaque", title, parts=[_raw(title, message)])

    def _answer(self, node: Node, message: dict[str, Any]) -> Section:
        for block in content_blocks(message.get("content")):
            if block.get("type") == "toolCall":
                self._calls[_string(block.get("id"))] = block
        parts = list(content_parts(message.get("content")))
        if (reason := message.get("stopReason")) in ("error", "aborted", "length"):
            said = line(_string(message.get("errorMessage")), 2_000)
            what = {"error": "failed", "aborted": "aborted", "length": "cut off at the length limit"}[str(reason)]
            parts.append(Remark(f"{what}: {said}" if said else what, failure=True))
        return Section(node, "assistant", "Assistant", line(_string(message.get("model")), 60), parts)

    def _compaction(self, node: Node, value: dict[str, Any]) -> Section:
        before = value.get("tokensBefore")
        about = f"{before:,.0f} tokens before" if isinstance(before, int | float) and before > 0 else ""
        parts = _prose(value.get("summary"))
        retained = value.get("retainedTail")
        if isinstance(retained, list):
            kept = [part for message in content_blocks(retained) for part in self._message(node, message).parts]
            parts.append(Fold("more", "Kept as it was", f"{len(cast('list[Any]', retained))} messages", tuple(kept)))
        return Section(node, "compaction", "The context was compacted", about, parts)


def _pasted(part: Part) -> Part:
    """What is too long to have been typed is folded, so that one sees what the person said with it."""
    if isinstance(part, Prose) and len(part.text) > _TYPED:
        return Fold("more", "Long text", f"{len(part.text):,} characters: {line(part.text, 80)}", (part,))
    return part


def _shell_run(run: dict[str, Any]) -> Fold:
    """What a person ran in their own shell."""
    command, code = _string(run.get("command")), run.get("exitCode")
    parts: list[Part] = [Code(command, "bash")]
    if output := _string(run.get("output")):
        parts.append(Code(output))
    failure = bool(run.get("cancelled")) or (isinstance(code, int) and code != 0)
    if failure:
        parts.append(Remark("cancelled" if run.get("cancelled") else f"exit code {code}", failure=True))
    if run.get("truncated"):
        parts.append(Remark("the output is longer than what the file holds"))
    return Fold("result", "$", line(command), tuple(parts), failure=failure)


def _system(message: dict[str, Any]) -> Fold:
    texts = list(content_parts(message.get("content"), plain=True))
    sections = message.get("sections")
    if isinstance(sections, dict):
        texts += [Code(text) for text in cast("dict[str, Any]", sections).values() if isinstance(text, str) and text]
    return Fold("more", "System prompt", "", tuple(texts))


def _bookkeeping(node: Node, value: dict[str, Any]) -> Section:
    """Entries that say something about the session: one line each."""
    match node.type:
        case "model_change":
            return _note(node, "Model", f"{value.get('provider')}/{value.get('modelId')}")
        case "thinking_level_change":
            return _note(node, "Thinking level", str(value.get("thinkingLevel")))
        case "active_tools_change":
            names = value.get("activeToolNames")
            tools = ", ".join(map(str, cast("list[Any]", names))) if isinstance(names, list) else str(names)
            return _note(node, "Tools", tools or "none")
        case "label":
            target = f"for {value.get('targetId')}"
            label = _string(value.get("label"))
            return _note(node, "Label", f"“{label}” {target}" if label else f"cleared {target}")
        case "session_info":
            return _note(node, "Name", _string(value.get("name")) or "cleared")
        case "leaf":
            return _note(node, "Jump", f"from here to {value.get('targetId') or 'before the first entry'}")
        case "usage":
            return _note(node, "Usage", f"{_string(value.get('kind'))}, {value.get('provider')}/{value.get('model')}")
        case "context_edit":
            action = "left out of" if value.get("replacement") is None else "replaced in"
            return _note(node, "Context", f"{value.get('targetId')} is {action} the context from here on")
        case "custom":
            title = line(_string(value.get("customType")), 60) or "Extension"
            return Section(node, "opaque", title, parts=[_raw(title, value.get("data"))])
        case kind:
            return Section(node, "opaque", line(kind, 60), parts=[_raw(line(kind, 60), value)])


def _note(node: Node, title: str, about: str) -> Section:
    return Section(node, "note", title, line(about))


def _raw(name: str, value: Any) -> Fold:
    text = pretty(value)
    return Fold("more", name, line(text, 80), (Code(text, "json"),))


def _prose(text: Any) -> list[Part]:
    return [Prose(text)] if isinstance(text, str) and text.strip() else [Remark("empty")]


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
