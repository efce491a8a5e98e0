"""Data loss and corruption."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from piserver.entries.header import InvalidSessionError
from piserver.entries.types import CompactionDraft, LabelDraft, MessageDraft
from piserver.repository import Repository, SessionNotFoundError
from piserver.storage import ReadOnlyError, StorageError
from tests.bugs.conftest import Open
from tests.bugs.context import ids, said, sources
from tests.storage.log import TIME, answer, compaction, entry, header, line, log, user

BASE = (user("u1", None), answer("a2", "u1"))
OLD = log(header(None), line(type="message", timestamp=TIME, message={"role": "user", "content": "old"}))


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program that may kill itself."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "data",
    [b'{"type":"event"}\n', b'{"type":"event","n":1}\n' * 100_000, b"", os.urandom(5000), b"[1,2]\n"],
    ids=["event", "long log", "empty", "random", "array"],
)
async def test_a1_what_is_no_session_stays_as_it_is(path: Path, repository: Repository, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(InvalidSessionError):
        await repository.open(path)
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


async def test_a1_a_folder_stays_a_folder_and_an_empty_file_may_become_a_session(
    path: Path, repository: Repository
) -> None:
    with pytest.raises(InvalidSessionError):
        await repository.open(path.parent)
    path.touch()
    session = await repository.create("/w/app", path=path)
    await session.aclose()
    assert path.read_bytes().startswith(b'{"type":"session"')


async def test_a2_a_torn_line_costs_itself_alone(path: Path, open: Open) -> None:
    torn = b'{"type":"message","id":"x'
    session = await open(data=log(header(), *BASE) + torn)
    [report] = session.diagnostics
    assert (report.kind, report.line, report.offset) == ("torn-tail", 4, len(log(header(), *BASE)))
    [node] = (await session.append(said("u3"))).nodes
    again = await open()
    assert ids(again.path()) == ["u1", "a2", node.id]
    assert again.diagnostics == []
    assert path.with_name("s.jsonl.torn").read_bytes() == torn + b"\n"


async def test_a3_a_cut_off_entry_followed_by_the_whole_one_is_recovered(open: Open) -> None:
    whole = answer("a2", "u1")
    session = await open(user("u1", None), whole[:30] + whole, user("u3", "a2"))
    assert ids(session.path()) == ["u1", "a2", "u3"]
    assert ("recovered-entry", 3) in [(d.kind, d.line) for d in session.diagnostics]
    assert await session.storage.lines([session.node("a2")]) == [whole]


async def test_a4_a_run_of_nul_bytes_ends_nothing(path: Path, open: Open, repository: Repository) -> None:
    session = await open(*BASE, b"\0" * 400, user("u3", "a2"), answer("a4", "u3"))
    assert await sources(session, "a4") == ["u1", "a2", "u3", "a4"]
    assert [(d.kind, d.line) for d in session.diagnostics] == [("malformed-line", 4)]
    [info] = [info async for info in repository.list()]
    assert (info.first_message, info.message_count) == ("u1", 4)


async def test_a5_half_a_record_and_then_the_whole_one(open: Open, repository: Repository) -> None:
    whole = answer("a2", "u1")
    session = await open(user("u1", None), whole[:40], whole)
    assert ids(session.path()) == ["u1", "a2"]
    [info] = [info async for info in repository.list()]
    assert (info.broken, info.message_count) == (None, 2)


CREATE_AND_DIE = """
import os, signal, sys
import anyio
from piserver.entries.types import MessageDraft
from piserver.repository import Repository

async def main(root):
    session = await Repository(root).create("/w/app")
    await session.append(MessageDraft(message={"role": "user", "content": "typed"}))
    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main, sys.argv[1])
"""


async def test_a6_a_prompt_survives_the_death_of_the_process(repository: Repository) -> None:
    assert run(CREATE_AND_DIE, repository.root).returncode == -signal.SIGKILL
    [info] = [info async for info in repository.list("/w/app")]
    assert (info.broken, info.first_message) == (None, "typed")


async def test_a7_a_deleted_file_is_not_made_again_without_its_header(path: Path, open: Open) -> None:
    session = await open(*BASE)
    await session.append(said("u3"))
    path.unlink()
    for _ in range(2):
        with pytest.raises(StorageError, match="deleted"):
            await session.append(said("lost"))
    assert not path.exists()
    assert session.revision == 3


@pytest.mark.parametrize("version", [None, 2])
async def test_a8_an_old_file_is_rewritten_only_to_write_and_is_kept(path: Path, open: Open, version: int) -> None:
    data = OLD if version is None else log(header(2), *BASE)
    session = await open(data=data)
    await session.build_context()
    await session.rows()
    assert path.read_bytes() == data
    await session.append(said("new"))
    assert path.with_name("s.jsonl.bak").read_bytes() == data
    assert json.loads(path.read_bytes().splitlines()[0])["version"] == 3
    assert ids((await open()).path()) == ids(session.path())


DIE_BEFORE_THE_RENAME = """
import os, signal, sys
import anyio
from piserver.entries.types import CustomDraft
from piserver.session import Session
from piserver.storage import JsonlStorage

async def main(path):
    session = Session(await JsonlStorage.open(path))
    os.replace = lambda source, target: os.kill(os.getpid(), signal.SIGKILL)
    await session.append(CustomDraft(custom_type="c"))

