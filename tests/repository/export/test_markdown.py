from __future__ import annotations

import re

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from piserver.repository.export import export
from piserver.session import Session
from tests.repository.export.building import Log, call, text
from tests.repository.export.test_page import HOSTILE, everywhere, forked


async def markdown_of(session: Session, scope: str = "path") -> str:
    return (await export(session, "markdown", scope="tree" if scope == "tree" else "path")).content.decode()


def tokens_of(document: str) -> list[Token]:
    """The document as a reader sees it that lets HTML pass."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    reader.validateLink = lambda url: True
    return reader.parse(document)


def headings(document: str) -> list[tuple[str, str]]:
    tokens = tokens_of(document)
    return [
        (token.tag, "".join(child.content for child in tokens[place + 1].children or ()))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


async def test_who_speaks_is_a_heading_and_what_they_write_stays_markdown() -> None:
    log = Log()
    log.add("session_info", name="My session")
    log.user("# Do *it*\n\n- now\n\nWhen\n====")
    log.answer(text("Done:\n\n```python\nx = '<b>'\n```\n\nuse `a<b` and <b> or \\<i>"))
    document = await markdown_of(log.session())
    assert headings(document) == [
        ("h1", "My session"), ("h2", "User"), ("h3", "Do it"), ("h3", "When"), ("h2", "Assistant (claude)"),
    ]  # fmt: skip
    assert "```python\nx = '<b>'\n```\n\nuse `a<b` and \\<b> or \\<i>\n" in document


async def test_thinking_and_tools_are_folded_and_edits_are_diffs() -> None:
    log = Log()
    log.answer({"type": "thinking", "thinking": "Hm"}, call("c", "edit", path="a.py", oldText="1", newText="2"))
    log.result("c", "edit", [text("```\nok")])
    document = await markdown_of(log.session())
    assert "<details><summary>Thinking Hm</summary>\n\nHm\n\n</details>" in document
    assert "<details open><summary>edit a.py</summary>\n\n```diff\n@@\n-1\n+2\n```\n\n</details>" in document
    assert "````\n```\nok\n````" in document


async def test_a_tree_has_an_outline_and_says_where_branches_begin() -> None:
    document = await markdown_of(forked().session(), "tree")
    outline = document.split("## Outline")[1].split("<a id")[0]
    assert [line.split("]")[0] for line in outline.strip().split("\n")] == [
        "- [Question one", "- [Answer more", "  - [Left", "  - [Taken",
    ]  # fmt: skip
    assert "*(other branch)*" in outline.split("\n")[4]
    assert [title for tag, title in headings(document) if title.startswith("Branch")] == [
        "Branch 1 of 2 from Answer more",
        "Branch 2 of 2 from Answer more",
    ]
    anchors = re.findall('<a id="([^"]+)"></a>', document)
    assert set(re.findall(r"\]\(#([^)]+)\)", document)) == set(anchors)


OURS = re.compile(r'<details(?: open)?><summary>[^<>]*</summary>\n?|</details>\n?|<a id="[\w-]+">|</a>')


def check_contained(document: str, sections: int) -> None:
    """No HTML but ours, no image, no link but to the web and inside, no heading of the document's levels but ours."""
    folds = 0
    for token in tokens_of(document):
        if token.type == "html_block":
            assert OURS.fullmatch(token.content), token.content
            folds += token.content.count("<details") - token.content.count("</details>")
        for child in token.children or ():
            assert child.type != "image"
            if child.type == "html_inline":
                assert OURS.fullmatch(child.content), child.content
            if child.type == "link_open":
                assert re.match(r"https?://|mailto:|[^:]*$", str(child.attrs["href"]), re.IGNORECASE)
    assert folds == 0
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", document)
    assert sum(tag == "h1" for tag, _ in headings(document)) == 1
    assert sum(tag == "h2" for tag, _ in headings(document)) == sections


def conversation(value: str) -> Log:
    log = Log()
    log.user(value)
    log.answer({"type": "thinking", "thinking": value}, text(value), call("c", value, path=value, content=value))
    log.result("c", value, [text(value)])
    log.add("custom_message", customType="note", content=value, display=True)
    log.add("session_info", name="x" + value)
    log.user("end")
    return log


MARKS = [
    "`",
    "```",
    "~~~",
    "<",
    "</details>",
    "\\",
    "\n",
    "\n\n",
    "# ",
    "## User",
    "---",
    "===",
    "- ",
    "> ",
    "    ",
    "|",
    "<!--",
]


@given(st.lists(st.sampled_from(HOSTILE + MARKS) | st.text(max_size=3), max_size=8).map("".join))
def test_no_text_breaks_out_of_its_message(value: str) -> None:
    check_contained(anyio.run(markdown_of, conversation(value).session()), sections=4)


@pytest.mark.parametrize("value", HOSTILE)
async def test_hostile_text_is_contained_wherever_it_stands(value: str) -> None:
    document = await markdown_of(everywhere(value).session(), "tree")
    check_contained(document, sections=document.count("\n## "))


@pytest.mark.parametrize("link", ["[x](javascript:alert(1))", "[x][y]\n\n[y]: data:text/html,x"])
async def test_text_with_a_link_that_runs_something_is_shown_as_it_is(link: str) -> None:
    log = Log()
    log.user(f"see {link}")
    assert f"```\nsee {link}\n```" in await markdown_of(log.session())


async def test_an_open_fence_ends_with_its_message() -> None:
    log = Log()
    log.user("```python\nx = 1")
    log.user("next")
    document = await markdown_of(log.session())
    assert "```python\nx = 1\n```\n" in document
    assert [title for _, title in headings(document)[1:]] == ["User", "User"]
