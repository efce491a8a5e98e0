"""What every storage does. A test module for a new kind derives from `Conformance` and says how one is made."""

import hashlib
from abc import ABC, abstractmethod

import msgspec
import pytest

from piserver.entries.header import Header, InvalidSessionError
from piserver.storage import ReadOnlyError, Storage
from tests.storage.log import (
    CWD,
    SESSION_ID,
    TIME,
    answer,
    compaction,
    entry,
    header,
    jump,
    label,
    line,
    log,
    message,
    name,
    user,
)

HEADER = Header(SESSION_ID, TIME, CWD, parent_session="/w/parent.jsonl", metadata={"a": [1]})


def ids(nodes: list) -> list[str]:
    return [node.id for node in nodes]


class Conformance(ABC):
    @abstractmethod
    async def make(self, data: bytes) -> Storage:
        """A storage over the content of a session file."""

    @abstractmethod
    async def create(self, header: Header, *lines: bytes) -> Storage:
        """A new storage."""

    async def test_a_new_one_has_its_header_and_nothing_else(self) -> None:
        storage = await self.create(HEADER)
        assert storage.header == HEADER
        assert (storage.revision, storage.leaf, storage.name, storage.diagnostics) == (0, None, None, [])
        assert storage.read_only is None

    async def test_a_new_one_may_start_with_entries(self) -> None:
        storage = await self.create(HEADER, user("u1", None), answer("a2", "u1"))
        assert ids(storage.path_to(storage.leaf)) == ["u1", "a2"]

    async def test_entries_are_read_as_written_in_the_order_asked_for(self) -> None:
        storage = await self.make(log(header(), user("u1", None), answer("a2", "u1")))
        entries = await storage.read([storage.tree.nodes[1], storage.tree.nodes[0]])
        assert [entry.id for entry in entries] == ["a2", "u1"]
        assert entries[1].raw == user("u1", None)
        assert entries[0].value["message"]["content"] == [{"type": "text", "text": "a2"}]

    async def test_what_is_written_is_there(self) -> None:
        storage = await self.create(HEADER)
        await storage.prepare()
        added = storage.write([user("u1", None)])
        await storage.sync()
        assert ids(added) == ["u1"]
        assert storage.leaf is added[0]
        assert await storage.lines(added) == [user("u1", None)]
        await storage.prepare()
        assert ids(storage.write([answer("a2", "u1"), user("u3", "a2")])) == ["a2", "u3"]
        assert storage.revision == 3
        assert ids(storage.path_to(storage.leaf)) == ["u1", "a2", "u3"]

    async def test_revisions_count_entries(self) -> None:
        storage = await self.make(log(header(), user("u1", None), user("u2", "u1"), user("u2", "u1")))
        assert storage.revision == 2, "a duplicate is not indexed"
        await storage.prepare()
        storage.write([user("u3", "u2")])
        assert storage.revision == 3
        assert ids(storage.entries_since(2)) == ["u3"]
        assert storage.entries_since(3) == []

    async def test_the_leaf_follows_entries_and_jumps(self) -> None:
        storage = await self.make(log(header(), user("u1", None), answer("a2", "u1"), jump("j3", "a2", "u1")))
        assert storage.leaf is storage.get("u1")
        await storage.prepare()
        storage.write([jump("j4", "u1", None)])
        assert storage.leaf is None
        storage.write([user("u5", None)])
        assert storage.leaf is storage.get("u5")
        assert ids(storage.tree.roots) == ["u1", "u5"]

    async def test_labels_and_the_name_are_the_last_ones_of_the_file(self) -> None:
        storage = await self.make(
            log(
                header(),
                user("u1", None),
                label("l2", "u1", "u1", " start "),
                name("n3", "l2", "one\ntwo"),
                jump("j4", "n3", "u1"),
                label("l5", "u1", "u1", "begin"),
            )
        )
        assert storage.label("u1") == "begin"
        assert storage.label("l2") is None
        assert storage.name == "one two"
        await storage.prepare()
        storage.write([label("l6", "l5", "u1", None), name("n7", "l6", "  ")])
        assert (storage.label("u1"), storage.name) == (None, None)

    async def test_statistics_cover_all_branches(self) -> None:
        storage = await self.make(log(header(), user("u1", None), answer("a2", "u1"), answer("a3", "u1")))
        assert storage.statistics.roles == {"user": 1, "assistant": 2}
        assert storage.statistics.total.total_tokens == 30
        assert storage.statistics.by_model["anthropic/m"].cost == 1.0
        await storage.prepare()
        storage.write([answer("a4", "u1")])
        assert storage.statistics.total.total_tokens == 45

    async def test_queries_walk_the_path_newest_first(self) -> None:
        storage = await self.make(
            log(
                header(),
                user("u1", None),
                compaction("k2", "u1", "S", "u1"),
                user("u3", "k2"),
                compaction("k4", "u1", "T", "u1"),
                compaction("k5", "u3", "U", "u3"),
            )
        )
        assert ids(storage.query(storage.leaf, ["compaction"])) == ["k5", "k2"]
        assert ids(storage.query(storage.leaf, ["compaction", "message"], 2)) == ["k5", "u3"]
        assert storage.query(None, ["message"]) == []

    async def test_what_nobody_knows_is_kept_to_the_byte(self) -> None:
        odd = [
            b'{ "type" : "alien","id":"x1","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","n":1.50e+0,"n":2}',
            b'{"zeta":[{"b":1,"a":2}],"type":"message","id":"x2","parentId":"x1","message":{"role":"user","content":"\\ud83d"}}',
            b'{"type":"custom","id":"x3","parentId":"x2","customType":"c","data":123456789012345678901234567890,"extra":{}}',
        ]
        storage = await self.make(log(header(), *odd))
        assert await storage.lines(storage.tree.nodes) == odd
        await storage.prepare()
        added = storage.write([b'{"type":"alien","id":"x4","parentId":"x3","timestamp":"","f":-0.0}'])
        assert [e.raw for e in await storage.read(added)] == [
            b'{"type":"alien","id":"x4","parentId":"x3","timestamp":"","f":-0.0}'
        ]
        assert ids(storage.path_to(storage.leaf)) == ["x1", "x2", "x3", "x4"]

    async def test_ill_formed_utf8_is_read_with_replacement(self) -> None:
        storage = await self.make(log(header(), user("u1", None, "A?B").replace(b"?", b"\xff")))
        assert (await storage.read(storage.tree.nodes))[0].value["message"]["content"] == "A\ufffdB"
        assert b"\xff" in (await storage.lines(storage.tree.nodes))[0]

    async def test_a_newer_version_is_read_but_never_written(self) -> None:
        storage = await self.make(log(header(4), user("u1", None)))
        assert storage.leaf is storage.get("u1")
        assert "version 4" in (storage.read_only or "")
        assert [d.kind for d in storage.diagnostics] == ["newer-version"]
        with pytest.raises(ReadOnlyError, match="version 4"):
            await storage.prepare()
        assert storage.revision == 1

    @pytest.mark.parametrize(
        "content", [b"", b"\n\n", b"[1]\n", b'{"type":"event"}\n', b"\0\0\n", b'{"type":"session"}\n']
    )
    async def test_what_is_no_session_is_refused(self, content: bytes) -> None:
        with pytest.raises(InvalidSessionError):
            await self.make(content)

    async def test_the_refusal_names_the_line(self) -> None:
        with pytest.raises(InvalidSessionError, match="line 3") as refusal:
            await self.make(b"\n \n{}\n")
        assert refusal.value.line == 3

    async def test_version_1_gets_ids_and_parents(self) -> None:
        old = [
            line(type="message", timestamp=TIME, message={"role": "user", "content": "one"}),
            line(type="message", timestamp=TIME, message={"role": "user", "content": "two"}),
            line(type="compaction", timestamp=TIME, summary="S", firstKeptEntryIndex=2, tokensBefore=9),
        ]
        storage = await self.make(log(header(None), *old))
        again = await self.make(log(header(None), *old))
        nodes = storage.tree.nodes
        assert ids(nodes) == ids(again.tree.nodes), "two readers give the same ids"
        assert [node.parent for node in nodes] == [None, nodes[0], nodes[1]]
        entries = await storage.read(nodes)
        assert entries[2].value["firstKeptEntryId"] == nodes[1].id
        await storage.prepare()
        added = storage.write([user("u9", nodes[2].id)])
        assert [e.raw for e in await storage.read(nodes[:3])] == [e.raw for e in entries]
        assert await storage.lines(added) == [user("u9", nodes[2].id)]
        assert storage.header.version == 3

    async def test_version_2_calls_custom_messages_by_their_new_role(self) -> None:
        old = message("m1", None, "hookMessage", "hi", customType="c")
        storage = await self.make(log(header(2), old))
        assert storage.tree.nodes[0].role == "custom"
        [read] = await storage.read(storage.tree.nodes)
        assert read.value["message"] == {"role": "custom", "content": "hi", "customType": "c"}

    async def test_damage_costs_its_line_and_is_reported(self) -> None:
        storage = await self.make(
            log(header(), user("u1", None), b"\0" * 400, b"not json", b"[1]", b'{"id":"n"}', b"", user("u2", "u1"))
        )
        assert ids(storage.path_to(storage.leaf)) == ["u1", "u2"]
        assert [(d.kind, d.line) for d in storage.diagnostics] == [("malformed-line", n) for n in (3, 4, 5, 6)]

    async def test_a_torn_tail_is_left_out_reported_and_gone_after_an_append(self) -> None:
        whole = log(header(), user("u1", None))
        storage = await self.make(whole + b'{"type":"message","id":"u2","par')
        assert storage.leaf is storage.get("u1")
        [torn] = storage.diagnostics
        assert (torn.kind, torn.line, torn.offset) == ("torn-tail", 3, len(whole))
        await storage.prepare()
        assert ids(storage.write([user("u3", "u1")])) == ["u3"]
        assert storage.diagnostics == []
        assert storage.tree.nodes[1].line == 3

    async def test_a_whole_last_line_needs_no_end(self) -> None:
        storage = await self.make(log(header(), user("u1", None))[:-1])
        assert ids(storage.tree.nodes) == ["u1"]
        await storage.prepare()
        added = storage.write([user("u2", "u1")])
        assert await storage.lines([*storage.tree.nodes[:1], *added]) == [user("u1", None), user("u2", "u1")]
        assert added[0].line == 3

    async def test_a_refresh_without_others_finds_nothing(self) -> None:
        storage = await self.make(log(header(), user("u1", None)))
        assert await storage.refresh() == []
        await storage.prepare()
        storage.write([user("u2", "u1")])
        epoch = storage.epoch
        assert await storage.refresh() == []
        assert storage.epoch == epoch

    async def test_large_bodies_come_back_whole(self) -> None:
        text = "x" * 3_000_000
        storage = await self.make(log(header(), user("u1", None, text), user("u2", "u1")))
        [large, small] = await storage.read(storage.tree.nodes)
        assert hashlib.sha256(large.raw).digest() == hashlib.sha256(user("u1", None, text)).digest()
        assert msgspec.json.decode(small.raw)["id"] == "u2"

    async def test_deep_nesting_is_an_entry_like_any_other(self) -> None:
        deep = entry("custom", "d1", None, customType="c")[:-1] + b',"data":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
        storage = await self.make(log(header(), deep, user("u2", "d1")))
        assert ids(storage.path_to(storage.leaf)) == ["d1", "u2"]
        assert await storage.lines([storage.tree.nodes[0]]) == [deep]

    async def test_letting_go_twice_is_letting_go(self) -> None:
        storage = await self.make(log(header()))
        await storage.aclose()
        await storage.aclose()
