"""A client that keeps a list of a session's entries from notifications alone, and refuses gaps and duplicates."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server.client import Piserver
from tests.wire.client import Message

Answered = Callable[[Message], None]


class Follower:
    """One client of a server that may be killed. `ids` are the entries in file order, as the client was told."""

    def __init__(self, home: Path, path: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._home, self._path = home, path
        self.ids: list[str] = []
        self.known: set[str] = set()
        self.session = self.epoch = ""
        self.notifications = self.resets = self.starts = 0
        self._waiting: dict[int, Answered] = {}
        self._behind: list[Message] | None = None  # what was told while the list is being caught up
        self._overlap = 0  # notifications up to this revision may tell what `session/changes` has told
        self.start()

    def start(self) -> None:
        """Start the server, open the session, and ask for what came since the last notification."""
        self.server = Piserver(self._home)
        self.starts += 1
        self.call("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.server.notify("initialized", {})
        self._behind = []
        snapshot = self.call("session/open", {"path": str(self._path), "rows": {"limit": 1}})
        self.session = snapshot["sessionId"]
        assert self.epoch in ("", snapshot["epoch"]), "the file was taken for another one"
        self.epoch = snapshot["epoch"]
        self.catch_up()

    def kill(self, after: float) -> None:
        """End the server as a power cut would; what it has answered before counts."""
        time.sleep(after)
        self.server.process.kill()
        try:
            while (message := self.server.read()) is not None:
                self._take(message)
        except AssertionError as error:
            if "inside a frame" not in str(error):
                raise
        self._waiting.clear()
        self.server.stop()

    def send(self, method: str, params: Message, answered: Answered) -> None:
        """A request whose answer goes to `answered` when it comes."""
        id = self.server.request(method, params)
        self._waiting[id] = answered

    def settle(self) -> None:
        """Wait until everything sent is answered, and catch up if the client was told to start afresh."""
        while self._waiting:
            message = self.server.read()
            assert message is not None, f"the server has ended: {self.server.errors.read_text()}"
            self._take(message)
        if self._behind is not None:
            self.catch_up()

    def call(self, method: str, params: Message) -> Any:
        """A request's result."""
        answers: list[Message] = []
        self.send(method, params, answers.append)
        while not answers:
            message = self.server.read()
            assert message is not None, f"the server has ended: {self.server.errors.read_text()}"
            self._take(message)
        assert "error" not in answers[0], answers[0]
        return answers[0]["result"]

    def catch_up(self) -> None:
        """Ask for what was missed, then go on with the notifications that came meanwhile."""
        if self._behind is None:
            self._behind = []
        while True:
            since = len(self.ids)
            told = self.call("session/changes", {"sessionId": self.session, "epoch": self.epoch, "since": since})
            assert told["since"] == since
            self._add([entry["id"] for entry in told["appended"]], told["through"])
            if told["through"] == told["revision"]:
                break
        self._overlap = len(self.ids)
        waiting, self._behind = self._behind, None
        for changed in waiting:
            self._fold(changed)

    def rows(self) -> list[Message]:
        """All rows of the tree."""
        rows: list[Message] = []
        while True:
            params = {"sessionId": self.session, "filter": "all", "offset": len(rows), "limit": 1000}
            window = self.call("session/getTree", params)["window"]
            rows += window["rows"]
            if len(rows) >= window["total"]:
                return rows

    def _take(self, message: Message) -> None:
        if message.get("method") == "session/treeChanged":
            self._fold(message["params"])
        elif "method" not in message:
            self._waiting.pop(message["id"])(message)

    def _fold(self, changed: Message) -> None:
        self.notifications += 1
        assert changed["epoch"] == self.epoch, "the file was taken for another one"
        if changed.get("reset"):
            self.resets += 1
            if self._behind is None:
                self._behind = []
            return
        if self._behind is not None:
            self._behind.append(changed)
            return
        first, revision = changed["fromRevision"], changed["revision"]
        new = [entry["id"] for entry in changed["appended"]] + changed["appendedIds"]
        assert len(new) == revision - first, f"{len(new)} entries between {first} and {revision}"
        assert [entry["index"] for entry in changed["appended"]] == list(range(first, first + len(changed["appended"])))
        if revision <= self._overlap:
            return
        if first < self._overlap:
            new, first = new[self._overlap - first :], self._overlap
        assert first == len(self.ids), f"the client knows {len(self.ids)} entries, the notification begins at {first}"
        self._add(new, revision)

    def _add(self, new: list[str], revision: int) -> None:
        twice = [id for id in new if id in self.known]
        assert not twice, f"told twice: {twice}"
        self.ids += new
        self.known.update(new)
        assert len(self.ids) == revision
