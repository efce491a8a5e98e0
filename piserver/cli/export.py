"""`piserver export`: a session in a form to be read or kept elsewhere."""

from __future__ import annotations

import os
import sys
from typing import Literal

import anyio
import click
from msgspec import UNSET

from piserver.cli.drawing import count
from piserver.cli.failures import told_in_a_line
from piserver.cli.sessions import open_session
from piserver.client import connect
from piserver.protocol.export import ExportResult
from piserver.protocol.sessions import RowsParams

__all__ = ["run"]

Form = Literal["markdown", "html", "jsonl"]

_ENDINGS: dict[str, Form] = {".html": "html", ".htm": "html", ".jsonl": "jsonl"}


def run(
    session: str | None,
    *,
    form: Form | None,
    whole: bool,
    entry: str | None,
    redact: bool,
    output: str | None,
    overwrite: bool,
) -> None:
    """Writes an export to the file `output`, or to stdout. Raises click.ClickException if that cannot be done."""
    chosen = form or _ENDINGS.get(os.path.splitext(output or "")[1].lower(), "markdown")

    async def export() -> ExportResult:
        async with connect() as client:
            opened = await open_session(client, session, RowsParams(limit=1))
            return await client.export(
                opened.session_id,
                chosen,
                scope="tree" if whole else "path",
                entry_id=UNSET if entry is None else entry,
                redact=redact,
                path=UNSET if output is None else output,
                overwrite=overwrite,
            )

    with told_in_a_line():
        result = anyio.run(export)
    if result.content is not UNSET:
        sys.stdout.buffer.write(result.content.encode())
        sys.stdout.buffer.flush()
    else:
        click.echo(f"{output}: {result.size:,} bytes")
    for found in result.redactions:
        places = count(len(found.entry_ids), "entry", "entries")
        click.echo(f"{found.kind}: {found.count:,} replaced in {places}", err=True)
