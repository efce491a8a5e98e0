"""The questions that both real implementations were asked, answered by piserver in their shapes."""

import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from piserver.entries.header import Header, InvalidSessionError, compose_header
from piserver.entries.json import well_formed
from piserver.entries.text import format_timestamp
from piserver.repository.fork import clone_lines
from piserver.session import Session
from piserver.storage import JsonlStorage, MemoryStorage, ReadOnlyError
from piserver.storage.glance import SessionInfo, glance
from tests.vectors.answers import APPENDED, CLOCK, append, ask, fork, open_session
from tests.vectors.recorded import recorded

Answers = dict[str, Any]
"""Answers by question. A failure is `{"error": …}`, as it is in the recorded ones."""

UNDEFINED = {"$undefined": True}
NO_COUNTERPART = {
    "prepareCompaction": "where a compaction cuts",
    "branchSummary": "which entries a branch summary summarises",
    "forkAll": "forkFileAll says the same and more",
    "metadata": "listHeader says the same",
    "branchedSession": "1.6.0 writes labels anew instead of copying them; forkFileAtLeaf compares forks",
    "rewrittenLines": "1.6.0 invents ids when it migrates; tests/vectors/test_real.py compares the contexts",
}
"""Questions that are not compared, and why."""


def comparable(answers: Answers) -> Answers:
    """Recorded answers without what was never asked, and with the parts of `context` as questions of their own."""
    context: Any = answers.get("context", {})
    parts = {"context.messages": context} if "messages" not in context else _dotted("context", context)
    questions = {q: a for q, a in answers.items() if q not in NO_COUNTERPART and q != "context"}
    return _asked(questions | (parts if context else {}))


def _asked(answers: Answers) -> Answers:
    """Without what was not asked because it hangs."""
    found: Answers = {}
    for question, answer in answers.items():
        by_entry = question in ("branchFrom", "forkAt", "forkBefore")
        if not isinstance(answer, dict) or "skipped" not in answer:
            found[question] = _asked(answer) if by_entry else answer
    return found


def _dotted(name: str, parts: Answers) -> Answers:
    return {f"{name}.{part}": value for part, value in parts.items()}


async def ask_in_their_shapes(file: Path) -> Answers:
    """All answers on one file, which is written to in the end."""
    before = file.read_bytes()
    listed = glance(file)
    try:
        storage = await JsonlStorage.open(file)
    except InvalidSessionError as error:
        failed = {"error": str(error)}
        return _listing(listed) | {"open": failed, "appendAndReopen": failed, "fileChangedByOpen": False}
    async with aclosing(open_session(storage)) as session:
        answers = await ask(session)
        shaped = _listing(listed) | _shaped(session, answers) | await _forks(session, answers)
        shaped["fileChangedByOpen"] = file.read_bytes() != before
        try:
            shaped["appendAndReopen"] = await _append(session)
        except ReadOnlyError as error:
            shaped["appendAndReopen"] = {"error": str(error)}
    return recorded(shaped)


def _listing(info: SessionInfo) -> Answers:
    if info.broken is not None:
        return {"listHeader": {"error": info.broken}, "list": []}
    header = {"id": info.id, "createdAt": info.created, "cwd": info.cwd, "path": "<FILE>"}
    listed = {
        "id": info.id,
        "cwd": info.cwd,
        "created": info.created,
        "messageCount": info.message_count,
        "firstMessage": info.first_message or "(no messages)",
    }
    if info.name is not None:
        listed["name"] = info.name
    if info.parent_session is not None:
        header["parentSessionPath"] = listed["parentSessionPath"] = info.parent_session
    return {"listHeader": header, "list": [listed]}


def _shaped(session: Session, answers: Answers) -> Answers:
    context = answers["context"]
    total = answers["statistics"]["total"]
    roles = {id: made for id, _, made in context["projection"]}
    return {
        "open": {"entryCount": len(answers["entries"]), "sessionId": session.id, "cwd": session.header.cwd},
        "header": json.loads(compose_header(session.header)) | {"version": session.header.version},
        "leafId": answers["leafId"],
        "entries": answers["entries"],
        "branch": answers["paths"].get(answers["leafId"], []),
        "branchFrom": answers["paths"],
        "contextEntryIds": context["entries"],
        **{f"context.{part}": context[part] for part in ("messages", "model", "thinkingLevel", "activeToolNames")},
        "projection": [[id, roles.get(id, [])] for id in context["entries"]],
        "llm": context["llm"],
        "tokens": context["tokens"],
        "entryTokens": answers["entryTokens"],
        "contextTokens": _tokens(context["total"]),
        "projectedTokens": _tokens(context["trusted"]),
        "labels": answers["labels"],
        "name": UNDEFINED if answers["name"] is None else answers["name"],
        "stats": {
            "messageCount": answers["statistics"]["messages"],
            "cachedTokens": total["cache_read"],
            "uncachedTokens": total["input"] + total["cache_write"],
            "totalTokens": total["total_tokens"],
            "costTotal": total["cost"],
        },
        "usageCost": [
            {"key": key, "cost": usage["cost"], "tokens": usage["total_tokens"]}
            for key, usage in answers["statistics"]["by_model"].items()
        ],
        "tree": {"roots": answers["roots"], "children": answers["children"]},
    }


