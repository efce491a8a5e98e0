"""From the bytes of a session file to its tree: the reading that every storage shares.

Parsing is total. It yields what could be read and reports the rest; it fails only where the header does.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace

from piserver.entries.codec import LineError, read_head
from piserver.entries.header import VERSION, Header, InvalidSessionError, read_header
from piserver.entries.migration import Migration
from piserver.entries.nested import JSONError
from piserver.entries.recovery import whole_entries
from piserver.entries.text import trim
from piserver.tree import Diagnostic, DiagnosticKind, Tree

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_FEED = 0x0A


class Loader:
    """Takes a file's lines in order and grows the tree from them.

    `offsets` and `lengths` tell for each node where its bytes lie; for a file of an old version `upgraded` has its new
    line instead.
    """

    def __init__(self) -> None:
        self.header: Header | None = None
        self.header_line = 0
        self.tree = Tree()
        self.tree.loading = True
        self.offsets = array("q")
        self.lengths = array("q")
        self.migration: Migration | None = None
        self.upgraded: list[bytes] = []
        self.line = 0
        self.torn: tuple[int, bytes] | None = None
        self.unterminated = False
        self._problems: list[Diagnostic] = []

    def feed(self, line: bytes, offset: int) -> None:
        """Read the next physical line (its end included) that begins at byte `offset`.

        A last line without its end is taken if it is whole, and otherwise remembered as torn. Raises
        InvalidSessionError for a first line that is no header.
        """
        if not self.unterminated:  # else what comes still belongs to the last physical line
            self.line += 1
        self.unterminated = not line.endswith(b"\n")
        if self.header is None:
            self._read_header(line)
            return
        if self.migration is not None:
            self._feed_old(line, offset)
            return
        try:
            head = read_head(line)
        except LineError as error:
            self._no_entry(line, offset, str(error))
            return
        if self.tree.add(head, self.line) is not None:
            self._place(offset, len(line))

    def _feed_old(self, line: bytes, offset: int) -> None:
        """Read a line of version 1 or 2."""
        assert self.migration is not None
        try:
            text = self.migration.upgrade(line.strip(), self.line)
            head = read_head(text)
        except (LineError, JSONError) as error:
            self._no_entry(line, offset, str(error))
            return
        if self.tree.add(head, self.line) is not None:
            self.upgraded.append(text)
            self._place(offset, len(line))

    def feed_all(self, lines: Iterable[bytes], offset: int) -> int:
        """Read several lines that follow one another from `offset` on; answers where they end."""
        add, place, measure = self.tree.add, self.offsets.append, self.lengths.append
        for line in lines:
            size = len(line)
            # Nearly every line is a whole entry of the current version; the rest takes the longer way.
            if self._is_plain and line[-1] == _LINE_FEED:
                self.line += 1
                try:
                    if add(read_head(line), self.line) is not None:
                        place(offset)
                        measure(size)
                except LineError as error:
                    self._no_entry(line, offset, str(error))
            else:
                self.feed(line, offset)
            offset += size
        return offset

    @property
    def _is_plain(self) -> bool:
        return self.header is not None and self.migration is None and not self.unterminated

    def _no_entry(self, line: bytes, offset: int, reason: str) -> None:
        if not _is_blank(line):
            self._odd_line(line, offset, reason)

    def finish(self) -> Header:
        """What is to be said once the last line was fed. Raises InvalidSessionError for an empty file."""
        if self.header is None:
            raise InvalidSessionError("the file is empty", 1)
        self.tree.settle()
        return self.header

    def drop_torn(self, *, terminated: bool) -> None:
        """The torn tail is gone, or is to be read again; `terminated` tells whether a line end stands before it."""
        self.torn = None
        if terminated:
            self.line -= 1
            self.unterminated = False

    def migrated(self, offsets: Iterable[int], lengths: Iterable[int]) -> None:
        """The upgraded lines have become the file's, and lie at these places. A torn last line has got its end."""
        if self.torn is not None:
            self._report("malformed-line", f"line {self.line} is skipped: it was cut off while it was written")
        if self.header is not None:
            self.header = replace(self.header, version=VERSION)
        self.offsets, self.lengths = array("q", offsets), array("q", lengths)
        self.migration, self.upgraded = None, []
        self.torn, self.unterminated = None, False

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was found wrong, in file order."""
        found = self._problems + self.tree.diagnostics
        if self.torn is not None:
            offset, data = self.torn
            reason = f"the last line was cut off while it was written ({len(data)} bytes)"
            found.append(Diagnostic("torn-tail", reason, self.line, offset))
        return sorted(found, key=lambda diagnostic: diagnostic.line or 0)

    def _read_header(self, line: bytes) -> None:
        if self.line == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if _is_blank(line):
            return
        self.header, self.header_line = read_header(line, self.line), self.line
        header = self.header
        for problem in header.problems:
            self._report("header", problem)
        if header.version > VERSION:
            reason = f"written by a newer version ({header.version:g}) of the format: opened read-only"
            self._report("newer-version", reason)
        elif header.version < VERSION:
            self.migration = Migration(header.version, header.id)

    def _odd_line(self, line: bytes, offset: int, reason: str) -> None:
        """A line that is no entry: use what is whole on it, report the rest."""
        fragments = whole_entries(line)
        for fragment in fragments:
            self._report(
                "recovered-entry", f"entry {fragment.head.id} was found on a damaged line", offset + fragment.start
            )
            if self.tree.add(fragment.head, self.line) is not None:
                self._place(offset + fragment.start, fragment.end - fragment.start)
                if self.migration is not None:  # as it is, since that is what stays in the file
                    self.upgraded.append(line[fragment.start : fragment.end])
        end = fragments[-1].end if fragments else 0
        rest = line[end:]
        if self.unterminated and rest.strip():
            self.torn = (offset + end, rest)
        elif not fragments or line[: fragments[0].start].strip(b"\0 \r\n\t") or rest.strip(b"\0 \r\n\t"):
            self._report("malformed-line", f"line {self.line} is skipped: {reason}", offset)

    def _place(self, offset: int, length: int) -> None:
        self.offsets.append(offset)
        self.lengths.append(length)

    def _report(self, kind: DiagnosticKind, message: str, offset: int | None = None) -> None:
        self._problems.append(Diagnostic(kind, message, self.line, offset))


def _is_blank(line: bytes) -> bool:
    return not trim(line.decode("utf-8", "replace"))
