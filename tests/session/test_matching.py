# ruff: noqa: RUF001  # letters that look like others are what this is about
"""What a query finds in a text, and that the quick look at an entry's bytes never rules out what it would find."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from piserver.entries.entry import Entry
from piserver.session.matching import InvalidQueryError, matcher, snippet
from piserver.session.preview import search_text


def found(query: str, text: str, **options: bool) -> list[str]:
    """The parts of a text that a query finds."""
    return [text[start:end] for start, end in matcher(query, **options).find(text)]


@pytest.mark.parametrize(
    ("query", "text", "parts"),
    [
        ("two one", "One, two, ONE", ["One", "two", "ONE"]),
        ("one three", "one two", []),
        ('"one two"', "one two", ["one two"]),
        ('"one two"', "two one", []),
        ('"one two" three', "three one two", ["three", "one two"]),
        ('say "cheese', 'say "cheese', ["say", '"cheese']),
        ("ewlin", "newlines", ["ewlin"]),
        ("解析", "为什么解析器丢掉最后一行", ["解析"]),
        ('"最后 一行"', "最后 一行", ["最后 一行"]),
        ("ÉCOLE", "une école", ["école"]),
        ("straße", "STRASSE", ["STRASSE"]),
        ("strasse", "eine Straße", ["Straße"]),
        ("kelvin", "K and Kelvin", ["Kelvin"]),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", ["σίσυφος"]),
        ("🙂", "so 🙂 it goes", ["🙂"]),
        ("s", "ß", ["ß"]),
    ],
)
def test_words_and_phrases_in_any_case(query: str, text: str, parts: list[str]) -> None:
    assert found(query, text) == parts


def test_case_can_matter() -> None:
    assert found("One", "one One ONE", match_case=True) == ["One"]
    assert found("École", "école École", match_case=True) == ["École"]


@pytest.mark.parametrize(
    ("pattern", "text", "parts"),
    [
        (r"l\w+e\b", "the last LINE, alone", ["LINE", "lone"]),
        (r"[一-龥]+器", "为什么解析器丢", ["为什么解析器"]),
        (r"(?m)^b.*$", "a\nbc\nd", ["bc"]),
        (r"x*", "ab", []),
        (r"x*", "abxx", ["xx"]),
        (r"é|è", "É è", ["É", "è"]),
        (r"b", "a\ud83db", ["b"]),
        (r"🙂(.)", "🙂é🙂e", ["🙂é", "🙂e"]),
    ],
)
def test_expressions(pattern: str, text: str, parts: list[str]) -> None:
    assert found(pattern, text, regex=True) == parts


def test_expressions_can_tell_cases() -> None:
    assert found("a+", "Aa", regex=True, match_case=True) == ["a"]


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_nothing_cannot_be_searched_for(query: str) -> None:
    for regex in (True, False):
        with pytest.raises(InvalidQueryError):
            matcher(query, regex=regex)


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "x{5000}", "\ud800"])
def test_an_expression_that_cannot_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a regular expression"):
        matcher(pattern, regex=True)


def test_a_text_full_of_matches_gives_the_first() -> None:
    assert len(found("a", "a" * 1000)) == len(found("a", "a" * 1000, regex=True)) == 100
    assert found("x*", "y" * 1_000_000, regex=True) == []


def test_a_snippet_is_one_short_line_with_the_matches_in_their_places() -> None:
    text = "intro\n" + "long " * 100 + "the needle\tis here " + "tail " * 100
    line, ranges = snippet(text, matcher("needle here").find(text))
    assert len(line) == 160
    assert (line[0], line[-1]) == ("…", "…")
    assert "\n" not in line
    assert "\t" not in line
    assert [line[start:end] for start, end in ranges] == ["needle", "here"]
    assert snippet("short", [(0, 5)]) == ("short", [(0, 5)])


LETTERS = 'aAsSkKſKßẞéÉÅÅdžﬁ解器й\u0308ΐ\u0390ʼnŉ"\\/\b\n\t\x1f\x7f :[]$→🙂\ud83d\ufffdİıσς_0'


def spelt(character: str, how: int) -> str:
    """A character as JSON may have it: as it is, or as an escape with digits in either case."""
    plain = json.dumps(character, ensure_ascii=False)[1:-1]
    if how == 0 and not "\ud800" <= character <= "\udfff":
        return plain
    units = character.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(f"\\u{code:04x}" if how == 1 else f"\\u{code:04X}" for code in codes)


@st.composite
def entries_and_queries(draw: st.DrawFn) -> tuple[Entry, str]:
    texts = st.text(st.sampled_from(LETTERS), max_size=12)
    text, tool, argument = draw(texts), draw(texts), draw(texts)

    def string(text: str) -> str:
        return '"' + "".join(spelt(c, draw(st.sampled_from((0, 0, 0, 1, 2)))) for c in text) + '"'

    content = f'[{{"type":"text","text":{string(text)}}},{{"type":"toolCall","name":{string(tool)},'
    content += f'"arguments":{{"path":{string(argument)}}}}}]'
    raw = f'{{"type":"message","id":"i","message":{{"role":"assistant","content":{content}}}}}'
    entry = Entry("i", "message", raw.encode())
    whole = search_text(entry)
    start = draw(st.integers(0, max(0, len(whole) - 1)))
    part = whole[start : start + draw(st.integers(1, 8))]
    return entry, draw(st.sampled_from((part, part.upper(), part.lower(), part.casefold(), f'"{part}"')))


def kept(entry: Entry, query: str, **options: Any) -> bool:
    """Whether the quick look lets an entry pass in which the query is found."""
    try:
        wanted = matcher(query, **options)
    except InvalidQueryError:
        return True
    return not wanted.find(search_text(entry)) or wanted.may_match(entry.raw)


@given(entries_and_queries(), st.booleans())
@example((Entry("i", "message", '{"message":{"role":"user","content":"\u0390"}}'.encode()), "\u0308"), False)
@example((Entry("i", "context_edit", b'{"targetId":"t","replacement":null}'), "left out"), False)
@example((Entry("i", "session_info", b'{"type":"session_info"}'), "(cleared)"), False)
@example((Entry("i", "model_change", rb'{"provider":"a\/b","modelId":"c"}'), "a/b/c"), False)
def test_the_quick_look_never_rules_out_what_would_be_found(case: tuple[Entry, str], match_case: bool) -> None:
    assert kept(*case, match_case=match_case)


@given(st.text(min_size=1), st.data())
def test_the_quick_look_holds_for_any_text(text: str, data: st.DataObject) -> None:
    ascii_only = data.draw(st.booleans())
    message = {"role": "user", "content": text}
    raw = json.dumps({"type": "message", "message": message}, ensure_ascii=ascii_only)
    start = data.draw(st.integers(0, len(text) - 1))
    query = data.draw(st.sampled_from((str.upper, str.lower, str.casefold, str.title)))(text[start : start + 5])
    assert kept(Entry("i", "message", raw.encode("utf-8", "replace")), query)


@given(st.integers(1, 3), st.integers(0, 60))
def test_the_quick_look_finds_a_word_wherever_it_stands_in_a_long_entry(pieces: int, back: int) -> None:
    before = pieces * 2**18 - back
    raw = b'{"text":"' + b"." * before + "Näh-解析-NEEDLE".encode() + b"." * 300_000 + b'"}'
    assert matcher("needle 解析 näh").may_match(raw)
    assert matcher("needle " + "n" * 10).may_match(raw) is False


def test_the_quick_look_does_rule_out() -> None:
    raw = '{"text":"the last newline, 解析 \\n"}'.encode()
    for query in ("nowhere", "解决", "NEWLINES", "last nowhere", "src/nowhere"):
        assert not matcher(query).may_match(raw)
