"""The program: measures everything and prints the table."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import click

from tests.bench import of_files, of_server, of_wire, report, setting
from tests.bench.report import Row
from tests.bench.setting import QUICK, Scale

Part = Callable[[Scale, Path], Iterator[Row]]

PARTS: dict[str, Part] = {
    "open": of_files.opening,
    "compacted": of_files.after_compaction,
    "durable": of_files.durable,
    "list": of_files.listing,
    "server": of_server.large_session,
    "appends": of_wire.appends,
    "round-trips": of_wire.round_trips,
    "start": of_wire.start,
    "linear": of_files.linear,
}


@click.command()
@click.option("--quick", is_flag=True, help="Small sessions, everything once: whether it works, not how fast.")
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Only this part; may be repeated.")
@click.option(
    "--update",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"Put the table between {report.BEGIN} and {report.END} of this file.",
)
def main(*, quick: bool, only: tuple[str, ...], update: Path | None) -> None:
    """Measure piserver beside the real implementations, and print a table in Markdown."""
    try:
        setting.check_installed()
    except setting.NotInstalledError as missing:
        raise click.ClickException(str(missing)) from None
    scale = QUICK if quick else Scale()
    rows: list[Row] = []
    for name, part in PARTS.items():
        if not only or name in only:
            start = perf_counter()
            with setting.work_folder() as folder:
                for row in part(scale, folder):
                    rows.append(row)
                    click.echo(" | ".join(row.cells()), err=True)
            click.echo(f"({name}: {perf_counter() - start:.0f} s)", err=True)
    node = subprocess.run([setting.node(), "--version"], capture_output=True, text=True, check=True).stdout
    if quick:
        rows = [replace(row, target=None) for row in rows]  # they are set for large sessions
    text = f"{report.table(rows)}\n\n{report.machine(node)}"
    click.echo(text)
    if update is not None:
        report.update(update, text)


main()
