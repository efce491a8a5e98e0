from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
import zlib
from base64 import b64decode, b64encode
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.repository.export import export
from piserver.session import EntryNotFoundError, Session
from piserver.storage import MemoryStorage
from tests.repository.export.building import Log, call, text
from tests.repository.export.reading import Element, parse


async def page_of(session: Session, scope: Any = "tree", **options: Any) -> Element:
    return parse((await export(session, "html", scope=scope, **options)).content)


def articles(page: Element) -> dict[str, Element]:
    return {article.get("id"): article for article in page.all("article")}


def forked() -> Log:
    """Two questions after one answer; the second has the leaf."""
    log = Log()
    log.user("Question one", id="q1")
    log.answer(text("Answer"), text("more"))
    start = log.last
    log.user("Left", id="left")
    log.add("leaf", targetId=start)
    log.user("Taken", parent=start, id="taken")
    return log


async def test_a_tree_shows_every_entry_once_and_a_path_only_its_own() -> None:
    log = forked()
    whole = articles(await page_of(log.session()))
    assert len(whole) == len(log.lines) - 1
    path = articles(await page_of(log.session(), "path"))
    assert set(path) == {"e-q1", "e-00000002", "e-taken"}
    assert set(articles(await page_of(log.session(), "path", entry_id="left"))) == {"e-q1", "e-00000002", "e-left"}
    assert articles(await page_of(log.session(), "path", entry_id=None)) == {}


async def test_an_entry_that_is_not_there_or_an_entry_with_a_tree_is_refused() -> None:
    session = forked().session()
    with pytest.raises(EntryNotFoundError):
        await export(session, "html", entry_id="nothing")
    with pytest.raises(ValueError, match="whole"):
        await export(session, "html", scope="tree", entry_id="left")


async def test_branches_are_announced_where_they_begin_and_lead_to_each_other() -> None:
    page = await page_of(forked().session())
    left, taken = (articles(page)[id].one("p", "fork") for id in ("e-left", "e-taken"))
    assert left.text.startswith("Branch 1 of 2 from Answer")
    assert [a.get("href") for a in left.all("a")] == ["#e-00000002", "#e-taken"]
    assert [a.get("href") for a in taken.all("a")] == ["#e-00000002", "#e-left"]
    assert "off" in articles(page)["e-left"].classes
    assert "off" not in articles(page)["e-taken"].classes


async def test_a_jump_stands_where_it_was_made_and_not_behind_the_branches_there() -> None:
    log = Log()
    log.user("start", id="start")
    log.user("one", id="one")
    log.user("two", parent="start", id="two")
    log.add("leaf", parent="start", targetId="one", id="jump")
    assert [*articles(await page_of(log.session()))] == ["e-start", "e-jump", "e-one", "e-two"]


async def test_a_text_that_nobody_typed_is_folded() -> None:
    log = Log()
    log.user([text("look:"), text("word " * 2_000)])
    page = await page_of(log.session())
    assert page.one("article").all("p")[0].text == "look:"
    assert "10,000 characters" in page.one("article").one("summary").text


async def test_the_outline_links_every_row_of_the_tree_and_draws_its_guides() -> None:
    page = await page_of(forked().session())
    rows = page.one("nav").all("li")
    assert [row.one("a").get("href") for row in rows] == ["#e-q1", "#e-00000002", "#e-left", "#e-taken"]
    assert [[g.get("class") for g in row.all("i")] for row in rows] == [[], [], ["g t"], ["g l"]]
    assert {a.get("href")[1:] for a in page.all("a") if a.get("href").startswith("#")} <= {
        element.get("id") for element in page.all("*")
    }


async def test_guides_are_cut_where_branches_are_too_many_to_be_drawn() -> None:
    log = Log()
    for number in range(40):
        stem = log.user(f"stem {number}")
        log.user("aside")
        log.last = stem
    rows = (await page_of(log.session())).one("nav").all("li")
    assert [len(row.all("i")) for row in rows][-2:] == [11, 11]
    assert rows[-1].all("i")[0].get("class") == "g d"


async def test_what_marks_the_way_is_shown() -> None:
    log = Log()
    log.add("model_change", provider="openai", modelId="gpt-x")
    log.add("thinking_level_change", thinkingLevel="high")
    asked = log.user("Hello", id="asked")
    log.answer(text("Hi"), stopReason="error", errorMessage="overloaded")
    log.add("label", targetId=asked, label="the start")
    log.add("compaction", summary="# Goal\nfinish", tokensBefore=12345, firstKeptEntryId=asked)
    log.add("branch_summary", fromId=asked, summary="tried *it*")
    log.add("context_edit", targetId=asked, replacement=None)
    log.add("session_info", name="A <name>")
    log.add("strange", data=1)
    page = await page_of(log.session())
    assert page.one("h1").text == page.one("title").text == "A <name>"
    notes = [(n.one("h2").text, n.one("span").text) for n in page.all("article", "note")]
    assert notes[:2] == [("Model", "openai/gpt-x"), ("Thinking level", "high")]
    question = articles(page)["e-asked"]
    assert question.one("b", "label").text == "the start"
    assert question.one("p", "remark").text == "left out of the context"
    assert page.one("p", "failure").text == "failed: overloaded"
    assert "12,345 tokens before" in page.one("article", "compaction").text
    assert page.one("article", "compaction").one("h3").text == "Goal"
    assert page.one("article", "summary").one("em").text == "it"
    assert "strange" in page.one("article", "opaque").text


