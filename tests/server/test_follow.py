"""What other programs do to session files is told while nobody asks."""

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, user
from tests.server.files import chain, header, line, message, write
from tests.wire.client import Message

Launch = Callable[..., Piserver]


@pytest.fixture
def s(tmp_path: Path) -> str:
    """A session id of the test's own; the others that a test makes begin with it."""
    return tmp_path.name


@pytest.fixture
def path(server: Piserver, s: str, tmp_path: Path) -> Path:
    """The file of the session `s`, which is open, watched, and lies outside the sessions folder."""
    path = write(tmp_path / "project" / f"{s}.jsonl", header(s), chain(4))
    server.call("session/open", {"path": str(path)})
    return path


def listed(server: Piserver, id: str, *lines: bytes) -> Path:
    """A file in the sessions folder, put there whole as another program would."""
    path = server.folder / "--project--" / f"{id}.jsonl"
    write(path.with_suffix(".new"), header(id), *lines).rename(path)
    return path


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def changed(server: Piserver, session: str) -> Message:
    return server.wait_until("session/treeChanged", lambda changed: changed["sessionId"] == session)


def next_of(server: Piserver, start: str) -> str:
    """Which of the sessions whose ids begin so changes next."""
    return server.wait_until("session/treeChanged", lambda changed: changed["sessionId"].startswith(start))["sessionId"]


def list_change(server: Piserver, start: str = "") -> tuple[str, str, Path]:
    """The next change of the list: its reason, the session and its file.

    What `followed` has made does not count, nor sessions whose ids begin otherwise.
    """

    def counts(told: Message) -> bool:
        return told["sessionId"].startswith(start) and not told["sessionId"].startswith("probe")

    told = server.wait_until("session/listChanged", counts)
    assert ("info" in told) == (told["reason"] != "deleted")
    return told["reason"], told["sessionId"], Path(told["path"])


def followed(server: Piserver) -> None:
    """Come back when the list is followed. What lies there at the first look is no news: probe until one is."""
    probes: set[str] = set()
    while not any(note["params"].get("sessionId") in probes for note in server.notifications):
        assert len(probes) < 10_000
        probes.add(probe := f"probe-{secrets.token_hex(8)}")
        listed(server, probe)
        server.call("session/list", {"query": "nothing"})


def said(server: Piserver, method: str, path: Path) -> Message:
    """The next message to the person that is about a file."""
    return server.wait_until(method, lambda shown: str(path) in shown["message"])


# Sessions that are open


def test_e4_what_another_program_appends_is_told(server: Piserver, s: str, path: Path) -> None:
    add(path, message("x1", "m3", "theirs"), message("x2", "x1", "too", "assistant"))
    told = changed(server, s)
    assert [entry["id"] for entry in told["appended"]] == ["x1", "x2"]
    assert told["origin"] == {"kind": "external"}
    assert (told["fromRevision"], told["revision"], told["leafId"], told["newerLeafId"]) == (4, 6, "m3", "x2")
    add(path, message("x3", "x2", "more"))
    told = changed(server, s)
    assert (told["fromRevision"], told["revision"], told["newerLeafId"]) == (6, 7, "x3")
    assert [row["id"] for row in server.rows(s)][-1] == "x3"


def test_a_line_that_comes_in_pieces_is_told_when_it_is_whole(server: Piserver, s: str, path: Path) -> None:
    whole = message("x1", "m3", "theirs")
    with path.open("ab", buffering=0) as file:
        file.write(whole[:20])
        assert server.call("session/open", {"sessionId": s})["revision"] == 4
        file.write(whole[20:-9])
        file.write(whole[-9:])
    told = changed(server, s)
    assert ([entry["id"] for entry in told["appended"]], told["revision"]) == (["x1"], 5)
    assert server.call("session/open", {"sessionId": s})["diagnostics"] == []


def test_a_session_in_the_list_is_followed_as_well(server: Piserver, s: str) -> None:
    path = listed(server, s, chain(2))
    server.call("session/open", {"path": str(path)})
    add(path, message("x1", "m1", "theirs"))
    assert changed(server, s)["revision"] == 3


