"""Every method of the protocol as a function: parameters in, the result as its type."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, overload

from msgspec import UNSET, UnsetType

from piserver.client.connection import Connection, Notifications, ProgressCallback
from piserver.entries.types import AnyDraft, Replacement
from piserver.protocol import sessions as p
from piserver.protocol.base import Empty, Params
from piserver.protocol.shapes import EntryId, SessionInfo
from piserver.session import Filter
from typing_extensions import Unpack

__all__ = ["ChangeOptions", "Client"]
