"""Text rules that come from JavaScript."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.entries.text import format_timestamp, one_line, parse_timestamp, trim, utf16_length

MS = 1_740_823_200_000


@pytest.mark.parametrize("space", "\t\n\v\f\r \xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff")
def test_space_is_trimmed_outside_alone(space: str) -> None:
    assert trim(f"{space}a{space}b{space}{space}") == f"a{space}b"


@pytest.mark.parametrize("kept", "\u001c\u001f\u0085\u200b\u180e\u2060")
def test_what_javascript_does_not_take_for_space_stays(kept: str) -> None:
    assert trim(f"{kept}a{kept}") == f"{kept}a{kept}"


def test_name_is_one_line() -> None:
    assert one_line("\n a\r\n\nb \n") == "a b"


@pytest.mark.parametrize(("text", "length"), [("", 0), ("aé", 2), ("\u2028", 1), ("🦉", 2), ("\ud83d", 1)])
def test_length_in_utf16_units(text: str, length: int) -> None:
    assert utf16_length(text) == length


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2025-03-01T10:00:00.000Z", MS),
        ("2025-03-01T10:00:00Z", MS),
        ("2025-03-01T10:00Z", MS),
        ("2025-03-01T10:00:00", MS),
        ("2025-03-01 10:00:00", MS),
        ("2025-03-01T12:00:00+02:00", MS),
        ("2025-03-01T04:30:00-0530", MS),
        ("2025-03-01T10:00:00.1Z", MS + 100),
        ("2025-03-01T10:00:00.123999Z", MS + 123),
        ("2025-03-01", MS - 36_000_000),
        ("2025-03", MS - 36_000_000),
        ("2025-02-29", MS - 36_000_000),
        ("Mar 1, 2025", MS - 36_000_000),
        ("Mar 1, 2025 10:00:00", MS),
        ("Sat, 01 Mar 2025 10:00:00 GMT", MS),
        ("1 Mar 2025 10:00:00", MS),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_timestamp_in_ms(text: str, ms: int) -> None:
    assert parse_timestamp(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "12",
        "2025-13-01",
        "2025-03-32",
        "2025-03-00",
        "2025-03-01T25:00Z",
        "0000-01-01",
        "Mar 32, 2025",
        "\ud800",
    ],
)
def test_what_is_no_date_has_no_ms(text: str) -> None:
    assert parse_timestamp(text) is None


@given(st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.]\d+)?)?(Z|[+-]\d\d:?\d\d)?"))
def test_any_text_is_a_date_or_none(text: str) -> None:
    assert isinstance(parse_timestamp(text), int | None)


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_timestamp_comes_back(ms: int) -> None:
    assert parse_timestamp(format_timestamp(ms)) == ms


def test_timestamp_is_written_as_javascript_writes_it() -> None:
    assert format_timestamp(MS + 7) == "2025-03-01T10:00:00.007Z"
