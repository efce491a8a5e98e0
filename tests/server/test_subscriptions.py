"""What a client is told of the sessions that it has open, so that it always knows what the server knows."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, custom, user
from tests.server.files import chain, entries, header, write
from tests.wire.client import DEADLINE, Message

LARGEST = 48 * 1024


class Copy:
    """A client's own picture of a session: a snapshot, and the notifications folded onto it."""

    def __init__(self, snapshot: Message) -> None:
        self.session = snapshot["sessionId"]
        self.begin(snapshot)

    def begin(self, snapshot: Message) -> None:
        self.epoch, self.revision, self.leaf = snapshot["epoch"], snapshot["revision"], snapshot["leafId"]
        self.name = snapshot["info"]["name"]
        rows = snapshot["rows"]["rows"]
        self.ids = [row["id"] for row in sorted(rows, key=lambda row: row["index"])]
        self.labels = {row["id"]: row["label"] for row in rows if "label" in row}
        assert len(self.ids) == self.revision, "the snapshot holds all rows"

    def fold(self, changed: Message) -> None:
        assert (changed["epoch"], changed["fromRevision"]) == (self.epoch, self.revision), "a gap, or something twice"
        self.ids += [entry["id"] for entry in changed["appended"]] + changed["appendedIds"]
        self.revision, self.leaf = changed["revision"], changed["leafId"]
        assert len(self.ids) == self.revision
        self.name = changed.get("name", self.name) or None
        for id, label in changed["labels"].items():
            self.labels.pop(id, None)
            if label:
                self.labels[id] = label

    def agrees(self, server: Piserver) -> None:
        """Fails unless this is what the server says."""
        whole = server.call("session/changes", {"sessionId": self.session, "epoch": self.epoch, "since": 0})
        assert (whole["revision"], whole["leafId"]) == (self.revision, self.leaf)
        assert [entry["id"] for entry in whole["appended"]] == self.ids[:1000]
        rows = server.rows(self.session, filter="all", limit=1000)
        assert {row["id"]: row["label"] for row in rows if "label" in row} == self.labels
        assert server.call("session/open", {"sessionId": self.session, "subscribe": False})["info"]["name"] == self.name


def watch(server: Piserver, session: str) -> Copy:
    snapshot = server.call("session/open", {"sessionId": session, "rows": {"filter": "all", "limit": 1000}})
    server.notifications.clear()  # what was told before the snapshot is in it
    return Copy(snapshot)


def follow(server: Piserver, copy: Copy, until: int) -> list[Message]:
    """Folds notifications until the copy has so many entries; answers them."""
    seen: list[Message] = []
    while copy.revision < until:
        changed = server.wait_until("session/treeChanged", lambda changed: changed["sessionId"] == copy.session)
        copy.fold(changed)
        seen.append(changed)
    return seen


def test_a_change_is_told_with_its_request(server: Piserver, session: str) -> None:
    copy = watch(server, session)
    id = server.request("session/append", {"sessionId": session, "entries": [user("u"), assistant("a")]})
    ids = server.reply(id)["result"]["entryIds"]
    [changed] = follow(server, copy, 2)
    assert changed["origin"] == {"kind": "client", "requestId": id}
    assert [(entry["id"], entry["preview"]) for entry in changed["appended"]] == [(ids[0], "u"), (ids[1], "a")]
    assert (changed["appendedIds"], changed["labels"], changed["newerLeafId"]) == ([], {}, None)
    assert not {"name", "reset"} & changed.keys()


def test_labels_names_and_moves_are_told(server: Piserver, session: str) -> None:
    [id, _] = server.append(session, user("u"), assistant("a"))
    copy = watch(server, session)
    server.call("session/setLabel", {"sessionId": session, "entryId": id, "label": "l"})
    server.call("session/rename", {"sessionId": session, "name": "n"})
    server.call("session/moveTo", {"sessionId": session, "entryId": id})
    server.call("session/setLabel", {"sessionId": session, "entryId": id, "label": None})
    server.call("session/rename", {"sessionId": session, "name": None})
    seen = follow(server, copy, 7)
    assert [changed["labels"] for changed in seen] == [{id: "l"}, {}, {}, {id: ""}, {}]
    assert [changed.get("name", "-") for changed in seen] == ["-", "n", "-", "-", ""]
    assert seen[2]["leafId"] == id
    copy.agrees(server)


