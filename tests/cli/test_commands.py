# ruff: noqa: RUF001  # the mark of a person's message looks like another character

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DEADLINE, ROOT, Run, message, write_session


def test_help_needs_nothing_heavy(environment: dict[str, str]) -> None:
    code = """
import sys
from piserver.cli import main
try:
    main(["--help"])
finally:
    print(sorted({"anyio", "asyncio", "lsprotocol", "msgspec", "pygls", "rich"} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    assert [line.split()[0] for line in done.stdout.partition("Commands:")[2].splitlines() if line] == [
        "call",
        "demo",
        "export",
        "list",
        "repair",
        "search",
        "serve",
        "tree",
        "verify",
    ]
    assert done.stderr == "[]\n"


def test_the_server_takes_over_stdout_before_anything_heavy_is_imported(environment: dict[str, str]) -> None:
    code = """
import sys
from piserver.cli import main
from piserver.server import stdio
def claim():
    print(sorted({"anyio", "asyncio", "lsprotocol", "msgspec", "pygls", "rich"} & set(sys.modules)))
    raise OSError("not today")
stdio.claim = claim
main(["serve"])
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "[]\n")
    assert "not today" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_server_serves_lines(piserver: Run) -> None:
    requests = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "session/list"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0"} | request) + "\n" for request in requests)
    done = piserver("serve", "--framing", "lines", input=lines)

    assert done.returncode == 0
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {1, 2}


@pytest.mark.parametrize(("level", "said"), [("error", False), ("warning", True)])
def test_the_log_goes_to_stderr_from_its_level_on(piserver: Run, level: str, said: bool) -> None:
    params = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": {"piserver": {"x": 1}}}
    messages = [{"id": 1, "method": "initialize", "params": params}, {"method": "initialized", "params": {}}]
    lines = "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)
    done = piserver("serve", "--framing", "lines", "--log-level", level, input=lines)

    assert ("piserver.x is not known" in done.stderr) is said


def test_the_tree_is_drawn(piserver: Run, session_file: Path) -> None:
    done = piserver("tree", "session.jsonl")
    header, *rows, warning = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert header.startswith(f"Hello · {session_file.parent} · 5 entries · 4 messages")
    assert [line[5:] for line in rows] == [
        "● ❯ Hello",
        "● ◆ Good day",
        "  ├─ ❯ [the one] One way",
        "▶ └─ ❯ Another way",
    ]
    assert warning.startswith("⚠ line 7")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (["--query", "way one", "--filter", "user-only"], ["e3"]),
        (["--all", "--query", "one"], ["e3", "e5"]),
    ],
)
def test_rows_are_chosen(piserver: Run, session_file: Path, options: list[str], rows: list[str]) -> None:
    lines = piserver("tree", str(session_file), "--ids", *options).stdout.splitlines()[1:-1]

    assert [line[5:7] for line in lines if line != "(nothing to show)"] == rows


def test_colour_is_for_terminals_that_want_it(environment: dict[str, str], piserver: Run, session_file: Path) -> None:
    coloured = piserver("tree", str(session_file), env=environment | {"FORCE_COLOR": "1", "TERM": "xterm"})
    plain = piserver(
        "tree", str(session_file), env=environment | {"FORCE_COLOR": "1", "TERM": "xterm", "NO_COLOR": "1"}
    )

    assert "\x1b[1;36m" in coloured.stdout
    assert "36m" not in plain.stdout


def test_a_long_tree_is_drawn_whole(piserver: Run, tmp_path: Path) -> None:
    entries = [message(f"e{n}", f"e{n - 1}" if n else None, "user", f"number {n}.") for n in range(2500)]
    session = write_session(tmp_path / "long.jsonl", *entries)
    lines = piserver("tree", str(session)).stdout.splitlines()

    assert [line.rpartition("number ")[2] for line in lines[1:]] == [f"{n}." for n in range(2500)]


def test_a_reader_that_has_enough_is_no_failure_worth_a_traceback(environment: dict[str, str], tmp_path: Path) -> None:
    entries = [message(f"e{n}", f"e{n - 1}" if n else None, "user", "x" * 100) for n in range(1200)]
    session = write_session(tmp_path / "long.jsonl", *entries)
    command = [sys.executable, "-m", "piserver", "tree", str(session)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(DEADLINE)

    assert errors == b""


def test_the_newest_session_of_the_directory_is_the_default(piserver: Run, tmp_path: Path) -> None:
    piserver("call", "session/create", json.dumps({"cwd": str(tmp_path), "name": "the latest"}))
    found = piserver("tree", "--latest")

    assert found.stdout.startswith("the latest · ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["tree"], 1),
        (["tree", "x", "--latest"], 2),
        (["tree", "--filter", "some"], 2),
        (["demo", "./missing.jsonl"], 2),
        (["demo", "not-a-session.jsonl"], 1),
        (["nothing"], 2),
    ],
)
def test_failures_are_a_line_and_an_exit_code(piserver: Run, tmp_path: Path, arguments: list[str], code: int) -> None:
    (tmp_path / "not-a-session.jsonl").write_text("hello\n")
    done = piserver(*arguments)

    assert done.returncode == code
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_holds_and_its_picture_is_the_one_of_the_documentation(piserver: Run, tmp_path: Path) -> None:
    done = piserver("demo", "--svg", "tree.svg")

    assert (done.returncode, done.stderr) == (0, "")
    assert "✗" not in done.stdout
    assert done.stdout.endswith("checks held.\n")
    assert (tmp_path / "tree.svg").read_text() == (ROOT / "docs/tree.svg").read_text(), (
        "out of date: python -m piserver demo --svg docs/tree.svg"
    )


def test_the_demo_of_a_file_leaves_it_as_it_was(piserver: Run, session_file: Path) -> None:
    before = session_file.read_bytes()
    done = piserver("demo", str(session_file))

    assert (done.returncode, done.stderr) == (0, "")
    assert "line 7" in done.stdout
    assert "[the one] One way" in done.stdout
    assert session_file.read_bytes() == before
    assert list(session_file.parent.iterdir()) == [session_file]
