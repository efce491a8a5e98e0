"""A real server process to which examples are sent."""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.protocol.document import ROOT, Message

DEADLINE = 10.0


class ServerProcess:
    """One server with a home of its own; `home` holds its sessions and its trash."""

    def __init__(self, home: Path) -> None:
        self.received: queue.Queue[Message | None] = queue.Queue()
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "PI_CODING_AGENT_DIR": str(home / ".pi/agent"),
        }
        command = [sys.executable, "-m", "piserver", "serve"]
        self._errors = (home / "stderr").open("w+b")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def send(self, messages: list[Message]) -> None:
        """Send messages in one write."""
        frames = b""
        for message in messages:
            body = json.dumps(message).encode()
            frames += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        assert self.process.stdin
        self.process.stdin.write(frames)
        self.process.stdin.flush()

    def next(self) -> Message:
        """The next message of the server."""
        try:
            message = self.received.get(timeout=DEADLINE)
        except queue.Empty:
            message = None
        assert message is not None, f"no more messages; stderr: {self.errors}"
        return message

    @property
    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()

    def end(self) -> int:
        """Close the input and wait; the exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self.process.wait()
            self._thread.join(DEADLINE)
            self.process.stdout.close()
            self._errors.close()

    def _read(self) -> None:
        output: Any = self.process.stdout
        while line := output.readline():
            length = int(line.split(b":")[1])
            output.readline()
            self.received.put(json.loads(output.read(length)))
        self.received.put(None)
