"""A session: an append-only log with a write position, and the tree as an editor draws it."""

from piserver.session.changes import Appended, BranchSummary, Change, Durability, Moved, Navigated, Origin
from piserver.session.errors import EntryNotFoundError, StaleCursorError, StaleLeafError
from piserver.session.rows import FILTERS, EntrySummary, Filter, Row, RowWindow
from piserver.session.session import CURRENT, Session

__all__ = [
    "CURRENT",
    "FILTERS",
    "Appended",
    "BranchSummary",
    "Change",
    "Durability",
    "EntryNotFoundError",
    "EntrySummary",
    "Filter",
    "Moved",
    "Navigated",
    "Origin",
    "Row",
    "RowWindow",
    "Session",
    "StaleCursorError",
    "StaleLeafError",
]
