"""`piserver demo`: one session's life over stdio, from its first entry to its return in a second server."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
import msgspec
from rich.console import Console

from piserver.cli.conversation import ask, call, result, say
from piserver.cli.drawing import legend, print_line
from piserver.cli.failures import told_in_a_line
from piserver.cli.picture import write_picture
from piserver.cli.story import Contexts, Story
from piserver.client import Client, Notifications, RequestError, connect
from piserver.entries.types import ModelDraft
from piserver.protocol.sessions import BuildContextResult, Snapshot, SummaryParams, TreeChanged
from piserver.protocol.settings import Settings
from piserver.protocol.shapes import EntryId, EntrySummary

__all__ = ["run"]

SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-5"
FIX = "Fix it, and add a test."
PATIENCE = 5.0


def run(svg: str | None = None) -> int:
    """Tells the story on stdout and returns the exit code; `svg` is the file for a picture of its last tree.

    Raises click.ClickException if the server cannot be started or refuses what it should do.
    """
    story = Story(Console(highlight=False))
    with told_in_a_line(), tempfile.TemporaryDirectory(prefix="piserver-demo-") as folder:
        anyio.run(_tell, story, Path(folder).resolve(), svg)
    return story.end()


class _State(msgspec.Struct):
    """What a client sees of the session: what must come back. The contexts are at the leaf and at a label."""

    snapshot: Snapshot
    contexts: list[BuildContextResult]
    paths: list[list[EntrySummary]]


async def _tell(story: Story, folder: Path, svg: str | None) -> None:
    project = folder / "importer"
    project.mkdir()
    settings = Settings(sessions_folder=str(folder / "sessions"))
    async with connect(settings=settings) as client:
        before = await _first_server(story, client, project)
    story.step("The server is stopped, and another one is started.")
    async with connect(settings=settings) as client:
        after = await _second_server(story, client, project, before)
    if svg is not None:
        write_picture(Path(svg), after.snapshot, _labelled(after))


async def _first_server(story: Story, client: Client, project: Path) -> _State:
    story.step("A server is started over stdio, and a session is made.")
    notices = client.notifications()
    made = await client.create(project, name="Importer drops rows")
    id = made.session_id
    story.check(Path(made.info.path).is_file(), f"its file: {Path(made.info.path).name}")

    story.step("A conversation is appended: questions, answers, a tool call with its result.")
    await client.append(id, ModelDraft(provider="anthropic", model_id=SONNET))
    await client.append(id, ask("The nightly import drops rows. Find out why."))
    await client.append(id, say("Let me read it.", call("c1", "read", path="src/importer.py"), model=SONNET))
    await client.append(id, result("c1", "read", "while row := next(rows): store(row)"))
    found = await client.append(id, say("A blank row is falsy: the loop ends at the first one.", model=SONNET))
    story.check(found.revision == made.revision + 5, "each was on the disk before it was answered")
    await _draw(story, client, id)

    story.step("The model changes, and the work goes on.")
    await client.append(id, ModelDraft(provider="anthropic", model_id=OPUS))
    asked = (await client.append(id, ask(FIX))).entry_ids[0]
    batch = [
        say("I iterate over the rows instead.", call("c2", "edit", path="src/importer.py"), model=OPUS, tokens=2300),
        result("c2", "edit", "for row in rows: store(row)"),
        say("Fixed: no row is lost. 12 tests pass.", model=OPUS, tokens=2500),
    ]
    done = await client.append(id, *batch)
    answer = done.entry_ids[-1]
    story.check(len(done.entry_ids) == 3, "three entries in one write: all of them or none")
    await client.set_label(id, answer, "iterate")
    await _draw(story, client, id)

    story.step("Back to the question: it returns to the editor, and another branch grows beside the first.")
    went = await client.navigate(id, asked)
    story.check(went.editor_text == FIX, f"the text to be sent anew: “{went.editor_text}”")
    batch = [
        ask("Fix it, but warn about every blank row."),
        say("I skip them with a warning.", call("c3", "bash", command="pytest -q"), model=OPUS, tokens=2200),
        result("c3", "bash", "13 passed in 0.41s"),
        say("Done: blank rows are skipped, with a warning each.", model=OPUS, tokens=2400),
    ]
    other = (await client.append(id, *batch)).entry_ids[-1]
    await client.set_label(id, other, "warn")
    await _draw(story, client, id)

    story.step("Back to the first answer, with a summary of the branch that is left.")
    await client.move_to(id, answer, summary=SummaryParams(summary="Tried: skip blank rows with a warning each."))
    last = await client.append(
        id, ask("Good. Write the release note."), say("“Blank rows no longer end an import.”", tokens=2900)
    )
    await _draw(story, client, id)

    story.step("What a model would be given, at two places of the tree.")
    state = await _read(client, id)
    story.contexts(_labelled(state))
    ours, theirs = ([bytes(message.message) for message in context.messages] for context in state.contexts)
    shared = sum(a == b for a, b in zip(ours, theirs, strict=False))
    story.check(0 < shared < min(len(ours), len(theirs)), f"{shared} messages are common to both, the rest differs")
    story.check(state.snapshot.leaf_id == last.leaf_id, "asking has moved nothing")

    story.step("A fork: a session of its own, up to the question.")
    forked = await client.fork(id, asked)
    fork = await client.open(forked.info.path, subscribe=False)
    story.check(forked.editor_text == FIX, f"the text to begin with: “{forked.editor_text}”")
    story.check(forked.info.parent_session == made.info.path, "it knows which session it comes from")
    story.check(fork.statistics.messages == 4, f"it holds {fork.statistics.messages} messages")

    story.step("Nobody is misled.")
    try:
        await client.append(id, ask("Where am I?"), expected_leaf_id=asked)
        refused = ""
    except RequestError as error:
        refused = error.kind
    story.check(refused == "stale-leaf", "a change that assumes an old leaf is refused")
    seamless = await _seamless(notices, id, made.revision, last.revision)
    story.check(seamless, "notifications have told of every entry, without a gap")
    return state


async def _second_server(story: Story, client: Client, project: Path, before: _State) -> _State:
    listed = await client.list_sessions(project)
    story.check(len(listed.sessions) == 2, f"it finds {len(listed.sessions)} sessions of the directory")
    after = await _read(client, before.snapshot.session_id)
    old, new = before.snapshot, after.snapshot
    story.check(new.revision == old.revision, f"all {new.revision} entries are back")
    story.check(new.leaf_id == old.leaf_id, "the leaf is where it was")
    story.check(new.rows == old.rows, "the tree is drawn as before: branches, labels, marks")
    story.check(_bytes(after) == _bytes(before), "both contexts are the same, byte for byte")
    story.rows(new.rows.rows)
    print_line(story.console, legend(5))
    return after


async def _draw(story: Story, client: Client, id: str) -> None:
    story.rows((await client.get_tree(id)).window.rows)


async def _read(client: Client, id: str) -> _State:
    snapshot = await client.open(session_id=id, subscribe=False)
    labelled = next(row.id for row in snapshot.rows.rows if row.label == "warn")
    places: list[EntryId | None] = [snapshot.leaf_id, labelled]
    return _State(
        snapshot,
        [await client.build_context(id, place) for place in places],
        [(await client.get_path(id, place)).entries for place in places],
    )


def _labelled(state: _State) -> Contexts:
    return dict(
        zip(
            ("the context at the leaf", "the context at [warn]"),
            zip(state.contexts, state.paths, strict=True),
            strict=True,
        )
    )


def _bytes(state: _State) -> list[list[bytes]]:
    return [[bytes(message.message) for message in context.messages] for context in state.contexts]


async def _seamless(notices: Notifications, id: str, since: int, until: int) -> bool:
    """Whether the notifications lead from one revision to the other, each from where the one before ended."""
    with anyio.move_on_after(PATIENCE):
        async for notice in notices:
            change = notice.params
            if isinstance(change, TreeChanged) and change.session_id == id:
                if change.from_revision != since:
                    return False
                since = change.revision
            if since >= until:
                return since == until
    return False
