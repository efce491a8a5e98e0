"""Mending takes out of a file what is no entry, and changes nothing that the entries say."""

import hashlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from piserver.entries.header import InvalidSessionError
from piserver.session import Session
from piserver.storage import JsonlStorage, MemoryStorage, ReadOnlyError, StorageError
from piserver.storage.repair import repair, verify
from tests.storage.clock import ManualClock
from tests.storage.log import TIME, answer, header, label, line, log, user

CASES = Path(__file__).parents[1] / "data" / "cases"
Open = Callable[..., Awaitable[JsonlStorage]]

WHOLE = log(header(), user("u1", None), answer("a2", "u1"))
TORN = b'{"type":"message","id":"x","mess'


@pytest.fixture
def clock() -> ManualClock:
    """A minute after the files were written: nobody is waited for."""
    clock = ManualClock()
    clock.time += 60
    return clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def beside(path: Path) -> set[str]:
    return {file.name for file in path.parent.iterdir()} - {path.name}


async def kinds(path: Path) -> list[str]:
    return [step.kind for step in (await verify(path)).steps]


DAMAGES = {
    "nothing": (WHOLE, WHOLE, []),
    "blank lines": (WHOLE + b"\n \r\n", WHOLE + b"\n \r\n", []),
    "a missing end": (WHOLE[:-1], WHOLE, ["end-last-line"]),
    "a line that is no entry": (WHOLE + log(b"x", user("u3", "a2")), WHOLE + log(user("u3", "a2")), ["set-aside-line"]),
    "zeros": (WHOLE + b"\0" * 400 + log(b"", user("u3", "a2")), WHOLE + log(user("u3", "a2")), ["set-aside-line"]),
    "a torn line written again": (
        WHOLE + TORN + log(user("u3", "a2")),
        WHOLE + log(user("u3", "a2")),
        ["split-line", "set-aside-line"],
    ),
    "two entries on one line": (
        WHOLE + user("u3", "a2") + log(user("u4", "u3")),
        WHOLE + log(user("u3", "a2"), user("u4", "u3")),
        ["split-line"],
    ),
    "a duplicate": (WHOLE + log(user("u1", "a2", "again")), WHOLE, ["set-aside-duplicate"]),
    "a torn tail": (WHOLE + TORN, WHOLE, ["cut-tail"]),
    "a torn tail behind entries": (
        WHOLE + user("u3", "a2") + TORN,
        WHOLE + log(user("u3", "a2")),
        ["split-line", "cut-tail"],
    ),
    "a whole last line that is a duplicate": (WHOLE + user("u1", "a2", "again"), WHOLE, ["set-aside-duplicate"]),
    "only a header": (log(header())[:-1], log(header()), ["end-last-line"]),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_each_damage_is_found_and_mended(path: Path, clock: ManualClock, damage: str) -> None:
    data, mended, steps = DAMAGES[damage]
    path.write_bytes(data)
    found = await verify(path)
    assert path.read_bytes() == data
    assert beside(path) == set()
    assert [step.kind for step in found.steps] == steps
    assert (found.size, found.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    done = await repair(path, clock=clock)
    assert path.read_bytes() == mended
    assert done.steps == found.steps
    assert (done.size, done.sha256) == (len(mended), hashlib.sha256(mended).hexdigest())
    after = await verify(path)
    assert (after.steps, after.diagnostics, after.entries) == ([], [], found.entries)
    assert (done.backup and done.backup.read_bytes()) == (data if steps else None)
    if not steps:
        assert beside(path) == set()


async def test_what_is_taken_out_is_kept_with_its_place(path: Path, clock: ManualClock) -> None:
    duplicate = user("u1", "a2", "again")
    path.write_bytes(WHOLE + log(b"\xffnonsense", duplicate) + TORN)
    done = await repair(path, clock=clock)
    assert done.damaged == path.with_name("s.jsonl.damaged")
    first, nonsense, second, again = done.damaged.read_bytes().splitlines()
    assert f"line 4, offset {len(WHOLE)}, 9 bytes: ".encode() in first
    assert f"line 5, offset {len(WHOLE) + 10}, {len(duplicate)} bytes: ".encode() in second
    assert (nonsense, again) == (b"\xffnonsense", duplicate)
    assert done.torn is not None
    assert done.torn.read_bytes() == TORN + b"\n"
    assert beside(path) == {"s.jsonl.bak", "s.jsonl.damaged", "s.jsonl.torn"}
    assert {file.stat().st_mode & 0o777 for file in (path, done.damaged, done.torn)} == {0o600}


async def test_several_repairs_keep_all_that_was(path: Path, clock: ManualClock) -> None:
    for number in range(3):
        path.write_bytes(WHOLE + b"nonsense %d\n" % number)
        await repair(path, clock=clock)
    assert beside(path) == {"s.jsonl.bak", "s.jsonl.bak2", "s.jsonl.bak3", "s.jsonl.damaged"}
    kept = path.with_name("s.jsonl.damaged").read_bytes().splitlines()
    assert kept[1::2] == [b"nonsense 0", b"nonsense 1", b"nonsense 2"]


async def test_what_entries_say_of_each_other_is_reported_and_left(path: Path, clock: ManualClock) -> None:
    data = WHOLE + log(user("u3", "ghost"), line(type="custom", id="c4", timestamp=TIME, customType="c"))
    path.write_bytes(data)
    found = await verify(path)
    assert {problem.kind for problem in found.diagnostics} == {"missing-parent", "absent-parent"}
    assert found.steps == []
    done = await repair(path, clock=clock)
    assert (done.steps, done.diagnostics, done.backup) == ([], found.diagnostics, None)
    assert path.read_bytes() == data


async def test_verify_reports_everything(path: Path) -> None:
    path.write_bytes(WHOLE + log(*(b"nonsense" for _ in range(3_000))))
    found = await verify(path)
    assert [problem.line for problem in found.diagnostics] == list(range(4, 3_004))
    assert (len(found.steps), found.lines, found.entries, found.leaf_id) == (3_000, 3_003, 2, "a2")


async def test_a_newer_version_is_verified_and_never_written(path: Path, clock: ManualClock) -> None:
    data = log(header(4), user("u1", None), b"nonsense")
    path.write_bytes(data)
    found = await verify(path)
    assert found.refused is not None
    assert "version 4" in found.refused
    assert [step.kind for step in found.steps] == ["set-aside-line"]
    with pytest.raises(ReadOnlyError, match="version 4"):
        await repair(path, clock=clock)
    assert path.read_bytes() == data
    assert beside(path) == set()


async def test_an_old_version_becomes_the_current_one_if_there_is_something_to_mend(
    path: Path, clock: ManualClock
) -> None:
    data = (CASES / "v1-plain.jsonl").read_bytes()
    path.write_bytes(data)
    assert (await repair(path, clock=clock)).steps == []
    assert path.read_bytes() == data
    first, _, rest = data.partition(b"\n")
    path.write_bytes(first + b"\nnonsense\n" + rest)
    before = await meaning(path.read_bytes())
    done = await repair(path, clock=clock)
    assert [step.kind for step in done.steps] == ["set-aside-line"]
    assert done.header.version == 3
    assert await meaning(path.read_bytes()) == before
    assert (await verify(path)).diagnostics == []


@pytest.mark.parametrize("data", [b"", b"a letter\n", b"[1]\n"])
async def test_what_is_no_session_is_refused(path: Path, clock: ManualClock, data: bytes) -> None:
    path.write_bytes(data)
    for work in (verify, repair):
        with pytest.raises(InvalidSessionError):
            await work(path, clock=clock)
    assert path.read_bytes() == data
    assert beside(path) == set()


async def test_what_is_not_there_or_no_file_is_refused(tmp_path: Path, clock: ManualClock) -> None:
    for work in (verify, repair):
        with pytest.raises(FileNotFoundError):
            await work(tmp_path / "nothing", clock=clock)
        with pytest.raises(StorageError):
            await work(tmp_path, clock=clock)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_somebody_writes_is_left_alone(path: Path, clock: ManualClock) -> None:
    path.write_bytes(WHOLE + TORN)
    clock.time -= 60
    rest = b"unfinished"

    def write_on() -> None:
        with path.open("ab") as file:
            file.write(rest)

    clock.during_sleep = write_on
    with pytest.raises(StorageError, match="being written"):
        await repair(path, clock=clock)
    assert clock.slept == [1.0]
    assert path.read_bytes() == WHOLE + TORN + rest
    assert beside(path) == set()


async def test_what_comes_at_the_last_moment_is_not_lost(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(WHOLE + TORN + b"\n")
    fsync = os.fsync

    def others_come(fd: int) -> None:
        fsync(fd)
        with path.open("ab") as file:
            file.write(log(user("x3", "a2")))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", others_come)
        with pytest.raises(StorageError, match="changed while"):
            await repair(path, clock=clock)
    assert path.read_bytes() == WHOLE + log(TORN, user("x3", "a2"), user("x3", "a2"))
    assert not [name for name in beside(path) if name.endswith(".tmp")]


async def test_a_disk_that_fails_leaves_the_file_as_it_was(
    path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(WHOLE + TORN)

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="No space left"):
            await repair(path, clock=clock)
    assert path.read_bytes() == WHOLE + TORN
    await repair(path, clock=clock)
    assert path.read_bytes() == WHOLE


async def test_an_open_storage_goes_on_with_the_mended_file(path: Path, clock: ManualClock, open_file: Open) -> None:
    storage = await open_file(path, WHOLE + log(b"nonsense", label("l3", "a2", "u1", "L")))
    await storage.prepare()
    storage.release()
    epoch = storage.epoch
    await repair(path, clock=clock)
    await storage.refresh()
    assert storage.epoch != epoch
    await storage.prepare()
    storage.write([user("u4", "l3")])
    assert path.read_bytes() == WHOLE + log(label("l3", "a2", "u1", "L"), user("u4", "l3"))


async def test_it_waits_for_an_append(path: Path, clock: ManualClock, open_file: Open) -> None:
    storage = await open_file(path, WHOLE + log(b"nonsense"))
    await storage.prepare()
    clock.during_sleep = lambda: len(clock.slept) == 3 and storage.write([user("u3", "a2")])
    await repair(path, clock=clock)
    assert len(clock.slept) >= 3
    assert path.read_bytes() == WHOLE + log(user("u3", "a2"))


# Any damage


LINES = [line for file in sorted(CASES.glob("*.jsonl")) for line in file.read_bytes().split(b"\n") if len(line) < 1000]
PIECES = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(LINES).map(lambda text: text + b"\n"),
    st.sampled_from(LINES).map(lambda text: text[: len(text) // 2]),
    st.sampled_from([b"\n", b"\r\n", b"\0" * 7, b"\xff", b"}", b" ", b"null\n", TORN]),
)
HEADERS = st.sampled_from(
    [log(header()), b"\xef\xbb\xbf" + log(header()), log(header())[:-1] + b"\r\n", log(header(1))]
)


async def meaning(data: bytes) -> dict[str, Any]:
    """Everything that a reader learns from the entries of a file."""
    storage = MemoryStorage(data)
    session = Session(storage)
    nodes = storage.tree.nodes
    return {
        "nodes": [(node.id, node.parent_id, node.parent and node.parent.id, node.type) for node in nodes],
        "bodies": await storage.lines(nodes),
        "leaf": session.leaf_id,
        "labels": {id: label.text for id, label in storage.tree.labels.items()},
        "name": session.name,
        "contexts": [
            [message.raw for message in (await session.build_context(id)).messages]
            for id in {session.leaf_id, *(node.id for node in nodes[-3:])}
        ],
    }


async def check_mended(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data)
        clock = ManualClock()
        clock.time += 60
        found = await verify(path)
        before = await meaning(data)
        done = await repair(path, clock=clock)
        assert done.steps == found.steps
        assert await meaning(path.read_bytes()) == before
        after = await verify(path)
        mendable = {"malformed-line", "recovered-entry", "torn-tail", "duplicate-id"}
        assert (after.steps, mendable & {problem.kind for problem in after.diagnostics}) == ([], set())
        assert path.read_bytes().endswith(b"\n")
        if done.steps:
            assert done.backup is not None
            assert done.backup.read_bytes() == data
        else:
            assert path.read_bytes() == data


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(HEADERS, st.lists(PIECES, max_size=12))
async def test_any_lines_and_pieces_of_lines_in_any_order(start: bytes, pieces: list[bytes]) -> None:
    await check_mended(start + b"".join(pieces))


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.sampled_from([file for file in sorted(CASES.glob("*.jsonl")) if file.stat().st_size < 50_000]),
    st.floats(0, 1),
    st.integers(0, 40),
    st.sampled_from([b"", b"\n", b"\0", b"\xff", b"{", b"}", b'"', TORN]),
)
async def test_damage_anywhere(file: Path, place: float, length: int, damage: bytes) -> None:
    data = file.read_bytes()
    start = data.find(b"\n") + 1 + int(place * len(data))
    data = data[:start] + damage + data[start + length :]
    try:
        version = MemoryStorage(data).header.version
    except InvalidSessionError:
        return
    if version <= 3:
        await check_mended(data)
