"""Old versions read as the present one."""

import json

import pytest

from piserver.entries.json import JSONError
from piserver.entries.migration import Migration


def upgraded(version: float, *lines: str, header_id: str = "s") -> list[str]:
    migration = Migration(version, header_id)
    return [migration.upgrade(line.encode(), number).decode() for number, line in enumerate(lines, 2)]


def test_version_1_gets_ids_and_follows_line_after_line() -> None:
    entries = list(map(json.loads, upgraded(1, '{"type":"message"}', '{"type":"message"}', '{"type":"custom"}')))

    ids = [entry["id"] for entry in entries]
    assert all(len(id) == 8 and set(id) <= set("0123456789abcdef") for id in ids)
    assert len(set(ids)) == 3
    assert [entry["parentId"] for entry in entries] == [None, *ids[:2]]


def test_ids_come_from_the_header_and_the_line_number_alone() -> None:
    first = upgraded(1, '{"type":"message","a":1}', '{"type":"message"}')

    assert [json.loads(line)["id"] for line in upgraded(1, '{"type":"custom"}', "{}")] == [
        json.loads(line)["id"] for line in first
    ]
    assert json.loads(upgraded(1, "{}", header_id="another")[0])["id"] != json.loads(first[0])["id"]


def test_rest_of_a_line_keeps_its_bytes() -> None:
    [line] = upgraded(1, '{"type":"custom","n": 1.0e0,"text":"\\u00e9 \\ud800"}')

    id = json.loads(line)["id"]
    assert line == f'{{"type":"custom","id":"{id}","parentId":null,"n": 1.0e0,"text":"\\u00e9 \\ud800"}}'


def test_ids_that_a_version_1_file_has_all_the_same_are_replaced() -> None:
    [line] = upgraded(1, '{"id":"mine","type":"custom","parentId":"x","data":{"id":"inner"}}')

    entry = json.loads(line)
    assert entry["id"] != "mine"
    assert (entry["parentId"], entry["data"]) == (None, {"id": "inner"})


@pytest.mark.parametrize(
    ("index", "kept"),
    [("1", 0), ("2", 1), ("2.0", 1), ("0", None), ("3", None), ("9", None), ("-1", None), ("1.5", None)],
)
def test_first_kept_index_counts_the_header_as_0(index: str, kept: int | None) -> None:
    compaction = f'{{"type":"compaction","summary":"s","firstKeptEntryIndex":{index}}}'
    *before, last = map(json.loads, upgraded(1, '{"type":"message"}', '{"type":"message"}', compaction))

    assert "firstKeptEntryIndex" not in last
    assert last.get("firstKeptEntryId") == (None if kept is None else before[kept]["id"])


@pytest.mark.parametrize("index", ["null", "true", '"1"', "1e400"])
def test_index_that_is_no_number_is_dropped(index: str) -> None:
    [line] = upgraded(1, f'{{"type":"compaction","firstKeptEntryIndex":{index}}}')

    assert json.loads(line).keys() == {"type", "id", "parentId"}


def test_malformed_line_has_no_index() -> None:
    migration = Migration(1, "s")
    with pytest.raises(JSONError):
        migration.upgrade(b"torn", 2)
    first = json.loads(migration.upgrade(b'{"type":"message"}', 3))
    last = json.loads(migration.upgrade(b'{"type":"compaction","firstKeptEntryIndex":1}', 4))

    assert last["parentId"] == last["firstKeptEntryId"] == first["id"]


@pytest.mark.parametrize("version", [1, 2])
def test_hook_message_is_called_custom(version: float) -> None:
    hook = '{"type":"message","message":{"role":"hookMessage","content":"hookMessage"},"x":1.0}'
    [line] = upgraded(version, hook)

    assert '"message":{"role":"custom","content":"hookMessage"},"x":1.0}' in line


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"message","id":"a","message":{"role":"user","content":"hookMessage"}}',
        '{"type":"message","id":"a","message":"hookMessage"}',
        '{"type":"hookMessage","id":"a", "n":1.0}',
    ],
)
def test_version_2_changes_nothing_else(line: str) -> None:
    assert upgraded(2, line) == [line]
