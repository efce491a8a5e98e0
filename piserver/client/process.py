"""A server as a child process, for as long as an `async with` block lasts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import Process

from piserver import __version__
from piserver.client.connection import Connection
from piserver.client.errors import ConnectionLost, RequestError, ServerError
from piserver.client.frames import Framing
from piserver.client.methods import Client
from piserver.protocol.base import Shape
from piserver.protocol.registry import PROTOCOL_VERSION
from piserver.protocol.settings import Settings

__all__ = ["connect"]

START_SECONDS = 30.0
SHUTDOWN_SECONDS = 5.0
EXIT_SECONDS = 3.0
FATE_SECONDS = 1.0


@asynccontextmanager
async def connect(
    command: Sequence[str] | None = None,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    framing: Framing = "lsp",
) -> AsyncGenerator[Client]:
    """Starts a server, initializes it, and yields the client; at the end it is shut down, and killed if it hangs.

    `command` is the program to start, by default this Python's `piserver serve`; a program of your own must speak the
    `framing` that you name. `env` are variables beside those of this process. What the server logs goes to this
    process's stderr.

    Raises OSError if the program cannot be started, ConnectionLost if it does not answer, and RequestError
    (invalid-params) for settings that it refuses.
    """
    # -P: modules are not looked for in the working directory, which may be anybody's.
    program = list(command or (sys.executable, "-P", "-m", "piserver", "serve", "--framing", framing))
    process = await anyio.open_process(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None,
        cwd=cwd,
        env=os.environ | (env or {}),
        start_new_session=True,  # an interrupt at the terminal is for this process, which then ends the server
    )
    assert process.stdin is not None
    assert process.stdout is not None
    connection = Connection(process.stdout, process.stdin, framing, lambda: _fate(process))
    background = anyio.CancelScope(shield=True)  # a block that is cancelled can still be left in order

    async def converse() -> None:
        with background:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(connection.read)
                tasks.start_soon(connection.write)

    tasks = anyio.create_task_group()
    await tasks.__aenter__()  # not `async with`: what is raised in the block must come out as it is, not in a group
    try:
        tasks.start_soon(converse)
        yield Client(connection, await _initialize(connection, settings))
    finally:
        with anyio.CancelScope(shield=True):
            await _shut_down(connection, process)
        background.cancel()
        await tasks.__aexit__(None, None, None)


async def _initialize(connection: Connection, settings: Settings | None) -> dict[str, Any]:
    """The life cycle's beginning; returns the server's capabilities."""
    params: dict[str, Any] = {
        "processId": os.getpid(),
        "clientInfo": {"name": "piserver-client", "version": __version__},
        "rootUri": None,
        "capabilities": {"experimental": {"piserver": {"protocolVersion": PROTOCOL_VERSION}}},
        "initializationOptions": {"piserver": settings or {}},
    }
    try:
        with anyio.fail_after(START_SECONDS):
            answer = await connection.request("initialize", params, _Initialized)
    except TimeoutError:
        raise ConnectionLost(f"The server did not answer within {START_SECONDS:g} seconds.") from None
    experimental: dict[str, Any] = answer.capabilities.get("experimental") or {}
    version = experimental.get("piserver", {}).get("protocolVersion", PROTOCOL_VERSION)
    if version != PROTOCOL_VERSION:
        raise ConnectionLost(f"The server speaks version {version} of the protocol, this client {PROTOCOL_VERSION}.")
    connection.notify("initialized", {})
    return answer.capabilities


class _Initialized(Shape):
    capabilities: dict[str, Any]


async def _shut_down(connection: Connection, process: Process) -> None:
    """The life cycle's end, in bounded time whatever the server does."""
    if not connection.lost:
        with anyio.move_on_after(SHUTDOWN_SECONDS), suppress(RequestError, ServerError, ConnectionLost):
            await connection.request("shutdown")
        connection.notify("exit")
        connection.end(ConnectionLost("The client has left its server."))
    with anyio.move_on_after(EXIT_SECONDS):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()


async def _fate(process: Process) -> str:
    """Why the server's output has ended."""
    with anyio.move_on_after(FATE_SECONDS):
        code = await process.wait()
        how = f"was killed by signal {-code}" if code < 0 else f"has ended with exit code {code}"
        return f"The server {how}."
    return "The server has closed its output."