def _tokens(estimate: Answers) -> Answers:
    names = {
        "tokens": "tokens",
        "usage_tokens": "usageTokens",
        "trailing_tokens": "trailingTokens",
        "usage_index": "lastUsageIndex",
    }
    return {theirs: estimate[ours] for ours, theirs in names.items()}


async def _forks(session: Session, answers: Answers) -> Answers:
    def forked(position: str) -> Answers:
        return {id: {"error": ids[position]} if isinstance(ids[position], str) else ids[position] for id, ids in forks}

    forks = answers["forks"].items()
    header = Header("forked", format_timestamp(CLOCK), session.header.cwd)
    lines = await clone_lines(session, header.timestamp, "jump")
    shaped = {
        "forkAt": forked("at"),
        "forkBefore": forked("before"),
        "forkFileAll": await _fork_facts(session, open_session(MemoryStorage.create(header, lines))),
    }
    if session.leaf is not None and session.leaf.type != "leaf":
        shaped["forkFileAtLeaf"] = await _fork_facts(session, await fork(session, session.leaf.id, "at"))
    return shaped


async def _fork_facts(source: Session, copy: Session) -> Answers:
    async with aclosing(copy):
        answers = await ask(copy)
        context, original = await copy.build_context(), await source.build_context()
        same = [m.raw for m in context.messages] == [m.raw for m in original.messages]
        return {
            "ids": [id for id, _ in answers["entries"]],
            "leafId": answers["leafId"],
            "branch": answers["paths"].get(answers["leafId"], []),
            "danglingParents": [node.parent_id for node in copy.storage.tree.nodes if node.orphaned],
            "entriesWithoutPath": [],
            "labels": answers["labels"],
            "contextSameAsSource": same,
            **({"name": answers["name"]} if answers["name"] is not None else {}),
        }


async def _append(session: Session) -> Answers:
    made = await append(session)

    def blanked(text: str) -> str:
        return text.replace(APPENDED, "<ID>").replace(format_timestamp(CLOCK), "<NOW>")

    assert session.storage.path is not None
    async with aclosing(open_session(await JsonlStorage.open(session.storage.path))) as again:
        return {
            "bytesAdded": blanked(made["line"]) + "\n",
            "reopened": {
                "entryCount": again.revision,
                "leafId": blanked(str(again.leaf_id)),
                "branch": [blanked(node.id) for node in again.path()],
            },
        }


def differing(ours: Answers, theirs: Answers) -> set[str]:
    """The questions on which a peer's recorded answers and ours are not the same."""
    return {question for question, answer in theirs.items() if not _ALIKE.get(question, _same)(ours[question], answer)}


def _same(ours: Any, theirs: Any) -> bool:
    failed = [isinstance(answer, dict) and bool({"error", "hang"} & answer.keys()) for answer in (ours, theirs)]
    return failed[0] == failed[1] and (failed[0] or _doubles(ours) == _doubles(theirs))


def _doubles(value: Any) -> Any:
    """The value with every number a double, as JavaScript has them."""
    return json.loads(json.dumps(value), parse_int=float)


def _same_where_asked(ours: Any, theirs: Any) -> bool:
    return all(_same(ours.get(key), answer) for key, answer in theirs.items())


def _same_changed(ours: Any, theirs: Any) -> bool:
    return ours == (theirs not in (False, "none"))


def _same_listed(ours: Any, theirs: Any) -> bool:
    """Lists alike but for white space, the whole text, which ours do not have, and the time, which is the file's."""
    compared = [{k: v for k, v in item.items() if k not in ("allMessagesText", "modified")} for item in theirs]
    for item in compared:
        item["firstMessage"] = well_formed(" ".join(item["firstMessage"].split()))
    return _same(ours, compared)


def _same_opened(ours: Any, theirs: Any) -> bool:
    return _same(ours, theirs) or ("error" not in theirs and _same_where_asked(ours, _without(theirs, "distinctIds")))


def _same_fork(ours: Any, theirs: Any) -> bool:
    return _same(ours, _without(theirs, "lines"))


def _without(value: Any, name: str) -> Any:
    return {key: item for key, item in value.items() if key != name}


_ALIKE: dict[str, Callable[[Any, Any], bool]] = {
    "branchFrom": _same_where_asked,
    "forkAt": _same_where_asked,
    "forkBefore": _same_where_asked,
    "fileChangedByOpen": _same_changed,
    "list": _same_listed,
    "open": _same_opened,
    "forkFileAll": _same_fork,
    "forkFileAtLeaf": _same_fork,
}
