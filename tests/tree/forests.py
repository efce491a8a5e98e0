"""Entries of any shape, and what the session format says about them, worked out the slow and obvious way."""

from typing import Any

import orjson
from hypothesis import strategies as st

from piserver.entries.codec import read_head
from piserver.tree import Tree

Fields = dict[str, Any]

IDS = st.sampled_from("abcdefghij")
PARENTS = st.one_of(st.none(), IDS, IDS, IDS, st.just("gone"), st.just(""))
MODELS = st.sampled_from(["swift-1", "dusk-2"])
BODIES = st.one_of(
    st.just({"type": "message", "message": {"role": "user", "content": "hi"}}),
    MODELS.map(lambda m: {"type": "message", "message": {"role": "assistant", "provider": "acme", "model": m}}),
    st.just({"type": "message", "message": {"role": "assistant"}}),
    st.just({"type": "message"}),
    MODELS.map(lambda m: {"type": "model_change", "provider": "umbra", "modelId": m}),
    st.sampled_from(["low", "high"]).map(lambda level: {"type": "thinking_level_change", "thinkingLevel": level}),
    st.lists(IDS, max_size=2).map(lambda names: {"type": "active_tools_change", "activeToolNames": names}),
    IDS.map(lambda id: {"type": "compaction", "summary": "s", "firstKeptEntryId": id}),
    IDS.map(lambda id: {"type": "compaction", "summary": "s", "firstKeptEntryId": id, "retainedTail": None}),
    st.just({"type": "compaction", "summary": "s", "firstKeptEntryId": "a", "retainedTail": []}),
    st.just({"type": "compaction", "summary": "s"}),
    PARENTS.map(lambda id: {"type": "leaf", "targetId": id}),
    st.just({"type": "leaf"}),
    st.builds(
        lambda id, text: {"type": "label", "targetId": id, "label": text}, IDS, st.sampled_from(["x", " ", " y"])
    ),
    IDS.map(lambda id: {"type": "label", "targetId": id}),
    st.sampled_from(["name", "", "two\nlines"]).map(lambda name: {"type": "session_info", "name": name}),
    st.just({"type": "session_info"}),
    IDS.map(lambda id: {"type": "context_edit", "targetId": id, "replacement": None}),
    st.just({"type": "custom", "customType": "c"}),
    st.just({"type": "of another program"}),
)
BEFORE = "the entry before"


def entries_of(drawn: list[tuple[Fields, str, str | None]]) -> list[Fields]:
    """The entries with their ids and parents, `BEFORE` among the parents being resolved."""
    ids = [None, *(id for _, id, _ in drawn)]
    return [
        body | {"id": id, "parentId": before if parent == BEFORE else parent, "timestamp": "t"}
        for before, (body, id, parent) in zip(ids, drawn, strict=False)
    ]


FORESTS = st.lists(st.tuples(BODIES, IDS, st.just(BEFORE) | PARENTS), max_size=14).map(entries_of)
"""Entries in file order: parents that come later or never, duplicates, cycles, several roots."""


def grown(entries: list[Fields], *, loading: bool = False) -> Tree:
    """The tree over these entries, the first of them on line 2; `loading` settles it once, not after each."""
    tree = Tree()
    tree.loading = loading
    for line, entry in enumerate(entries, 2):
        tree.add(read_head(orjson.dumps(entry)), line)
    tree.settle()
    return tree


class Forest:
    """The same entries without an index."""

    def __init__(self, entries: list[Fields]) -> None:
        self.by_id: dict[str, Fields] = {}
        for entry in entries:
            self.by_id.setdefault(entry["id"], entry)
        self.order = list(self.by_id)

    def parent(self, id: str) -> str | None:
        """The parent, unless it is missing or the entry is the earliest on a cycle."""
        parent = self.by_id[id]["parentId"]
        if parent not in self.by_id:
            return None
        cycle = [id]
        while (above := self.by_id[cycle[-1]]["parentId"]) in self.by_id and above not in cycle:
            cycle.append(above)
        return None if above == id and min(cycle, key=self.order.index) == id else parent

    def path(self, id: str | None) -> list[str]:
        """Root first."""
        path: list[str] = []
        while id is not None:
            path.insert(0, id)
            id = self.parent(id)
        return path

    def state(self, id: str) -> tuple[Any, Any, Any]:
        """Provider and model, thinking level, tools at an entry."""
        model, level, tools = None, "off", None
        for entry in map(self.by_id.__getitem__, self.path(id)):
            match entry:
                case {"type": "message", "message": {"role": "assistant"} as message}:
                    model = (message.get("provider"), message.get("model"))
                case {"type": "model_change"}:
                    model = (entry["provider"], entry["modelId"])
                case {"type": "thinking_level_change"}:
                    level = entry["thinkingLevel"]
                case {"type": "active_tools_change"}:
                    tools = entry["activeToolNames"]
                case _:
                    pass
        return model, level, tools

    def leaf(self) -> str | None:
        leaf: str | None = None
        fallback: str | None = None
        for id, entry in self.by_id.items():
            if entry["type"] != "leaf":
                leaf = id
            elif "targetId" in entry:
                leaf, fallback = entry["targetId"], self.parent(id)
        return leaf if leaf is None or leaf in self.by_id else fallback

    def context(self, leaf: str) -> list[str]:
        """The entries of the context at an entry."""
        path = self.path(leaf)
        places = [place for place, id in enumerate(path) if self.by_id[id]["type"] == "compaction"]
        if not places:
            return path
        compaction, after = path[places[-1]], path[places[-1] + 1 :]
        first = self.by_id[compaction].get("firstKeptEntryId")
        before = path[: places[-1]]
        if self.by_id[compaction].get("retainedTail") is not None or first not in before:
            return [compaction, *after]
        kept = [id for id in before[before.index(first) :] if self.by_id[id]["type"] != "compaction"]
        return [compaction, *kept, *after]
