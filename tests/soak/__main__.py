"""The program: does everything in full and prints the figures, a line each."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import click

from tests.soak import files, killed, servers, stops, wire


def _servers(folder: Path, seed: int) -> str:
    return servers.run(folder, appends=20_000, kill_every=300, seed=seed)


def _stops(folder: Path, seed: int) -> str:
    start, stopped = perf_counter(), 0
    scenarios = stops.scenarios()
    for scenario in scenarios:
        stopped += len(list(stops.stops(scenario, folder / "stops" / scenario.name)))
    killings = sum(
        killed.kills(scenario, folder / "kills" / scenario.name)
        for scenario in scenarios
        if scenario.name in killed.CHOSEN
    )
    return (
        f"{stopped} stops and disk errors at every step of {len(scenarios)} kinds of writing, {killings} times kill -9 "
        f"at one: nothing acknowledged lost, the next start went on ({perf_counter() - start:.0f} s)"
    )


def _files(folder: Path, seed: int) -> str:
    return files.run(folder, count=10_000, seed=seed)


def _wire(folder: Path, seed: int) -> str:
    return wire.run(folder, count=2_000, seed=seed)


PARTS: dict[str, Callable[[Path, int], str]] = {"servers": _servers, "stops": _stops, "files": _files, "wire": _wire}


@click.command()
@click.option("--only", multiple=True, type=click.Choice(list(PARTS)), help="Only this part; may be repeated.")
@click.option("--seed", type=int, help="That of an earlier run, to make the same choices again.")
def main(*, only: tuple[str, ...], seed: int | None) -> None:
    """See whether piserver holds out; any failure ends the program with its story."""
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    click.echo(f"seed {seed}")
    for name, part in PARTS.items():
        if not only or name in only:
            folder = Path(tempfile.mkdtemp(prefix="piserver-soak-"))  # what made it fail is left to be looked at
            try:
                click.echo(f"{name}: {part(folder, seed)}")
            except BaseException:
                click.echo(f"{name} failed; its files are in {folder}", err=True)
                raise
            shutil.rmtree(folder)


main()
