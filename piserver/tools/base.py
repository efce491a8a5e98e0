"""What every tool is: a name, a schema, and a function from arguments to blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Block = dict[str, Any]
"""A text or image block, in the log's shape (`entries.messages`)."""


class ToolError(Exception):
    """A call that failed for a reason the model should know; the message is what it is told."""

    def __init__(self, message: str, *, details: Any = None) -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to. `details` are for people and programs, not for the model (a diff, a path of full output)."""

    content: list[Block]
    details: Any = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """What a call would touch: files as absolute paths with symlinks and `..` resolved, and a shell command.

    `outside`: some path lies outside the workspace. `secret`: some path usually holds secrets.
    """

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    command: str | None = None
    outside: bool = False
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person is shown before a call is allowed: one line, and where it changes a file, the unified diff.

    `path` is the file that the diff changes; `old` and `new` are its whole text before (None: there is no such file)
    and after.
    """

    title: str
    diff: str | None = None
    path: Path | None = None
    old: str | None = None
    new: str | None = None


class Files(Protocol):
    """How tools read and write files: on disk, or through an editor that has them open with unsaved text."""

    async def read(self, path: Path) -> bytes:
        """What a person sees in the file at this moment. Raises OSError."""
        ...

    async def write(self, path: Path, data: bytes) -> None:
        """Make this the file's content; folders are made. Raises OSError."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a call runs: `cwd` (absolute), the way to files, whether the model sees images, and the environment.

    `environment` is that of child processes: the server's without vendor API keys.
    """

    cwd: Path
    files: Files
    images: bool = True
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


class Tool(Protocol):
    """One tool. `parameters` is a JSON Schema of an object; `read_only`: it changes nothing anywhere."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def read_only(self) -> bool: ...

    def access(self, arguments: Mapping[str, Any], cwd: Path) -> Access:
        """What the call would touch. Raises ToolError for arguments that do not fit the schema."""
        ...

    async def preview(self, arguments: Mapping[str, Any], around: Surroundings) -> Preview:
        """What a person is asked about. Raises ToolError where the call could not work."""
        ...

    async def run(
        self, arguments: Mapping[str, Any], around: Surroundings, update: Callable[[Sequence[Block]], None]
    ) -> Result:
        """Do it. `update` is called with what there is so far, at most every 100 ms. Raises ToolError, OSError.

        Cancelling it stops what it has started, whole process trees included.
        """
        ...
