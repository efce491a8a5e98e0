"""What can be wrong with a request to a session."""

from __future__ import annotations


class EntryNotFoundError(LookupError):
    """No entry has this id."""

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"there is no entry {entry_id}")
        self.entry_id = entry_id


class StaleLeafError(Exception):
    """The leaf is not where the caller thought. `leaf_id` is where it is."""

    def __init__(self, expected: str | None, leaf_id: str | None) -> None:
        super().__init__(
            f"the leaf is {leaf_id or 'before the first entry'}, not {expected or 'before the first entry'}"
        )
        self.leaf_id = leaf_id


class StaleCursorError(Exception):
    """A revision that this log never had, or had before it was replaced."""
