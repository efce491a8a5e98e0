"""Search over the wire: whose sessions, in which order, piece by piece, and without getting into anybody's way."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import Piserver, assistant, user
from tests.server.files import chain, entries, fingerprint, header, line, message, write
from tests.wire.client import Message

MANY = 100_000


def search(server: Piserver, query: str, **params: Any) -> list[Message]:
    return server.call("session/search", {"query": query} | params)["hits"]


def place(server: Piserver, name: str, cwd: str, *lines: bytes, time: int = 1000) -> Path:
    """A session file of another program, last changed at `time`."""
    path = write(server.folder / "--w-found--" / f"{name}.jsonl", header(name, cwd=cwd), *lines)
    os.utime(path, (time, time))
    return path


def test_a_hit_says_where_it_is(server: Piserver) -> None:
    session = server.create("/w/hit", name="The one")
    first, second = server.append(session, user("Wo ist 🙂 die Nadel?"), assistant("In the\nhaystack, 🙂 Nadel."))
    [newest, oldest] = search(server, "nadel", sessionId=session)
    opened = server.call("session/open", {"sessionId": session})
    assert newest == {
        "sessionId": session,
        "path": opened["info"]["path"],
        "sessionName": "The one",
        "match": "text",
        "snippet": "In the haystack, 🙂 Nadel.",
        "ranges": [{"start": 20, "end": 25}],
        "entryId": second,
        "type": "message",
        "role": "assistant",
        "timestamp": entries(Path(opened["info"]["path"]))[-1]["timestamp"],
        "branch": {
            "leafId": second,
            "label": None,
            "lastActivity": entries(Path(opened["info"]["path"]))[-1]["timestamp"],
            "onPath": True,
        },
    }
    assert oldest["entryId"] == first
    assert oldest["ranges"] == [{"start": 14, "end": 19}]


def test_branches_labels_ids_and_names(server: Piserver) -> None:
    session = server.create("/w/branches", name="A fork in the road")
    root, left = server.append(session, user("where to"), assistant("left, by the old fork"))
    server.call("session/moveTo", {"sessionId": session, "entryId": root})
    [right] = server.append(session, assistant("right"))
    server.call("session/setLabel", {"sessionId": session, "entryId": left, "label": "The fork"})
    hits = search(server, "fork", sessionId=session)
    assert [(hit["match"], hit["entryId"]) for hit in hits] == [("name", None), ("label", left), ("text", left)]
    assert hits[0]["branch"] is None
    assert {(hit["branch"]["leafId"], hit["branch"]["label"], hit["branch"]["onPath"]) for hit in hits[1:]} >= {
        (hits[1]["branch"]["leafId"], "The fork", False)
    }
    [by_id, *_] = search(server, right, sessionId=session)
    assert (by_id["match"], by_id["entryId"], by_id["branch"]["onPath"]) == ("id", right, True)
    assert search(server, "fork", sessionId=session, roles=["user"]) == []
    assert [hit["match"] for hit in search(server, "fork", sessionId=session, types=["message"])] == ["label", "text"]


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"query": "café"}, [2, 0]),
        ({"query": "CAFÉ", "matchCase": True}, [2]),
        ({"query": '"au café"'}, [0]),
        ({"query": "café au"}, [0]),
        ({"query": "解析器"}, [1]),
        ({"query": r"caf.$", "regex": True}, [2, 0]),
        ({"query": r"caf.$", "regex": True, "matchCase": True}, [0]),
        ({"query": r"a\b"}, []),
        ({"query": r"c:\temp"}, [3]),
        ({"query": "nowhere"}, []),
    ],
)
def test_words_phrases_cases_and_expressions(server: Piserver, params: dict[str, Any], found: list[int]) -> None:
    session = server.create()
    said = ["rendez-vous au café", "为什么解析器丢掉最后一行", "CAFÉ", r"C:\temp"]
    ids = server.append(session, *map(user, said))
    hits = server.call("session/search", {"sessionId": session} | params)["hits"]
    assert [hit["entryId"] for hit in hits] == [ids[n] for n in found]


def test_sessions_that_are_open_and_those_that_are_not_newest_first(server: Piserver) -> None:
    place(server, "older", "/w/found", message("a1", None, "a zebra"), time=1000)
    place(server, "newer", "/w/found", message("b1", None, "a ZEBRA"), time=2000)
    place(server, "elsewhere", "/w/other", message("c1", None, "another zebra"), time=3000)
    place(server, "quiet", "/w/found", message("d1", None, "a horse"), time=4000)
    opened = server.create("/w/found")
    [own] = server.append(opened, user("my zebra"))
    before = fingerprint(server.folder)
    result = server.call("session/search", {"query": "zebra", "cwd": "/w/found"})
    assert [(hit["sessionId"], hit["entryId"]) for hit in result["hits"]] == [
        (opened, own),
        ("newer", "b1"),
        ("older", "a1"),
    ]
    assert (result["sessionsSearched"], result["limited"]) == (4, False)
    assert {hit["sessionId"] for hit in search(server, "zebra")} == {opened, "newer", "elsewhere", "older"}
    assert fingerprint(server.folder) == before


def test_c11_what_forks_share_is_found_once(server: Piserver) -> None:
    session = server.create("/w/shared")
    [one, two] = server.append(session, user("a giraffe"), assistant("tall"))
    fork = server.call("session/fork", {"sessionId": session, "entryId": two, "position": "at"})["info"]["id"]
    [own] = server.append(fork, user("another giraffe"))
    server.call("session/clone", {"sessionId": session})
    hits = search(server, "giraffe", cwd="/w/shared")
    assert sorted(hit["entryId"] for hit in hits) == sorted([one, own])
    assert {hit["sessionId"] for hit in hits if hit["entryId"] == own} == {fork}


def test_the_limit_is_kept_and_told(server: Piserver) -> None:
    session = server.create("/w/limit")
    ids = server.append(session, *[user(f"ant {n}") for n in range(5)])
    for limit, limited in ((4, True), (5, False), (6, False)):
        result = server.call("session/search", {"query": "ant", "cwd": "/w/limit", "limit": limit})
        assert [hit["entryId"] for hit in result["hits"]] == ids[::-1][:limit]
        assert result["limited"] is limited


def test_old_formats_are_searched_and_broken_files_passed_over(server: Piserver) -> None:
    old = {
        "type": "message",
        "timestamp": "2025-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "an okapi"},
    }
    old_header = {"type": "session", "id": "v1", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/w/old"}
    folder = server.folder / "--w-old--"
    path = write(folder / "v1.jsonl", line(old_header), line(old))
    write(folder / "broken.jsonl", b"an okapi\n")
    write(folder / "damaged.jsonl", header("damaged", cwd="/w/old"), b'{"okapi\n', message("m1", None, "okapi"))
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    before = path.read_bytes()
    for query in ({"query": "okapi"}, {"query": "ok.pi", "regex": True}):
        hits = server.call("session/search", {"cwd": "/w/old"} | query)["hits"]
        assert sorted(hit["sessionId"] for hit in hits) == ["damaged", "v1"]
    assert path.read_bytes() == before


def test_an_open_session_is_searched_as_it_is_known(server: Piserver) -> None:
    path = place(server, "growing", "/w/growing", message("m0", None, "gnu"))
    server.call("session/open", {"path": str(path)})
    with path.open("ab") as file:
        file.write(message("m1", "m0", "gnu"))
    hits = search(server, "gnu", cwd="/w/growing")
    assert [hit["entryId"] for hit in hits if hit["entryId"] == "m0"] == ["m0"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"query": "(", "regex": True}, "query"),
        ({"query": "  "}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "sessionId": "s", "cwd": "/w"}, "cwd"),
    ],
)
def test_what_cannot_be_searched_for_is_refused(server: Piserver, params: dict[str, Any], field: str) -> None:
    error = server.error("session/search", params)
    assert (error["code"], error["data"]["kind"], error["data"]["field"]) == (-32602, "invalid-params", field)


def test_a_session_that_is_not_there(server: Piserver) -> None:
    assert server.kind("session/search", {"query": "x", "sessionId": "nobody"}) == "session-not-found"


# Large


@pytest.fixture(scope="module")
def large(shared: Piserver) -> str:
    """A session of many entries, of which the last and the first hold a word that no other does."""
    first, last = message("m0", None, "a quagga"), message("end", f"m{MANY - 1}", "a quagga")
    body = chain(MANY, "lorem ipsum dolor sit amet", start=1).replace(b'"parentId":null', b'"parentId":"m0"')
    write(shared.folder / "--w-large--" / "large.jsonl", header("large", cwd="/w/large"), first, body, last)
    shared.call("session/open", {"sessionId": "large", "subscribe": False})
    return "large"


def parts(server: Piserver, token: str) -> list[Message]:
    """The partial results that have come so far."""
    notes = [note["params"] for note in server.notifications if note["method"] == "$/progress"]
    return [note["value"] for note in notes if note["token"] == token]


def test_hits_come_while_the_rest_is_searched_and_a_cancelled_search_ends(server: Piserver, large: str) -> None:
    params = {"query": "quag+a", "regex": True, "sessionId": large, "partialResultToken": "hits"}
    id = server.request("session/search", params)
    part = server.wait_until("$/progress", lambda note: note["token"] == "hits")["value"]
    assert [hit["entryId"] for hit in part["hits"]] == ["end"]
    server.notify("$/cancelRequest", {"id": id})
    assert server.reply(id)["error"]["data"]["kind"] == "cancelled"
    assert parts(server, "hits") == []
    assert server.call("session/getPath", {"sessionId": large, "limit": 1})["total"] == MANY + 1


def test_all_hits_come_before_the_result_which_has_none(server: Piserver, large: str) -> None:
    params = {"query": "quagga", "sessionId": large, "partialResultToken": "all", "workDoneToken": "work"}
    result = server.reply(server.request("session/search", params))["result"]
    assert result == {"hits": [], "sessionsSearched": 1, "limited": False}
    assert [[hit["entryId"] for hit in part["hits"]] for part in parts(server, "all")] == [["end"], ["m0"]]
    work = parts(server, "work")
    assert (work[0]["kind"], work[-1]["kind"]) == ("begin", "end")
    percentages = [report["percentage"] for report in work[:-1]]
    assert percentages == sorted(set(percentages))
    assert len(percentages) > 3


@pytest.mark.parametrize("query", ["quag+x", "(x+x+)+y|((a|aa)+)+$", "(.*)*(.*)*(.*)*z", "x*"])
def test_no_expression_keeps_others_waiting(server: Piserver, large: str, query: str) -> None:
    """Whatever comes of the search, what was asked after it is answered before it."""
    slow = server.request("session/search", {"query": query, "regex": True, "sessionId": large})
    quick = [
        server.request("session/getTree", {"sessionId": large, "limit": 10}),
        server.request("session/latest", {"cwd": "/w/large"}),
    ]
    assert {server.next_reply()["id"], server.next_reply()["id"]} == set(quick)
    server.notify("$/cancelRequest", {"id": slow})
    assert server.next_reply()["id"] == slow


def test_a_closed_session_does_not_end_the_search_of_others(fresh: Piserver) -> None:
    for name in ("one", "two"):
        write(
            fresh.folder / "--w--" / f"{name}.jsonl",
            header(name),
            *[message(f"{name}{n}", None, f"emu {n} " + "x" * 3000) for n in range(2000)],
        )
        fresh.call("session/open", {"sessionId": name, "subscribe": False})
    id = fresh.request("session/search", {"query": "emu", "limit": 1000, "roles": ["user"], "partialResultToken": 1})
    first = fresh.wait_until("$/progress", lambda note: note["token"] == 1)["value"]["hits"][0]["sessionId"]
    fresh.send({"jsonrpc": "2.0", "id": "close", "method": "session/close", "params": {"sessionId": first}})
    reply = fresh.reply(id)
    assert "result" in reply, json.dumps(reply)
