"""An exported page as a browser's parser sees it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "input", "hr", "br"}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str | None], parent: Element | None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.children: list[Element] = []
        self.text = ""

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> set[str]:
        return set(self.get("class").split())

    def all(self, tag: str, *classes: str) -> list[Element]:
        """The elements below with this tag and these classes, in document order."""
        found: list[Element] = []
        stack = self.children[::-1]
        while stack:
            element = stack.pop()
            if tag in ("*", element.tag) and element.classes.issuperset(classes):
                found.append(element)
            stack.extend(element.children[::-1])
        return found

    def one(self, tag: str, *classes: str) -> Element:
        [element] = self.all(tag, *classes)
        return element


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {}, None)
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute twice: {tag} {attrs}"
        element = Element(tag, dict(attrs), self.open[-1])
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, f"<{tag}/>"
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def parse(page: bytes) -> Element:
    """The document. Fails where tags are not balanced."""
    parser = _Parser()
    parser.feed(page.decode())
    parser.close()
    assert parser.open == [parser.root]
    return parser.root
