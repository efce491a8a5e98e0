"""The case files, whatever storage they lie in, are answered as `make` has written down."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from piserver.entries.header import InvalidSessionError
from piserver.session import Session
from piserver.storage import JsonlStorage, MemoryStorage, ReadOnlyError
from tests.vectors.answers import CASES, append, ask, fork, open_session
from tests.vectors.make import expected

FILES = {file.stem: file for file in sorted(CASES.glob("*.jsonl"))}
every_case = pytest.mark.parametrize("case", FILES)


def written_down(case: str) -> dict[str, Any]:
    return json.loads(FILES[case].with_suffix(".expected.json").read_bytes())


OPENABLE = [case for case in FILES if "invalid" not in written_down(case)]
every_session = pytest.mark.parametrize("case", OPENABLE)


@pytest.fixture
def file(case: str, tmp_path: Path) -> Path:
    """A copy of the case's file that nobody seems to be writing to any more."""
    copy = tmp_path / "session.jsonl"
    copy.write_bytes(FILES[case].read_bytes())
    os.utime(copy, (1_700_000_000, 1_700_000_000))
    return copy


@pytest.fixture
async def source(case: str) -> AsyncIterator[Session]:
    async with aclosing(open_session(MemoryStorage(FILES[case].read_bytes()))) as session:
        yield session


def test_there_are_cases_and_no_answer_without_one() -> None:
    assert len(FILES) > 90
    assert {file.name.removesuffix(".expected.json") for file in CASES.glob("*.json")} == FILES.keys()


@every_case
async def test_in_memory(case: str) -> None:
    assert await expected(FILES[case].read_bytes()) == written_down(case)


@pytest.mark.parametrize("case", [case for case in FILES if case not in OPENABLE])
async def test_file_that_is_no_session_is_refused_and_left_alone(case: str, file: Path) -> None:
    with pytest.raises(InvalidSessionError) as refused:
        await JsonlStorage.open(file)

    assert {"invalid": str(refused.value), "line": refused.value.line} == written_down(case)
    assert file.read_bytes() == FILES[case].read_bytes()
    assert list(file.parent.iterdir()) == [file]


@every_session
async def test_in_a_file_which_opening_and_asking_leave_alone(case: str, file: Path) -> None:
    answers = written_down(case)
    answers.pop("appended", None)

    async with aclosing(open_session(await JsonlStorage.open(file))) as session:
        assert await ask(session) == answers

    assert file.read_bytes() == FILES[case].read_bytes()
    assert list(file.parent.iterdir()) == [file]


@every_session
async def test_appending_to_a_file(case: str, file: Path) -> None:
    before = file.read_bytes()
    answers = written_down(case)
    async with aclosing(open_session(await JsonlStorage.open(file))) as session:
        if "appended" not in answers:
            with pytest.raises(ReadOnlyError):
                await append(session)
            assert file.read_bytes() == before
            return
        assert await append(session) == answers["appended"]
        known = await ask(session)

    line = answers["appended"]["line"].encode() + b"\n"
    beside = {path.suffix: path.read_bytes() for path in file.parent.iterdir() if path != file}
    whole = before if before.endswith(b"\n") else before + b"\n"
    if ".bak" in beside:
        assert answers["header"]["version"] < 3
        assert beside == {".bak": before}
        assert file.read_bytes().endswith(line)
    elif ".torn" in beside:
        assert file.read_bytes() + beside[".torn"] == whole[: whole.rindex(beside[".torn"])] + line + beside[".torn"]
    else:
        assert beside == {}
        assert file.read_bytes() == whole + line

    # What was indexed while appending is what a new reader finds; only migration and mending leave less to report.
    async with aclosing(open_session(await JsonlStorage.open(file))) as session:
        found = await ask(session)
    for answer in (known, found):
        del answer["diagnostics"], answer["header"]
    assert found == known


@every_session
async def test_fork_at_any_entry_tells_the_same_and_stands_alone(case: str, source: Session) -> None:
    tree = source.storage.tree
    for node in tree.nodes:
        if node.type == "leaf":
            continue
        path = {above.id for above in source.path(node.id)}
        here = await source.build_context(node.id)

        async with aclosing(await fork(source, node.id, "at")) as copy:
            there = await copy.build_context()
            labels = {id: label.text for id, label in copy.storage.tree.labels.items() if id in path}
            dangling = [entry.id for entry in copy.storage.tree.nodes if entry.orphaned]

        assert [message.raw for message in there.messages] == [message.raw for message in here.messages]
        assert (there.state.model, there.state.thinking_level) == (here.state.model, here.state.thinking_level)
        assert there.state.active_tool_names == here.state.active_tool_names
        assert labels == {id: label.text for id, label in tree.labels.items() if id in path}
        assert copy.name == source.name
        assert dangling == []


@every_session
async def test_message_in_the_context_has_the_bytes_that_the_file_has(case: str, source: Session) -> None:
    data = FILES[case].read_bytes().decode("utf-8", "replace").encode()
    edited = source.select().edits
    stored = [
        message
        for message in (await source.build_context()).messages
        if message.node.type == "message" and message.node.id not in edited
    ]
    if case not in ("null-content", "v2-hook-message"):  # content is given where there is none; a role is renamed
        assert [message.value for message in stored if message.raw not in data] == []