def test_between_the_snapshot_and_the_notifications_nothing_is_lost_or_doubled(fresh: Piserver) -> None:
    write(fresh.folder / "--w--" / "s.jsonl", header("s"), chain(10))
    ids: list[tuple[str, int]] = []
    frames = b""
    for n in range(300):
        method, params = [
            ("session/append", {"entry": user(f"u{n}")}),
            ("session/setLabel", {"entryId": f"m{n % 10}", "label": f"l{n}"}),
            ("session/moveTo", {"entryId": f"m{n % 10}"}),
            ("session/rename", {"name": f"n{n}"}),
        ][n % 4]
        ids.append((method, 1000 + n))
        frames += fresh.frame(
            {"jsonrpc": "2.0", "id": 1000 + n, "method": method, "params": {"sessionId": "s"} | params}
        )
        if n % 40 == 20:  # also once it is open: each snapshot begins anew
            rows = {"filter": "all", "limit": 1000}
            frames += fresh.frame(
                {"jsonrpc": "2.0", "id": 5000 + n, "method": "session/open", "params": {"sessionId": "s", "rows": rows}}
            )
    fresh.send_bytes(frames)
    copy: Copy | None = None
    answered = snapshots = 0
    while copy is None or answered < 300 or snapshots < 7 or copy.revision < 310:
        message = fresh.read()
        assert message is not None
        if message.get("method") == "session/treeChanged":
            assert copy is not None
            copy.fold(message["params"])
        elif message.get("id", 0) >= 5000:
            snapshots += 1
            copy = copy or Copy(message["result"])
            copy.begin(message["result"])
        elif "id" in message:
            answered += 1
            assert "result" in message
    copy.agrees(fresh)


def read_until(server: Piserver, copy: Copy, revision: int) -> list[tuple[Message, int]]:
    """The notifications up to a revision, each with its size on the wire."""
    seen: list[tuple[Message, int]] = []
    while not seen or seen[-1][0]["revision"] < revision:
        message = server.read()
        assert message is not None
        if message.get("method") == "session/treeChanged":
            seen.append((message["params"], len(server.body)))
    return seen


def test_h10_notifications_are_small_however_much_was_written(server: Piserver, session: str) -> None:
    copy = watch(server, session)
    entry = user("\u65e5\u672c" * 1_000_000)
    server.request("session/append", {"sessionId": session, "entries": [entry] * 3})
    server.request("session/append", {"sessionId": session, "entries": [user("word " * 100)] * 300})
    server.request("session/append", {"sessionId": session, "entry": user("u")})
    seen = read_until(server, copy, 304)
    assert all(size < LARGEST for _, size in seen)
    assert len(seen[0][0]["appended"]) == 3
    assert 0 < len(seen[1][0]["appended"]) < 300
    for changed, _ in seen:
        copy.fold(changed)
    copy.agrees(server)


def test_a_batch_too_large_to_be_told_of_asks_to_start_afresh(server: Piserver, session: str) -> None:
    copy = watch(server, session)
    server.request("session/append", {"sessionId": session, "entries": [custom()] * 900})
    server.request("session/append", {"sessionId": session, "entry": user("u")})
    seen = read_until(server, copy, 901)
    assert all(size < LARGEST for _, size in seen)
    assert seen[0][0]["reset"] is True
    assert (seen[0][0]["appended"], seen[0][0]["appendedIds"]) == ([], [])
    copy.begin(server.call("session/open", {"sessionId": session, "rows": {"filter": "all", "limit": 1000}}))
    server.append(session, user("v"))
    follow(server, copy, 902)
    copy.agrees(server)


def test_a_label_too_large_for_a_notification_asks_to_start_afresh(server: Piserver, session: str) -> None:
    [id] = server.append(session, user("u"))
    copy = watch(server, session)
    server.request("session/setLabel", {"sessionId": session, "entryId": id, "label": "l" * 100_000})
    [(changed, size)] = read_until(server, copy, 2)
    assert size < LARGEST
    assert (changed["reset"], changed["revision"], changed["labels"]) == (True, 2, {})


def test_f9_notifications_hold_what_is_new_and_nothing_else(server: Piserver, session: str) -> None:
    copy = watch(server, session)
    for n in range(100):
        server.request("session/append", {"sessionId": session, "entry": user(f"{n} " * 50)})
    seen = read_until(server, copy, 100)
    path = Path(server.call("session/open", {"sessionId": session})["info"]["path"])
    assert sum(size for _, size in seen) < 3 * path.stat().st_size


