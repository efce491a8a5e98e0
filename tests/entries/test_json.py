"""JSON in and out: every value, every depth, and other members' bytes untouched."""

import json as standard
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.entries import json, nested
from piserver.entries.json import JSONError
from piserver.entries.migration import replace_members

TEXT = st.text(st.characters(exclude_categories=()))  # lone surrogates too
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


def as_read_back(value: Any) -> Any:
    """What becomes of a value on its way: lone surrogates are U+FFFD, integers beyond 64 bits doubles."""
    match value:
        case str():
            return json.well_formed(value)
        case int() if not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            return float(value)
        case list():
            return [as_read_back(item) for item in value]
        case dict():
            return {as_read_back(key): as_read_back(item) for key, item in value.items()}
        case _:
            return value


def deep(levels: int, kind: str) -> bytes:
    opening, closing = ("[", "]") if kind == "array" else ('{"a":', "}")
    return (opening * levels + "1" + closing * levels).encode()


@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    assert json.loads(json.dumps(value)) == as_read_back(value)


@given(VALUES)
def test_what_is_written_is_well_formed_utf8_on_one_line(value: Any) -> None:
    written = json.dumps(value)

    written.decode()
    assert b"\n" not in written


@given(VALUES, st.integers(0, 2))
def test_all_three_parsers_read_the_same(value: Any, indent: int) -> None:
    text = standard.dumps(value, indent=indent).encode()

    assert json.loads(text) == nested.parse(text)


@given(VALUES)
def test_slow_writer_writes_what_the_standard_library_writes(value: Any) -> None:
    assert nested.serialise(value) == standard.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("levels", [900, 1500, 2500, 20_000])
@pytest.mark.parametrize("kind", ["array", "object"])
def test_depth_has_no_limit(levels: int, kind: str) -> None:
    text = deep(levels, kind)

    assert json.dumps(json.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", 2.0**64),
        (b"-9223372036854775808", -(2**63)),
        (b"-9223372036854775809", -(2.0**63)),
        (b"9" * 5000, math.inf),
        (b"-1e400", -math.inf),
        (b"1e-400", 0.0),
        (b'["\\ud800", 99999999999999999999]', ["\ud800", 1e20]),
        (b'"\xff"', "\ufffd"),
        (b'"\\ud83d\\ude00\\ud83d"', "\U0001f600\ud83d"),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b" [1 , 2 ]\r\n", [1, 2]),
    ],
)
def test_odd_but_valid(text: bytes, value: Any) -> None:
    assert json.loads(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b" ", b"nul", b"NaN", b"-Infinity", b"01", b"1.", b".5", b"+1", b"[1,]", b'{"a":1,}', b"{a:1}", b"'a'"),
        *(
            b'"a',
            b'"\n"',
            b'"\\x"',
            b'"\\ud8"',
            b"[1 2]",
            b"{} {}",
            b"[",
            b"]",
            b'{"a"}',
            b'{"a":}',
            b"[}",
            b"1e",
            b"--1",
        ),
        *(b'["\\ud800", NaN]', b'["\\ud800"', b'["\\ud800", 01]'),
        *(deep(3000, "array")[:-1], deep(3000, "object") + b"]", b"[" * 3000 + b"NaN" + b"]" * 3000),
    ],
)
def test_what_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(JSONError):
        json.loads(text)


@given(st.binary(max_size=30) | st.text('[]{}",:\\u0d8truefalsn1e.-+ \n', max_size=30).map(str.encode))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    try:
        value = json.loads(data)
    except JSONError:
        with pytest.raises(JSONError):
            nested.parse(data)
    else:
        assert nested.parse(data) == value


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes", {"a": [object()]}])
def test_what_json_does_not_have_cannot_be_written(value: Any) -> None:
    with pytest.raises(TypeError):
        json.dumps(value)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_found_anywhere(number: float) -> None:
    assert json.non_finite(number)
    assert json.non_finite({"a": [1, {"b": [number]}]})
    assert not json.non_finite({"a": [1, {"b": ["NaN", 1e308, None]}]})


# Members and their bytes


OBJECTS = st.lists(st.tuples(st.sampled_from(["id", "type", "a", "b", "é", "\ud800"]), VALUES), max_size=6)
SPACE = st.sampled_from(["", " ", "\t", "\r"])


def written(pairs: list[tuple[str, Any]], space: str) -> tuple[bytes, list[tuple[str, bytes]]]:
    """An object with duplicate names and white space, and its members as they stand there."""
    parts = [(name, standard.dumps(name), standard.dumps(value)) for name, value in pairs]
    text = ",".join(f"{space}{name}{space}:{space}{value}{space}" for _, name, value in parts)
    return f"{{{text}}}".encode(), [(name, value.encode()) for name, _, value in parts]


@given(OBJECTS, SPACE)
def test_members_are_found_with_their_bytes(pairs: list[tuple[str, Any]], space: str) -> None:
    line, expected = written(pairs, space)

    assert [(m.key, line[m.value_start : m.value_end]) for m in nested.members(line)] == expected


@given(OBJECTS, SPACE, st.sets(st.sampled_from(["id", "type", "b"])), VALUES)
def test_replacing_members_leaves_the_others_bytes(
    pairs: list[tuple[str, Any]], space: str, drop: set[str], value: Any
) -> None:
    line, before = written(pairs, space)

    after = replace_members(line, drop, {"new": value})

    kept = [(name, text) for name, text in before if name not in drop]
    kept.insert(1 if kept and kept[0][0] == "type" else 0, ("new", json.dumps(value)))
    assert [(m.key, after[m.value_start : m.value_end]) for m in nested.members(after)] == kept


@pytest.mark.parametrize("line", [b"[]", b"1", b'"a"', b"", b"{", b'{"a":1} {}', b'{"type":"a",}', b'{"type":"a",1}'])
def test_members_of_what_is_no_object(line: bytes) -> None:
    with pytest.raises(JSONError):
        nested.members(line)
    with pytest.raises(JSONError):
        replace_members(line, set(), {"new": 1})


def test_value_ends_where_the_next_text_begins() -> None:
    assert nested.end_of_value(b'{"a":[1,"}"]}{"b":1}') == 13
    assert nested.end_of_value(b"xx[1] ", 2) == 5
    with pytest.raises(JSONError):
        nested.end_of_value(b'{"a":[1,')
