"""What a client may set, in `initializationOptions.piserver` and later under `piserver` in its configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from piserver.protocol.base import Params
from piserver.session import Durability


class Settings(Params, kw_only=True):
    """The settings and their defaults.

    `trusted`: the person trusts the workspace. `sessionsFolder`: where sessions lie, by default the terminal agent's
    place. `durability`: what is flushed to the disk before a change is answered: `structure` (messages of people and
    models, and all that shapes the tree), `always`, `never`. `logLevel`: from which level on log records go to the
    client as `window/logMessage`. `maxFrameBytes`: the largest message that is read.
    `maxSessionBytes`: the largest session file that is opened.
    """

    trusted: bool = False
    sessions_folder: str | UnsetType = UNSET
    durability: Durability = "structure"
    log_level: Literal["debug", "info", "warning", "error", "off"] = "info"
    max_frame_bytes: Annotated[int, Meta(ge=1024)] = 64 * 1024 * 1024
    max_session_bytes: Annotated[int, Meta(ge=1024)] = 8 << 30
