import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from piserver.client import Client, ConnectionLost, Progress, RequestError, ServerError, connect
from piserver.protocol.settings import Settings
from tests.client.conftest import ECHO_SERVER, SCRIPTED_SERVER

DEADLINE = 20


async def test_a_request_is_answered_with_its_result(echo: Client) -> None:
    assert await echo.request("test/echo", {"class": [1, None], "a-b": "ä"}) == {"class": [1, None], "a-b": "ä"}
    assert await echo.request("test/none") is None
    assert bytes(await echo.request("test/raw", {"text": "{ }"}, msgspec.Raw)) == b"{ }"


async def test_lines_are_spoken_as_well() -> None:
    async with connect([*ECHO_SERVER, "--framing", "lines"], framing="lines") as client:
        assert await client.request("test/echo", {"text": "a\nb"}) == {"text": "a\nb"}


async def test_a_result_of_sixty_megabytes_arrives(echo: Client) -> None:
    result = await echo.request("test/large", {"size": 60_000_000}, msgspec.Raw)

    assert len(bytes(result)) == 60_000_002


async def test_an_expected_error_keeps_its_kind_and_data(echo: Client) -> None:
    with pytest.raises(RequestError, match=r"Busy just now\.") as caught:
        await echo.request("test/fail", {"name": "expected"})

    assert (caught.value.kind, caught.value.retryable, caught.value.data) == ("stale-cursor", True, {"runId": "r1"})
    assert caught.value.__class__.__module__ == "piserver.protocol.errors"


async def test_an_error_without_a_kind_keeps_its_code(echo: Client) -> None:
    with pytest.raises(ServerError, match="test/nothing") as caught:
        await echo.request("test/nothing")

    assert caught.value.code == -32601


async def test_a_result_of_another_type_is_an_error_of_that_request_alone(echo: Client) -> None:
    with pytest.raises(msgspec.ValidationError):
        await echo.request("test/echo", {"a": 1}, list[int])
    assert await echo.request("test/echo", {"a": 1}, dict[str, int]) == {"a": 1}


async def test_progress_is_reported_to_who_asked_for_it(echo: Client) -> None:
    reports: list[Progress] = []
    result = await echo.request("test/progress", progress=reports.append)

    assert result == {"wanted": True}
    assert [report.kind for report in reports] == ["begin", "report", "end"]
    assert (reports[0].title, reports[1].percentage, reports[2].message) == ("counting", 50, "all")


async def test_requests_run_side_by_side(echo: Client) -> None:
    async with anyio.create_task_group() as tasks:
        waiting = anyio.Event()
        answers: list[object] = []

        async def wait() -> None:
            answers.append(await echo.request("test/wait", {"name": "gate"}, progress=lambda _: waiting.set()))

        tasks.start_soon(wait)
        with anyio.fail_after(DEADLINE):
            await waiting.wait()
            await echo.request("test/open", {"name": "gate"})

    assert answers == [{"waited": "gate"}]


async def test_cancelling_the_caller_cancels_the_request() -> None:
    async with connect(SCRIPTED_SERVER) as client:
        notices = client.notifications()
        with anyio.CancelScope() as scope:
            client.on("hanging", lambda _: scope.cancel())
            await client.request("hang")
        assert scope.cancelled_caught
        with anyio.fail_after(DEADLINE):
            seen = [await anext(notices), await anext(notices)]

    # `initialize` was request 1.
    assert [(notice.method, notice.params) for notice in seen] == [("hanging", None), ("cancelled", {"id": 2})]


async def test_cancelling_the_whole_block_ends_the_server_in_order() -> None:
    with anyio.fail_after(DEADLINE), anyio.CancelScope() as scope:
        async with connect(SCRIPTED_SERVER) as client:
            client.on("hanging", lambda _: scope.cancel())
            await client.request("hang")

    assert scope.cancelled_caught
    with pytest.raises(ConnectionLost, match="has left"):
        await client.request("hang")


