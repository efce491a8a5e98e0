"""Ada's home, in which the examples of `protocol.md` take place."""

import json
import os
from pathlib import Path

from piserver.repository.layout import folder_name

DATA = Path(__file__).parent / "data"
_EARLIER = "--home-ada-project--/2026-05-30T16-20-00-000Z_01972157-3c00-7a52-9d51-0f6be2a4c6d1.jsonl"
_NEWER = "--home-ada-elsewhere--/2026-05-30T17-45-00-000Z_019721a4-8b00-7c11-8a3e-5c7d9e1f2b34.jsonl"


def furnish(home: Path) -> dict[str, str]:
    """Put there what the examples find; returns what the paths of the document stand for.

    Two sessions by other programs, one with a damaged line and one in a format of the future, their working
    directories, and a file of notes.
    """
    given = {folder_name(f"/home/ada/{name}"): folder_name(f"{home}/{name}") for name in ("project", "elsewhere")}
    for name in ("project", "elsewhere"):
        (home / name).mkdir()
    for name, data in ((_EARLIER, "earlier.jsonl"), (_NEWER, "newer.jsonl")):
        folder, _, file = name.partition("/")
        path = home / ".pi/agent/sessions" / given[folder] / file
        path.parent.mkdir(parents=True)
        path.write_bytes((DATA / data).read_bytes().replace(b"/home/ada", os.fsencode(home)))
        os.utime(path, (1780158037, 1780158037))
    (home / "notes.txt").write_text("Buy milk.\n")
    return given | {"/home/ada": str(home)}


def take_over(home: Path) -> None:
    """A server on another machine that shares this home takes the lease of the first session."""
    [session] = home.rglob("*_01972157-*.jsonl")
    owner = {
        "program": "piserver 0.1.0 for another editor",
        "pid": 2048,
        "started": 1780304113.0,
        "host": "the-laptop",
        "since": "2026-06-01T09:02:11.480Z",
        "purpose": None,
    }
    session.with_name(f"{session.name}.lease").write_text(json.dumps(owner))
