"""Any sequence of changes on any tree: the file only grows, and memory is what a fresh opening finds."""

import asyncio
import json
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from piserver.entries.types import (
    BranchSummaryDraft,
    CompactionDraft,
    CustomDraft,
    CustomMessageDraft,
    Draft,
    MessageDraft,
    ModelDraft,
    ThinkingLevelDraft,
    UsageDraft,
)
from piserver.repository import InvalidForkTargetError, Repository
from piserver.session import BranchSummary, Session
from piserver.storage import JsonlStorage
from tests.storage.clock import ManualClock
from tests.storage.log import answer, entry, header, label, log, name, result, user

T = TypeVar("T")

TEXT = st.text(max_size=6) | st.sampled_from(["\ud83d", "\u2028", "\ufeff", "\r\n", '"\\'])


def message(role: str, **fields: Any) -> MessageDraft:
    return MessageDraft(message={"role": role, "content": [{"type": "text", "text": "t"}], **fields})


DRAFTS: st.SearchStrategy[Draft] = st.one_of(
    TEXT.map(lambda text: MessageDraft(message={"role": "user", "content": text})),
    st.just(message("assistant", provider="p", model="m", usage={"input": 1, "totalTokens": 2})),
    st.just(message("toolResult", toolCallId="c", toolName="t")),
    st.just(ModelDraft(provider="q", model_id="n")),
    st.just(ThinkingLevelDraft(thinking_level="high")),
    TEXT.map(lambda text: CustomDraft(custom_type="c", data={text: text})),
    st.just(CustomMessageDraft(custom_type="c", content="x")),
    st.just(BranchSummaryDraft(from_id="root", summary="S")),
    st.just(UsageDraft(kind="k", provider="p", model="m", usage={"output": 3})),
)


@st.composite
def trees(draw: st.DrawFn) -> bytes:
    """A file with any tree: several roots, missing and later parents, duplicates, damage, any last line."""
    count = draw(st.integers(0, 8))
    lines = [header()]
    names = [f"n{number}" for number in range(count)]
    for id in names:
        parent = draw(st.sampled_from([None, "ghost", *names]))
        lines.append(
            draw(
                st.sampled_from(
                    [
                        user(id, parent),
                        answer(id, parent),
                        result(id, parent, "c"),
                        label(id, parent, names[0], "mark"),
                        name(id, parent, "called"),
                        entry("leaf", id, parent, targetId=draw(st.sampled_from([None, "ghost", *names]))),
                        entry("compaction", id, parent, summary="S", firstKeptEntryId=names[0], tokensBefore=1),
                        entry("context_edit", id, parent, targetId=names[0], replacement=None),
                        entry("alien", id, parent, x=1.0),
                        user(names[0], parent),
                        b"{nope",
                        b"",
                    ]
                )
            )
        )
    return draw(st.sampled_from([log(*lines), log(*lines)[:-1], log(*lines) + b'{"torn":']))


async def picture(session: Session) -> dict[str, Any]:
    """All that a session knows, so that two can be compared."""
    storage = session.storage
    nodes = storage.tree.nodes
    leaf = storage.leaf.id if storage.leaf else None
    context = await session.build_context(leaf)
    return {
        "lines": await storage.lines(nodes),
        "nodes": [(n.id, n.parent and n.parent.id, n.line, n.depth, n.orphaned, n.state.thinking_level) for n in nodes],
        "children": [[child.id for child in node.children] for node in nodes],
        "roots": [node.id for node in storage.tree.roots],
        "leaf": leaf,
        "labels": labels(session),
        "name": storage.name,
        "statistics": storage.statistics,
        "diagnostics": [(d.kind, d.line, d.entry_id) for d in storage.diagnostics],
        "context": [message.raw for message in context.messages],
        "state": (context.state.model, context.state.thinking_level, context.state.active_tool_names),
        "rows": (await session.rows(filter="all")).rows if leaf == session.leaf_id else None,
    }


def labels(session: Session) -> dict[str, str]:
    return {id: label.text for id, label in session.storage.tree.labels.items()}


