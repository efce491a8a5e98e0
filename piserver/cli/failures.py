"""Failures that are expected, told to a person in one line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import click

from piserver.client import ConnectionLost, RequestError, ServerError

__all__ = ["EXPECTED", "told_in_a_line"]

EXPECTED = (RequestError, ServerError, ConnectionLost, OSError)


@contextmanager
def told_in_a_line() -> Generator[None]:
    """Makes an expected failure the exit code 1 and a line on stderr, without a traceback."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads on; click ends the program quietly
    except EXPECTED as error:
        raise click.ClickException(str(error)) from None
