"""Work-done progress for requests that carried a `workDoneToken`, in the shapes of the Language Server Protocol."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import UNSET, UnsetType

from piserver.protocol.base import Shape

__all__ = ["Progress", "ProgressBegin", "ProgressEnd", "ProgressParams", "ProgressReport", "ProgressToken"]

ProgressToken = int | str
T = TypeVar("T")


class ProgressBegin(Shape, tag_field="kind", tag="begin"):
    """The first report; `percentage` is 0 to 100."""

    title: str
    cancellable: bool | UnsetType = UNSET
    message: str | UnsetType = UNSET
    percentage: int | UnsetType = UNSET


class ProgressReport(Shape, tag_field="kind", tag="report"):
    """A report on the way."""

    message: str | UnsetType = UNSET
    percentage: int | UnsetType = UNSET


class ProgressEnd(Shape, tag_field="kind", tag="end"):
    """The last report."""

    message: str | UnsetType = UNSET


class ProgressParams(Shape):
    """Parameters of `$/progress`."""

    token: ProgressToken
    value: ProgressBegin | ProgressReport | ProgressEnd


class Progress:
    """Reports on one request. Without a token (the client does not want to know) every call does nothing.

    A handler need not call `end` itself: whatever has begun is ended, once, before the request is answered.
    """

    def __init__(self, token: ProgressToken | None, send: Callable[[ProgressParams], None]) -> None:
        self.token = token
        self._send = send
        self._open = False

    @property
    def wanted(self) -> bool:
        """Whether anybody is looking; work that only serves reports can be saved otherwise."""
        return self.token is not None

    def begin(
        self, title: str, *, cancellable: bool = True, message: str | None = None, percentage: int | None = None
    ) -> None:
        """Starts the report. `percentage` (0 to 100) must be given here if later reports are to carry one."""
        if self.token is None or self._open:
            return
        self._open = True
        value = ProgressBegin(title=title, cancellable=cancellable, message=_set(message), percentage=_set(percentage))
        self._send(ProgressParams(token=self.token, value=value))

    def report(self, message: str | None = None, percentage: int | None = None) -> None:
        """Says how far the work is, between `begin` and `end`."""
        if self.token is not None and self._open:
            value = ProgressReport(message=_set(message), percentage=_set(percentage))
            self._send(ProgressParams(token=self.token, value=value))

    def end(self, message: str | None = None) -> None:
        """Ends the report, if it has begun and not been ended."""
        if self.token is not None and self._open:
            self._open = False
            self._send(ProgressParams(token=self.token, value=ProgressEnd(message=_set(message))))


def _set(value: T | None) -> T | UnsetType:
    return UNSET if value is None else value
