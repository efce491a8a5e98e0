"""piserver's own transport and dispatch, with one method that gives back its parameters."""

from piserver.server import stdio

DESCRIPTORS = stdio.claim()

from typing import Any  # noqa: E402

from piserver.server.wire import Request, Server  # noqa: E402

server = Server("echo", "1")


@server.method("bench/echo", dict[str, Any])
def echo(params: dict[str, Any], request: Request) -> dict[str, Any]:
    return params


server.start("lsp", DESCRIPTORS)
