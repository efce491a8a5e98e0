"""Which session a person means."""

from __future__ import annotations

import os

import click

from piserver.client import Client
from piserver.protocol.sessions import RowsParams, Snapshot

__all__ = ["is_path", "open_session"]


def is_path(word: str) -> bool:
    """Whether a word names a file rather than being a session's id."""
    return os.sep in word or "/" in word or word.endswith(".jsonl") or os.path.exists(word)


async def open_session(client: Client, word: str | None, rows: RowsParams) -> Snapshot:
    """The session with this path or id, by default the newest of the working directory; only to be read.

    Raises click.ClickException if the directory has none.
    """
    if word is not None and is_path(word):
        return await client.open(word, subscribe=False, rows=rows)
    if word is not None:
        return await client.open(session_id=word, subscribe=False, rows=rows)
    latest = await client.latest(os.getcwd())
    if latest.info is None:
        raise click.ClickException("There is no session of this directory yet; give a path or an id.")
    return await client.open(latest.info.path, subscribe=False, rows=rows)
