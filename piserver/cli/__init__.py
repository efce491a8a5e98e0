"""The command line: `piserver serve`, `call`, `list`, `search`, `tree`, `export`, `verify`, `repair` and `demo`.

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


@main.command("list")
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@click.option("--all", "everywhere", is_flag=True, help="The sessions of all directories.")
@click.option("--query", metavar="WORDS", help="Only those with all these words in name, first message or directory.")
@click.option("--since", metavar="DATE", help="Only those changed since then (ISO-8601).")
@click.option("--until", metavar="DATE", help="Only those not changed since then.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, show_default=True)
@click.option("--ids", is_flag=True, help="Show the sessions' ids.")
def list_sessions(
    directory: str | None,
    everywhere: bool,
    query: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    ids: bool,
) -> None:
    """List the sessions of a DIRECTORY, newest first.

    By default it is the working directory.
    """
    if directory is not None and everywhere:
        raise click.UsageError("Give either a directory or --all.")
    from piserver.cli.listing import run

    run(None if everywhere else directory or ".", query=query, since=since, until=until, limit=limit, ids=ids)


@main.command()
@click.argument("query")
@click.option("--session", metavar="PATH|ID", help="Search this session alone.")
@click.option("--all", "everywhere", is_flag=True, help="Search the sessions of all directories.")
@click.option("--regex", is_flag=True, help="QUERY is a regular expression (RE2).")
@click.option("--match-case", is_flag=True, help="Tell upper from lower case.")
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only messages of this role; may be repeated.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only entries of this type; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--ids", is_flag=True, help="Show the entries' ids.")
def search(
    query: str,
    session: str | None,
    everywhere: bool,
    regex: bool,
    match_case: bool,
    roles: tuple[str, ...],
    types: tuple[str, ...],
    limit: int,
    ids: bool,
) -> None:
    """Find what was said, newest first.

    QUERY are words that an entry must hold, "quoted" ones as phrases. By default the sessions of the working
    directory are searched, with all their branches.
    """
    if session is not None and everywhere:
        raise click.UsageError("Give either --session or --all.")
    from piserver.cli.search import run

    options = {"regex": regex, "match_case": match_case, "roles": roles, "types": types, "limit": limit}
    run(query, session, everywhere=everywhere, ids=ids, **options)


@main.command()
@click.argument("session", metavar="[PATH|ID]", required=False)
@click.option("--latest", is_flag=True, help="The newest session of the working directory; this is the default.")
@click.option(
    "--form",
    type=click.Choice(["markdown", "html", "jsonl"]),
    help="By default what the ending of FILE says, else markdown.",
)
@click.option("--tree", "whole", is_flag=True, help="All branches, not only the way to the leaf.")
@click.option("--entry", metavar="ID", help="The way to this entry.")
@click.option("--redact", is_flag=True, help="Replace keys, tokens and passwords; a net, and not a proof.")
@click.option("-o", "--output", metavar="FILE", help="Write a file, by default to stdout.")
@click.option("--overwrite", is_flag=True, help="Write over a FILE that exists.")
def export(
    session: str | None,
    latest: bool,
    form: Any,
    whole: bool,
    entry: str | None,
    redact: bool,
    output: str | None,
    overwrite: bool,
) -> None:
    """Write a session as Markdown, as one HTML page, or as a session file of its own."""
    if session is not None and latest:
        raise click.UsageError("Give either a session or --latest.")
    if whole and entry is not None:
        raise click.UsageError("A tree is exported whole: give either --tree or --entry.")
    from piserver.cli.export import run

    run(session, form=form, whole=whole, entry=entry, redact=redact, output=output, overwrite=overwrite)


@main.command()
@click.argument("session", metavar="PATH|ID")
def verify(session: str) -> None:
    """Say everything that is wrong with a session's file.

    Nothing is changed. The exit code is 1 if anything is wrong.
    """
    from piserver.cli.upkeep import verify

    sys.exit(verify(session))


@main.command()
@click.argument("session", metavar="PATH|ID")
def repair(session: str) -> None:
    """Mend a session's file.

    What is no entry is moved to files beside it, and the old file is kept as a backup. What the entries say stays as
    it is.
    """
    from piserver.cli.upkeep import repair

    repair(session)


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