def test_what_is_closed_or_not_subscribed_is_not_told(server: Piserver, s: str, path: Path) -> None:
    quiet = write(path.with_name("quiet.jsonl"), header(f"{s}-quiet"), chain(1))
    server.call("session/open", {"path": str(quiet), "subscribe": False})
    add(quiet, message("x1", "m0", "theirs"))
    add(path, message("x1", "m3", "theirs"))
    assert next_of(server, s) == s
    server.call("session/close", {"sessionId": s})
    other = write(path.with_name("other.jsonl"), header(f"{s}-other"), chain(1))
    server.call("session/open", {"path": str(other)})
    add(path, message("x2", "x1", "theirs"))
    add(other, message("x1", "m0", "theirs"))
    assert next_of(server, s) == f"{s}-other"


def test_a_name_from_outside_is_told_with_the_tree_and_with_the_list(server: Piserver, s: str, path: Path) -> None:
    add(path, line({"type": "session_info", "id": "n1", "parentId": "m3", "timestamp": "", "name": "Theirs"}))
    assert changed(server, s)["name"] == "Theirs"
    told = server.wait_until("session/listChanged", lambda told: told["sessionId"] == s)
    assert (told["reason"], told["info"]["name"]) == ("renamed", "Theirs")


def test_several_servers_see_each_other(launch: Launch, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("s"), chain(1))
    servers = [launch() for _ in range(3)]
    for server in servers:
        server.initialize()
        server.call("session/open", {"path": str(path)})
    known = dict.fromkeys(servers, 1)
    for turn in range(4):
        [entry] = servers[turn % 3].append("s", user(f"turn {turn}"))
        for server in servers:
            told = changed(server, "s")
            assert [found["id"] for found in told["appended"]] == [entry]
            assert told["origin"]["kind"] == ("client" if server is servers[turn % 3] else "external")
            assert told["fromRevision"] == known[server]
            known[server] = told["revision"]


def test_a_big_burst_arrives_whole_and_without_gaps(server: Piserver, s: str, path: Path) -> None:
    def write_on() -> None:
        parent = "m3"
        with path.open("ab", buffering=0) as file:
            for number in range(5_000):
                file.write(message(f"x{number}", parent, f"line {number}"))
                parent = f"x{number}"

    writer = threading.Thread(target=write_on)
    writer.start()
    ids, revision, epoch, count = [f"m{i}" for i in range(4)], 4, None, 0
    while revision < 5_004:
        told = changed(server, s)
        count += 1
        epoch = epoch or told["epoch"]
        assert told["epoch"] == epoch
        if not told.get("reset"):
            assert told["fromRevision"] == revision
        while revision < told["revision"]:  # a `reset` is asked for from where we are: the epoch is the same
            page = server.call("session/changes", {"sessionId": s, "epoch": epoch, "since": revision})
            ids += [entry["id"] for entry in page["appended"]] + page.get("appendedIds", [])
            revision = page["through"]
    writer.join()
    assert ids == [f"m{i}" for i in range(4)] + [f"x{i}" for i in range(5_000)]
    assert count < 200


def test_many_sessions_are_followed_at_once(server: Piserver, s: str, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"f{n % 7}" / f"{n}.jsonl", header(f"{s}-{n}"), chain(1)) for n in range(60)]
    for path in paths:
        server.call("session/open", {"path": str(path)})
    for path in paths:
        add(path, message("x1", "m0", "theirs"))
    assert {next_of(server, s) for _ in paths} == {f"{s}-{n}" for n in range(60)}


# Files that are exchanged underneath


def replace(path: Path) -> None:
    os.replace(write(path.with_suffix(".new"), header(path.stem), chain(7, "other")), path)


def cut_short(path: Path) -> None:
    os.truncate(path, path.read_bytes().index(b'{"type":"message","id":"m2"'))


def write_anew(path: Path) -> None:
    path.write_bytes(header(path.stem) + chain(9, "a longer text than before"))


@pytest.mark.parametrize(
    ("change", "cause", "revision"), [(replace, "replaced", 7), (cut_short, "cut short", 2), (write_anew, "", 9)]
)
def test_an_exchanged_file_is_read_anew_and_said(
    server: Piserver, s: str, path: Path, change: Callable[[Path], None], cause: str, revision: int
) -> None:
    epoch = server.call("session/open", {"sessionId": s})["epoch"]
    change(path)
    told = changed(server, s)
    # A file that is written anew is empty for a moment, which may be seen.
    while told["revision"] != revision:
        told = changed(server, s)
    assert (told["reset"], told["origin"]) == (True, {"kind": "external"})
    assert told["epoch"] != epoch
    warning = said(server, "window/logMessage", path)
    assert warning["type"] == 2
    assert cause in warning["message"]
    server.append(s, user("goes on"))
    assert changed(server, s)["revision"] == revision + 1


