"""A server that does to its client what a good server never does. It shares no code with the real one."""

import json
import os
import sys
from typing import Any

STUBBORN = "--stubborn" in sys.argv  # neither answers `shutdown` nor ends


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    sys.stdout.buffer.write(b"content-LENGTH:%d\r\nContent-Type: x\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.partition(b":")[2])
    body = sys.stdin.buffer.read(length)
    if not body and not STUBBORN:
        sys.exit(0)
    return json.loads(body) if body else {"method": "nothing"}


def answer(id: Any, method: str, params: Any) -> None:
    match method:
        case "initialize":
            version = int(os.environ.get("VERSION", "1"))
            experimental = {"piserver": {"protocolVersion": version}}
            send({"id": id, "result": {"capabilities": {"experimental": experimental}, "asked": params}})
        case "shutdown":
            send({"id": id, "result": None})
        case "hang":
            send({"method": "hanging", "params": None})
        case "die":
            os._exit(3)
        case "garbage":
            sys.stdout.buffer.write(b"a stray print\n\r\n\r\n")
            sys.stdout.buffer.flush()
        case "ask":
            send({"id": "question", "method": "what/ever", "params": {}})
            send({"id": id, "result": receive()})
        case "twice":
            send({"id": 999, "result": "to nobody"})
            send({"id": id, "result": 1})
            send({"id": id, "result": 2})
        case _:
            send({"id": id, "error": {"code": -32601, "message": "no"}})


while True:
    message = receive()
    if STUBBORN and message["method"] != "initialize":
        continue
    if message["method"] == "exit":
        sys.exit(0)
    if message["method"] == "$/cancelRequest":
        send({"method": "cancelled", "params": message["params"]})
    elif "id" in message:
        answer(message["id"], message["method"], message.get("params"))
