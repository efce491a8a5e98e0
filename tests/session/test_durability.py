"""What is flushed to the medium before an append returns."""

import pytest

from piserver.entries.types import (
    CompactionDraft,
    CustomDraft,
    CustomMessageDraft,
    Draft,
    LabelDraft,
    LeafDraft,
    MessageDraft,
    ModelDraft,
    SessionInfoDraft,
    UsageDraft,
)
from piserver.session import BranchSummary, Durability
from tests.session.conftest import CountingStorage, Open
from tests.storage.log import user

STRUCTURE: list[Draft] = [
    MessageDraft(message={"role": "user", "content": "x"}),
    MessageDraft(message={"role": "assistant", "content": []}),
    LabelDraft(target_id="u1", label="x"),
    SessionInfoDraft(name="x"),
    LeafDraft(target_id="u1"),
    ModelDraft(provider="p", model_id="m"),
    CompactionDraft(summary="S"),
    CustomMessageDraft(custom_type="c", content="x"),
]
RELAXED: list[Draft] = [
    MessageDraft(message={"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": []}),
    MessageDraft(message={"role": "bashExecution", "command": "c", "output": ""}),
    CustomDraft(custom_type="c"),
    UsageDraft(kind="k", provider="p", model="m", usage={}),
]


@pytest.mark.parametrize(
    ("durability", "structure", "relaxed"), [("structure", 1, 0), ("always", 1, 1), ("never", 0, 0)]
)
async def test_classes(open_log: Open, durability: Durability, structure: int, relaxed: int) -> None:
    for drafts, expected in ((STRUCTURE, structure), (RELAXED, relaxed)):
        for draft in drafts:
            session = open_log(user("u1", None), durability=durability)
            storage = session.storage
            assert isinstance(storage, CountingStorage)
            await session.append(draft)
            assert storage.syncs == expected, draft


async def test_a_batch_is_as_durable_as_its_most_important_entry(open_log: Open) -> None:
    session = open_log()
    storage = session.storage
    assert isinstance(storage, CountingStorage)
    await session.append(*RELAXED)
    assert storage.syncs == 0
    await session.append(*RELAXED, *STRUCTURE[:1], *RELAXED)
    assert storage.syncs == 1


async def test_moves_are_structure(open_log: Open) -> None:
    session = open_log(user("u1", None), user("u2", "u1"))
    storage = session.storage
    assert isinstance(storage, CountingStorage)
    await session.move_to("u1")
    await session.move_to("u1")
    assert storage.syncs == 1, "a move that writes nothing flushes nothing"
    await session.navigate("u2", summary=BranchSummary("S"), label="x")
    assert storage.syncs == 2
