"""A client of the real server, in a process and with a home of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.wire.client import Client, Message

Entry = dict[str, Any]


def user(text: str) -> Entry:
    return {"type": "message", "message": {"role": "user", "content": text}}


def assistant(text: str, **fields: Any) -> Entry:
    said = {"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "p", "model": "m"}
    return {"type": "message", "message": said | fields}


def custom(**fields: Any) -> Entry:
    return {"type": "custom", "customType": "test"} | fields


class Piserver(Client):
    """One server; `home` holds its sessions and its trash."""

    program = ("-m", "piserver", "serve")

    def __init__(self, home: Path, *arguments: str, framing: str = "lsp") -> None:
        self.home = home
        self.environment = {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "PI_CODING_AGENT_DIR": str(home / "agent"),
        }
        super().__init__(home, *arguments, framing=framing)

    @property
    def folder(self) -> Path:
        """Where the sessions lie."""
        return self.home / "agent" / "sessions"

    def create(self, cwd: str = "/", **params: Any) -> str:
        """A new session's id."""
        return self.call("session/create", {"cwd": cwd} | params)["sessionId"]

    def append(self, session: str, *entries: Entry, **params: Any) -> list[str]:
        """The ids of appended entries."""
        return self.call("session/append", {"sessionId": session, "entries": entries} | params)["entryIds"]

    def kind(self, method: str, params: Any = None) -> str:
        """The kind of the error that a request is answered with."""
        return self.error(method, params)["data"]["kind"]

    def rows(self, session: str, **params: Any) -> list[Message]:
        return self.call("session/getTree", {"sessionId": session} | params)["window"]["rows"]

    def texts(self, session: str, **params: Any) -> list[Any]:
        """The contents of the messages of a context."""
        context = self.call("session/buildContext", {"sessionId": session} | params)
        return [message["message"].get("content") for message in context["messages"]]

    def wait_until(self, method: str, wanted: Callable[[Message], bool]) -> Message:
        """The first notification of this method that is wanted; those before it are dropped."""
        while True:
            message = self.until(method)
            if wanted(message["params"]):
                return message["params"]
