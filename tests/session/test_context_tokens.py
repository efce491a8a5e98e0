"""The estimate that reads only what is new, against the one that reads everything."""

from pathlib import Path

import pytest

from piserver.context import estimate_context_tokens
from piserver.session import Session
from piserver.storage import MemoryStorage

CASES = sorted((Path(__file__).parents[1] / "data" / "cases").glob("*.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
async def test_it_is_the_same_at_every_entry(case: Path) -> None:
    session = Session(MemoryStorage(case.read_bytes() or b'{"type":"session","id":"s"}'))
    for entry_id in (None, *(node.id for node in session.storage.tree.nodes)):
        context = await session.build_context(entry_id)
        whole = estimate_context_tokens(context.values, context.stale_before)
        tokens, answer = await session.context_tokens(entry_id)
        assert (tokens.tokens, tokens.usage_tokens, tokens.trailing_tokens) == (
            whole.tokens,
            whole.usage_tokens,
            whole.trailing_tokens,
        )
        source = None if whole.usage_index is None else context.messages[whole.usage_index].node
        assert answer is source


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e400"])
async def test_usage_that_no_number_can_hold_is_no_usage(number: str) -> None:
    said = f'{{"role":"assistant","content":"12345678","usage":{{"input":1,"totalTokens":{number}}}}}'
    line = f'{{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{said}}}'
    session = Session(MemoryStorage(b'{"type":"session","version":3,"id":"s"}\n' + line.encode()))
    tokens, answer = await session.context_tokens()
    assert (tokens.usage_tokens, answer) == (0, None)
