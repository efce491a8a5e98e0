"""Every example of the document, sent to a real server in one conversation."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol.document import Example, Message, examples
from tests.protocol.home import furnish, take_over
from tests.protocol.placeholders import MismatchError, Placeholders
from tests.protocol.server import ServerProcess


class Conversation:
    """Sends what a client sends in the document, and finds what the server says there in what it really says."""

    def __init__(self, server: ServerProcess, placeholders: Placeholders) -> None:
        self._server = server
        self._placeholders = placeholders
        self._unsent: list[Message] = []
        self._notifications: list[Message] = []
        self._replies: dict[int, Message] = {}

    def play(self, example: Example) -> None:
        if example.from_client:
            # Sent with what follows, up to where the document awaits an answer: a cancellation must not come too late.
            self._unsent.append(self._placeholders.fill(example.message))
            return
        self.flush()
        if example.method is None:
            actual = self._reply(example.message["id"])
            try:
                self._placeholders.match(example.message, actual)
            except MismatchError as error:
                raise AssertionError(f"line {example.line}: {error}\n{self._told(actual)}") from None
        else:
            self._find(example)

    def flush(self) -> None:
        self._server.send(self._unsent)
        self._unsent = []

    def _reply(self, id: int) -> Message:
        while id not in self._replies:
            self._take(self._server.next())
        return self._replies.pop(id)

    def _find(self, example: Example) -> None:
        """Some notification that has come, or comes yet, is the example's."""
        tried = 0
        reasons: list[str] = []
        while True:
            for actual in self._notifications[tried:]:
                tried += 1
                attempt = self._placeholders.copy()
                try:
                    attempt.match(example.message, actual)
                except MismatchError as error:
                    if actual["method"] == example.method:
                        reasons.append(f"{error}\n{self._told(actual)}")
                else:
                    self._placeholders = attempt
                    self._notifications.remove(actual)
                    return
            try:
                self._take(self._server.next())
            except AssertionError as error:
                raise AssertionError(f"line {example.line}: {error}\n" + "\n".join(reasons)) from None

    def _take(self, message: Message) -> None:
        if "method" in message:
            self._notifications.append(message)
        else:
            assert message["id"] not in self._replies, "answered twice"
            self._replies[message["id"]] = message

    def _told(self, actual: Message) -> str:
        return json.dumps(self._placeholders.told(actual), ensure_ascii=False)

    @property
    def unexplained(self) -> list[Message]:
        """Answers that the document does not show."""
        return list(self._replies.values())


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    home = tmp_path.resolve()
    given = furnish(home)
    server = ServerProcess(home)
    yield Conversation(server, Placeholders(given))
    assert server.end() == 0


def test_a_real_server_says_what_the_document_says(conversation: Conversation, tmp_path: Path) -> None:
    for example in examples():
        if (example.heading, example.method) == ("session/lease", "session/append"):
            take_over(tmp_path.resolve())
        conversation.play(example)
    conversation.flush()
    assert conversation.unexplained == []
