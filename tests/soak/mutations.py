"""Damage to bytes and to the lines of a session file, at random but repeatable."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

_PIECES = (
    b"", b"\n", b"\r\n", b"\0" * 16, b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"}", b'"', b"\\", b"]", b",", b"null",
    b"1e999", b"-0", b"9" * 400, b"NaN", b"\\ud800", b"[" * 3000, b'{"a":' * 3000, b"true", b'""', b"{}", b"[]", b"  ",
)  # fmt: skip
_ID = re.compile(rb'"(id|parentId|targetId|firstKeptEntryId|fromId)"\s*:\s*("[^"\n]{0,64}"|null)')
_NUMBER = re.compile(rb"(?<=[:\[,])-?\d+(\.\d+)?")


def flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 8)):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randint(0, len(data)) :]


def cut(data: bytearray, rng: random.Random) -> None:
    start = rng.randint(0, len(data))
    del data[start : start + rng.randint(1, 60)]


def insert(data: bytearray, rng: random.Random) -> None:
    place = rng.randint(0, len(data))
    data[place:place] = rng.choice(_PIECES)


def number(data: bytearray, rng: random.Random) -> None:
    if found := list(_NUMBER.finditer(data)):
        chosen = rng.choice(found)
        data[chosen.start() : chosen.end()] = rng.choice(
            (b"1e308", b"-1e400", b"9" * 5000, b"1.5", b"-1", b'"7"', b"null")
        )


def scramble(data: bytearray, rng: random.Random) -> None:
    """Exchange ids and references: duplicates, cycles, parents that are missing or come later."""
    for _ in range(rng.randint(1, 6)):
        if found := list(_ID.finditer(data)):
            into, value = rng.choice(found), rng.choice(found).group(2)
            value = rng.choice((value, value, value, b'"nowhere"', b"null", b"17", b'""', b'["a"]'))
            data[into.start(2) : into.end(2)] = value


def _lines(change: Callable[[list[bytes], random.Random], object]) -> Callable[[bytearray, random.Random], None]:
    def mutate(data: bytearray, rng: random.Random) -> None:
        lines = bytes(data).split(b"\n")
        change(lines, rng)
        data[:] = b"\n".join(lines)

    mutate.__name__ = change.__name__
    return mutate


@_lines
def swap(lines: list[bytes], rng: random.Random) -> None:
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


@_lines
def repeat(lines: list[bytes], rng: random.Random) -> None:
    lines.insert(rng.randint(0, len(lines)), rng.choice(lines))


@_lines
def join(lines: list[bytes], rng: random.Random) -> None:
    if len(lines) > 2:
        place = rng.randrange(1, len(lines) - 1)
        lines[place : place + 2] = [lines[place] + lines[place + 1]]


@_lines
def tear(lines: list[bytes], rng: random.Random) -> None:
    """A write that was cut off and then repeated."""
    place = rng.randrange(len(lines))
    line = lines[place]
    lines[place] = line[: rng.randint(0, len(line))] + line


@_lines
def drop(lines: list[bytes], rng: random.Random) -> None:
    del lines[rng.randrange(len(lines))]


@_lines
def zeros(lines: list[bytes], rng: random.Random) -> None:
    """What a power failure leaves of a block."""
    place = rng.randrange(len(lines))
    lines[place] = rng.choice((b"\0" * rng.randint(1, 5000), b"\0" * 100 + lines[place]))


@_lines
def value(lines: list[bytes], rng: random.Random) -> None:
    """Another value for one member of one line, wherever it is."""
    place = rng.randrange(len(lines))
    try:
        whole: Any = json.loads(lines[place])
    except (ValueError, RecursionError):
        return
    where, depth = whole, rng.randint(0, 4)
    while isinstance(where, dict | list) and where:
        key = rng.choice(list(where) if isinstance(where, dict) else list(range(len(where))))
        if depth == 0 or not isinstance(where[key], dict | list):
            where[key] = rng.choice((None, True, -1, 1e300, "", "x", "\ud800", [], {}, [None], {"type": "text"}, [[1]]))
            break
        where, depth = where[key], depth - 1
    lines[place] = json.dumps(whole).encode()


BYTES = (flip, truncate, cut, insert, number)
LINES = (scramble, swap, repeat, join, tear, drop, zeros, value)


def mutated(data: bytes, rng: random.Random, kinds: tuple[Callable[[bytearray, random.Random], None], ...]) -> bytes:
    """The data with one to three kinds of damage."""
    result = bytearray(data)
    for kind in rng.choices(kinds, k=rng.choice((1, 1, 2, 3))):
        kind(result, rng)
    return bytes(result)
