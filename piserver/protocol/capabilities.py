"""What the server says of itself in the answer to `initialize`."""

from __future__ import annotations

from piserver.protocol.base import Shape
from piserver.session import Filter


class Capabilities(Shape, kw_only=True):
    """What stands under `capabilities.experimental.piserver`. What is not named there is not supported.

    `version` is the program's, `maxFrameBytes` the largest message that it reads.
    """

    protocol_version: int
    version: str
    methods: list[str]
    notifications: list[str]
    filters: list[Filter]
    max_frame_bytes: int
