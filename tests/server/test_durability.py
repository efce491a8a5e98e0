"""What was answered is in the file, however the server ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.client import Piserver, assistant, user
from tests.server.files import chain, entries, header, write

Launch = Callable[..., Piserver]


@pytest.mark.parametrize("framing", ["lsp", "lines"])
def test_a6_an_answered_entry_survives_the_servers_death(launch: Launch, framing: str) -> None:
    server = launch(framing=framing)
    server.initialize()
    made = server.call("session/create", {"cwd": "/w"})
    ids = server.append(made["sessionId"], user("typed"))
    server.process.kill()
    server.process.wait()
    assert [entry["id"] for entry in entries(Path(made["info"]["path"]))] == ids
    after = launch()
    after.initialize()
    [info] = after.call("session/list")["sessions"]
    assert (info["id"], info["firstMessage"]) == (made["sessionId"], "typed")


def test_a_killed_server_leaves_every_answered_entry_and_no_torn_line(launch: Launch) -> None:
    server = launch()
    server.initialize()
    made = server.call("session/create", {"cwd": "/w"})
    ids = [
        server.request("session/append", {"sessionId": made["sessionId"], "entry": assistant("x" * 1000)})
        for _ in range(300)
    ]
    answered = [server.reply(id)["result"]["entryIds"][0] for id in ids[:100]]
    server.process.kill()
    server.process.wait()
    written = [entry["id"] for entry in entries(Path(made["info"]["path"]))]
    assert written[:100] == answered


@pytest.mark.parametrize("framing", ["lsp", "lines"])
def test_g3_an_end_of_input_finishes_what_was_asked(launch: Launch, framing: str) -> None:
    server = launch(framing=framing)
    server.initialize()
    write(server.folder / "--w--" / "s.jsonl", header("s"), chain(3))
    asked = [server.request("session/open", {"sessionId": "s"})]
    asked += [server.request("session/append", {"sessionId": "s", "entry": user(str(n))}) for n in range(50)]
    asked += [server.request("session/buildContext", {"sessionId": "s"})]
    server.close_input()
    answers = {id: server.reply(id) for id in asked}
    assert all("result" in answer for answer in answers.values())
    assert server.wait() == 0
    written = entries(server.folder / "--w--" / "s.jsonl")[3:]
    assert [entry["message"]["content"] for entry in written] == [str(n) for n in range(50)]


def test_shutdown_and_exit_end_with_everything_on_disk(launch: Launch) -> None:
    server = launch()
    server.initialize()
    made = server.call("session/create", {"cwd": "/w"})
    ids = server.append(made["sessionId"], user("u"), {"type": "custom", "customType": "c"})
    server.call("shutdown")
    server.notify("exit")
    assert server.wait() == 0
    assert [entry["id"] for entry in entries(Path(made["info"]["path"]))] == ids


def test_a17_another_server_sees_an_entry_as_soon_as_it_is_answered(launch: Launch) -> None:
    one, other = launch(), launch()
    one.initialize()
    other.initialize()
    session = one.create()
    for n in range(10):
        [id] = one.append(session, user(str(n)))
        snapshot = other.call("session/open", {"sessionId": session})
        assert (snapshot["revision"], snapshot["rows"]["rows"][-1]["id"]) == (n + 1, id)


def test_e3_two_servers_writing_at_once_lose_and_mix_nothing(launch: Launch) -> None:
    servers = [launch(), launch()]
    for server in servers:
        server.initialize()
    made = servers[0].call("session/create", {"cwd": "/w"})
    session = made["sessionId"]
    servers[1].call("session/open", {"sessionId": session})
    asked = [
        [server.request("session/append", {"sessionId": session, "entry": user(f"{k} {n}")}) for n in range(200)]
        for k, server in enumerate(servers)
    ]
    ids = [
        [server.reply(id)["result"]["entryIds"][0] for id in mine] for server, mine in zip(servers, asked, strict=True)
    ]
    written = entries(Path(made["info"]["path"]))
    assert sorted(entry["id"] for entry in written) == sorted(ids[0] + ids[1])
    for k, server in enumerate(servers):
        assert [entry["id"] for entry in written if entry["message"]["content"].startswith(f"{k} ")] == ids[k]
        assert server.call("session/open", {"sessionId": session})["revision"] == 400
