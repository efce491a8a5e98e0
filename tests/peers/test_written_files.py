"""The real implementations open what piserver writes, and find there what piserver finds."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from piserver.entries.header import Header
from piserver.entries.types import (
    ActiveToolsDraft,
    CompactionDraft,
    CustomDraft,
    CustomMessageDraft,
    Draft,
    MessageDraft,
    ModelDraft,
    ThinkingLevelDraft,
)
from piserver.session import BranchSummary, Session
from piserver.storage import JsonlStorage
from tests.peers.peer import VERSIONS, needs_peers, peer_answers

pytestmark = [pytest.mark.peers, needs_peers]

WORDS = ("river", "delta", "köln", "\u2028", "🦉", "\ud83d\ude00 pair", 'quote " and \\', "tab\t", "\x00", "\ud800")


async def new_session(path: Path) -> Session:
    header = Header(id=path.stem, timestamp="2025-03-01T10:00:00.000Z", cwd="/home/dev/demo")
    return Session(await JsonlStorage.create(path, header))


def text(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(1, 5)))


def user(random: Random) -> Draft:
    return MessageDraft(message={"role": "user", "content": text(random), "timestamp": random.randrange(10**12)})


def assistant(random: Random) -> Draft:
    call = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": text(random), "limit": 1.5}}
    usage = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15}
    return MessageDraft(
        message={
            "role": "assistant",
            "content": [{"type": "text", "text": text(random)}, *random.choices([call], k=random.randint(0, 1))],
            "api": "acme-api",
            "provider": random.choice(["acme", "umbra"]),
            "model": "swift-1",
            "usage": usage
            | {"cost": {"input": 0.1, "output": 1e-7, "cacheRead": 0, "cacheWrite": 0, "total": 0.1000001}},
            "stopReason": "stop",
            "timestamp": random.randrange(10**12),
        }
    )


def tool_result(random: Random) -> Draft:
    content = [{"type": "text", "text": text(random)}]
    result = {"toolCallId": "c1", "toolName": "read", "content": content, "isError": random.random() < 0.3}
    return MessageDraft(message={"role": "toolResult", **result, "timestamp": random.randrange(10**12)})


DRAFTS: Sequence[Callable[[Random], Draft]] = (
    user,
    user,
    assistant,
    assistant,
    tool_result,
    lambda random: ModelDraft(provider="acme", model_id=random.choice(["swift-1", "swift-2"])),
    lambda random: ThinkingLevelDraft(thinking_level=random.choice(["off", "low", "xhigh"])),
    lambda random: ActiveToolsDraft(active_tool_names=random.sample(["read", "bash", "edit"], k=2)),
    lambda random: CustomDraft(custom_type="notes", data={"text": text(random)}),
    lambda random: CustomMessageDraft(custom_type="notes", content=text(random), display=False, details={"n": 1}),
)


async def grow(session: Session, random: Random) -> None:
    """Do some thirty things to a session, at random; the last is a message, so that all peers agree on the leaf."""
    for _ in range(random.randint(5, 30)):
        path = session.path()
        # From where the newest compaction may keep: the peers disagree about an older one inside the kept range.
        compactions = [place for place, node in enumerate(path) if node.type == "compaction"]
        keepable = path[compactions[-1] + 1 :] if compactions else path
        match random.choice(["append"] * 8 + ["move", "navigate", "label", "name", "compact"]):
            case "move" if path:
                summary = BranchSummary(text(random), details={"readFiles": []}) if random.random() < 0.5 else None
                await session.move_to(random.choice([None, *(node.id for node in path)]), summary)
            case "navigate" if path:
                await session.navigate(random.choice(path).id, label=random.choice([None, "here"]))
            case "label" if path:
                await session.set_label(random.choice(path).id, random.choice(["mark", None]))
            case "name":
                await session.set_name(text(random))
            case "compact" if keepable:
                first = random.choice(keepable).id
                await session.append(CompactionDraft(summary=text(random), first_kept_entry_id=first, tokens_before=99))
            case _:
                await session.append(*(random.choice(DRAFTS)(random) for _ in range(random.randint(1, 3))))
    await session.append(user(random))


async def test_peers_find_the_leaf_and_the_context_that_piserver_finds(tmp_path: Path) -> None:
    ours: dict[Path, dict[str, Any]] = {}
    compacted: set[Path] = set()
    for seed in range(60):
        file = tmp_path / f"session-{seed}.jsonl"
        async with aclosing(await new_session(file)) as session:
            await grow(session, Random(seed))
            context = await session.build_context()
            model = context.state.model
            ours[file] = {
                "leafId": session.leaf_id,
                "entries": session.revision,
                "context": {
                    "messages": context.values,
                    "model": {"provider": model.provider, "modelId": model.model_id} if model else None,
                    "thinkingLevel": context.state.thinking_level,
                    "activeToolNames": context.state.active_tool_names,
                },
            }
            if context.state.compaction:
                compacted.add(file)
    assert 0 < len(compacted) < len(ours)

    answers = peer_answers(list(ours), tmp_path / "home")

    for file, mine in ours.items():
        for version in VERSIONS:
            theirs = answers[file][version]
            # The newer peer knows no active tools; the older forgets the settings from before what a compaction keeps.
            parts = {"messages"} if version == "0.83.0" and file in compacted else theirs["context"].keys()
            context = {part: mine["context"][part] for part in parts}
            theirs = theirs | {"context": {part: theirs["context"][part] for part in parts}}
            assert theirs == mine | {"context": context}, f"{file.name}, peer {version}"


async def test_newer_peer_follows_context_edits(tmp_path: Path) -> None:
    file = tmp_path / "edited.jsonl"
    random = Random(1)
    async with aclosing(await new_session(file)) as session:
        [question, answer, again] = (await session.append(user(random), assistant(random), user(random))).nodes
        await session.edit_context(question.id, None)
        await session.edit_context(answer.id, "shorter")
        await session.edit_context(again.id, "other")
        await session.restore_context(again.id)
        mine = (await session.build_context()).values
    assert len(mine) == 2

    theirs = peer_answers([file], tmp_path / "home")[file]["1.6.0"]

    assert theirs["context"]["messages"] == mine
