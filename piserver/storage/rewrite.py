"""A session file written anew as another version: an old one becomes the current one before its first append.

Three things change a session file otherwise than by making it longer: this, `repair`, and cutting off a torn tail
(`JsonlStorage`). All of them are done under its lock, and keep beside it what was there.
"""

from __future__ import annotations

from pathlib import Path

from piserver.entries.header import VERSION
from piserver.entries.migration import replace_members
from piserver.storage.files import keep_backup, write_whole
from piserver.storage.loader import BYTE_ORDER_MARK, Loader


def migrate(path: Path, data: bytes, loader: Loader) -> int:
    """Put the current form of an old file into its place, in one step, the original kept beside it as `.bak`.

    `data` is the whole content, which `loader` has read; it learns where the entries lie now. Every line keeps its
    number, and what could not be read its bytes: they are the user's. Answers the new size in bytes. Raises OSError,
    and then the old file stands as it was.
    """
    by_line: dict[int, list[int]] = {}
    for node in loader.tree.nodes:
        by_line.setdefault(node.line, []).append(node.index)
    body = data.removeprefix(BYTE_ORDER_MARK)
    chunks: list[bytes] = []
    offsets: list[int] = []
    lengths: list[int] = []
    offset, old_offset = 0, len(data) - len(body)
    for number, line in enumerate(body.removesuffix(b"\n").split(b"\n"), 1):
        chunk = line
        if number == loader.header_line:
            chunk = upgraded_header(line, loader)
        for index in by_line.get(number, ()):
            if loader.lengths[index] >= len(line):
                chunk = loader.upgraded[index]
                offsets.append(offset)
                lengths.append(len(chunk))
            else:  # found on a damaged line, which stays as it is
                offsets.append(offset + loader.offsets[index] - old_offset)
                lengths.append(loader.lengths[index])
        chunks.append(chunk + b"\n")
        offset += len(chunk) + 1
        old_offset += len(line) + 1
    keep_backup(path)
    write_whole(path, chunks, replace=True)
    loader.migrated(offsets, lengths)
    return offset


def upgraded_header(line: bytes, loader: Loader) -> bytes:
    """The header's line as the current version has it; one that is of the current version stays as it is."""
    if loader.migration is None:
        return line
    text = line.removeprefix(BYTE_ORDER_MARK)
    end = b"\n" if text.endswith(b"\n") else b""
    return replace_members(text, {"version"}, {"version": VERSION}) + end
