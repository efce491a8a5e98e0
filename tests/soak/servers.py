"""Three servers and a foreign writer on one session, while one server after another is killed."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio

from piserver.storage import JsonlStorage
from tests.server.client import Piserver, assistant, user
from tests.soak.follower import Follower
from tests.wire.client import ROOT, Message

SERVERS = 3
SHARE = 5
"""Of so many entries the foreign writer writes one."""
_ID = re.compile(rb'"id":"([0-9a-f]{8})"')


@dataclass
class Ledger:
    """What was promised: the acknowledged entries with their texts (None: no message), and the forks."""

    wanted: int
    kill_every: int
    acknowledged: dict[str, str | None] = field(default_factory=dict[str, str | None])
    forks: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    asked: Counter[str] = field(default_factory=Counter[str])
    failures: list[str] = field(default_factory=list[str])
    kills: int = 0

    @property
    def over(self) -> bool:
        return bool(self.failures) or len(self.acknowledged) >= self.wanted


class Person:
    """Works at one server until enough is written."""

    def __init__(self, number: int, folder: Path, path: Path, seed: int, ledger: Ledger) -> None:
        self.follower = Follower(folder / f"home{number}", path)
        self._number, self._ledger = number, ledger
        self._random = random.Random(f"{seed}/{number}")
        self._said = 0
        self._until_kill = self._next_kill()

    def work(self) -> None:
        """Send bursts of requests; now and then the server dies in the middle of one."""
        while not self._ledger.over:
            burst = self._random.randint(1, 8)
            for _ in range(burst):
                self._ask()
            self._until_kill -= burst
            if self._until_kill <= 0:
                self._until_kill = self._next_kill()
                self.follower.kill(self._random.uniform(0, 0.01))
                self._ledger.kills += 1
                self.follower.start()
            else:
                self.follower.settle()

    def _next_kill(self) -> int:
        every = self._ledger.kill_every
        return self._random.randint(every // 2, every * 3 // 2)

    def _text(self) -> str:
        self._said += 1
        size = 20_000 if self._random.random() < 0.01 else self._random.randint(0, 300)
        return f"{self._number}.{self._said} " + "x" * size

    def _ask(self) -> None:
        kinds = {"append": 60, "batch": 14, "move": 10, "label": 8, "navigate": 3, "hide": 2, "rename": 2, "fork": 1}
        [kind] = self._random.choices(list(kinds), list(kinds.values()))
        self._ledger.asked[kind] += 1
        getattr(self, f"_{kind}" if self.follower.ids else "_append")()

    def _send(self, method: str, ids: Any = lambda result: result["entryIds"], **params: Any) -> None:
        def answered(reply: Message) -> None:
            if "error" in reply:
                self._ledger.failures.append(f"{method}: {reply['error']}")
            else:
                self._ledger.acknowledged.update(dict.fromkeys(ids(reply["result"])))

        self.follower.send(f"session/{method}", {"sessionId": self.follower.session} | params, answered)

    def _anywhere(self) -> str:
        """Mostly near the end, so that branches grow."""
        ids = self.follower.ids
        near = self._random.random() < 0.9
        return self._random.choice(ids[-50:] if near else ids)

    def _append(self, count: int = 1) -> None:
        texts = [self._text() for _ in range(count)]
        entries = [self._random.choice((user, assistant))(text) for text in texts]

        def answered(reply: Message) -> None:
            if "error" in reply:
                self._ledger.failures.append(f"append: {reply['error']}")
            else:
                self._ledger.acknowledged.update(zip(reply["result"]["entryIds"], texts, strict=True))

        params = {"sessionId": self.follower.session, "entries": entries}
        self.follower.send("session/append", params, answered)

    def _batch(self) -> None:
        self._append(self._random.randint(2, 6))

    def _move(self) -> None:
        summary = {"summary": {"summary": "what was left"}} if self._random.random() < 0.3 else {}
        self._send("moveTo", _jumps, entryId=self._anywhere(), **summary)

    def _navigate(self) -> None:
        self._send("navigate", _jumps, targetId=self._anywhere())

    def _label(self) -> None:
        self._send("setLabel", entryId=self._anywhere(), label=self._random.choice(("here", "there", None)))

    def _hide(self) -> None:
        self._send("editContext", entryId=self._anywhere(), replacement=None)

    def _rename(self) -> None:
        self._send("rename", name=f"named by {self._number}")

    def _fork(self) -> None:
        target = self._random.choice(self.follower.ids)

        def answered(reply: Message) -> None:
            if "error" not in reply:
                self._ledger.forks.append((target, reply["result"]["info"]["path"]))
            elif reply["error"]["data"]["kind"] != "invalid-fork-target":  # a jump was chosen
                self._ledger.failures.append(f"fork: {reply['error']}")

        params = {"sessionId": self.follower.session, "entryId": target, "position": "at"}
        self.follower.send("session/fork", params, answered)


def _jumps(result: Message) -> list[str]:
    return [result[name] for name in ("leafEntryId", "summaryEntryId", "labelEntryId") if name in result]


class ForeignWriter:
    """Has the other program append now and then."""

    def __init__(self, path: Path, seed: int, ledger: Ledger) -> None:
        self._ledger, self._random = ledger, random.Random(f"{seed}/foreign")
        command = [sys.executable, "-m", "tests.soak.foreign", str(path)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.written = 0
        self._pace = threading.Event()  # never set: a wait that ends by itself

    def work(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        while not self._ledger.over:
            self.process.stdin.write(f"{self._random.randint(1, 20)}\n")
            self.process.stdin.flush()
            for id in self.process.stdout.readline().split():
                self._ledger.acknowledged[id] = f"foreign {id}"
                self.written += 1
            self._pace.wait(self._random.uniform(0, 0.05))
            while self.written * SHARE > len(self._ledger.acknowledged) and not self._ledger.over:
                self._pace.wait(0.01)

    def stop(self) -> None:
        self.process.communicate()


def run(folder: Path, *, appends: int, kill_every: int, seed: int) -> str:
    """Work until so many entries are acknowledged, check everything, and say what was done. Raises AssertionError."""
    path = folder / "shared" / "soak.jsonl"
    ledger = Ledger(appends, kill_every)
    start = perf_counter()
    _create(folder, path)
    people = [Person(number, folder, path, seed, ledger) for number in range(SERVERS)]
    foreign = ForeignWriter(path, seed, ledger)
    try:
        works = [foreign.work, *(person.work for person in people)]
        threads = [threading.Thread(target=_guarded, args=(work, ledger)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        foreign.stop()
        assert not ledger.failures, "\n".join(ledger.failures[:5])
        told = _agree([person.follower for person in people])
        anyio.run(_check_file, path, ledger, told)
        anyio.run(_check_forks, ledger)
    finally:
        foreign.process.kill()
        foreign.stop()
        for person in people:
            person.follower.server.stop()
    followers = [person.follower for person in people]
    acknowledged = len(ledger.acknowledged)
    return (
        f"{acknowledged:,} acknowledged entries, {foreign.written:,} of them by a foreign writer and the others by "
        f"{SERVERS} servers, {ledger.kills} times kill -9, {len(ledger.forks)} forks, "
        f"{sum(f.notifications for f in followers):,} notifications ({sum(f.resets for f in followers)} resets): "
        f"none lost, none twice, {len(told):,} entries in the same order for all ({perf_counter() - start:.0f} s)"
    )


def _create(folder: Path, path: Path) -> None:
    home = folder / "first"
    home.mkdir(parents=True)
    server = Piserver(home)
    server.initialize()
    server.create(path=str(path))
    server.stop()


def _guarded(work: Callable[[], None], ledger: Ledger) -> None:
    try:
        work()
    except BaseException:
        ledger.failures.append(traceback.format_exc())


def _agree(followers: list[Follower]) -> list[str]:
    """Have each change something, then look from the same place: all rows must be equal. Answers the ids."""
    for follower in followers:
        follower.call("session/append", {"sessionId": follower.session, "entry": user("a last word")})
    place = followers[0].ids[len(followers[0].ids) // 2]
    for _ in range(2):  # the second time moves nothing, but takes in what the others did
        for follower in followers:
            follower.call("session/moveTo", {"sessionId": follower.session, "entryId": place})
    for follower in followers:
        follower.settle()
        # A notification may come after its change's answer; one more question comes behind it.
        follower.catch_up()
    first, *others = [follower.rows() for follower in followers]
    for number, rows in enumerate(others, 1):
        assert rows == first, f"server {number} has other rows than server 0"
    assert len({tuple(follower.ids) for follower in followers}) == 1, "the clients were told different orders"
    return followers[0].ids


async def _check_file(path: Path, ledger: Ledger, told: list[str]) -> None:
    """Every acknowledged entry once, with its text; every parent resolves; a new reader finds what the clients know."""
    counts = Counter(_ID.findall(path.read_bytes()))
    lost = [id for id in ledger.acknowledged if counts[id.encode()] == 0]
    assert not lost, f"{len(lost)} acknowledged entries are lost: {lost[:5]}"
    twice = [id for id, count in counts.items() if count > 1]
    assert not twice, f"in the file twice: {twice[:5]}"
    storage = await JsonlStorage.open(path)
    try:
        nodes = storage.tree.nodes
        assert [node.id for node in nodes] == told
        assert not [node.id for node in nodes if node.orphaned]
        assert storage.diagnostics == []
        for entry in await storage.read(nodes):
            said = ledger.acknowledged.get(entry.id)
            if said is not None:
                content = entry.value["message"]["content"]
                assert said == (content if isinstance(content, str) else content[0]["text"])
    finally:
        await storage.aclose()


async def _check_forks(ledger: Ledger) -> None:
    for target, path in ledger.forks:
        storage = await JsonlStorage.open(path)
        assert storage.diagnostics == []
        assert target in storage.tree
        assert not [node.id for node in storage.tree.nodes if node.orphaned]
        await storage.aclose()
