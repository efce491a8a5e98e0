"""Session files from real work open, are listed, fork, and can be moved about in."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from piserver.entries.types import MessageDraft
from piserver.repository import Repository
from piserver.session import Session
from tests.peers.peer import VERSIONS, needs_peers, peer_answers
from tests.vectors.answers import exact, recorded_model
from tests.vectors.recorded import recorded

FILES = ["v1-before-compaction", "v1-large-session", "v3-tool-call", "v3-tree"]
every_file = pytest.mark.parametrize("name", FILES)


@pytest.fixture
def original(name: str, peer_data: Path) -> Path:
    return peer_data / "real" / f"{name}.jsonl"


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path, durability="never")


@pytest.fixture
async def session(original: Path, repository: Repository) -> AsyncIterator[Session]:
    """The session in a copy of the file, which may be written to."""
    copy = repository.root / "session.jsonl"
    copy.write_bytes(original.read_bytes())
    async with aclosing(await repository.open(copy)) as session:
        yield session


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


@every_file
async def test_every_line_is_an_entry_on_a_path_to_the_root(original: Path, session: Session) -> None:
    lines = lines_of(original)

    assert session.diagnostics == []
    assert session.id == lines[0]["id"]
    assert [node.type for node in session.storage.tree.nodes] == [line["type"] for line in lines[1:]]
    assert len(session.storage.tree.roots) == 1
    for node in session.storage.tree.nodes:
        assert session.path(node.id)[0] is session.storage.tree.roots[0]
        assert session.path(node.id)[-1] is node


@every_file
async def test_listed(original: Path, session: Session, repository: Repository) -> None:
    lines = lines_of(original)
    messages = [line["message"] for line in lines if line["type"] == "message"]

    [info] = [info async for info in repository.list()]

    assert info.broken is None
    assert (info.id, info.cwd, info.created) == (lines[0]["id"], lines[0]["cwd"], lines[0]["timestamp"])
    assert info.message_count == len(messages) == session.storage.statistics.messages
    assert info.name == session.name
    [first, *_] = [message["content"] for message in messages if message["role"] == "user"]
    text = first if isinstance(first, str) else first[0]["text"]
    assert info.first_message is not None
    assert " ".join(text.split()).startswith(info.first_message.removesuffix("…"))


@every_file
async def test_messages_of_the_context_stand_in_the_file(original: Path, session: Session) -> None:
    data = original.read_bytes()
    context = await session.build_context()

    assert len(context.messages) > 4
    for message in context.messages:
        assert message.node.type != "message" or message.raw in data


@every_file
async def test_fork_gives_the_same_context(session: Session, repository: Repository) -> None:
    nodes = [node for node in session.storage.tree.nodes if node.type == "message"]
    for node in [nodes[0], nodes[len(nodes) // 3], nodes[len(nodes) // 2], nodes[-1]]:
        here = await session.build_context(node.id)
        forked = await repository.fork(session, node.id, "at")
        async with aclosing(forked.session) as copy:
            assert copy.diagnostics == []
            assert copy.leaf_id is not None
            assert [m.raw for m in (await copy.build_context()).messages] == [m.raw for m in here.messages]
            assert copy.header.parent_session == session.storage.path
            assert copy.name == session.name


@every_file
async def test_navigating_to_a_message_and_sending_it_again_grows_a_branch(
    original: Path, session: Session, repository: Repository
) -> None:
    tree = session.storage.tree
    before = original.read_bytes()
    old_leaf = session.leaf_id
    [*_, chosen] = [node for node in tree.nodes if node.role == "user"]

    moved = await session.navigate(chosen.id)
    assert moved.editor_text
    assert session.leaf is chosen.parent
    await session.append(MessageDraft(message={"role": "user", "content": "another way"}))

    assert session.leaf in (chosen.parent.children if chosen.parent else tree.roots)
    assert (await session.build_context()).values[-1]["content"] == "another way"
    await session.move_to(old_leaf)
    assert session.storage.path is not None
    async with aclosing(await repository.open(session.storage.path)) as again:
        assert again.leaf_id == old_leaf
        assert again.diagnostics == []
        assert [node.id for node in again.storage.tree.nodes] == [node.id for node in tree.nodes]
    backup = Path(f"{session.storage.path}.bak")
    assert backup.exists() == (lines_of(original)[0].get("version", 1) < 3)
    if backup.exists():
        assert backup.read_bytes() == before
    else:
        assert Path(session.storage.path).read_bytes().startswith(before)


@pytest.mark.peers
@needs_peers
@every_file
async def test_context_is_the_one_that_the_peers_build(original: Path, session: Session, tmp_path: Path) -> None:
    context = await session.build_context()
    model = context.state.model
    ours = {
        "messages": [exact(message.raw) for message in context.messages],
        "model": recorded_model(model.provider, model.model_id) if model else None,
        "thinkingLevel": context.state.thinking_level,
        "activeToolNames": context.state.active_tool_names,
    }

    answers = peer_answers([original], tmp_path / "home")[original]

    # The older peer refuses files of version 1.
    versions = VERSIONS if session.header.version == 3 else VERSIONS[1:]
    for version in versions:
        theirs = answers[version]
        assert theirs["entries"] == session.revision
        assert recorded({part: ours[part] for part in theirs["context"]}) == recorded(theirs["context"])
        assert session.header.version < 3 or theirs["leafId"] == session.leaf_id
