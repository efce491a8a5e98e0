"""What a client may set, and what the server says of itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from piserver import __version__
from piserver.protocol.registry import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from piserver.session import FILTERS
from tests.server.client import Piserver, user

Launch = Callable[..., Piserver]


def start(launch: Launch, **settings: Any) -> Any:
    server = launch()
    return server, server.initialize(initializationOptions={"piserver": settings})


def configure(server: Piserver, **settings: Any) -> None:
    server.notify("workspace/didChangeConfiguration", {"settings": {"piserver": settings}})


def warning(server: Piserver, words: str) -> None:
    """Waits until the client has been warned in these words."""
    server.wait_until("window/logMessage", lambda logged: logged["type"] == 2 and words in logged["message"])


def test_the_server_says_what_it_can_do(launch: Launch) -> None:
    server, result = start(launch, maxFrameBytes=1_000_000)
    assert result["capabilities"]["experimental"] == {
        "piserver": {
            "protocolVersion": PROTOCOL_VERSION,
            "version": __version__,
            "methods": list(METHODS),
            "notifications": list(NOTIFICATIONS),
            "filters": list(FILTERS),
            "maxFrameBytes": 1_000_000,
        }
    }
    assert result["serverInfo"] == {"name": "piserver", "version": __version__}
    for method in METHODS:
        assert server.error(method, {"colour": 1})["code"] == -32602
    assert server.error("session/somethingElse", {})["code"] == -32601


@pytest.mark.parametrize("options", [None, {"piserver": None}, {"other": {"piserver": 1}}])
def test_settings_can_be_left_out(launch: Launch, options: Any) -> None:
    server = launch()
    server.initialize(initializationOptions=options)
    info = server.call("session/create", {"cwd": "/w"})["info"]
    assert Path(info["path"]).is_relative_to(server.folder)


def test_sessions_lie_in_the_folder_that_was_set(launch: Launch, tmp_path: Path) -> None:
    server, _ = start(
        launch, sessionsFolder=str(tmp_path / "here"), trusted=True, durability="always", logLevel="debug"
    )
    info = server.call("session/create", {"cwd": "/w"})["info"]
    assert Path(info["path"]).parent == tmp_path / "here" / "--w--"


def test_a_folder_in_the_home_can_be_set(launch: Launch) -> None:
    server, _ = start(launch, sessionsFolder="~/mine")
    info = server.call("session/create", {"cwd": "/w"})["info"]
    assert Path(info["path"]).parent == server.home / "mine" / "--w--"


def test_a_setting_that_nobody_knows_is_warned_of(launch: Launch) -> None:
    server, _ = start(launch, colour="red", maxFrameBytes=100_000)
    warning(server, "piserver.colour")
    assert server.error("session/list", {"cwd": "x" * 200_000})["data"]["kind"] == "too-large"


def test_settings_of_the_wrong_type_refuse_the_connection_until_they_are_right(launch: Launch) -> None:
    server = launch()
    wrong: list[dict[str, Any]] = [
        {"trusted": "yes"},
        {"sessionsFolder": 5},
        {"durability": "sometimes"},
        {"logLevel": "loud"},
        {"maxFrameBytes": 10},
        {"maxFrameBytes": "64 MB"},
    ]
    for settings in (*wrong, [], "piserver"):
        params = {"processId": None, "capabilities": {}, "initializationOptions": {"piserver": settings}}
        error = server.error("initialize", params)
        assert (error["code"], error["data"]["kind"]) == (-32602, "invalid-params")
        assert next(iter(settings), "piserver") in error["message"] or settings == "piserver"
        assert server.error("session/list")["code"] == -32002
    server.initialize()
    assert server.call("session/list")["sessions"] == []


def test_settings_change_while_the_server_runs(launch: Launch, tmp_path: Path) -> None:
    server, _ = start(launch)
    session = server.create()
    configure(server, sessionsFolder=str(tmp_path / "there"), maxFrameBytes=100_000, durability="never")
    assert server.call("session/list")["sessions"] == []
    server.append(session, user("what is open stays open"))
    error = server.error("session/append", {"sessionId": session, "entry": user("x" * 200_000)})
    assert (error["code"], error["data"]["kind"], error["data"]["limit"]) == (-32803, "too-large", 100_000)
    configure(server)  # what is left out has its default again
    assert [info["id"] for info in server.call("session/list")["sessions"]] == [session]
    server.append(session, user("x" * 200_000))


def test_a_change_that_cannot_be_is_warned_of_and_changes_nothing(launch: Launch, tmp_path: Path) -> None:
    server, _ = start(launch, sessionsFolder=str(tmp_path / "here"))
    session = server.create()
    configure(server, sessionsFolder=str(tmp_path / "there"), durability=7)
    warning(server, "durability")
    configure(server, sessionsFolder=str(tmp_path / "here"), colour=1)
    warning(server, "piserver.colour")
    assert [info["id"] for info in server.call("session/list")["sessions"]] == [session]
    for settings in (None, [], "x", {"piserver": 5}):
        server.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert [info["id"] for info in server.call("session/list")["sessions"]] == [session]


def test_log_records_come_from_the_level_that_was_set(launch: Launch) -> None:
    server, _ = start(launch, logLevel="error", colour=1)
    configure(server, logLevel="off", colour=2)
    configure(server, logLevel="info", shade=3)
    warning(server, "piserver.shade")
    assert not any("colour" in str(note) for note in server.notifications)
