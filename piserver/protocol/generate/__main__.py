"""The command; see the package."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from piserver.protocol.generate import document, lua, typescript
from piserver.protocol.schema import build

ROOT = Path(__file__).parents[3]


def outputs(root: Path) -> dict[Path, str]:
    """Every generated file of a source tree, and what it should hold."""
    schema = build()
    text = msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
    protocol = root / "protocol.md"
    return {
        root / "editors/protocol.schema.json": text,
        root / "editors/vscode/src/protocol.ts": typescript.write(schema),
        root / "editors/nvim/lua/piserver/protocol.lua": lua.write(schema),
        protocol: document.refresh(protocol.read_text("utf-8"), schema, text),
    }


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file is not current.")
def main(check: bool) -> None:
    """Write the files that are generated from the protocol's types."""
    stale = [
        (path, text) for path, text in outputs(ROOT).items() if not path.is_file() or path.read_text("utf-8") != text
    ]
    for path, text in stale:
        if path.name == "protocol.md" and document.fingerprint_of(path.read_text("utf-8")) not in text:
            click.echo("The protocol has changed: does the prose of protocol.md still say what is true?", err=True)
        click.echo(f"{path.relative_to(ROOT)} {'is not current' if check else 'written'}", err=check)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    if check and stale:
        click.echo("Write them with: make types", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
