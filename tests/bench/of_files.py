"""Opening, contexts, appending and listing: the Python interface beside the peers' own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import setting
from tests.bench.report import Row, Target, shown
from tests.bench.setting import HARNESS, NAMES, TERMINAL_AGENT, Scale, WorkingCopy

OURS = "piserver"


def opening(scale: Scale, folder: Path) -> Iterator[Row]:
    """One large session, opened, asked for its context, and grown."""
    entries = scale.entries[-1]
    source = setting.session_file(entries)
    found = _by_turns(WorkingCopy(source, folder), scale, folder, opens=3)
    ours = found[OURS]
    title = f"{entries:,} entries ({shown(source.stat().st_size, 'B')})"
    yield Row(f"Open {title}", ours["open"], *_better(found, "open"), Target("ratio", 0.2))
    yield Row("Memory after opening it", ours["rss"], *_better(found, "rss"), Target("ratio", 0.1), "B")
    yield Row("The same, garbage collected", ours["collected"], *_better(found, "collected"), unit="B")
    whole = f"Context of all {ours['messages']:,.0f} messages"
    yield Row(f"{whole}, as JSON", ours["context"], *_better(found, "context"))
    yield Row(f"{whole}, decoded", ours["context"] + ours["decoding"], *_better(found, "context"))
    agent = found[TERMINAL_AGENT]["append"]
    yield Row("Append 1,000 messages to it", ours["append"], agent, NAMES[TERMINAL_AGENT], Target("ratio", 2))
    yield Row("Append 1,000 messages to it", ours["append"], found[HARNESS]["append"], NAMES[HARNESS])


def after_compaction(scale: Scale, folder: Path) -> Iterator[Row]:
    """The same with a compaction near the end."""
    copy = WorkingCopy(setting.session_file(scale.entries[-1], compact=True), folder)
    found = _by_turns(copy, scale, folder, opens=1)
    ours = found[OURS]
    agent = found[TERMINAL_AGENT]["context"]
    what = f"Context after a compaction ({ours['messages']:,.0f} messages), decoded"
    yield Row(what, ours["context"] + ours["decoding"], agent, NAMES[TERMINAL_AGENT], Target("ratio", 0.05))


def durable(scale: Scale, folder: Path) -> Iterator[Row]:
    """Appends that are on the disk before the next."""
    copy = WorkingCopy(setting.session_file(scale.entries[-1]), folder)

    def measure() -> dict[str, Any]:
        with copy.lent() as path:
            return setting.ours("durable", path, 1, setting.environment(folder))

    found = setting.medians([measure() for _ in range(scale.rounds)])
    yield Row("Append 1,000 messages, each flushed", found["append"], found["disk"], "the disk's fdatasync alone")


def linear(scale: Scale, folder: Path) -> Iterator[Row]:
    """What one entry costs in sessions of different sizes."""
    costs: dict[int, dict[str, float]] = {}
    measures = {
        str(entries): partial(_ours, WorkingCopy(setting.session_file(entries), folder), folder, opens=3)
        for entries in scale.entries
    }
    for entries, results in setting.by_turns(scale.rounds, measures).items():
        costs[int(entries)] = {name: value / int(entries) for name, value in setting.medians(results).items()}
    sizes = " / ".join(f"{entries:,}" for entries in scale.entries)
    for name, what in (("open", "Open"), ("rows", "First rows"), ("context", "Whole context as JSON")):
        each = [costs[entries][name] for entries in scale.entries]
        detail = " / ".join(shown(cost, "s") for cost in each)
        yield Row(
            f"{what}, per entry of {sizes}", each[-1], each[-2], "the middle size", Target("ratio", 1.5), detail=detail
        )


def listing(scale: Scale, folder: Path) -> Iterator[Row]:
    """All sessions of a person, the first time and again."""
    agent = setting.sessions_folder(scale.sessions)
    homes = iter(folder / f"home-{number}" for number in range(scale.rounds))

    def measure_ours() -> dict[str, Any]:
        env = setting.environment(next(homes), agent)
        # A process without a cache, and another that finds what the first has left behind.
        cold, warm = (setting.ours("list", agent, 1, env) for _ in range(2))
        assert cold["sessions"] == warm["sessions"] == scale.sessions
        return {"cold": cold["list"], "warm": warm["list"]}

    def measure_peer() -> dict[str, Any]:
        result = setting.peer(TERMINAL_AGENT, "list", agent, 3, setting.environment(folder, agent))
        assert result["sessions"] == scale.sessions
        return result

    found = setting.by_turns(scale.rounds, {OURS: measure_ours, TERMINAL_AGENT: measure_peer})
    ours, theirs = setting.medians(found[OURS]), setting.medians(found[TERMINAL_AGENT])["list"]
    what = f"List {scale.sessions:,} sessions"
    yield Row(f"{what}, nothing known", ours["cold"], theirs, NAMES[TERMINAL_AGENT], Target("ratio", 0.5))
    yield Row(f"{what}, again", ours["warm"], theirs, NAMES[TERMINAL_AGENT], Target("ratio", 0.1))


def _by_turns(copy: WorkingCopy, scale: Scale, folder: Path, opens: int) -> dict[str, dict[str, float]]:
    """The medians of everything that `session` measures, ours and both peers'."""

    def measure_peer(version: str) -> dict[str, Any]:
        with copy.lent() as path:
            return setting.peer(version, "session", path, opens, setting.environment(folder))

    measures = {
        OURS: partial(_ours, copy, folder, opens),
        TERMINAL_AGENT: partial(measure_peer, TERMINAL_AGENT),
        HARNESS: partial(measure_peer, HARNESS),
    }
    found = setting.by_turns(scale.rounds, measures)
    medians = {name: setting.medians(results) for name, results in found.items()}
    assert len({result["messages"] for result in medians.values()}) == 1, "the contexts differ"
    return medians


def _ours(copy: WorkingCopy, folder: Path, opens: int) -> dict[str, Any]:
    with copy.lent() as path:
        return setting.ours("session", path, opens, setting.environment(folder))


def _better(found: dict[str, dict[str, float]], quantity: str) -> tuple[float, str]:
    """What the better peer needs, and which that is."""
    version = min((HARNESS, TERMINAL_AGENT), key=lambda version: found[version][quantity])
    return found[version][quantity], NAMES[version]