class AnySequence(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.repository = Repository(self.folder.name, durability="never")
        self.opened: list[Session] = []
        self.others_went_on = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        for session in self.opened:
            self.run(session.aclose())
        self.runner.close()
        self.folder.cleanup()

    async def open(self, path: Path) -> Session:
        clock = ManualClock()
        clock.time += 60  # nobody is writing a torn line any more
        self.opened.append(Session(await JsonlStorage.open(path, clock=clock), durability="never"))
        return self.opened[-1]

    def take(self, session: Session) -> None:
        """Go on with this session."""
        self.session = session
        self.path = Path(session.storage.path or "")
        torn = [d.offset for d in session.diagnostics if d.kind == "torn-tail"]
        self.before = self.path.read_bytes()[: torn[0] if torn else None]
        self.others_went_on = False

    def any_entry(self, number: int) -> str:
        nodes = self.session.storage.tree.nodes
        return nodes[number % len(nodes)].id

    def wrote(self) -> None:
        self.others_went_on = False

    @initialize(data=trees())
    def start(self, data: bytes) -> None:
        path = Path(self.folder.name, "--w-app--", "start.jsonl")
        path.parent.mkdir()
        path.write_bytes(data)
        self.take(self.run(self.open(path)))

    @rule(drafts=st.lists(DRAFTS, min_size=1, max_size=3))
    def append(self, drafts: list[Draft]) -> None:
        leaf = self.session.leaf_id
        done = self.run(self.session.append(*drafts))
        assert [node.parent_id for node in done.nodes] == [leaf, *(node.id for node in done.nodes[:-1])]
        self.wrote()

    @precondition(lambda self: self.session.revision)
    @rule(number=st.integers(0, 99), summary=st.none() | st.just(BranchSummary("S")), start=st.booleans())
    def move_to(self, number: int, summary: BranchSummary | None, start: bool) -> None:
        target = None if start else self.any_entry(number)
        moved = self.run(self.session.move_to(target, summary))
        assert self.session.leaf is (moved.summary_entry or (self.session.node(target) if target else None))
        if moved.leaf_entry or moved.summary_entry:
            self.wrote()

    @precondition(lambda self: self.session.revision)
    @rule(number=st.integers(0, 99), name=st.none() | TEXT)
    def navigate(self, number: int, name: str | None) -> None:
        moved = self.run(self.session.navigate(self.any_entry(number), label=name))
        if moved.leaf_entry or moved.label_entry:
            self.wrote()

    @precondition(lambda self: self.session.revision)
    @rule(number=st.integers(0, 99), text=st.none() | TEXT)
    def label(self, number: int, text: str | None) -> None:
        self.run(self.session.set_label(self.any_entry(number), text))
        self.wrote()

    @rule(text=st.none() | TEXT)
    def rename(self, text: str | None) -> None:
        self.run(self.session.set_name(text))
        self.wrote()

    @precondition(lambda self: self.session.leaf)
    @rule(number=st.integers(0, 99))
    def compact(self, number: int) -> None:
        path = self.session.path()
        self.run(self.session.append(CompactionDraft(summary="S", first_kept_entry_id=path[number % len(path)].id)))
        self.wrote()

    @precondition(lambda self: self.session.revision)
    @rule(number=st.integers(0, 99), content=st.none() | TEXT)
    def edit(self, number: int, content: str | None) -> None:
        self.run(self.session.edit_context(self.any_entry(number), content))
        self.wrote()

    @rule(draft=DRAFTS)
    def another_program_appends(self, draft: Draft) -> None:
        async def append() -> None:
            await (await self.open(self.path)).append(draft)
            await self.session.refresh()

        self.run(append())
        self.others_went_on = True

    @rule()
    def reopen(self) -> None:
        self.run(self.session.aclose())
        self.session = self.run(self.open(self.path))
        self.others_went_on = False

    @precondition(lambda self: self.session.revision)
    @rule(number=st.integers(0, 99), before=st.booleans(), go_on=st.booleans())
    def fork(self, number: int, before: bool, go_on: bool) -> None:
        target = self.any_entry(number)
        node = self.session.node(target)
        files = sorted(self.path.parent.iterdir())
        try:
            forked = self.run(self.repository.fork(self.session, target, "before" if before else "at"))
        except InvalidForkTargetError:
            assert node.type == "leaf" or (before and node.role != "user")
            assert sorted(self.path.parent.iterdir()) == files
            return
        fork = forked.session
        self.opened.append(fork)
        source_at = node.parent.id if before and node.parent else None if before else target
        source = self.run(self.session.build_context(source_at))
        copy = self.run(fork.build_context())
        assert copy.values == source.values
        assert (copy.state.model, copy.state.thinking_level) == (source.state.model, source.state.thinking_level)
        lines = [json.loads(line) for line in Path(fork.storage.path or "").read_bytes().splitlines()[1:]]
        known = {line["id"] for line in lines}
        assert len(known) == len(lines)
        assert all(line["parentId"] is None or line["parentId"] in known for line in lines)
        copied = {node.id for node in self.session.path(source_at)} & known
        assert {id: text for id, text in labels(fork).items() if id in copied} == {
            id: text for id, text in labels(self.session).items() if id in copied
        }
        assert fork.name == self.session.name
        if go_on:
            self.take(fork)

    @rule(go_on=st.booleans())
    def clone(self, go_on: bool) -> None:
        clone = self.run(self.repository.clone(self.session))
        self.opened.append(clone)
        nodes = self.session.storage.tree.nodes
        assert [node.id for node in clone.storage.tree.nodes][: len(nodes)] == [node.id for node in nodes]
        assert clone.leaf_id == self.session.leaf_id
        assert labels(clone) == labels(self.session)
        source = self.run(self.session.build_context())
        assert self.run(clone.build_context()).values == source.values
        if go_on:
            self.take(clone)

    @invariant()
    def the_file_only_grows(self) -> None:
        data = self.path.read_bytes()
        assert data.startswith(self.before)
        torn = [d.offset for d in self.session.diagnostics if d.kind == "torn-tail"]
        self.before = data[: torn[0] if torn else None]

    @invariant()
    def memory_is_what_is_on_disk(self) -> None:
        async def compare() -> None:
            fresh = Session(await JsonlStorage.open(self.path))
            if not self.others_went_on:
                assert fresh.leaf_id == self.session.leaf_id
            ours, theirs = await picture(self.session), await picture(fresh)
            if self.others_went_on:
                theirs["rows"] = ours["rows"]
            assert ours == theirs
            await fresh.aclose()

        self.run(compare())


AnySequence.TestCase.settings = settings(
    max_examples=60, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnySequence = AnySequence.TestCase
