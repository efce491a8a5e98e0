from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from piserver.repository import Repository
from piserver.repository.export import export
from piserver.session import Session
from piserver.storage import MemoryStorage
from tests.repository.export.building import Log, text
from tests.repository.export.test_page import forked

NOW = 1_772_356_000_000


def reopened(content: bytes) -> Session:
    return Session(MemoryStorage(content))


async def context_of(session: Session, *at: str | None) -> list[Any]:
    return (await session.build_context(*at)).values


async def test_a_tree_keeps_every_entry_byte_for_byte_and_the_leaf() -> None:
    log = forked()
    odd = b'{"type":"custom","id":"odd","parentId":"taken","timestamp":"","n":1.50e1, "s":"\\ud83d","customType":"x"}'
    log.lines.append(odd)
    session = log.session()
    exported = await export(session, "jsonl", scope="tree", now=NOW)
    assert exported.content.split(b"\n")[1:-1] == log.lines[1:]
    copy = reopened(exported.content)
    assert copy.leaf_id == session.leaf_id == "odd"
    assert await context_of(copy) == await context_of(session)
    assert not copy.diagnostics


async def test_the_copy_is_a_session_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "source.jsonl"
    path.write_bytes(forked().data)
    session = await Repository(tmp_path).open(path)
    exported = await export(session, "jsonl", scope="tree", now=NOW)
    header = reopened(exported.content).header
    assert header.id != session.id
    assert header.version == 3
    assert header.timestamp == "2026-03-01T09:06:40.000Z"
    assert header.cwd == session.header.cwd
    assert header.parent_session == str(path)
    assert exported.file_name == f"2026-03-01T09-06-40-000Z_{header.id}.jsonl"
    assert path.read_bytes() == forked().data
    await session.aclose()


async def test_the_leaf_of_the_session_is_that_of_the_copy() -> None:
    session = forked().session()
    await session.move_to("left")
    session.leaf = session.node("q1")  # where another client's session may stand, unrecorded
    copy = reopened((await export(session, "jsonl", scope="tree")).content)
    assert copy.leaf_id == "q1"


@pytest.mark.parametrize("entry_id", ["q1", "left", "taken"])
async def test_a_path_gives_the_same_context_with_its_labels_and_name(entry_id: str) -> None:
    log = forked()
    log.add("label", targetId="q1", label="start")
    log.add("label", targetId="left", label="dead end")
    log.add("session_info", name="Two ways")
    session = log.session()
    exported = await export(session, "jsonl", entry_id=entry_id)
    copy = reopened(exported.content)
    assert await context_of(copy) == await context_of(session, entry_id)
    assert copy.name == "Two ways"
    assert copy.storage.label("q1") == "start"
    assert copy.storage.label("left") == ("dead end" if entry_id == "left" else None)
    assert not copy.diagnostics


async def test_a_path_that_ends_in_a_jump_stands_alone() -> None:
    log = Log()
    log.user("one", id="one")
    log.user("two", id="two")
    jump = log.add("leaf", targetId="two", parent="one")
    session = log.session()
    copy = reopened((await export(session, "jsonl", entry_id=jump)).content)
    assert copy.leaf_id == "one"
    assert not copy.diagnostics
    assert await context_of(copy) == await context_of(session, jump)


async def test_the_empty_path_is_a_session_without_entries() -> None:
    copy = reopened((await export(forked().session(), "jsonl", entry_id=None)).content)
    assert copy.leaf_id is None
    assert copy.revision == 0


async def test_redaction_rewrites_only_the_entries_that_hold_a_secret() -> None:
    log = Log(metadata={"note": "password=hunter22"})
    log.user("hello", id="plain")
    log.lines.append(b'{"type":"custom","id":"odd","parentId":"plain","timestamp":"","n":1.50e1,"customType":"x"}')
    log.answer(
        text("ghp_" + "a1B2" * 9), {"type": "thinking", "thinking": "", "thinkingSignature": "password=hunter22"}
    )
    session = log.session()
    exported = await export(session, "jsonl", scope="tree", redact=True)
    header, *entries = exported.content.split(b"\n")[:-1]
    assert entries[:2] == log.lines[1:3]
    changed = json.loads(entries[2])
    before = json.loads(log.lines[3])
    before["message"]["content"][0]["text"] = "[redacted:github-token]"
    assert changed == before
    assert json.loads(header)["metadata"] == {"note": "password=[redacted:password]"}
    assert [(r.kind, r.count, r.entry_ids) for r in exported.redactions] == [
        ("github-token", 1, (log.last,)),
        ("password", 1, ()),
    ]
    assert (await export(session, "jsonl", scope="tree")).redactions == ()


async def test_a_chain_of_twenty_thousand_entries_is_copied() -> None:
    log = Log()
    for number in range(20_000):
        log.user(f"message {number}")
    copy = reopened((await export(log.session(), "jsonl", redact=True)).content)
    assert copy.revision == 20_000
    assert copy.leaf_id == log.last
