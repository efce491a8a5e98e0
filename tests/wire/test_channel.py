"""The transport by itself, over pipes and sockets."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable

import pytest

from piserver.server.channel import HIGH_WATER, Channel
from piserver.server.framing import Body, Event, LineFraming
from tests.wire.client import ROOT

DEADLINE = 20


class Ends:
    """A channel with both far ends of its pipes."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.then: Callable[[], None] = lambda: None  # what a handler would do
        self._taken = asyncio.Event()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        reading, self.far_writing = os.pipe()
        self.far_reading, writing = os.pipe()
        self._fds = {reading, writing, self.far_writing, self.far_reading}
        self.channel = Channel((reading, writing), LineFraming(), self.take, self.ended.set_result)
        self.channel.start()

    def take(self, event: Event) -> None:
        self.events.append(event)
        self._taken.set()
        self.then()

    def close(self, *fds: int) -> None:
        for fd in fds or tuple(self._fds):
            os.close(fd)
            self._fds.discard(fd)

    async def until_taken(self, count: int) -> None:
        async with asyncio.timeout(DEADLINE):
            while len(self.events) < count:
                self._taken.clear()
                await self._taken.wait()


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ends = Ends()
    yield ends
    ends.channel.stop_reading()
    ends.close()


async def test_a_long_batch_lets_other_work_in_between(ends: Ends) -> None:
    ends.then = lambda: time.sleep(0.001)  # work that keeps the loop
    os.write(ends.far_writing, b"1\n" * 100)
    seen: set[int] = set()
    async with asyncio.timeout(DEADLINE):
        while len(ends.events) < 100:
            seen.add(len(ends.events))
            await asyncio.sleep(0)
    assert seen - {0, 100}
    assert ends.events == [Body(b"1")] * 100


async def test_a_client_that_does_not_read_is_not_read_until_it_has_caught_up(ends: Ends) -> None:
    called: list[int] = []
    ends.channel.add_drain_callback(lambda: called.append(0))  # soon: it is not behind
    await asyncio.sleep(0)
    assert called == [0]
    data = b"x" * (HIGH_WATER + (1 << 20))
    ends.channel.write(data)
    assert ends.channel.congested
    assert ends.channel.backlog > HIGH_WATER
    ends.channel.add_drain_callback(lambda: called.append(1))
    os.write(ends.far_writing, b"1\n2\n")
    for _ in range(100):
        await asyncio.sleep(0)
    assert (ends.events, called) == ([], [0])
    reading = asyncio.ensure_future(asyncio.to_thread(_read, ends.far_reading, len(data)))
    await asyncio.wait_for(ends.channel.drained(), DEADLINE)
    await ends.until_taken(2)
    await ends.channel.flush(None)
    assert await reading == data
    assert called == [0, 1]
    assert ends.channel.backlog == 0


async def test_a_batch_is_interrupted_when_its_answers_are_not_taken(ends: Ends) -> None:
    ends.then = lambda: ends.channel.write(b"x" * (1 << 20))
    os.write(ends.far_writing, b"1\n" * 20)
    await ends.until_taken(8)
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(ends.events) <= 10
    reading = asyncio.ensure_future(asyncio.to_thread(_read, ends.far_reading, 20 << 20))
    await ends.until_taken(20)
    assert len(await reading) == 20 << 20


async def test_parts_go_out_in_order_and_whole(ends: Ends) -> None:
    parts = [b"a", b"b" * 300_000, b"c"]
    ends.channel.write(*parts)
    ends.channel.write(b"d")
    ends.channel.write(*parts)
    expected = b"".join([*parts, b"d", *parts])
    reading = asyncio.ensure_future(asyncio.to_thread(_read, ends.far_reading, len(expected)))
    await ends.channel.flush(None)
    assert await reading == expected


async def test_the_end_of_input_comes_after_the_last_message(ends: Ends) -> None:
    os.write(ends.far_writing, b"1\n2")
    ends.close(ends.far_writing)
    assert await asyncio.wait_for(ends.ended, DEADLINE) == "eof"
    assert ends.events == [Body(b"1"), Body(b"2")]


async def test_a_client_that_has_gone_is_noticed_and_nobody_waits_for_it(ends: Ends) -> None:
    ends.channel.write(b"x" * (2 * HIGH_WATER))
    ends.close(ends.far_reading)
    assert await asyncio.wait_for(ends.ended, DEADLINE) == "lost"
    await asyncio.wait_for(ends.channel.drained(), DEADLINE)
    await asyncio.wait_for(ends.channel.flush(None), DEADLINE)
    ends.channel.write(b"dropped")
    assert ends.channel.backlog == 0


async def test_flush_gives_up_a_client_that_takes_nothing(ends: Ends) -> None:
    ends.channel.write(b"x" * (1 << 20))
    await asyncio.wait_for(ends.channel.flush(0.05), DEADLINE)
    assert ends.channel.backlog > 0


def test_one_socket_may_carry_both_directions() -> None:
    here, there = socket.socketpair()
    here.settimeout(DEADLINE)
    command = [sys.executable, str(ROOT / "tests/wire/echo_server.py"), "--framing", "lines"]
    with (
        here,
        there,
        subprocess.Popen(command, stdin=there, stdout=there, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process,
    ):
        there.close()
        with here.makefile("rwb") as lines:
            lines.write(
                b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"capabilities":{}}}\n'
            )
            lines.write(b'{"jsonrpc":"2.0","id":2,"method":"test/large","params":{"size":5000000}}\n')
            lines.flush()
            here.shutdown(socket.SHUT_WR)
            assert [len(line) > 5_000_000 for line in lines] == [False, True]
        assert process.wait(DEADLINE) == 0


def _read(fd: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := os.read(fd, 1 << 20)):
        data += piece
    return bytes(data)