async def test_notifications_come_in_order_until_the_connection_ends() -> None:
    called: list[int] = []
    async with connect(ECHO_SERVER) as client:
        stop = client.on("test/flooded", lambda params: called.append(params["number"]))
        notices = client.notifications()
        await client.request("test/flood", {"size": 1, "count": 50})
        stop()
        await client.request("test/flood", {"size": 1, "count": 1})

    assert called == list(range(50))
    assert [notice.params["number"] async for notice in notices] == [*range(50), 0]


async def test_notifications_can_be_closed(echo: Client) -> None:
    notices = echo.notifications()
    notices.close()
    await echo.request("test/flood", {"size": 1, "count": 1})
    assert [notice async for notice in notices] == []


async def test_a_callback_that_fails_does_no_harm(echo: Client, caplog: pytest.LogCaptureFixture) -> None:
    called: list[object] = []

    def fail(params: object) -> None:
        raise LookupError("a surprise")

    echo.on("test/flooded", fail)
    echo.on("test/flooded", called.append)
    await echo.request("test/flood", {"size": 1, "count": 2})

    assert len(called) == 2
    assert "a surprise" in caplog.text


async def test_when_the_server_dies_everybody_who_waits_is_told() -> None:
    failures: list[str] = []

    async def hang(client: Client) -> None:
        with pytest.raises(ConnectionLost) as caught:
            await client.request("hang")
        failures.append(str(caught.value))

    with anyio.fail_after(DEADLINE):
        async with connect(SCRIPTED_SERVER) as client:
            notices = client.notifications()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(hang, client)
                tasks.start_soon(hang, client)
                await anext(notices)
                await anext(notices)
                with pytest.raises(ConnectionLost, match="exit code 3"):
                    await client.request("die")
            assert [notice async for notice in notices] == []
            with pytest.raises(ConnectionLost, match="exit code 3"):
                await client.request("late")

    assert failures == ["The server has ended with exit code 3."] * 2


async def test_what_is_no_protocol_ends_the_connection() -> None:
    with anyio.fail_after(DEADLINE):
        async with connect(SCRIPTED_SERVER) as client:
            with pytest.raises(ConnectionLost, match="a stray print"):
                await client.request("garbage")


async def test_a_request_of_the_server_is_refused_and_a_reply_to_nobody_ignored() -> None:
    async with connect(SCRIPTED_SERVER) as client:
        reply = await client.request("ask")
        assert await client.request("twice") == 1
        assert await client.request("twice") == 1

    assert (reply["id"], reply["error"]["code"]) == ("question", -32601)


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    error = LookupError("mine")
    with pytest.raises(LookupError) as caught:
        async with connect(SCRIPTED_SERVER):
            raise error

    assert caught.value is error


async def test_a_client_that_has_left_says_so() -> None:
    async with connect(SCRIPTED_SERVER) as client:
        pass

    with pytest.raises(ConnectionLost, match="has left"):
        await client.request("hang")


async def test_a_server_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piserver.client.process.SHUTDOWN_SECONDS", 0.1)
    monkeypatch.setattr("piserver.client.process.EXIT_SECONDS", 0.1)
    with anyio.fail_after(DEADLINE):
        async with connect([*SCRIPTED_SERVER, "--stubborn"]):
            pass


async def test_a_program_that_cannot_be_started_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with connect(["/nowhere/piserver"]):
            pass


@pytest.mark.parametrize(("code", "reason"), [("raise SystemExit(4)", "exit code 4"), ("print('hello')", "hello")])
async def test_a_program_that_is_no_server_is_a_lost_connection(code: str, reason: str) -> None:
    with pytest.raises(ConnectionLost, match=reason):
        async with connect([sys.executable, "-c", code]):
            pass


async def test_a_server_of_another_protocol_version_is_refused() -> None:
    with pytest.raises(ConnectionLost, match="version 2"):
        async with connect(SCRIPTED_SERVER, env={"VERSION": "2"}):
            pass


async def test_settings_that_the_server_refuses_are_reported(tmp_path: Path) -> None:
    settings = Settings(durability="sometimes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(RequestError, match="durability") as caught:
        async with connect(settings=settings, cwd=tmp_path):
            pass

    assert caught.value.kind == "invalid-params"