def test_a_closed_session_is_told_of_no_more(server: Piserver, session: str) -> None:
    server.append(session, user("u"))
    last = [server.request("session/append", {"sessionId": session, "entry": user(str(n))}) for n in range(20)]
    server.reply(server.request("session/close", {"sessionId": session}))
    server.notifications.clear()
    for id in last:
        server.reply(id)
    server.append(session, user("v"))
    server.call("session/list")
    assert [note for note in server.notifications if note["params"].get("sessionId") == session] == []
    copy = watch(server, session)
    assert copy.revision == 22
    server.append(session, user("w"))
    follow(server, copy, 23)


def test_a_session_can_be_opened_without_being_watched(server: Piserver, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", header("unwatched"), chain(1))
    server.call("session/open", {"path": str(path), "subscribe": False})
    server.append("unwatched", user("u"))
    server.call("session/list")
    assert [note for note in server.notifications if note["params"].get("sessionId") == "unwatched"] == []


def test_e7_each_session_is_told_of_by_itself(server: Piserver) -> None:
    copies = [watch(server, server.create()) for _ in range(2)]
    for n in range(50):
        for copy in copies:
            server.request("session/append", {"sessionId": copy.session, "entry": user(f"{copy.session} {n}")})
    open_ends = {copy.session: copy for copy in copies}
    while any(copy.revision < 50 for copy in copies):
        changed = server.until("session/treeChanged")["params"]
        assert all(entry["preview"].startswith(changed["sessionId"]) for entry in changed["appended"])
        open_ends[changed["sessionId"]].fold(changed)
    for copy in copies:
        copy.agrees(server)


def resident(server: Piserver) -> int:
    """Bytes of memory that the server holds."""
    [size] = [row for row in Path(f"/proc/{server.process.pid}/status").read_text().splitlines() if "VmRSS" in row]
    return int(size.split()[1]) * 1024


def held_back(server: Piserver, count: int) -> Copy:
    """A watched session that gets `count` entries while the client reads nothing and 20 MB wait for it already."""
    write(server.folder / "--w--" / "big.jsonl", header("big"), chain(20, "x" * 1_000_000))
    torn = write(server.folder / "--w--" / "torn.jsonl", header("torn"), chain(2), b'{"type":"mess')
    server.call("session/open", {"sessionId": "big"})
    copy = watch(server, "torn")
    os.utime(torn)  # as if somebody were still writing that line: the first change waits for a second
    frames = b""
    for n in range(count):
        params = {"sessionId": "torn", "entry": user(str(n))}
        frames += server.frame({"jsonrpc": "2.0", "id": 10 + n, "method": "session/append", "params": params})
    params = {"sessionId": "big", "ids": [f"m{n}" for n in range(20)], "maxBytes": 60_000_000}
    frames += server.frame({"jsonrpc": "2.0", "id": 1, "method": "session/getEntries", "params": params})
    before = resident(server)
    server.send_bytes(frames, read=False)
    deadline = time.monotonic() + DEADLINE
    while torn.read_bytes().count(b"\n") < 3 + count:
        assert time.monotonic() < deadline, "the appends wait for the reader"
        time.sleep(0.02)
    assert resident(server) - before < 150_000_000
    assert len(entries(torn)) == 2 + count
    return copy


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked up in /proc")
def test_a_slow_reader_gets_few_notifications_and_misses_nothing(launch: Callable[..., Piserver]) -> None:
    server = launch()
    server.initialize()
    copy = held_back(server, 400)
    seen = follow(server, copy, 402)
    assert len(seen) < 20
    for n in range(400):
        server.reply(10 + n)
    copy.agrees(server)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked up in /proc")
def test_a_reader_that_is_far_behind_is_asked_to_start_afresh(launch: Callable[..., Piserver]) -> None:
    server = launch()
    server.initialize()
    copy = held_back(server, 900)
    while copy.revision < 902:
        changed: Any = server.until("session/treeChanged")["params"]
        if changed.get("reset"):
            copy.begin(server.call("session/open", {"sessionId": "torn", "rows": {"filter": "all", "limit": 1000}}))
        else:
            copy.fold(changed)
    copy.agrees(server)
    server.append("torn", user("later"))
    follow(server, copy, 903)
