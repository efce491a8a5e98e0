import inspect
import json
import os
import re
from pathlib import Path

import anyio
import pytest
from msgspec import UNSET

from piserver.client import Client, Progress, RequestError, connect
from piserver.client.methods import ChangeOptions
from piserver.entries.types import CustomMessageDraft, MessageDraft, ModelDraft, Replacement
from piserver.protocol.registry import METHODS
from piserver.protocol.search import SearchResult
from piserver.protocol.sessions import ListChanged, ListResult, SummaryParams, TargetModel, TreeChanged
from piserver.protocol.settings import Settings

DEADLINE = 20


def user(text: str) -> MessageDraft:
    return MessageDraft(message={"role": "user", "content": text})


def assistant(text: str) -> MessageDraft:
    return MessageDraft(message={"role": "assistant", "content": [{"type": "text", "text": text}]})


def test_every_method_of_the_protocol_has_a_function_with_its_fields() -> None:
    def snake(name: str) -> str:
        return re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)

    names = {"session/list": "list_sessions"}
    for method, spec in METHODS.items():
        function = getattr(Client, names.get(method, snake(method.removeprefix("session/"))))
        parameters = set(inspect.signature(function).parameters)
        if "change" in parameters:
            parameters |= set(ChangeOptions.__annotations__)
        if method == "session/append":
            parameters.add("entry")
        assert set(spec.params.__struct_fields__) <= parameters, method


async def test_a_session_is_made_grown_and_read(client: Client, tmp_path: Path) -> None:
    made = await client.create(tmp_path, name="first", metadata={"k": [1]})
    id = made.session_id
    grown = await client.append(id, user("one"), assistant("two"), ModelDraft(provider="p", model_id="m"))
    tree = await client.get_tree(id)
    entries = await client.get_entries(id, grown.entry_ids)
    path = await client.get_path(id, offset=1, limit=2)
    changes = await client.changes(id, made.epoch, made.revision)
    context = await client.build_context(id)
    stats = await client.stats(id)

    assert made.info.name == "first"
    assert grown.leaf_id == grown.entry_ids[2]
    assert [(row.preview, row.role) for row in tree.window.rows] == [("one", "user"), ("two", "assistant")]
    assert [json.loads(bytes(entry))["id"] for entry in entries.entries] == grown.entry_ids
    assert (path.total, [entry.id for entry in path.entries]) == (4, grown.entry_ids[:2])
    assert [entry.id for entry in changes.appended] == grown.entry_ids
    assert [json.loads(bytes(message.message))["role"] for message in context.messages] == ["user", "assistant"]
    assert context.state.model is not None
    assert (context.state.model.provider, context.state.model.model_id) == ("p", "m")
    assert (stats.file.messages, stats.path.messages) == (2, 2)


