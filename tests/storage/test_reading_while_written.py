"""A file that is read while another program writes it: what one look finds must be a beginning of the file."""

import io
from typing import BinaryIO, cast

from piserver.storage.jsonl import batches


class Growing(io.RawIOBase):
    """Gives one piece for each time that its end is reached."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = [piece for each in pieces for piece in (each, b"")]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


def read(*pieces: bytes) -> list[bytes]:
    with io.BufferedReader(Growing(*pieces)) as file:
        return [line for lines in batches(cast("BinaryIO", file)) for line in lines]


def test_a_line_that_is_being_written_ends_the_look() -> None:
    # The rest of it and the line behind it arrive before the next read: they belong to the next look.
    assert read(b"one\ntw", b"o\nthree\n") == [b"one\n", b"tw"]


def test_whole_lines_that_arrive_meanwhile_are_taken_or_left_for_the_next_look() -> None:
    lines = read(b"one\n", b"two\n", b"thr", b"ee\n")
    assert lines == [b"one\n", b"two\n", b"thr"][: len(lines)]
    assert lines
