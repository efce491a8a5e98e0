"""The offline model: it plays scripts, and answers by itself where there is none."""

from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from piserver.entries.messages import check_message
from piserver.providers.answer import Answer
from piserver.providers.base import BlockDelta, Request, StreamEvent, ToolSpec
from piserver.providers.offline import OFFLINE, OfflineProvider
from piserver.providers.script import Script, ScriptError


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": 1}


def request(*messages: dict[str, Any], **fields: Any) -> Request:
    return Request(model=fields.pop("model", OFFLINE), messages=list(messages), **fields)


async def play(asked: Request, provider: OfflineProvider | None = None) -> tuple[Answer, list[StreamEvent]]:
    answer, events = Answer(asked.model, 7), list[StreamEvent]()
    async with aclosing((provider or OfflineProvider()).stream(asked)) as stream:
        async for event in stream:
            answer.add(event)
            events.append(event)
    check_message(answer.message())
    return answer, events


async def test_a_step_is_streamed_in_pieces_and_put_together_again() -> None:
    call = {"name": "read", "arguments": {"path": "a.txt"}, "id": "c1"}
    script = Script.of([{"thinking": "hm " * 9, "text": "I look at it now, slowly.", "calls": [call]}])
    answer, events = await play(request(user("go"), script=script))
    message = answer.message()
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm " * 9},
        {"type": "text", "text": "I look at it now, slowly."},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.txt"}},
    ]
    assert message["stopReason"] == "toolUse"
    assert message["usage"]["output"] > message["usage"]["reasoning"] > 0
    assert sum(isinstance(event, BlockDelta) for event in events) > 4


async def test_each_request_plays_the_next_step_and_the_end_is_an_error() -> None:
    script = Script.of({"steps": [{"text": "one"}, {"text": "two"}]})
    said = [(await play(request(user("go"), script=script)))[0] for _ in range(3)]
    assert [answer.message()["content"] for answer in said[:2]] == [
        [{"type": "text", "text": "one"}],
        [{"type": "text", "text": "two"}],
    ]
    assert said[2].failure is not None
    assert "step 3" in said[2].failure.message


@pytest.mark.parametrize(("kind", "retryable"), [("rate-limit", True), ("overflow", False), ("cut-off", True)])
async def test_a_step_fails_as_it_says_and_what_was_said_is_kept(kind: str, retryable: bool) -> None:
    failure = {"kind": kind, "after": 2, "retryAfter": 1.5}
    script = Script.of([{"text": "x" * 100, "failure": failure}])
    answer, _ = await play(request(user("go"), script=script))
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.retryable, answer.failure.retry_after) == (kind, retryable, 1.5)
    assert answer.message()["stopReason"] == "error"
    assert answer.message()["content"] == [{"type": "text", "text": "x" * 32}]


async def test_a_failure_at_once_has_nothing_before_it() -> None:
    answer, events = await play(request(user("go"), script=Script.of([{"text": "x", "failure": {"kind": "auth"}}])))
    assert len(events) == 1
    assert answer.message()["content"] == []


async def test_arguments_that_are_no_object_are_kept_from_running() -> None:
    calls = [{"name": "read", "json": '{"path": '}, {"name": "read", "json": "[1]"}]
    answer, _ = await play(request(user("go"), script=Script.of([{"calls": calls}])))
    assert [call["arguments"] for call in answer.calls] == [{}, {}]
    assert all("argumentsError" in call for call in answer.calls)


async def test_an_answer_under_way_is_whole_at_every_moment_and_half_a_call_is_not_kept() -> None:
    step = {"text": "first", "calls": [{"name": "bash", "arguments": {"command": "x" * 100}}]}
    asked = request(user("go"), script=Script.of([step]))
    answer = Answer(OFFLINE, 7)
    async with aclosing(OfflineProvider().stream(asked)) as stream:
        async for event in stream:
            answer.add(event)
            check_message(answer.message())
            if isinstance(event, BlockDelta) and event.index == 1:
                break
    assert answer.message()["content"][-1]["type"] == "toolCall"
    answer.abort()
    assert answer.message()["content"] == [{"type": "text", "text": "first"}]
    assert answer.message()["stopReason"] == "aborted"


async def test_a_context_larger_than_the_window_overflows() -> None:
    small = msgspec.structs.replace(OFFLINE, context_window=100)
    answer, _ = await play(request(user("x" * 1000), model=small))
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.retryable) == ("overflow", False)


async def test_cancelling_ends_a_step_that_waits() -> None:
    with anyio.move_on_after(0.01) as scope:
        await play(request(user("go"), script=Script.of([{"text": "late", "delayMs": 3_600_000}])))
    assert scope.cancelled_caught


async def test_without_a_script_it_says_what_it_is() -> None:
    answer, _ = await play(request(user("hello there"), level="high"))
    (thinking, text) = answer.message()["content"]
    assert "message 1" in thinking["thinking"]
    assert "> hello there" in text["text"]
    assert "offline model" in text["text"]
    again, _ = await play(request(user("hello there"), level="high"))
    assert again.message() == answer.message()


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("read notes.txt", "read", {"path": "notes.txt"}),
        ("list", "ls", {}),
        ("run make all", "bash", {"command": "make all"}),
        ("write a.txt: hi\nyou", "write", {"path": "a.txt", "content": "hi\nyou"}),
        (
            'replace "a" with "b" in x.py',
            "edit",
            {"path": "x.py", "edits": [{"oldText": "a", "newText": "b"}]},
        ),
    ],
)
async def test_without_a_script_it_does_what_it_is_told_once(text: str, name: str, arguments: Any) -> None:
    tools = [ToolSpec(name=name, description="", parameters={})]
    answer, _ = await play(request(user(text), tools=tools))
    (call,) = answer.calls
    assert (call["name"], call["arguments"]) == (name, arguments)
    result = {"role": "toolResult", "toolCallId": call["id"], "toolName": name, "content": [], "isError": False}
    after, _ = await play(request(user(text), answer.message(), result, tools=tools))
    assert after.calls == []
    without, _ = await play(request(user(text)))
    assert without.calls == []


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([{"txt": "a"}], "txt"),
        ({"text": "a"}, "unknown field `text`"),
        ([{"failure": {"kind": "odd"}}], "kind"),
        (3, "array"),
    ],
)
def test_a_script_that_is_wrong_is_told_where(value: Any, where: str) -> None:
    with pytest.raises(ScriptError, match=where):
        Script.of(value)


def test_a_script_comes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('[{"text": "hi"}]')
    step = Script.load(path).next()
    assert step is not None
    assert step.text == "hi"
    path.write_text("[")
    with pytest.raises(ScriptError, match=r"s\.json"):
        Script.load(path)
    with pytest.raises(ScriptError, match="No such file"):
        Script.load(tmp_path / "none")
