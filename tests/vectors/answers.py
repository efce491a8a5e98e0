"""Everything that a session file can be asked, and what piserver answers."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from piserver.context import Context, convert_to_llm, estimate_context_tokens, estimate_tokens
from piserver.entries.header import Header
from piserver.entries.types import MessageDraft
from piserver.repository.fork import InvalidForkTargetError, Position, fork_lines, fork_path
from piserver.session import Session
from piserver.storage import MemoryStorage, Storage
from piserver.tree import Node, Statistics
from tests.vectors.recorded import recorded

CASES = Path(__file__).parents[1] / "data" / "cases"
CLOCK = 1_750_000_000_000
APPENDED = "0a0b0c0d"
"""The id of the entry that `append` adds."""


def open_session(storage: Storage) -> Session:
    """A session whose clock stands still and whose first new id is known."""
    return Session(storage, durability="never", clock=lambda: CLOCK, new_id=lambda: APPENDED)


def exact(raw: bytes) -> Any:
    """The value of a JSON text with the sign of -0, which Python's own parser loses."""
    return json.loads(raw, parse_int=lambda text: -0.0 if text == "-0" else int(text))


async def ask(session: Session) -> dict[str, Any]:
    """The answers to all questions that leave the session as it is.

    `messages` is a list of the distinct messages of all contexts; `contexts` tells for each entry which of them are in
    its context, by place, beside the entries (`select`) and the state.
    """
    tree = session.storage.tree
    table: list[Any] = []
    contexts = {node.id: _in_table(await session.build_context(node.id), table) for node in tree.nodes}
    context = await session.build_context()
    messages = [exact(message.raw) for message in context.messages]
    llm = [convert_to_llm(message) for message in messages]
    answers = {
        "header": asdict(session.header),
        "readOnly": session.storage.read_only is not None,
        "diagnostics": [[d.kind, d.line, d.entry_id] for d in session.diagnostics],
        "entries": [[node.id, node.type] for node in tree.nodes],
        "roots": [node.id for node in tree.roots],
        "orphaned": [node.id for node in tree.nodes if node.orphaned],
        "children": {node.id: _ids(node.children) for node in tree.nodes if node.children},
        "leafId": session.leaf_id,
        "newerLeafId": session.newer_leaf.id if session.newer_leaf else None,
        "labels": {id: label.text for id, label in tree.labels.items()},
        "name": session.name,
        "statistics": _statistics(session.storage.statistics),
        "pathStatistics": _statistics(session.statistics()),
        "paths": {node.id: _ids(session.path(node.id)) for node in tree.nodes},
        "context": {
            "entries": _ids(session.select().nodes),
            "projection": _projection(context),
            "excluded": [[out.node.id, out.reason] for out in context.excluded],
            "notSelected": [[out.node.id, out.reason] for out in session.select().not_selected()],
            "diagnostics": [[d.kind, d.line, d.entry_id] for d in context.diagnostics],
            "messages": messages,
            "llm": [message for message in llm if message is not None],
            **_state(context),
            "tokens": [message.tokens for message in context.messages],
            "total": asdict(estimate_context_tokens(context.values)),
            "trusted": asdict(estimate_context_tokens(context.values, context.stale_before)),
        },
        "messages": table,
        "contexts": contexts,
        "entryTokens": {
            entry.id: estimate_tokens(entry.value["message"])
            for entry in await session.storage.read(tree.nodes)
            if entry.type == "message" and isinstance(entry.value.get("message"), dict)
        },
        "forks": {
            id: {position: await _fork(session, id, position) for position in ("at", "before")}
            for id in [*(node.id for node in tree.nodes), "nope"]
        },
    }
    return recorded(answers)


async def append(session: Session) -> dict[str, Any]:
    """Append a user message; its line, and where it leaves the session."""
    draft = MessageDraft(message={"role": "user", "content": "appended", "timestamp": 1})
    [node] = (await session.append(draft)).nodes
    [line] = await session.storage.lines([node])
    return {"line": line.decode(), "leafId": session.leaf_id, "entries": session.revision, "path": _ids(session.path())}


async def fork(session: Session, entry_id: str, position: Position) -> Session:
    """The fork at an entry, read again from its lines. Raises InvalidForkTargetError."""
    lines = await fork_lines(session, fork_path(session, entry_id, position))
    return open_session(MemoryStorage.create(Header("forked", "2025-06-15T15:06:40.000Z", session.header.cwd), lines))


async def _fork(session: Session, entry_id: str, position: Position) -> list[str] | str:
    try:
        return _ids((await fork(session, entry_id, position)).storage.tree.nodes)
    except InvalidForkTargetError:
        return "invalid-fork-target"


def _ids(nodes: list[Node] | tuple[()]) -> list[str]:
    return [node.id for node in nodes]


def _in_table(context: Context, table: list[Any]) -> dict[str, Any]:
    places: list[int] = []
    for message in (recorded(exact(message.raw)) for message in context.messages):
        if message not in table:
            table.append(message)
        places.append(table.index(message))
    return {"messages": places, **_state(context)}


def _projection(context: Context) -> list[list[Any]]:
    """The entries that contribute messages, each with the reason and the roles."""
    found: list[list[Any]] = []
    for message in context.messages:
        if not found or found[-1][0] != message.node.id:
            found.append([message.node.id, message.reason, []])
        found[-1][2].append(message.value.get("role"))
    return found


def _state(context: Context) -> dict[str, Any]:
    state = context.state
    model = state.model
    return {
        # A field that an answer does not have is absent here too.
        "model": recorded_model(model.provider, model.model_id) if model else None,
        "thinkingLevel": state.thinking_level,
        "activeToolNames": state.active_tool_names,
    }


def recorded_model(provider: Any, model_id: Any) -> dict[str, Any]:
    """A model as it is recorded; what the log does not say is absent."""
    return {k: v for k, v in (("provider", provider), ("modelId", model_id)) if isinstance(v, str) or v is None}


def _statistics(statistics: Statistics) -> dict[str, Any]:
    return {
        "entries": statistics.entries,
        "messages": statistics.messages,
        "roles": statistics.roles,
        "total": asdict(statistics.total),
        "by_model": {name: asdict(usage) for name, usage in statistics.by_model.items()},
    }
