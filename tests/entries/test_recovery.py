"""Whole entries on damaged lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.entries.recovery import whole_entries

A = b'{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"}{\\""}}'
B = b'{"type":"custom","id":"b","parentId":"a","timestamp":"t","data":{"type":"text"}}'


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (A, [A]),
        (A + B, [A, B]),
        (A[:20] + A, [A]),
        (A[:70] + B, [B]),
        (A[:69] + B + b"}", [A[:69] + B + b"}"]),
        (A + B[:30], [A]),
        (b"\0\0\0\0" + A, [A]),
        (b"noise " + A + b" noise " + B + b" noise", [A, B]),
        (A[:-1], []),
        (b"", []),
        (b"no entry", []),
        (b'{"type":"text","text":"a"}', []),
        (b'{"type":"custom","id":"a","timestamp":"t"}', []),
        (b'{"type":"custom","id":"a","parentId":null}', []),
        (b'x{"type":"custom","id":"","parentId":null,"timestamp":"t"}', []),
    ],
)
def test_whole_entries(line: bytes, found: list[bytes]) -> None:
    fragments = whole_entries(line)

    assert [line[fragment.start : fragment.end] for fragment in fragments] == found


@given(st.binary(max_size=40), st.binary(max_size=40), st.integers(0, len(A)))
def test_entry_is_found_behind_any_bytes_that_begin_no_other(before: bytes, after: bytes, cut: int) -> None:
    # A brace behind may close what was cut: then the one entry really holds the other.
    line = before.replace(b"{", b"") + A[:cut] + B + after.translate(None, b"{}")

    found = [fragment.head.id for fragment in whole_entries(line)]

    assert found == (["a", "b"] if cut == len(A) else ["b"])