anyio.run(main, sys.argv[1])
"""


async def test_a8_death_before_the_rename_leaves_the_old_file(path: Path, open: Open) -> None:
    path.write_bytes(OLD)
    assert run(DIE_BEFORE_THE_RENAME, path).returncode == -signal.SIGKILL
    assert path.read_bytes() == OLD
    session = await open()
    await session.append(said("new"))
    assert path.with_name("s.jsonl.bak").read_bytes() == OLD
    assert session.revision == 2


async def test_a9_a_newer_file_is_read_only(path: Path, open: Open) -> None:
    data = log(header(4), *BASE)
    session = await open(data=data)
    assert ids(session.path()) == ["u1", "a2"]
    with pytest.raises(ReadOnlyError, match="version 4"):
        await session.append(said("x"))
    assert path.read_bytes() == data


async def test_a10_there_is_no_forking_from_nothing(path: Path, repository: Repository) -> None:
    before = sorted(repository.root.rglob("*"))
    with pytest.raises(SessionNotFoundError):
        await repository.open(path.parent / "nope.jsonl")
    assert sorted(repository.root.rglob("*")) == before


async def test_a11_a_later_compaction_leaves_the_earlier_one_alone(path: Path, open: Open) -> None:
    session = await open(*BASE, compaction("k1", "a2", "S1", "a2"), user("u3", "k1"), answer("a4", "u3"))
    before = path.read_bytes()
    await session.append(CompactionDraft(summary="S2", first_kept_entry_id="a4"))
    await session.move_to("a4")
    assert (await session.build_context()).values[0]["summary"] == "S1"
    assert path.read_bytes().startswith(before)


async def test_a12_a_folder_that_moved_loses_no_history(path: Path, open: Open) -> None:
    session = await open(data=log(header(cwd="/old/and/gone"), *BASE))
    before = path.read_bytes()
    assert await sources(session) == ["u1", "a2"]
    await session.append(said("u3"))
    assert path.read_bytes().startswith(before)
    assert len(await sources(await open())) == 3


async def test_a13_two_paths_that_share_a_folder_keep_their_sessions_apart(repository: Repository) -> None:
    sessions = [await repository.create(cwd) for cwd in ("/w/client/app", "/w/client-app")]
    for session in sessions:
        await session.aclose()
    assert len({Path(session.storage.path or "").parent for session in sessions}) == 1
    for session in sessions:
        assert [info.id async for info in repository.list(session.header.cwd)] == [session.id]
        assert (await repository.latest(session.header.cwd)).id == session.id


async def test_a14_a_file_that_is_dropped_in_is_listed_at_once(path: Path, tmp_path: Path) -> None:
    running = Repository(tmp_path / "sessions")
    assert [info async for info in running.list()] == []
    path.write_bytes(log(header(), *BASE))
    for repository in (running, Repository(tmp_path / "sessions")):
        assert [info.first_message async for info in repository.list()] == ["u1"]


async def test_a15_a_corrupt_file_is_listed_as_that_among_the_others(path: Path, repository: Repository) -> None:
    path.write_bytes(log(header(id="good1"), *BASE))
    path.with_name("t.jsonl").write_bytes(log(header(id="good2"), *BASE))
    path.with_name("bad.jsonl").write_bytes(b"\xff\x00{{{\n")
    for cwd in (None, "/w/app"):
        infos = [info async for info in repository.list(cwd)]
        assert sorted(info.id for info in infos if info.broken is None) == ["good1", "good2"]
        assert [Path(info.path).name for info in infos if info.broken] == ["bad.jsonl"]


async def test_a16_half_a_surrogate_pair_poisons_nothing(path: Path, open: Open) -> None:
    session = await open(user("u1", None, "stored \ud83d"))
    half = "\ud83d"
    block = {"type": "toolCall", "id": "c", "name": "t", "arguments": {half: [half]}}
    await session.append(
        MessageDraft(message={"role": "user", "content": f"text {half}"}),
        MessageDraft(message={"role": "assistant", "content": [block], half: half}),
        LabelDraft(target_id="u1", label=f"label {half}"),
    )
    await session.append(said("after"))
    again = await open()
    for each in (session, again):
        assert len(await sources(each)) == 4
        assert len((await each.rows(filter="all")).rows) == 5
        assert each.storage.label("u1") == "label \ufffd"
    lines = path.read_bytes().split(b"\n")[2:-1]
    for written in lines:
        assert b"\\ud83d" not in written
        json.loads(written.decode())
    assert "text \ufffd" in lines[0].decode()
    assert (await again.rows()).rows[0].entry.preview == "stored \ufffd"


async def test_a17_an_answered_append_is_there_for_everybody(open: Open) -> None:
    session = await open(*BASE)
    for number in range(3):
        [node] = (await session.append(said(str(number)))).nodes
        assert (await open()).leaf_id == node.id


async def test_a18_a_byte_order_mark_and_crlf(path: Path, open: Open) -> None:
    data = b"\xef\xbb\xbf" + log(header(), *BASE).replace(b"\n", b"\r\n")
    session = await open(data=data)
    assert (ids(session.path()), session.diagnostics) == (["u1", "a2"], [])
    await session.append(said("u3"))
    assert path.read_bytes().startswith(data)
    assert path.read_bytes().count(b"\xef\xbb\xbf") == 1
    again = await open()
    assert (len(await sources(again)), again.diagnostics) == (3, [])


async def test_a19_deep_nesting_costs_its_line_alone(open: Open) -> None:
    session = await open(b"[" * 20_000 + b"]" * 20_000, user("u1", None), entry("custom", "c2", "u1", customType="c"))
    assert ids(session.path()) == ["u1", "c2"]
    assert [(d.kind, d.line) for d in session.diagnostics] == [("malformed-line", 2)]
