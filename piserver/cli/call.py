"""`piserver call`: one request from a shell, its result as JSON."""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress
from typing import Any, cast

import anyio
import click
import msgspec

from piserver.cli.sessions import is_path
from piserver.client import ConnectionLost, RequestError, ServerError, connect
from piserver.entries import json
from piserver.protocol.encoding import encode

__all__ = ["run"]

NO_SERVER = -32000  # JSON-RPC leaves this range to implementations


def run(method: str, text: str | None, session: str | None, timeout: float) -> int:
    """Makes the call and prints what came of it; returns the exit code.

    Raises click.UsageError for parameters that are no JSON object, and where `--session` contradicts them.
    """
    deadline = time.monotonic() + timeout
    try:
        params = _parameters(_read_input(deadline) if text == "-" else (text or "{}").encode())
        if session is not None and "sessionId" in params:
            raise click.UsageError("Give the session either as --session or as sessionId.")
        result = anyio.run(_call, method, params, session, deadline)
    except TimeoutError:
        late = RequestError("timed-out", f"There was no answer within {timeout:g} seconds.", retryable=True)
        return _fail(late.code, late.message, late.wire_data())
    except RequestError as error:
        return _fail(error.code, error.message, error.wire_data())
    except ServerError as error:
        return _fail(error.code, error.message, error.data)
    except (ConnectionLost, OSError) as error:
        return _fail(NO_SERVER, str(error), None)
    _print(bytes(result))
    return 0


async def _call(method: str, params: dict[str, Any], session: str | None, deadline: float) -> msgspec.Raw:
    with anyio.fail_after(deadline - time.monotonic()):
        async with connect() as client:
            if session is not None and is_path(session):
                session = (await client.open(session, subscribe=False)).session_id
            if session is not None:
                params = {"sessionId": session, **params}
            return await client.request(method, params, msgspec.Raw)


def _read_input(deadline: float) -> bytes:
    """Everything on stdin. Raises TimeoutError if it is not over by then."""
    pieces: list[bytes] = []
    while True:
        if sys.platform != "win32":  # where only sockets can be waited for
            ready, _, _ = select.select([0], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
        piece = os.read(0, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _parameters(text: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except json.JSONError as error:
        raise click.UsageError(f"The parameters are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError("The parameters must be a JSON object.")
    return cast("dict[str, Any]", value)


def _fail(code: int, message: str, data: Any) -> int:
    error = {"code": code, "message": message}
    _print(encode({"error": error if data is None else error | {"data": data}}))
    click.echo(f"piserver: {message}", err=True)
    return 1


def _print(text: bytes) -> None:
    """As it came for a program, indented for a person."""
    if sys.stdout.isatty():
        with suppress(msgspec.DecodeError, RecursionError):  # JSON all the same, with something that msgspec refuses
            text = msgspec.json.format(text, indent=2)
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()