async def test_thinking_and_tools_are_folded_edits_are_diffs_and_code_has_colours() -> None:
    log = Log()
    log.answer(
        {"type": "thinking", "thinking": "Let me *see*"},
        call("c1", "read", path="src/app.py"),
        call("c2", "edit", path="src/app.py", edits=[{"oldText": "a\nb\nc", "newText": "a\nB\nc"}]),
        call("c3", "bash", command="ls -l | wc", timeout=5),
    )
    log.result("c1", "read", [text("def f():\n    return 1\n")])
    log.result("c2", "edit", [text("done")], details={"diff": "-  2 b\n+  2 B"})
    log.result("c3", "bash", [text("\x1b[31mno\x1b[0m")], isError=True)
    page = await page_of(log.session())
    thinking = page.one("details", "thinking")
    assert "open" not in thinking.attributes
    assert thinking.one("em").text == "see"
    edit = page.all("details", "call")[0]
    assert "open" in edit.attributes
    assert [(s.get("class"), s.text) for s in edit.one("pre", "diff").all("span")] == [
        ("hunk", "@@"), ("", " a"), ("del", "-b"), ("add", "+B"), ("", " c"),
    ]  # fmt: skip
    read, edited, shell = page.all("details", "result")
    assert [span.text for span in read.one("pre").all("span", "k")] == ["def", "return"]
    assert edited.one("pre", "diff").all("span", "add")[0].text == "+  2 B"
    assert "failure" in shell.classes
    assert shell.one("pre").text == "␛[31mno␛[0m"


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("media_type", "data", "shown"),
    [
        ("image/png", b64encode(png(2, 2)).decode(), True),
        ("image/png", b64encode(b"<svg onload=alert(1)>").decode(), False),  # is not what it says
        ("image/svg+xml", b64encode(b"<svg/>").decode(), False),
        ("image/png", b64encode(png(2, 2)).decode() + '" onerror="alert(1)', False),
        ('image/png" onerror="x', b64encode(png(2, 2)).decode(), False),
        ("image/png", b64encode(png(2, 2) + bytes(5 * 1024 * 1024)).decode(), False),  # too large
        ("text/html", "", False),
    ],
)
async def test_only_images_that_are_what_they_say_are_put_into_the_page(
    media_type: str, data: str, shown: bool
) -> None:
    log = Log()
    log.user([{"type": "image", "mimeType": media_type, "data": data}])
    page = await page_of(log.session())
    images = page.all("img")
    assert len(images) == shown
    if shown:
        prefix, _, content = images[0].get("src").partition(",")
        assert prefix == f"data:{media_type};base64"
        assert b64decode(content) == b64decode(data)
    else:
        assert page.one("article").one("p", "remark").text.startswith("[image ")


async def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else() -> None:
    page = await page_of(forked().session())
    [policy] = [meta.get("content") for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def hash_of(element: Element) -> str:
        return f"'sha256-{b64encode(hashlib.sha256(element.text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "style-src": hash_of(page.one("style")),
        "script-src": hash_of(page.one("script")),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.search(r"url\(|@import|https?:", page.one("style").text + page.one("script").text)


TAGS = """
    html head meta title style body a aside div button label input nav ol ul li i b bdi main header h1 h2 h3 h4 h5 h6
    dl dt dd article p span time pre code details summary em strong s blockquote hr br table thead tbody tr th td img
    script
"""
ATTRIBUTES = """
    lang charset http-equiv content name class href data-show aria-pressed data-fold data-theme-switch title aria-label
    type id checked data-n data-up dir rel start open src alt loading decoding
"""
LINK = re.compile(r"#[\w-]+|https?://[^\s]+|mailto:[^\s]+", re.IGNORECASE)

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style>",
    "]]>",
    "<!--",
    '" onmouseover="alert(1)',
    "' autofocus onfocus=alert(1) x='",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&#58;alert(1))",
    "[x](data:text/html;base64,PHN2Zz4=)",
    '[x](https://a.example/"onclick="x)',
    "![x](https://tracker.example/pixel.png)",
    "<https://a.example/?<script>>",
    "[![a](http://x)](http://y)",
    "```html\n<b>\n```",
    '```"><script>\nx\n```',
    "    <b>\n",
    "| a |\n|:-:|\n| <i> |\n",
    "&lt;b&gt;",
    "&#0;",
    "\x1b]8;;http://x\x07",
    "\u202egnp.exe",
    "\ud83d",
    "\x00",
    "`",
    "\n",
    "# ",
    "*",
]


