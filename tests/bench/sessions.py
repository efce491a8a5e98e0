"""Large sessions that look like an agent's working days, the same ones on every machine.

A day is a run of turns: a person asks; the model thinks, says something and calls tools; their results come back, most
of them short and a few very long; at the end there is an answer. Between turns the model or the thinking level
changes, an entry gets a label, a shell command is run, and now and then somebody goes back and takes another way, so
that the tree has one long trunk and many short branches. An entry is about 2 KB on average.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from piserver.repository.layout import file_name, folder_name

Json = dict[str, Any]

_TEXT = """
    anchor basin copper drift eddy flint gravel heron islet jasper kestrel lichen marble nettle otter pine quarry
    reed slate thistle upland vale wren yew async await class def else for if import in is None not pass raise return
    self True while with ( ) [ ] { } = == : , 0 1 2 10 100 naïve über façade → ≤ 会话 分支 上下文 🌲
"""
_WORDS = _TEXT.split()
_POOLS = 32
_POOL_LINES = 4_000  # over 150,000 characters

_START = 1_760_000_000_000  # milliseconds since 1970
_FILES = [f"src/{room}/{name}.py" for room in ("api", "core", "store", "web") for name in ("cache", "index", "queue")]
_TOOLS = ("read", "read", "read", "bash", "bash", "edit", "grep", "write")

# Lengths of tool results in characters: how often (of 1000), from, to.
_RESULT_LENGTHS = ((640, 40, 600), (250, 600, 4_000), (85, 4_000, 14_000), (21, 14_000, 40_000), (4, 90_000, 120_000))


def write_session(
    path: Path, entries: int, *, seed: int = 1, id: str = "bench", cwd: str = "/", compact: bool = False
) -> None:
    """Write a session with so many entries; with `compact` there is a compaction some 200 entries before the end."""
    compact_at = max(entries - 200, entries // 2) if compact else None
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        _Day(file, seed, id, cwd).work(entries, compact_at)
    unfinished.rename(path)


def write_sessions(root: Path, count: int, entries: int = 80) -> None:
    """Write a folder of sessions as both piserver and the terminal agent keep them, over ten working directories."""
    unfinished = root.with_name(f"{root.name}.part")
    for number in range(count):
        id = f"bench-{number:04}"
        cwd = f"/home/dev/project-{number % 10}"
        name = file_name(_iso(_START + number * 3_600_000), id)
        write_session(unfinished / folder_name(cwd) / name, entries, seed=number, id=id, cwd=cwd)
    unfinished.rename(root)


class _Day:
    def __init__(self, file: TextIO, seed: int, id: str, cwd: str) -> None:
        self._file = file
        self._random = random.Random(seed)
        self._pools = _text_pools()
        self._now = _START
        self._count = 0
        self._path: list[str] = []  # ids from the root to the leaf
        self._leaf: str | None = None
        self._cached_tokens = 5_000
        self._compacted = False
        self._write({"type": "session", "version": 3, "id": id, "timestamp": self._timestamp(), "cwd": cwd})

    def work(self, entries: int, compact_at: int | None) -> None:
        self._add("model_change", provider="acme", modelId="swift-1")
        self._add("thinking_level_change", thinkingLevel="medium")
        for entry in self._turns():
            if self._count == entries - 1:
                break
            self._add(**entry)
            if self._count == compact_at:
                self._add(**self._compaction())
                self._compacted = True
        self._add(**self._assistant([{"type": "text", "text": "All done."}], "stop"))

    # --- what happens, as entries without id and parent ---

    def _turns(self) -> Iterator[Json]:
        """Entries without end. Each is written before the next is asked for."""
        chance = self._random.random
        while True:
            yield self._user()
            for _ in range(self._random.choice((1, 2, 3, 4, 6, 8))):
                calls = [self._tool_call(number) for number in range(self._random.choice((1, 1, 1, 2, 3)))]
                yield self._assistant([*self._remarks(), *calls], "toolUse")
                for call in calls:
                    yield self._tool_result(call)
            yield self._assistant([{"type": "text", "text": self._text(60, 1_400)}], "stop")
            if chance() < 0.12:
                yield self._aside()
            if chance() < 0.05 and len(self._path) > 100 and not self._compacted:  # it stays on the path
                target = self._path[-self._random.randint(5, 60)]
                yield {"type": "leaf", "targetId": target}
                if chance() < 0.5:
                    yield {"type": "branch_summary", "fromId": target, "summary": self._text(300, 1_200)}

    def _user(self) -> Json:
        text = self._text(*self._random.choice(((10, 60), (60, 200), (200, 900))))
        return self._message("user", content=[{"type": "text", "text": text}])

    def _remarks(self) -> list[Json]:
        remarks: list[Json] = []
        if self._random.random() < 0.5:
            thinking, signature = self._text(60, 1_200), self._text(100, 140)
            remarks.append({"type": "thinking", "thinking": thinking, "thinkingSignature": signature})
        if self._random.random() < 0.6:
            remarks.append({"type": "text", "text": self._text(20, 500)})
        return remarks

    def _tool_call(self, number: int) -> Json:
        name = self._random.choice(_TOOLS)
        arguments: Json = {"path": self._random.choice(_FILES)}
        if name in ("bash", "grep"):
            arguments = {"command" if name == "bash" else "pattern": self._text(8, 90).replace("\n", " ")}
        elif name == "edit":
            arguments |= {"oldText": self._text(20, 300), "newText": self._text(20, 500)}
        elif name == "write":
            arguments["content"] = self._text(100, 3_000)
        return {"type": "toolCall", "id": f"call_{self._count}_{number}", "name": name, "arguments": arguments}

    def _tool_result(self, call: Json) -> Json:
        content = [{"type": "text", "text": self._output()}]
        failed = self._random.random() < 0.05
        return self._message(
            "toolResult", toolCallId=call["id"], toolName=call["name"], content=content, isError=failed
        )

    def _assistant(self, content: list[Json], stop_reason: str) -> Json:
        return self._message(
            "assistant",
            content=content,
            api="acme-messages",
            provider="acme",
            model="swift-1",
            usage=self._usage(),
            stopReason=stop_reason,
        )

    def _usage(self) -> Json:
        self._cached_tokens = min(self._cached_tokens + self._random.randint(50, 900), 180_000)
        output = self._random.randint(20, 900)
        cost = {"input": 0.0012, "output": output / 64_000, "cacheRead": self._cached_tokens / 4e6, "cacheWrite": 0}
        total = sum(cost.values())
        return {
            "input": 400,
            "output": output,
            "cacheRead": self._cached_tokens,
            "cacheWrite": 0,
            "totalTokens": 400 + output + self._cached_tokens,
            "cost": cost | {"total": total},
        }

    def _aside(self) -> Json:
        asides: list[Json] = [
            {"type": "model_change", "provider": "acme", "modelId": self._random.choice(("swift-1", "swift-2"))},
            {"type": "thinking_level_change", "thinkingLevel": self._random.choice(("off", "low", "high"))},
            {"type": "label", "targetId": self._path[-1], "label": f"mark {self._count}"},
            {"type": "session_info", "name": f"Work on {self._random.choice(_FILES)}"},
            {"type": "custom", "customType": "plan", "data": {"open": [self._text(20, 80)], "done": self._count}},
            self._message(
                "bashExecution",
                command="make test",
                output=self._output(),
                exitCode=self._random.choice((0, 0, 1)),
                cancelled=False,
                truncated=False,
            ),
        ]
        return self._random.choice(asides)

    def _compaction(self) -> Json:
        kept = self._path[-min(30, len(self._path))]
        details = {"readFiles": _FILES[:6], "modifiedFiles": _FILES[6:]}
        return {
            "type": "compaction",
            "summary": self._text(2_500, 3_500),
            "firstKeptEntryId": kept,
            "tokensBefore": self._cached_tokens,
            "details": details,
        }

    def _message(self, role: str, **fields: Any) -> Json:
        return {"type": "message", "message": {"role": role, **fields, "timestamp": self._now}}

    # --- text ---

    def _text(self, least: int, most: int) -> str:
        length = self._random.randint(least, most)
        pool = self._random.choice(self._pools)
        start = self._random.randrange(len(pool) - length)
        return pool[start : start + length]

    def _output(self) -> str:
        [(_, least, most)] = self._random.choices(_RESULT_LENGTHS, [often for often, _, _ in _RESULT_LENGTHS])
        return self._text(least, most)

    # --- lines ---

    def _add(self, type: str, **fields: Any) -> None:
        self._count += 1
        # Scattered like real ids, but never twice the same: the factor is odd.
        id = f"{self._count * 2_654_435_761 % 2**32:08x}"
        self._write({"type": type, "id": id, "parentId": self._leaf, "timestamp": self._timestamp(), **fields})
        if type == "leaf":
            self._leaf = target = fields["targetId"]
            del self._path[self._path.index(target, -100) + 1 :]
        else:
            self._leaf = id
            self._path.append(id)

    def _timestamp(self) -> str:
        self._now += self._random.randint(300, 9_000)
        return _iso(self._now)

    def _write(self, line: Json) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def _text_pools() -> list[str]:
    """Long texts to cut from: that is much quicker than writing every text word by word."""
    rng = random.Random(0)

    def line() -> str:
        return " " * rng.choice((0, 4, 8)) + " ".join(rng.choices(_WORDS, k=rng.randint(3, 14)))

    return ["\n".join(line() for _ in range(_POOL_LINES)) for _ in range(_POOLS)]
