"""Where files lie, what they are called, who may read them."""

import os
import re
import uuid
from pathlib import Path

import pytest

from piserver.entries.types import MessageDraft
from piserver.repository import Repository, SessionNotFoundError, sessions_root
from piserver.repository.layout import file_name, folder_name
from tests.repository.conftest import Keep
from tests.storage.log import SESSION_ID, header, log, user


def test_the_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    assert sessions_root() == Path("/home/me/.pi/agent/sessions")
    monkeypatch.setenv("PI_CODING_AGENT_DIR", "~/agent")
    assert sessions_root() == Path("/home/me/agent/sessions")
    assert Repository().root == Path("/home/me/agent/sessions")


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/w/app", "--w-app--"),
        ("/", "----"),
        ("/a b/ü", "--a b-ü--"),
        ("C:\\Users\\me", "--C--Users-me--"),
        ("\\\\server\\share", "---server-share--"),
        ("relative/path", "--relative-path--"),
        ("/half \ud800 a pair", "--half \ufffd a pair--"),
        ("/nul\0here", "--nul-here--"),
        ("/deep" * 60, "--deep" + "-deep" * 47 + "---"),
        ("/" + "ü" * 500, "--" + "ü" * 120 + "--"),
    ],
)
def test_folders_are_named_after_the_working_directory(cwd: str, folder: str) -> None:
    assert folder_name(cwd) == folder


def test_files_are_named_after_time_and_id() -> None:
    assert file_name("2026-01-02T03:04:05.678Z", "abc") == "2026-01-02T03-04-05-678Z_abc.jsonl"


async def test_a_new_session_is_on_disk_with_its_header(tmp_path: Path, keep: Keep) -> None:
    before = os.umask(0o022)
    try:
        repository = Repository(tmp_path / "a" / "sessions", clock=lambda: 1_700_000_000_123)
        session = await keep(await repository.create("/w/app", metadata={"k": "v"}))
    finally:
        os.umask(before)
    path = Path(session.storage.path or "")
    assert path.parent == tmp_path / "a" / "sessions" / "--w-app--"
    assert path.name == f"2023-11-14T22-13-20-123Z_{session.id}.jsonl"
    assert uuid.UUID(session.id).version == 7
    assert re.fullmatch(
        rb'{"type":"session","version":3,"id":"[0-9a-f-]{36}","timestamp":"2023-11-14T22:13:20.123Z",'
        rb'"cwd":"/w/app","metadata":{"k":"v"}}\n',
        path.read_bytes(),
    )
    assert path.stat().st_mode & 0o777 == 0o600
    folder = path.parent
    while folder != tmp_path:
        assert folder.stat().st_mode & 0o777 == 0o700
        folder = folder.parent


async def test_a_name_may_be_given_at_once(repository: Repository, keep: Keep) -> None:
    session = await keep(await repository.create("/w/app", name="a\nname"))
    assert session.name == "a name"


async def test_an_empty_file_becomes_a_session_another_stays(
    repository: Repository, keep: Keep, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    session = await keep(await repository.create("/w/app", path=tmp_path / "empty"))
    await session.append(MessageDraft(message={"role": "user", "content": "x"}))
    assert (tmp_path / "empty").read_bytes().count(b"\n") == 2
    (tmp_path / "full").write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        await repository.create("/w/app", path=tmp_path / "full")
    assert (tmp_path / "full").read_bytes() == b"precious"


async def test_sessions_are_found_by_the_id_in_the_header(repository: Repository, keep: Keep) -> None:
    session = await keep(await repository.create("/w/app"))
    assert str(await repository.find(session.id)) == session.storage.path
    other = repository.root / "elsewhere" / "renamed.jsonl"
    other.parent.mkdir()
    other.write_bytes(log(header(), user("u1", None)))
    (other.parent / f"x_{SESSION_ID}.jsonl").write_bytes(b"broken\n")
    assert await repository.find(SESSION_ID) == other
    with pytest.raises(SessionNotFoundError):
        await repository.find("nobody")