def everywhere(value: str) -> Log:
    """A session that has `value` wherever a text can stand."""
    log = Log(cwd=value or "/", metadata={value: value})
    log.add("model_change", provider=value, modelId=value)
    log.add("active_tools_change", activeToolNames=[value])
    asked = log.user(value)
    log.user([text(value), {"type": value, "x": value}, {"type": "image", "mimeType": value, "data": value}])
    log.answer(
        {"type": "thinking", "thinking": value},
        text(value),
        call("c1", value, path=value, oldText=value, newText=value + "\nx"),
        call("c2", value, command=value, rest=value),
        call("c3", value, path=value, content=value),
        call("c4", value, **{value: value}),
        model=value, stopReason="error", errorMessage=value,
    )  # fmt: skip
    for number in range(1, 5):
        log.result(f"c{number}", value, [text(value)], isError=number == 2, details={"diff": value})
    log.add("message", message={"role": "bashExecution", "command": value, "output": value, "exitCode": 1})
    log.add("message", message={"role": "system", "content": value, "sections": {value: value}})
    log.add("message", message={"role": value, "content": value})
    log.add("custom_message", customType=value, content=value, display=True)
    log.add("custom", customType=value, data={value: value})
    log.add("compaction", summary=value, tokensBefore=1, retainedTail=[{"role": "user", "content": value}])
    log.add("branch_summary", fromId="root", summary=value, parent=asked)
    log.add("label", targetId=asked, label=value)
    log.add("session_info", name=value)
    log.add("usage", kind=value, provider=value, model=value, usage={})
    log.add(f"x{value}", id=f"y{value}", **{f"z{value}": value})
    log.user("end", parent=f"gone{value}")
    return log


def check_harmless(page: Element) -> None:
    assert {element.tag for element in page.all("*")} <= set(TAGS.split())
    for element in page.all("*"):
        assert set(element.attributes) <= set(ATTRIBUTES.split()), element.attributes
        if element.tag == "a":
            assert LINK.fullmatch(element.get("href")), element.get("href")
            if not element.get("href").startswith("#"):
                assert element.get("rel") == "noopener noreferrer nofollow"
        if "src" in element.attributes:
            assert element.get("src").startswith("data:image/")
        if element.tag in ("meta", "link", "base"):
            assert element.get("http-equiv").lower() != "refresh"
    assert len(page.all("script")) == len(page.all("style")) == 1
    text = page.one("body").text.removesuffix(page.one("script").text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=5).map("".join))
def test_no_text_can_make_an_element_an_attribute_or_a_request(value: str) -> None:
    log = everywhere(value)
    page = anyio.run(page_of, log.session())
    check_harmless(page)
    assert len(page.all("article")) == len(log.lines) - 1


@pytest.mark.parametrize("value", HOSTILE)
async def test_hostile_text_is_shown_as_text(value: str) -> None:
    page = await page_of(everywhere(value).session(), "tree")
    check_harmless(page)
    letters = re.sub(r"[^a-z]", "", value)
    assert letters in re.sub(r"[^a-z]", "", page.one("main").text)


async def test_a_chain_of_twenty_thousand_entries_is_exported() -> None:
    log = Log()
    for number in range(20_000):
        log.user(f"message {number}")
    exported = await export(log.session(), "html", scope="tree")
    assert exported.content.count(b"<article ") == 20_000
    assert b"message 19999" in exported.content


class _Watched(MemoryStorage):
    """Calls back at every read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[int] = []
        self.at_read: Any = lambda: None

    async def lines(self, nodes: Any) -> list[bytes]:
        self.reads.append(len(nodes))
        self.at_read()
        return await super().lines(nodes)


def _long() -> Log:
    log = Log()
    for number in range(2_000):
        log.user(f"message {number}")
    return log


async def test_an_export_can_be_cancelled_between_batches() -> None:
    storage = _Watched(_long().data)
    with anyio.CancelScope() as scope:
        storage.at_read = scope.cancel
        await export(Session(storage), "html", scope="tree")
    assert scope.cancelled_caught
    assert sum(storage.reads) < 2_000


async def test_what_is_appended_meanwhile_is_not_part_of_the_export() -> None:
    log = _long()
    storage = _Watched(log.data)

    def append() -> None:
        if len(storage.reads) == 1:
            log.user("too late")
            storage.write(log.lines[-1:])

    storage.at_read = append
    exported = await export(Session(storage), "html", scope="tree")
    assert exported.content.count(b"<article ") == 2_000
    assert storage.revision == 2_001
    assert b"too late" not in exported.content


async def test_the_suggested_name_is_a_plain_file_name() -> None:
    log = Log()
    log.add("session_info", name="../../Ünïcode: <name>?\\CON")
    log.user("x")
    exported = await export(log.session(), "html")
    assert exported.file_name == "ünïcode-name-con.html"
    assert exported.media_type == "text/html; charset=utf-8"


def test_what_draws_pages_is_imported_when_one_is_drawn() -> None:
    code = "import sys, piserver.repository.export; print({'markdown_it', 'pygments'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


async def test_a_page_is_the_same_bytes_every_time() -> None:
    session = forked().session()
    assert (await export(session, "html", scope="tree")).content == (
        await export(session, "html", scope="tree")
    ).content
