"""Senseless input to a real server: every message is answered, and a stream that cannot be followed ends cleanly."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

from piserver.server.framing import Body, Broken, LspFraming
from tests.server.client import Piserver, assistant, user
from tests.soak.mutations import BYTES, mutated, value
from tests.wire.client import Message

STREAMS_PER_HUNDRED = 10
"""Of a hundred inputs so many damage the frames too; each of those needs a server of its own."""
_PROBE = "probe"
INTERNAL_ERROR = -32603


def run(folder: Path, *, count: int, seed: int) -> str:
    """Try so many inputs, and say what they came to. Raises AssertionError with the number of the input."""
    start, outcomes = perf_counter(), Counter[str]()
    talk = _Talk(folder / "home")
    try:
        for number in range(count):
            rng = random.Random(f"{seed}/{number}")
            try:
                if number % 100 < STREAMS_PER_HUNDRED:
                    outcomes[_stream(folder / "streams", rng)] += 1
                else:
                    outcomes[talk.say(_body(rng, talk.session), number)] += 1
            except AssertionError as error:
                error.add_note(f"input {number} of seed {seed}")
                raise
    finally:
        talk.stop()
    seen = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.most_common())
    return f"{count:,} senseless inputs: {seen} ({perf_counter() - start:.0f} s)"


def _requests(session: str) -> list[tuple[str, Any]]:
    """Requests as they should be. None names a path, so that no damage makes a file outside the server's home."""
    one = {"sessionId": session}
    return [
        ("session/append", one | {"entry": user("text")}),
        ("session/append", one | {"entries": [user("one"), assistant("two")], "idempotencyKey": "k"}),
        ("session/moveTo", one | {"entryId": None, "summary": {"summary": "s", "details": {"a": [1, 2.5]}}}),
        ("session/navigate", one | {"targetId": "0a0b0c0d", "label": "l"}),
        ("session/setLabel", one | {"entryId": "0a0b0c0d", "label": None}),
        ("session/editContext", one | {"entryId": "0a0b0c0d", "replacement": {"content": "x"}}),
        ("session/rename", one | {"name": "a name"}),
        ("session/open", one | {"atLeaf": True, "rows": {"filter": "all", "query": "t", "limit": 3}}),
        ("session/getTree", one | {"filter": "user-only", "collapsed": ["a"], "offset": 1, "limit": 10}),
        ("session/getEntries", one | {"ids": ["a", "b"], "maxBytes": 1000}),
        ("session/getPath", one | {"offset": 0, "limit": 5}),
        ("session/changes", one | {"epoch": "1.0", "since": 0, "limit": 10}),
        ("session/buildContext", one | {"form": "llm", "model": {"provider": "p", "modelId": "m", "api": "a"}}),
        ("session/stats", one | {"entryId": None}),
        ("session/fork", one | {"entryId": "0a0b0c0d", "position": "at"}),
        ("session/clone", one),
        ("session/list", {"cwd": "/", "limit": 3, "query": "x"}),
        ("session/latest", {"cwd": "/"}),
        ("initialize", {"processId": None, "rootUri": None, "capabilities": {"general": {"positionEncodings": []}}}),
        ("$/cancelRequest", {"id": 3}),
        ("$/setTrace", {"value": "verbose"}),
        ("workspace/didChangeConfiguration", {"settings": {"piserver": {"durability": "never"}}}),
        ("shutdown", None),
        ("exit", None),
    ]


def _body(rng: random.Random, session: str) -> bytes:
    method, params = rng.choice(_requests(session))
    message = {"jsonrpc": "2.0", "id": rng.choice((7, "seven", 0, -1)), "method": method, "params": params}
    if rng.random() < 0.1:
        del message["id"]
    body = json.dumps(message).encode()
    if rng.random() < 0.6:
        inner = json.dumps(params).encode()
        return body.replace(inner, mutated(inner, rng, (value,)))
    return mutated(body, rng, (value, *BYTES))


class _Talk:
    """A server that is asked one thing after another, with a sound request behind each."""

    def __init__(self, home: Path) -> None:
        self._home = home
        home.mkdir(parents=True)
        self._start()

    def _start(self) -> None:
        self._server = Piserver(self._home)
        self._server.initialize()
        self.session = self._server.create()

    def say(self, body: bytes, number: int) -> str:
        """What became of the message: answered, taken as a notification, or the end of the server."""
        server, probe = self._server, f"{_PROBE}{number}"
        server.send(body)
        wanted = _answer_to(body)
        last = {"jsonrpc": "2.0", "id": probe, "method": "session/latest", "params": {"cwd": "/"}}
        with contextlib.suppress(BrokenPipeError):
            server.send(last)
        replies: list[Message] = []
        while True:
            message = server.read()
            if message is None:
                return self._ended(body)
            if "method" in message:
                continue
            replies.append(message)
            ids = [reply["id"] for reply in replies]
            if probe in ids and len(ids) > len(wanted):
                break
        others = [id for id in ids if id != probe]
        assert others == wanted, f"{body!r} was answered {replies}"
        assert all(reply.get("error", {}).get("code") != INTERNAL_ERROR for reply in replies), f"{body!r}: {replies}"
        [told] = [reply for reply in replies if reply["id"] == probe]
        if "error" in told:  # it has been shut down
            self.stop()
            self._start()
        if not wanted:
            return "taken as notifications"
        return "refused" if "error" in replies[ids.index(wanted[0])] else "answered"

    def _ended(self, body: bytes) -> str:
        assert self._server.wait() in (0, 1)
        assert b"exit" in body, f"{body!r} ended the server"
        self.stop()
        self._start()
        return "ended by exit"

    def stop(self) -> None:
        self._server.stop()
        _check_log(self._server)


def _check_log(server: Piserver) -> None:
    """Nothing is said of faults of the server's own."""
    text = server.errors.read_text()
    for fault in ("the server failed", "background work failed", "cannot be sent"):
        assert fault not in text, text


def _answer_to(body: bytes) -> list[Any]:
    """The ids that answers to a message must bear: one, or none for a notification."""
    try:
        message: Any = json.loads(body.decode(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return [None]
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return [_id(message)]
    if "method" not in message:
        return [] if "id" in message and ("result" in message or "error" in message) else [_id(message)]
    if "id" not in message:
        return [] if isinstance(message["method"], str) else [None]
    return [_id(message)]


def _id(message: Any) -> Any:
    id = message.get("id") if isinstance(message, dict) else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _stream(home: Path, rng: random.Random) -> str:
    """Several frames with damage anywhere, then the end of input: the server ends by itself, in whole frames."""
    home.mkdir(exist_ok=True)
    frames = [b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in (_body(rng, "s") for _ in range(4))]
    data = mutated(b"".join(frames), rng, BYTES)
    server = Piserver(home)
    try:
        server.initialize()
        try:
            server.send_bytes(data)
            server.close_input()
        except BrokenPipeError:  # it has ended already
            pass
        replies = [message for message in server.messages() if "method" not in message]
        code = server.wait()
        assert code in (0, 1), f"{data!r} ended the server with {code}"
        _check_log(server)
        framing = LspFraming()
        events = [*framing.feed(data), *framing.end()]
        exits = any(isinstance(event, Body) and b"exit" in event.data for event in events)
        if not exits and any(isinstance(event, Broken) for event in events):
            assert code == 1
            assert any(reply["id"] is None and reply["error"]["code"] == -32700 for reply in replies), f"{data!r}"
            return "streams that could not be followed"
        return "streams read to their end"
    finally:
        server.stop()
