"""Who has a session for longer than one append."""

import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from piserver.storage import JsonlStorage, LeaseHeldError, Owner, StorageError
from tests.storage.log import TIME, answer, header, line, log, user

Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))
HOLDER = """
import sys
from pathlib import Path
import anyio
from piserver.storage import Lease

async def main():
    await Lease(Path(sys.argv[1])).take("the other", "a long edit")
    print("held", flush=True)
    sys.stdin.readline()

anyio.run(main)
"""


@pytest.fixture
async def storage(open_file: Open) -> JsonlStorage:
    return await open_file(data=WHOLE)


@pytest.fixture
def path(tmp_path: Path, storage: JsonlStorage) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture
def other(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lease, and does not give it back when it ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def write_lease(path: Path, **fields: Any) -> Path:
    """A lease as another process of this host, or of another, may have left it."""
    mine = psutil.Process().create_time()
    known = {"program": "p", "pid": os.getpid(), "started": mine, "host": socket.gethostname(), "since": TIME}
    lease = path.with_name(f"{path.name}.lease")
    lease.write_bytes(line(**{**known, "purpose": None, **fields}))
    return lease


async def append(storage: JsonlStorage, *lines: bytes) -> None:
    await storage.refresh()
    await storage.prepare()
    storage.write(lines)


async def test_it_is_taken_named_and_given_back(storage: JsonlStorage, path: Path) -> None:
    lease = storage.lease
    assert lease.look() is None
    assert await lease.take("piserver", "a run") is None
    owner = lease.look()
    assert owner is not None
    assert (owner.program, owner.purpose, owner.pid, owner.host) == (
        "piserver",
        "a run",
        os.getpid(),
        socket.gethostname(),
    )
    assert owner.is_here
    assert lease.path == path.with_name("session.jsonl.lease")
    assert lease.path.stat().st_mode & 0o777 == 0o600
    await append(storage, user("u3", "a2"))
    await lease.release()
    assert lease.look() is None
    assert list(path.parent.iterdir()) == [path]
    await lease.release()


async def test_another_process_keeps_us_from_writing_and_not_from_reading(
    storage: JsonlStorage, path: Path, other: subprocess.Popen[str]
) -> None:
    with pytest.raises(LeaseHeldError, match=r"the other \(a long edit\), process") as failure:
        await append(storage, user("u3", "a2"))
    assert failure.value.owner.pid == other.pid
    with pytest.raises(LeaseHeldError):
        await storage.lease.take("piserver")
    await storage.lease.release()
    assert storage.lease.look() == failure.value.owner, "what is not ours is not given back"
    assert path.read_bytes() == WHOLE
    assert await storage.lines(storage.tree.nodes) == [user("u1", None), answer("a2", "u1")]
    path.write_bytes(WHOLE + log(user("x3", "a2")))
    assert [node.id for node in await storage.refresh()] == ["x3"]


@pytest.mark.parametrize("reaped", [True, False])
async def test_it_ends_with_its_process(
    storage: JsonlStorage, path: Path, other: subprocess.Popen[str], reaped: bool
) -> None:
    assert storage.lease.look() is not None
    os.kill(other.pid, 9)
    if reaped:
        other.wait()
    else:
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert storage.lease.look() is None
    await append(storage, user("u3", "a2"))
    before = await storage.lease.take("piserver")
    assert before is not None
    assert before.pid == other.pid


async def test_it_is_taken_over_on_purpose(storage: JsonlStorage, other: subprocess.Popen[str]) -> None:
    before = await storage.lease.take("piserver", force=True)
    assert before is not None
    assert (before.program, before.pid) == ("the other", other.pid)
    await append(storage, user("u3", "a2"))


async def test_the_loser_is_told_once_and_cannot_write_any_more(storage: JsonlStorage, path: Path) -> None:
    told: list[tuple[Owner | None, bool]] = []
    storage.lease.listener = lambda owner, lost: told.append((owner, lost))
    await storage.lease.take("piserver")
    lease = write_lease(path, program="a thief", host="elsewhere")
    for _ in range(2):
        with pytest.raises(LeaseHeldError, match="a thief"):
            await append(storage, user("u3", "a2"))
    [(owner, lost)] = told
    assert (owner is not None and owner.program, lost) == ("a thief", True)
    assert path.read_bytes() == WHOLE
    lease.unlink()
    await append(storage, user("u3", "a2"))
    assert told[1:] == [(None, False)]


async def test_another_host_is_never_taken_for_dead(storage: JsonlStorage, path: Path) -> None:
    write_lease(path, pid=2**22 + 1, host="elsewhere")
    owner = storage.lease.look()
    assert owner is not None
    assert owner.is_remote
    with pytest.raises(LeaseHeldError):
        await storage.prepare()
    assert await storage.lease.take("piserver", force=True) == owner


@pytest.mark.parametrize("fields", [{"pid": 2**22 + 1}, {"started": 1000.0}])
async def test_a_number_that_is_free_or_used_again_is_a_dead_process(
    storage: JsonlStorage, path: Path, fields: dict[str, Any]
) -> None:
    write_lease(path, **fields)
    assert storage.lease.look() is None
    await append(storage, user("u3", "a2"))


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"program":1}', b"\xff"])
async def test_a_damaged_one_keeps_nobody_out(storage: JsonlStorage, path: Path, data: bytes) -> None:
    path.with_name("session.jsonl.lease").write_bytes(data)
    assert storage.lease.look() is None
    await append(storage, user("u3", "a2"))
    await storage.lease.take("piserver")
    assert storage.lease.look() is not None


async def test_it_is_given_back_when_the_log_is_closed(storage: JsonlStorage, path: Path) -> None:
    await storage.lease.take("piserver")
    await storage.aclose()
    assert list(path.parent.iterdir()) == [path]


async def test_one_that_somebody_else_has_meanwhile_stays_when_the_log_is_closed(
    storage: JsonlStorage, path: Path
) -> None:
    await storage.lease.take("piserver")
    lease = write_lease(path, host="elsewhere")
    await storage.aclose()
    assert lease.exists()


async def test_a_session_that_is_gone_has_none(storage: JsonlStorage, path: Path) -> None:
    await storage.lease.take("piserver")
    path.unlink()
    await storage.lease.release()
    assert list(path.parent.iterdir()) == []
    with pytest.raises(StorageError):
        await storage.lease.take("piserver")
    assert list(path.parent.iterdir()) == []