def test_something_else_in_its_place_is_said_once_and_left_alone(server: Piserver, s: str, path: Path) -> None:
    kept = path.read_bytes()
    os.replace(write(path.with_suffix(".new"), b"a letter\n"), path)
    assert "replaced by something else" in said(server, "window/logMessage", path)["message"]
    assert path.read_bytes() == b"a letter\n"
    os.replace(write(path.with_suffix(".new"), kept), path)
    assert changed(server, s)["reset"] is True
    server.append(s, user("goes on"))


@pytest.mark.parametrize("copied", [False, True], ids=["moved", "copied"])
def test_a7_a_deleted_file_is_said_and_may_come_back(server: Piserver, s: str, path: Path, copied: bool) -> None:
    aside = path.with_suffix(".aside")
    if copied:
        shutil.copy(path, aside)
        path.unlink()
    else:
        path.rename(aside)
    assert said(server, "window/showMessage", path)["type"] == 2
    assert list_change(server, s) == ("deleted", s, path)
    error = server.error("session/append", {"sessionId": s, "entry": user("u")})
    assert (error["data"]["kind"], error["data"]["retryable"], path.exists()) == ("storage-failed", True, False)
    assert len(server.texts(s)) == 4  # what is open stays readable
    aside.rename(path)
    assert list_change(server, s) == ("created", s, path)
    [entry] = server.append(s, user("goes on"))
    assert json.loads(path.read_bytes().splitlines()[-1])["id"] == entry


# The list


def test_a14_sessions_that_come_and_go_are_told(server: Piserver, s: str) -> None:
    followed(server)
    path = listed(server, s, chain(3))
    told = server.wait_until("session/listChanged", lambda told: told["sessionId"] == s)
    assert (told["reason"], told["path"], told["info"]["messageCount"]) == ("created", str(path), 3)
    path.unlink()
    assert list_change(server, s) == ("deleted", s, path)


def test_a_session_in_a_new_folder_is_told(server: Piserver, s: str) -> None:
    followed(server)
    path = write(server.folder / "--new--" / f"{s}.jsonl", header(s), chain(1))
    assert list_change(server, s) == ("created", s, path)


def test_a_sessions_folder_that_comes_later_is_followed(fresh: Piserver) -> None:
    assert not fresh.folder.exists()
    followed(fresh)
    path = listed(fresh, "a")
    assert list_change(fresh) == ("created", "a", path)


def test_a_moved_session_went_and_came(server: Piserver, s: str) -> None:
    followed(server)
    path = listed(server, s, chain(1))
    assert list_change(server, s) == ("created", s, path)
    moved = path.with_name(f"{s}-moved.jsonl")
    path.rename(moved)
    assert {list_change(server, s), list_change(server, s)} == {("deleted", s, path), ("created", s, moved)}


def test_the_name_of_a_session_that_is_not_open_is_told(server: Piserver, s: str) -> None:
    followed(server)
    path = listed(server, s, chain(1))
    assert list_change(server, s)[0] == "created"
    add(path, message("m1", "m0", "no name"))
    add(path, line({"type": "session_info", "id": "n1", "parentId": "m1", "timestamp": "", "name": "Theirs"}))
    told = server.wait_until("session/listChanged", lambda told: told["sessionId"] == s)
    assert (told["reason"], told["info"]["name"]) == ("renamed", "Theirs")


def test_a_file_that_becomes_another_session_is_one_that_went_and_one_that_came(server: Piserver, s: str) -> None:
    followed(server)
    path = listed(server, s, chain(3))
    assert list_change(server, s)[0] == "created"
    os.replace(write(path.with_suffix(".new"), header(f"{s}-b")), path)
    assert [list_change(server, s), list_change(server, s)] == [("deleted", s, path), ("created", f"{s}-b", path)]


def test_a_file_that_is_no_session_yet_is_waited_for(server: Piserver, s: str) -> None:
    followed(server)
    path = server.folder / "--project--" / f"{s}.jsonl"
    with path.open("wb", buffering=0) as file:
        other = listed(server, f"{s}-other")
        assert list_change(server, s) == ("created", f"{s}-other", other)
        file.write(header(s))
    assert list_change(server, s) == ("created", s, path)


