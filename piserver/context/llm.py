"""From the context's messages to the three roles that every provider knows: user, assistant, toolResult.

The sentences around summaries and shell runs are those of the other programs that write these files, so that a model
reads the same conversation whoever sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COMPACTION_PREFIX = "The conversation history before this point was compacted into the following summary:"
BRANCH_PREFIX = "The following is a summary of a branch that this conversation came back from:"


def convert_to_llm(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The user, assistant or toolResult message that stands for `message`; None if nothing does.

    Role `system` is dropped: each turn sends a system prompt of its own beside the messages.
    """
    match message.get("role"):
        case "user" | "assistant" | "toolResult":
            return dict(message)
        case "custom":
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return _user(blocks, message)
        case "bashExecution":
            return None if message.get("excludeFromContext") else _user(_text(_shell_run(message)), message)
        case "branchSummary":
            return _user(_text(f"{BRANCH_PREFIX}\n\n<summary>\n{message.get('summary')}</summary>"), message)
        case "compactionSummary":
            return _user(_text(f"{COMPACTION_PREFIX}\n\n<summary>\n{message.get('summary')}\n</summary>"), message)
        case _:
            return None


def _user(content: Any, source: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content, "timestamp": source.get("timestamp")}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _shell_run(run: Mapping[str, Any]) -> str:
    """What a person ran in their own shell, as text."""
    output, code = run.get("output"), run.get("exitCode")
    parts = [f"Ran `{run.get('command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")]
    if run.get("cancelled"):
        parts.append("(command cancelled)")
    elif code is not None and code != 0:
        parts.append(f"Command exited with code {code}")
    if run.get("truncated") and run.get("fullOutputPath"):
        parts.append(f"[Output truncated. Full output: {run.get('fullOutputPath')}]")
    return "\n\n".join(parts)
