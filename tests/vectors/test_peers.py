"""The recorded answers of both real implementations and ours differ where `differences` says so, and nowhere else."""

import json
import os
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from tests.vectors.differences import DIFFERENCES
from tests.vectors.peer_questions import NO_COUNTERPART, ask_in_their_shapes, comparable, differing

Found = tuple[str, str, str]
"""A case, a peer's version, a question."""

EXPECTED = Counter(
    (case, version, question)
    for _, version, cases, questions in DIFFERENCES
    for case, question in product(cases.split(), questions.split())
)


async def test_answers_differ_from_the_peers_only_for_a_reason(peer_data: Path, tmp_path: Path) -> None:
    cases = sorted((peer_data / "vectors" / "cases").glob("*.jsonl"))
    assert len(cases) > 90
    found: set[Found] = set()
    compared: Counter[str] = Counter()
    for case in cases:
        peers: dict[str, Any] = json.loads(case.with_suffix(".expected.json").read_bytes())["peers"]
        file = tmp_path / f"{case.stem}.jsonl"
        file.write_bytes(case.read_bytes())
        os.utime(file, (1_700_000_000, 1_700_000_000))
        ours = await ask_in_their_shapes(file)
        for version, recorded in peers.items():
            theirs = comparable(recorded)
            compared.update((version, question) for question in theirs)
            found |= {(case.stem, version, question) for question in differing(ours, theirs)}

    assert sorted(found - EXPECTED.keys()) == []  # differences for which there is no reason
    assert sorted(EXPECTED.keys() - found) == []  # rows that hold no longer
    assert len(compared) > 40
    assert min(compared.values()) > 70


def test_each_difference_stands_in_the_table_once() -> None:
    assert [difference for difference, times in EXPECTED.items() if times > 1] == []
    assert not {question for _, _, question in EXPECTED} & NO_COUNTERPART.keys()