async def test_a_file_is_verified_mended_and_held(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    id = (await client.create(tmp_path, path=path)).session_id
    with path.open("ab") as file:
        file.write(b"no entry\n")
    held = await client.lease(id, "take", purpose="a test")
    found = await client.verify(session_id=id)
    done = await client.repair(path)
    given_back = await client.lease(id, "release")

    assert held.own
    assert held.owner is not None
    assert held.owner.purpose == "a test"
    assert ([step.kind for step in found.steps], found.entries) == (["set-aside-line"], 0)
    assert (done.steps, done.diagnostics) == (found.steps, [])
    assert (given_back.owner, given_back.own) == (None, False)


async def test_the_tree_is_moved_in_labelled_and_edited(client: Client, tmp_path: Path) -> None:
    id = (await client.create(tmp_path)).session_id
    one, two, three = (await client.append(id, user("one"), assistant("two"), user("three"))).entry_ids
    labelled = await client.set_label(id, two, "here")
    moved = await client.move_to(id, one, summary=SummaryParams(summary="left"), expected_leaf_id=labelled.leaf_id)
    went = await client.navigate(id, three, label="again")
    start = await client.move_to(id, None)
    back = await client.move_to(id, three)
    edited = await client.edit_context(id, one, Replacement(content="eins"))
    replaced = await client.build_context(id, three)
    at_edit = await client.build_context(id)
    await client.edit_context(id, one, restore=True)
    restored = await client.build_context(id)
    await client.edit_context(id, one, None)
    dropped = await client.build_context(id)
    llm = await client.build_context(
        id, form="llm", model=TargetModel(provider="p", model_id="m", api="a"), estimates=False, excluded=False
    )

    assert moved.leaf_id == moved.summary_entry_id
    assert (went.editor_text, went.leaf_id) == ("three", went.label_entry_id)
    assert start.leaf_id is None
    assert back.leaf_id == three
    assert edited.leaf_id == edited.entry_ids[-1]
    texts = [json.loads(bytes(c.messages[0].message))["content"] for c in (replaced, at_edit, restored)]
    assert texts == ["one", "eins", "one"]
    assert [message.entry_id for message in dropped.messages] == [two, three]
    assert [message.entry_id for message in llm.messages] == [two, three]
    labels = {row.id: row.label for row in (await client.get_tree(id, filter="labeled")).window.rows}
    assert labels == {two: "here", three: "again"}


async def test_sessions_are_listed_forked_renamed_and_deleted(client: Client, tmp_path: Path) -> None:
    heard: list[str] = []
    stop = client.on("session/listChanged", lambda changed: heard.append(changed.reason))
    made = await client.create(tmp_path, idempotency_key="k")
    assert (await client.create(tmp_path, idempotency_key="k")).session_id == made.session_id
    id = made.session_id
    one, _ = (await client.append(id, user("one"), assistant("two"))).entry_ids
    forked = await client.fork(id, one, cwd=tmp_path / "elsewhere")
    cloned = await client.clone(id)
    renamed = await client.rename(id, "new name")
    latest = await client.latest(tmp_path)
    listed = await client.list_sessions(tmp_path)
    first = await client.list_sessions(tmp_path, limit=1)
    rest = await client.list_sessions(tmp_path, cursor=first.next_cursor or "")
    deleted = await client.delete(cloned.info.path, permanent=True)
    await client.close(id)
    stop()

    assert (forked.editor_text, forked.info.cwd) == ("one", str(tmp_path / "elsewhere"))
    assert len(renamed.entry_ids) == 1
    assert latest.info is not None
    assert latest.info.name == "new name"
    assert {info.id for info in listed.sessions} == {id, cloned.info.id}
    assert [*first.sessions, *rest.sessions] == listed.sessions
    assert deleted.path == cloned.info.path
    assert not Path(deleted.path).exists()
    assert heard == ["created", "created", "created", "renamed", "deleted"]


async def test_what_was_said_is_found(client: Client, tmp_path: Path) -> None:
    id = (await client.create(tmp_path, name="Animals")).session_id
    [cat, dog] = (await client.append(id, user("a cat"), assistant("a cat and a dog"))).entry_ids
    parts: list[SearchResult] = []
    reports: list[Progress] = []
    here = await client.search("cat", session_id=id)
    dogs = await client.search("D.G", cwd=tmp_path, regex=True, roles=["assistant"], types=["message"], limit=1)
    none = await client.search("CAT", match_case=True)
    streamed = await client.search("cat", session_id=id, partial=parts.append, progress=reports.append)

    assert [hit.entry_id for hit in here.hits] == [dog, cat]
    assert [(hit.entry_id, hit.snippet[hit.ranges[0].start : hit.ranges[0].end]) for hit in dogs.hits] == [(dog, "dog")]
    assert none.hits == []
    assert streamed.hits == []
    assert [hit for part in parts for hit in part.hits] == here.hits
    assert [report.kind for report in reports][:1] == ["begin"]


async def test_lists_are_filtered_and_come_in_parts(client: Client, tmp_path: Path) -> None:
    for name in ("one", "two"):
        await client.create(tmp_path, name=name)
    parts: list[ListResult] = []
    whole = await client.list_sessions(tmp_path)
    one = await client.list_sessions(tmp_path, query="one", since="2000-01-01")
    streamed = await client.list_sessions(tmp_path, partial=parts.append)

    assert [info.name for info in whole.sessions] == ["two", "one"]
    assert [info.name for info in one.sessions] == ["one"]
    assert (await client.list_sessions(tmp_path, until="2000-01-01")).sessions == []
    assert streamed.sessions == []
    assert [info for part in parts for info in part.sessions] == whole.sessions


async def test_a_session_is_exported(client: Client, tmp_path: Path) -> None:
    id = (await client.create(tmp_path)).session_id
    [one, _] = (await client.append(id, user("one"), assistant("two"))).entry_ids
    here = await client.export(id, "markdown", entry_id=one, redact=True)
    there = await client.export(id, "html", scope="tree", path=tmp_path / "page.html")
    again = await client.export(id, "markdown", path=tmp_path / "page.html", overwrite=True)

    assert isinstance(here.content, str)
    assert "one" in here.content
    assert "two" not in here.content
    assert (there.content, there.path) == (UNSET, str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").stat().st_size == again.size != there.size


async def test_notifications_are_typed(client: Client, tmp_path: Path) -> None:
    notices = client.notifications()
    made = await client.create(tmp_path)
    appended = await client.append(made.session_id, user("one"))
    with anyio.fail_after(DEADLINE):
        seen = [await anext(notices), await anext(notices)]

    listed, tree = (notice.params for notice in seen)
    assert isinstance(listed, ListChanged)
    assert isinstance(tree, TreeChanged)
    assert (tree.from_revision, tree.revision) == (made.revision, appended.revision)


async def test_errors_have_their_kind(client: Client, tmp_path: Path) -> None:
    id = (await client.create(tmp_path)).session_id
    with pytest.raises(RequestError) as unknown:
        await client.get_entries(id, ["nope"])
    with pytest.raises(RequestError) as stale:
        await client.changes(id, "another", 0)

    assert (unknown.value.kind, unknown.value.data) == ("entry-not-found", {"entryId": "nope"})
    assert stale.value.kind == "stale-cursor"
    assert stale.value.data["snapshot"]["sessionId"] == id


async def test_relative_paths_are_those_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_folder = tmp_path / "server"
    server_folder.mkdir()
    monkeypatch.chdir(tmp_path)
    async with connect(cwd=server_folder, settings=Settings(sessions_folder=str(tmp_path / "s"))) as client:
        made = await client.create(".", path="here.jsonl")
        opened = await client.open("here.jsonl", at_leaf=True)

    assert made.info.cwd == os.path.abspath(".")
    assert (tmp_path / "here.jsonl").is_file()
    assert opened.session_id == made.session_id


async def test_opening_reports_progress(client: Client, tmp_path: Path) -> None:
    file = Path((await client.create(tmp_path)).info.path)
    copy = file.rename(tmp_path / "copy.jsonl")
    reports: list[Progress] = []
    await client.open(copy, progress=reports.append)

    assert [report.kind for report in reports][:1] == ["begin"]
    assert [report.kind for report in reports][-1:] == ["end"]


async def test_half_an_emoji_in_a_file_reaches_the_client(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    line = rb'{"type":"message","id":"e1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z",'
    line += rb'"message":{"role":"user","content":"cut \ud83d"}}'
    file.write_bytes(json.dumps(header).encode() + b"\n" + line + b"\n")
    opened = await client.open(file)
    [entry] = (await client.get_entries(opened.session_id, ["e1"])).entries
    [message] = (await client.build_context(opened.session_id)).messages

    assert json.loads(bytes(entry)) == json.loads(line)
    assert json.loads(bytes(message.message))["content"] == "cut \ud83d"


async def test_large_messages_go_both_ways(client: Client, tmp_path: Path) -> None:
    id = (await client.create(tmp_path)).session_id
    text = "x" * 15_000_000
    await client.append(id, user(text))
    await client.append(id, CustomMessageDraft(custom_type="big", content=text))
    context = await client.build_context(id)

    assert sum(len(bytes(message.message)) for message in context.messages) > 30_000_000


async def test_over_the_server_s_limit_is_a_clean_error_and_the_connection_survives(tmp_path: Path) -> None:
    settings = Settings(sessions_folder=str(tmp_path / "s"), max_frame_bytes=100_000)
    async with connect(settings=settings) as client:
        id = (await client.create(tmp_path)).session_id
        with pytest.raises(RequestError) as caught:
            await client.append(id, user("x" * 200_000))
        assert len((await client.append(id, user("small"))).entry_ids) == 1

    assert caught.value.kind == "too-large"