def test_a_file_that_stays_no_session_is_told_as_broken(server: Piserver, s: str) -> None:
    followed(server)
    write(server.folder / "--project--" / f"{s}.jsonl", b"a letter\n")
    told = server.wait_until("session/listChanged", lambda told: told["path"].endswith(f"{s}.jsonl"))
    assert (told["reason"], "broken" in told["info"]) == ("created", True)


def test_an_open_session_of_the_list_that_is_deleted_is_told_once(server: Piserver, s: str) -> None:
    followed(server)
    path = listed(server, s, chain(1))
    assert list_change(server, s)[0] == "created"
    server.call("session/open", {"path": str(path)})
    aside = path.with_suffix(".aside")
    path.rename(aside)
    assert list_change(server, s) == ("deleted", s, path)
    said(server, "window/showMessage", path)
    aside.rename(path)
    assert list_change(server, s) == ("created", s, path)


def test_another_folder_in_the_settings_is_followed(fresh: Piserver, tmp_path: Path) -> None:
    followed(fresh)
    folder = tmp_path / "elsewhere"
    old = write(folder / "old.jsonl", header("old"))
    fresh.notify("workspace/didChangeConfiguration", {"settings": {"piserver": {"sessionsFolder": str(folder)}}})
    fresh.call("session/list", {})
    told: list[Any] = []
    number = 0
    while not told:  # what lies there at the first look is no news
        number += 1
        assert number < 10_000
        write(folder / f"{number}.jsonl", header(f"n{number}"))
        fresh.call("session/list", {})
        told = [note for note in fresh.notifications if note["method"] == "session/listChanged"]
    assert told[0]["params"]["sessionId"] != "old"
    assert old.exists()


# Our own changes


def test_our_own_changes_are_told_once(fresh: Piserver) -> None:
    followed(fresh)
    expected: list[tuple[str, str]] = []
    for number in range(15):
        session = fresh.create(f"/cwd{number % 4}", name="Named")
        fresh.append(session, user("one"), user("two"))
        fresh.call("session/rename", {"sessionId": session, "name": f"n{number}"})
        clone = fresh.call("session/clone", {"sessionId": session})["info"]["id"]
        fresh.call("session/delete", {"sessionId": clone, "permanent": True})
        expected += [("created", session), ("renamed", session), ("created", clone), ("deleted", clone)]
        if number % 2:
            fresh.call("session/close", {"sessionId": session})
        if number % 3 == 0:
            fresh.call("session/delete", {"sessionId": session})
            expected.append(("deleted", session))
    # When somebody else's file is told of, everything before it has been looked at.
    last = listed(fresh, "last")
    told: list[tuple[str, str]] = []
    while ("created", "last") not in told:
        told.append(list_change(fresh)[:2])
    last.unlink()
    told.append(list_change(fresh)[:2])
    assert told == [*expected, ("created", "last"), ("deleted", "last")]
    trees = [note["params"] for note in fresh.notifications if note["method"] == "session/treeChanged"]
    assert {note["origin"]["kind"] for note in trees} == {"client"}
    assert not [note for note in fresh.notifications if note["method"].startswith("window/")]


# Without the system's help

_NO_WATCHES = """
import sys, watchfiles
def full(*paths, **options): raise OSError(28, "no watches are left")
watchfiles.watch = full
sys.argv = ["piserver", "serve", *sys.argv[1:]]
from piserver.cli import main
main()
"""


class Unwatched(Piserver):
    program = ("-c", _NO_WATCHES)


def test_without_watches_it_is_looked_every_second_and_said_once(tmp_path: Path) -> None:
    server = Unwatched(tmp_path)
    try:
        server.initialize()
        path = write(tmp_path / "s.jsonl", header("s"), chain(1))
        server.call("session/open", {"path": str(path)})
        assert "no watches are left" in server.until("window/logMessage")["params"]["message"]
        for number in range(3):
            add(path, message(f"x{number}", None, "theirs"))
            assert changed(server, "s")["revision"] == 2 + number
            new = listed(server, f"a{number}")
            assert list_change(server) == ("created", f"a{number}", new)
        assert not [note for note in server.notifications if note["method"] == "window/logMessage"]
    finally:
        server.stop()


def test_the_server_ends_while_it_follows(fresh: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("s"), chain(1))
    fresh.call("session/open", {"path": str(path)})
    add(path, message("x1", "m0", "theirs"))
    changed(fresh, "s")
    fresh.call("shutdown")
    fresh.notify("exit")
    assert fresh.wait() == 0
    assert fresh.errors.read_text() == ""
