"""Several servers on one file: who has it for longer than a change."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, entries, header, write

Launch = Callable[..., Piserver]


@pytest.fixture
def ours(fresh: Piserver) -> Piserver:
    return fresh


@pytest.fixture
def theirs(launch: Launch) -> Piserver:
    server = launch()
    server.initialize()
    return server


@pytest.fixture
def path(ours: Piserver, theirs: Piserver) -> Path:
    """The file of the session `s`, which both servers have open."""
    path = write(ours.folder / "--w--" / "s.jsonl", header("s", cwd="/"), chain(4))
    for server in (ours, theirs):
        server.call("session/open", {"sessionId": "s"})
    return path


def lease(server: Piserver, action: str = "status", **params: object) -> dict[str, object]:
    return server.call("session/lease", {"sessionId": "s", "action": action} | params)


def sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.lease")


def test_nobody_has_it_until_somebody_takes_it(ours: Piserver, theirs: Piserver, path: Path) -> None:
    assert lease(ours) == {"sessionId": "s", "owner": None, "own": False}
    taken = lease(ours, "take", purpose="a long edit")
    owner = taken["owner"]
    assert isinstance(owner, dict)
    assert (owner["pid"], owner["host"], owner["purpose"]) == (ours.process.pid, socket.gethostname(), "a long edit")
    assert owner["program"].startswith("piserver ")
    assert taken["own"] is True
    assert "previous" not in taken
    assert lease(theirs) == taken | {"own": False}
    assert lease(ours) == taken
    assert lease(ours, "release") == {"sessionId": "s", "owner": None, "own": False}
    assert lease(theirs) == {"sessionId": "s", "owner": None, "own": False}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_e5_who_has_it_not_reads_and_does_not_write(ours: Piserver, theirs: Piserver, path: Path) -> None:
    owner = lease(ours, "take")["owner"]
    before = path.read_bytes()
    for method, params in (
        ("session/append", {"entry": user("u")}),
        ("session/moveTo", {"entryId": "m0"}),
        ("session/navigate", {"targetId": "m1"}),
        ("session/rename", {"name": "n"}),
        ("session/setLabel", {"entryId": "m0", "label": "l"}),
        ("session/editContext", {"entryId": "m0", "replacement": None}),
        ("session/repair", {}),
        ("session/delete", {}),
        ("session/delete", {"permanent": True}),
        ("session/lease", {"action": "take"}),
    ):
        error = theirs.error(method, {"sessionId": "s"} | params)
        assert error["code"] == -32803
        assert error["data"] == {"kind": "lease-held", "retryable": True, "owner": owner}
        assert str(ours.process.pid) in error["message"]
    assert path.read_bytes() == before
    [id] = ours.append("s", user("mine"))
    snapshot = theirs.call("session/open", {"sessionId": "s"})
    assert (snapshot["revision"], snapshot["lease"]) == (5, owner)
    assert snapshot["rows"]["rows"][-1]["id"] == id
    assert len(theirs.texts("s", entryId=id)) == 5
    assert "lease" not in ours.call("session/open", {"sessionId": "s"})
    lease(ours, "release")
    theirs.append("s", user("theirs"))
    assert len(entries(path)) == 6


def test_it_is_taken_over_and_the_loser_is_told_at_its_next_change(
    ours: Piserver, theirs: Piserver, path: Path
) -> None:
    mine = lease(ours, "take")["owner"]
    taken = lease(theirs, "take", force=True, purpose="rescue")
    assert (taken["own"], taken["previous"]) == (True, mine)
    error = ours.error("session/append", {"sessionId": "s", "entry": user("too late")})
    assert (error["data"]["kind"], error["data"]["owner"]) == ("lease-held", taken["owner"])
    told = ours.until("session/leaseChanged")["params"]
    assert told == {"sessionId": "s", "owner": taken["owner"], "lost": True}
    assert len(entries(path)) == 4
    theirs.append("s", user("theirs"))


def test_the_loser_is_told_when_it_asks(ours: Piserver, theirs: Piserver, path: Path) -> None:
    ours.call("session/close", {"sessionId": "s"})
    lease(ours, "take")
    taken = lease(theirs, "take", force=True)
    assert lease(ours) == {"sessionId": "s", "owner": taken["owner"], "own": False}
    assert ours.until("session/leaseChanged")["params"]["lost"] is True
    assert lease(ours, "release")["owner"] == taken["owner"], "what is not ours is not given back"


def test_who_watches_is_told_of_what_is_found(ours: Piserver, theirs: Piserver, path: Path) -> None:
    owner = lease(theirs, "take")["owner"]
    ours.kind("session/append", {"sessionId": "s", "entry": user("u")})
    assert ours.until("session/leaseChanged")["params"] == {"sessionId": "s", "owner": owner}
    lease(theirs, "release")
    ours.append("s", user("u"))
    assert ours.until("session/leaseChanged")["params"] == {"sessionId": "s", "owner": None}


def test_who_watches_is_told_without_asking(ours: Piserver, theirs: Piserver, path: Path) -> None:
    owner = lease(theirs, "take")["owner"]
    assert ours.until("session/leaseChanged")["params"] == {"sessionId": "s", "owner": owner}
    lease(theirs, "release")
    assert ours.until("session/leaseChanged")["params"] == {"sessionId": "s", "owner": None}


def test_it_ends_with_a_killed_server(ours: Piserver, theirs: Piserver, path: Path) -> None:
    mine = lease(ours, "take")["owner"]
    ours.process.kill()
    ours.process.wait()
    assert sidecar(path).exists()
    assert lease(theirs)["owner"] is None
    theirs.append("s", user("u"))
    assert lease(theirs, "take")["previous"] == mine


@pytest.mark.parametrize("how", ["close", "shutdown", "end of input"])
def test_it_is_given_back_at_the_end(ours: Piserver, theirs: Piserver, path: Path, how: str) -> None:
    lease(ours, "take")
    assert sidecar(path).exists()
    match how:
        case "close":
            ours.call("session/close", {"sessionId": "s"})
        case "shutdown":
            ours.call("shutdown")
        case _:
            ours.close_input()
            assert ours.wait() == 0
    assert not sidecar(path).exists()


def test_another_machine_is_never_taken_for_dead(ours: Piserver, path: Path) -> None:
    known = {"program": "p", "pid": 1, "started": 1.5, "host": "elsewhere", "since": "2026-01-01T00:00:00.000Z"}
    sidecar(path).write_text(json.dumps(known))
    owner = lease(ours)["owner"]
    assert isinstance(owner, dict)
    assert (owner["remote"], owner["host"], owner["purpose"]) == (True, "elsewhere", None)
    assert ours.kind("session/append", {"sessionId": "s", "entry": user("u")}) == "lease-held"
    assert lease(ours, "take", force=True)["previous"] == owner
    ours.append("s", user("u"))


def test_it_goes_with_the_session(ours: Piserver, path: Path) -> None:
    lease(ours, "take")
    ours.call("session/delete", {"sessionId": "s"})
    assert list(path.parent.iterdir()) == []
    trashed = {file.name for file in ours.home.rglob("*") if file.is_file() and ".lease" in file.name}
    assert trashed == set()


def test_a_lock_that_is_never_given_back_is_retryable(ours: Piserver, path: Path) -> None:
    import portalocker

    with path.open("rb") as file:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
        asked = ours.request("session/append", {"sessionId": "s", "entry": user("u")})
        assert len(ours.rows("s")) == 4, "reading goes on meanwhile"
        error = ours.reply(asked)["error"]
    assert (error["data"]["kind"], error["data"]["retryable"], error["data"]["landed"]) == (
        "storage-failed",
        True,
        False,
    )
    assert "another program" in error["message"]
    ours.append("s", user("u"))


def test_its_file_is_private(ours: Piserver, path: Path) -> None:
    lease(ours, "take")
    assert sidecar(path).stat().st_mode & 0o777 == 0o600
    assert json.loads(sidecar(path).read_bytes())["pid"] == ours.process.pid != os.getpid()
