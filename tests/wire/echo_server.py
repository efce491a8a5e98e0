"""A server with methods made for the tests of the wire, and nothing of piserver's own."""

from piserver.server import stdio

DESCRIPTORS = stdio.claim()

import argparse  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import anyio  # noqa: E402
import anyio.lowlevel  # noqa: E402
import anyio.to_thread  # noqa: E402
import msgspec  # noqa: E402
from lsprotocol import types as lsp  # noqa: E402
from msgspec import UNSET, UnsetType  # noqa: E402

from piserver.protocol.base import Empty, Params, Shape  # noqa: E402
from piserver.protocol.errors import RequestError  # noqa: E402
from piserver.server.wire import Request, Server  # noqa: E402


class EchoServer(Server):
    """Keeps what `initialize` said, so that a test can ask for it."""

    options: Any = None

    def on_initialize(self, params: lsp.InitializeParams) -> None:
        self.options = params.initialization_options
        if self.options == "refuse-me":
            raise RequestError("read-only", "This client is not trusted.")


class Text(Params):
    text: str


class Inner(Params):
    name: str
    depth: int | UnsetType = UNSET


class Strict(Params):
    session_id: str
    limit: int | UnsetType = UNSET
    parts: list[Inner] = msgspec.field(default_factory=list[Inner])


class Answer(Shape):
    session_id: str
    parent_id: str | None = None
    label: str | UnsetType = UNSET


class Size(Params):
    size: int
    count: int = 1


class Name(Params):
    name: str


class Seconds(Params):
    seconds: float


parser = argparse.ArgumentParser()
parser.add_argument("--framing", choices=("lsp", "lines"), default="lsp")
parser.add_argument("--max-frame-bytes", type=int, default=64 << 20)
parser.add_argument("--ended", type=Path, help="written by the shutdown callback")
arguments = parser.parse_args()

server = EchoServer("echo", "1", experimental={"echo": {"version": 1}}, max_frame_bytes=arguments.max_frame_bytes)
gates: dict[str, anyio.Event] = {}


@server.on_shutdown
async def note_the_end() -> None:
    if arguments.ended:
        arguments.ended.write_text("ended")


@server.method("test/echo", dict[str, Any])
def echo(params: dict[str, Any], request: Request) -> dict[str, Any]:
    return params


@server.method("test/echoLater", dict[str, Any])
async def echo_later(params: dict[str, Any], request: Request) -> dict[str, Any]:
    await anyio.lowlevel.checkpoint()
    return params


@server.method("test/length", Text)
def length(params: Text, request: Request) -> dict[str, Any]:
    return {"length": len(params.text)}


@server.method("test/strict", Strict)
def strict(params: Strict, request: Request) -> Answer:
    return Answer(session_id=params.session_id)


@server.method("test/none", Empty)
def none(params: Empty, request: Request) -> None:
    return None


@server.method("test/raw", Text)
def raw(params: Text, request: Request) -> msgspec.Raw:
    return msgspec.Raw(params.text.encode())


@server.method("test/large", Size)
def large(params: Size, request: Request) -> msgspec.Raw:
    return msgspec.Raw(b'"' + b"x" * params.size + b'"')


@server.method("test/unserialisable", Empty)
def unserialisable(params: Empty, request: Request) -> dict[str, Any]:
    return {"object": object()}


@server.method("test/set", Empty)
def a_set(params: Empty, request: Request) -> dict[str, Any]:
    return {"set": {1}}


@server.method("test/nan", Empty)
def nan(params: Empty, request: Request) -> dict[str, Any]:
    return {"value": float("nan")}


@server.method("test/fail", Name)
async def fail(params: Name, request: Request) -> None:
    request.progress.begin("failing")
    if params.name == "expected":
        raise RequestError("stale-cursor", "Busy just now.", retryable=True, data={"runId": "r1"})
    if params.name == "timeout":
        with anyio.fail_after(0):
            await anyio.sleep_forever()
    if params.name == "group":
        async with anyio.create_task_group():
            raise RequestError("read-only", "Cannot write.")
    raise LookupError("a surprise")


@server.method("test/print", Empty)
def prints(params: Empty, request: Request) -> dict[str, Any]:
    print("a stray print", flush=True)  # noqa: T201
    os.write(1, b"stray bytes\n")
    child = subprocess.run([sys.executable, "-c", "input()"], capture_output=True, text=True, check=False)
    return {"childStatus": child.returncode, "childError": child.stderr.splitlines()[-1]}


@server.method("test/wait", Name)
async def wait(params: Name, request: Request) -> dict[str, Any]:
    """Ends when `test/open` names it. Tells through progress that it has begun."""
    request.progress.begin("waiting")
    gate = gates.setdefault(params.name, anyio.Event())
    await gate.wait()
    return {"waited": params.name}


@server.method("test/open", Name)
def open_gate(params: Name, request: Request) -> None:
    gates.setdefault(params.name, anyio.Event()).set()


@server.method("test/slow", Seconds)
async def slow(params: Seconds, request: Request) -> dict[str, Any]:
    await anyio.sleep(params.seconds)
    return {"slept": True}


@server.method("test/thread", Name)
async def in_thread(params: Name, request: Request) -> None:
    """Waits in a thread that will never end, and that cancellation abandons."""
    request.progress.begin("in a thread")
    await anyio.to_thread.run_sync(threading.Event().wait, abandon_on_cancel=True)


@server.method("test/progress", Empty)
async def progress(params: Empty, request: Request) -> dict[str, Any]:
    request.progress.begin("counting", percentage=0)
    request.progress.report("half", 50)
    request.progress.end("all")
    request.progress.end("again")
    return {"wanted": request.progress.wanted}


@server.method("test/flood", Size)
async def flood(params: Size, request: Request) -> dict[str, Any]:
    most = 0
    text = "x" * params.size
    for number in range(params.count):
        server.push("test/flooded", {"number": number, "text": text})
        most = max(most, server.backlog)
        await server.drained()
    return {"mostBacklog": most}


@server.method("test/memory", Empty)
def memory(params: Empty, request: Request) -> dict[str, Any]:
    """Resident memory now, and its peak, in bytes."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(status[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM")}


@server.method("test/ask", dict[str, Any])
async def ask(params: dict[str, Any], request: Request) -> dict[str, Any]:
    answer = await server.ask("client/question", params, Inner)
    return {"name": answer.name}


@server.method("test/log", Text)
def log(params: Text, request: Request) -> None:
    logger = logging.getLogger("piserver.test")
    thread = threading.Thread(target=logger.warning, args=("from a thread: %s", params.text))
    thread.start()
    thread.join()
    logger.debug("not for the client")


@server.method("test/spawn", Name)
def spawn(params: Name, request: Request) -> None:
    async def work() -> None:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        server.push("test/spawned", {"name": params.name})

    server.spawn(work, finish=True)


@server.method("test/futures", Empty)
def futures(params: Empty, request: Request) -> int:
    """How many futures pygls still keeps."""
    return len(server.protocol._request_futures)  # noqa: SLF001


@server.feature("$/test/slowNotification")
async def slow_notification(params: Any) -> None:
    await anyio.lowlevel.checkpoint()


@server.method("test/options", Empty)
def options(params: Empty, request: Request) -> dict[str, Any]:
    return {"options": server.options}


@server.method("test/document", Name)
def document(params: Name, request: Request) -> dict[str, Any]:
    return {"text": server.workspace.get_text_document(params.name).source}


server.start(arguments.framing, DESCRIPTORS)
