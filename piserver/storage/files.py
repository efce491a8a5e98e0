"""The few ways in which a session file comes to be or is replaced. Each leaves either the old file or the new one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, readable for their owner alone."""
    missing = [p for p in (folder, *folder.parents) if not p.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def write_whole(
    path: Path, chunks: Iterable[bytes], *, replace: bool = False, check: Callable[[], None] = lambda: None
) -> None:
    """Write a file through a temporary one beside it: content, fsync, then into place in one step, mode 0600.

    `check` is called right before that step and may raise. Raises FileExistsError if something is there and `replace`
    is false. Whatever fails, no part of a file stays behind.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
        check()
        if replace:
            os.replace(temporary, path)
        else:
            _publish(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def _publish(temporary: Path, path: Path) -> None:
    """Give a finished file its name without ever replacing another."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(f"{path} exists") from None
        os.replace(temporary, path)


def keep_backup(path: Path) -> Path:
    """Keep a file's content beside it as `.bak` (`.bak2` … if that is taken), without touching the file."""
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak{'' if number == 1 else number}")
        number += 1
        try:
            os.link(path, backup)
        except FileExistsError:
            # An earlier attempt came as far as the backup.
            if not os.path.samefile(path, backup):
                continue
        except OSError:  # a file system without hard links
            if backup.exists():
                continue
            write_whole(backup, [path.read_bytes()])
        return backup


def append_aside(path: Path, suffix: str, chunks: Iterable[bytes]) -> Path:
    """Add what is taken out of a file to another one beside it, named with `suffix`; it is on disk when this returns.

    Answers that file.
    """
    beside = path.with_name(f"{path.name}.{suffix}")
    with open(beside, "ab", opener=_private) as file:
        file.writelines(chunks)
        file.flush()
        os.fsync(file.fileno())
    return beside


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power failure, where the system can."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)
