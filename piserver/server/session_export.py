"""The method `session/export`: a session to be read elsewhere, in the answer or in a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread
from msgspec import UNSET

from piserver.protocol.errors import RequestError
from piserver.protocol.export import ExportParams, ExportResult, Redaction
from piserver.server.desk import Desk, file_at
from piserver.server.dispatch import Request
from piserver.server.open_sessions import unbroken
from piserver.storage.files import write_whole

_MOST_INLINE = 16 * 1024 * 1024
"""Bytes that an answer holds; more goes into a file."""


class ExportMethods:
    """The handler of exports."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def export(self, params: ExportParams, request: Request) -> ExportResult:
        from piserver.repository.export import export  # brings what only those need who export

        if params.scope == "tree" and params.entry_id is not UNSET:
            raise RequestError(
                "invalid-params", "a tree is exported whole: leave entryId out", data={"field": "entryId"}
            )
        path = None if params.path is UNSET else self._target(params.path, overwrite=params.overwrite)
        opened = await self._desk.open_sessions.get(params.session_id)
        request.progress.begin("Exporting", percentage=0)
        exported = await export(
            opened.session,
            params.form,
            scope=params.scope,
            entry_id=params.entry_id,
            redact=params.redact,
            progress=lambda done, total: request.progress.report(f"{done} of {total}", 100 * done // max(total, 1)),
        )
        result = ExportResult(
            media_type=exported.media_type,
            file_name=exported.file_name,
            size=sum(map(len, exported.chunks)),
            redactions=[
                Redaction(kind=r.kind, count=r.count, entry_ids=list(r.entry_ids)) for r in exported.redactions
            ],
        )
        if path is not None:
            await unbroken(lambda: _write(path, exported.chunks, overwrite=params.overwrite))
            result.path = str(path)
        elif result.size <= _MOST_INLINE:
            result.content = await anyio.to_thread.run_sync(_text, exported.chunks)
        else:
            message = f"The export has {result.size} bytes: give a path to have it written to a file."
            raise RequestError("too-large", message, data={"limit": _MOST_INLINE, "size": result.size})
        return result

    def _target(self, name: str, *, overwrite: bool) -> Path:
        """The file to be written. Sessions are never overwritten, they are the originals."""
        path = file_at(name)
        if path.exists() and not overwrite:
            raise _exists(path)
        root = self._desk.repository.root.resolve()
        if path.exists() and (root in path.parents or self._desk.open_sessions.at(path) is not None):
            raise RequestError("invalid-params", f"{path} is a session: it stays as it is.", data={"field": "path"})
        return path


async def _write(path: Path, chunks: Sequence[bytes], *, overwrite: bool) -> None:
    try:
        await anyio.to_thread.run_sync(partial(write_whole, path, chunks, replace=overwrite))
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror or error}"
        raise RequestError("storage-failed", message, data={"landed": False}) from error


def _exists(path: Path) -> RequestError:
    message = f"{path} exists already: it stays as it is, unless overwrite is true."
    return RequestError("storage-failed", message, data={"landed": False})


def _text(chunks: Sequence[bytes]) -> str:
    return b"".join(chunks).decode("utf-8", "replace")  # a line of a session file need not be well-formed
