"""The least that a JSON-RPC server in Python can do: an asyncio loop, orjson, no checks, no life cycle.

`session/append` writes each entry to the file that `session/open` names, and tells so in a notification.
"""

import asyncio
import os
import secrets
from datetime import UTC, datetime
from typing import Any

import orjson


class Bare:
    def __init__(self) -> None:
        self.input = bytearray()
        self.log = -1
        self.leaf: str | None = None
        self.ended = asyncio.Event()

    def readable(self) -> None:
        data = os.read(0, 1 << 16)
        if not data:
            return self.ended.set()
        self.input += data
        while (head := self.input.find(b"\r\n\r\n")) >= 0:
            end = head + 4 + int(self.input[16:head])
            if len(self.input) < end:
                break
            message = orjson.loads(self.input[head + 4 : end])
            del self.input[:end]
            if "id" in message:
                result = self.answer(message["method"], message.get("params"))
                send({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return None

    def answer(self, method: str, params: Any) -> Any:
        if method == "session/append":
            return self.append(params["entry"])
        if method == "session/open":
            self.log = os.open(params["path"], os.O_WRONLY | os.O_APPEND)
            return {"info": {"id": "bare"}}
        return params

    def append(self, entry: dict[str, Any]) -> Any:
        id = secrets.token_hex(4)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"type": entry.pop("type"), "id": id, "parentId": self.leaf, "timestamp": now, **entry}
        os.write(self.log, orjson.dumps(line) + b"\n")
        self.leaf = id
        send({"jsonrpc": "2.0", "method": "session/treeChanged", "params": {"leafId": id, "appended": [id]}})
        return {"leafId": id, "entryIds": [id]}


def send(message: Any) -> None:
    body = orjson.dumps(message)
    data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    while data:
        data = data[os.write(1, data) :]


async def main() -> None:
    bare = Bare()
    asyncio.get_running_loop().add_reader(0, bare.readable)
    await bare.ended.wait()


asyncio.run(main())
