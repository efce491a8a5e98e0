"""The first line of a session file."""

import json
from typing import Any

import pytest

from piserver.entries.header import VERSION, Header, InvalidSessionError, compose_header, read_header

FULL = Header("s", "2025-03-01T10:00:00.000Z", "/home/dev", parent_session="/a.jsonl", metadata={"tag": [1]})


def line(**fields: Any) -> bytes:
    given = {"type": "session", "version": 3, "id": "s", "timestamp": "2025-03-01T10:00:00.000Z", "cwd": "/home/dev"}
    return json.dumps({name: value for name, value in (given | fields).items() if value is not ...}).encode()


def test_comes_back() -> None:
    assert read_header(compose_header(FULL)) == FULL
    assert compose_header(Header("s", "t", "/")) == (
        b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}'
    )


@pytest.mark.parametrize(
    "wrong",
    [
        *(b"", b"text", b"[]", b"null", b'{"type":"session"', b"{}"),
        *(line(type="message"), line(type=...), line(id=...), line(id=""), line(id=7)),
    ],
)
def test_line_that_is_no_header(wrong: bytes) -> None:
    with pytest.raises(InvalidSessionError, match="line 3 is not a session header") as refused:
        read_header(wrong, 3)

    assert refused.value.line == 3


@pytest.mark.parametrize("field", ["timestamp", "cwd"])
@pytest.mark.parametrize("value", [..., "", None, 7])
def test_header_that_lacks_something_is_read_and_says_so(field: str, value: Any) -> None:
    header = read_header(line(**{field: value}))

    assert getattr(header, field) == ""
    assert header.problems == (f"the header has no {field}",)


@pytest.mark.parametrize(("given", "version"), [(..., 1), (1, 1), (2, 2), (4, 4), (3.5, 3.5)])
def test_version(given: Any, version: float) -> None:
    header = read_header(line(version=given))

    assert (header.version, header.problems) == (version, ())


@pytest.mark.parametrize("given", ["3", True, None, []])
def test_version_that_is_no_number_is_read_as_the_present_one(given: Any) -> None:
    header = read_header(line(version=given))

    assert header.version == VERSION
    assert len(header.problems) == 1


@pytest.mark.parametrize("given", [7, [], True])
def test_parent_and_metadata_of_another_type_are_passed_over(given: Any) -> None:
    header = read_header(line(parentSession=given, metadata="text"))

    assert (header.parent_session, header.metadata, header.problems) == (None, None, ())
