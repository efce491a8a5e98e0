"""The command line: `piserver serve`, `call`, `tree` and `demo`.

The exit code is 0 if the thing was done, 1 if it failed, 2 if the command was wrong. What a command needs is imported
when it runs, so that `--help` is quick and `serve` can take over stdout before anything could be printed there.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import click

from piserver import __version__

__all__ = ["main"]

FILTERS = ("default", "no-tools", "user-only", "labeled", "all")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="piserver")
def main() -> None:
    """A session tree server for coding agents."""


@main.command()
@click.option("--framing", type=click.Choice(["lsp", "lines"]), default="lsp", show_default=True)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="From which level on log records go to stderr.",
)
def serve(framing: Literal["lsp", "lines"], log_level: str) -> None:
    """Serve one client on stdin and stdout.

    JSON-RPC 2.0 with the life cycle of the Language Server Protocol: framed as there, or one message a line.
    """
    from piserver.server import stdio

    try:
        descriptors = stdio.claim()
    except OSError as error:
        raise click.ClickException(f"stdin and stdout must be open: {error}.") from None

    import logging

    from piserver.server.logs import log_to_stderr

    log_to_stderr(logging.getLevelNamesMapping()[log_level.upper()])

    from piserver.server import app

    app.serve(framing, descriptors)


@main.command()
@click.argument("method")
@click.argument("params", metavar="[JSON|-]", required=False)
@click.option("--session", metavar="PATH|ID", help="Open this session first, and put its id into the parameters.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the input and for the answer.",
)
def call(method: str, params: str | None, session: str | None, timeout: float) -> None:
    """Call one METHOD of a server started for it.

    Its parameters are a JSON object, by default an empty one; with - they are read from stdin. The result goes to
    stdout as JSON, as does {"error": ...} of a call that failed.
    """
    from piserver.cli.call import run

    sys.exit(run(method, params, session, timeout))


@main.command()
@click.argument("session", metavar="[PATH|ID]", required=False)
@click.option("--latest", is_flag=True, help="The newest session of the working directory; this is the default.")
@click.option("--filter", type=click.Choice(FILTERS), default="default", show_default=True, help="Which entries.")
@click.option("--all", "everything", is_flag=True, help="All entries: the same as --filter all.")
@click.option("--query", default="", metavar="WORDS", help="Only entries that hold all these words.")
@click.option("--ids", is_flag=True, help="Show the entries' ids.")
def tree(session: str | None, latest: bool, filter: Any, everything: bool, query: str, ids: bool) -> None:
    """Draw a session's tree.

    The session is given by the path of its file or by its id.
    """
    if session is not None and latest:
        raise click.UsageError("Give either a session or --latest.")
    from piserver.cli.tree import run

    run(session, filter="all" if everything else filter, query=query, ids=ids)


@main.command()
@click.argument("path", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--svg", type=click.Path(dir_okay=False, writable=True), hidden=True, help="Write a picture as well.")
def demo(path: str | None, svg: str | None) -> None:
    """See it work, on a session of its own.

    The session is made, branched, forked, and found again by a second server. With the
    PATH of a session file the demo only reads that file, and proves that it stayed as it was.
    """
    if path is not None and svg is not None:
        raise click.UsageError("--svg draws the demo's own session.")
    if path is None:
        from piserver.cli.demo import run

        sys.exit(run(svg))
    from piserver.cli.demo_file import run as read

    sys.exit(read(path))
