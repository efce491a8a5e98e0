"""Where log records of `piserver` go: to stderr, and to the client as `window/logMessage`."""

import logging
import sys
from collections.abc import Callable

from piserver.protocol.base import Shape

__all__ = ["ClientLog", "LogMessageParams", "log_to_stderr"]


class LogMessageParams(Shape):
    """Parameters of `window/logMessage`; `type` is 1 (error), 2 (warning), 3 (info) or 4 (log)."""

    type: int
    message: str


class ClientLog(logging.Handler):
    """Hands records of at least `level` to `send`, which may be called from any thread. Tracebacks stay here."""

    def __init__(self, send: Callable[[LogMessageParams], None], level: int = logging.INFO) -> None:
        super().__init__(level)
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._send(LogMessageParams(type=_message_type(record.levelno), message=record.getMessage()))
        except Exception:
            self.handleError(record)


def log_to_stderr(level: int = logging.WARNING) -> None:
    """Sends the records of `piserver` to stderr, unless somebody has configured logging already."""
    logger = logging.getLogger("piserver")
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handler.setLevel(level)
        logger.addHandler(handler)
        logger.setLevel(min(level, logging.INFO))


def _message_type(level: int) -> int:
    if level >= logging.ERROR:
        return 1
    if level >= logging.WARNING:
        return 2
    return 3 if level >= logging.INFO else 4
