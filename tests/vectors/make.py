"""Write the expected answers beside the case files anew.

    python -m tests.vectors.make

A case is a session file in `tests/data/cases/`, a name with `.jsonl`. What piserver answers on it goes into the file
with `.expected.json`; `git diff` then shows what a change to the program has changed in its answers.
"""

import asyncio
import json
from typing import Any

from piserver.entries.header import InvalidSessionError
from piserver.storage import MemoryStorage
from tests.vectors.answers import CASES, append, ask, open_session

_WIDTH = 120


def layout(value: Any, indent: int = 0) -> str:
    """JSON in ASCII with one line for what fits on one and one for each member of what does not."""
    text = json.dumps(value)
    if len(text) + indent <= _WIDTH or not isinstance(value, dict | list) or indent >= 4:
        return text
    margin = "\n" + " " * (indent + 2)
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}: {layout(item, indent + 2)}" for key, item in value.items())
        return "{" + margin + f",{margin}".join(members) + "\n" + " " * indent + "}"
    return "[" + margin + f",{margin}".join(layout(item, indent + 2) for item in value) + "\n" + " " * indent + "]"


async def expected(data: bytes) -> dict[str, Any]:
    """The answers on a file with this content: `before` and `after` one message was appended, or `invalid`."""
    try:
        storage = MemoryStorage(data)
    except InvalidSessionError as error:
        return {"invalid": str(error), "line": error.line}
    session = open_session(storage)
    answers = await ask(session)
    if storage.read_only is None:
        answers["appended"] = await append(session)
    return answers


async def main() -> None:
    """Answer all cases."""
    for file in sorted(CASES.glob("*.jsonl")):
        text = layout(await expected(file.read_bytes())) + "\n"
        file.with_suffix(".expected.json").write_text(text, encoding="ascii")


if __name__ == "__main__":
    asyncio.run(main())
