# ruff: noqa: RUF001  # the mark of a person's message looks like another character
"""`piserver list`, `search` and `export`."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Run, entry, message, write_session


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """Two sessions of the directory, one of another, and a broken file; where they lie."""
    folder = tmp_path / "agent" / "sessions" / "--here--"
    folder.mkdir(parents=True)

    def write(name: str, time: int, *entries: dict[str, object], cwd: Path = tmp_path) -> None:
        path = write_session(folder / f"{name}.jsonl", *entries)
        head, _, rest = path.read_text().partition("\n")
        path.write_text(json.dumps(json.loads(head) | {"id": name, "cwd": str(cwd)}) + "\n" + rest)
        os.utime(path, (time, time))

    write(
        "first",
        1767225600,
        message("a1", None, "user", "Where is the needle?"),
        message("a2", "a1", "assistant", "In the 🙂 haystack: a Needle."),
        message("a3", "a1", "user", "needle, on another branch"),
        entry("a4", "a3", type="leaf", targetId="a2"),
        entry("a5", "a2", type="session_info", name="The \x1b[31mhaystack"),
    )
    write("second", 1769904000, message("b1", None, "user", "nothing of interest"))
    write("third", 1772323200, message("c1", None, "user", "a needle elsewhere"), cwd=tmp_path / "elsewhere")
    return folder


def lines(text: str) -> list[str]:
    """Without the ages, which depend on the day."""
    return [line[5:] for line in text.splitlines()]


def test_sessions_are_listed(piserver: Run, sessions: Path) -> None:
    done = piserver("list")
    assert (done.returncode, done.stderr) == (0, "")
    assert lines(done.stdout) == [
        "nothing of interest · 1 message",
        "The \N{REPLACEMENT CHARACTER}[31mhaystack · 3 messages",
    ]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--query", "haystack"], ["first"]),
        (["--since", "2026-01-15"], ["second"]),
        (["--until", "2026-01-15"], ["first"]),
        (["--all"], ["third", "second", "first"]),
        (["elsewhere"], ["third"]),
        (["--all", "--limit", "1"], ["third", "ore"]),
    ],
)
def test_lists_are_filtered(piserver: Run, sessions: Path, options: list[str], found: list[str]) -> None:
    (sessions.parents[2] / "elsewhere").mkdir()
    done = piserver("list", "--ids", *options)
    assert [line.split()[0] for line in lines(done.stdout)] == found


def test_a_broken_file_is_shown_and_an_empty_list_said(piserver: Run, sessions: Path) -> None:
    (sessions / "broken.jsonl").write_text("x\n")
    assert f"{sessions / 'broken.jsonl'}: line 1" in piserver("list", "--all").stdout
    assert piserver("list", "--query", "nothing at all").stdout == "(no sessions)\n"


def test_what_was_said_is_found(piserver: Run, sessions: Path) -> None:
    done = piserver("search", "needle")
    assert (done.returncode, done.stderr) == (0, "")
    title, *hits = done.stdout.splitlines()
    assert title == f"The \N{REPLACEMENT CHARACTER}[31mhaystack · {sessions / 'first.jsonl'}"
    assert [hit[5:] for hit in hits] == [
        "❯ needle, on another branch  (branch a4)",
        "◆ In the 🙂 haystack: a Needle.",
        "❯ Where is the needle?",
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["needle", "--role", "assistant"], ["a2"]),
        (["needle", "--match-case"], ["a3", "a1"]),
        (["n[a-e]+dle.$", "--regex"], ["a2", "a1"]),
        (["needle", "--all"], ["c1", "a3", "a2", "a1"]),
        (["needle", "--session", "third"], ["c1"]),
        (["needle", "--limit", "2"], ["a3", "a2", "ore"]),
        (["haystack", "--type", "session_info"], ["a5"]),
        (["a2"], ["a2"]),
    ],
)
def test_a_search_is_narrowed(piserver: Run, sessions: Path, arguments: list[str], found: list[str]) -> None:
    done = piserver("search", "--ids", *arguments)
    hits = [line[5:].split()[0] for line in done.stdout.splitlines() if str(sessions) not in line]
    assert hits == found


def test_a_session_is_searched_by_its_path(piserver: Run, sessions: Path) -> None:
    assert "elsewhere" in piserver("search", "needle", "--session", str(sessions / "third.jsonl")).stdout
    assert piserver("search", "haystick").stdout == "(nothing found)\n"


def test_what_was_found_is_marked(environment: dict[str, str], piserver: Run, sessions: Path) -> None:
    coloured = piserver(
        "search", "Needle", "--match-case", env=environment | {"FORCE_COLOR": "1", "TERM": "xterm"}
    ).stdout
    assert "In the 🙂 haystack: a \x1b[1;33mNeedle\x1b[0m." in coloured


def test_a_session_is_exported_to_stdout(piserver: Run, sessions: Path) -> None:
    done = piserver("export", "first")
    assert done.returncode == 0
    assert "Where is the needle?" in done.stdout
    assert "another branch" not in done.stdout
    assert "another branch" in piserver("export", "first", "--tree").stdout
    assert "haystack:" not in piserver("export", "first", "--entry", "a1").stdout
    assert piserver("export", "first", "--form", "html").stdout.startswith("<!doctype html>")
    assert "nothing of interest" in piserver("export", "--latest").stdout


@pytest.mark.parametrize(
    ("name", "start"), [("p.html", "<!doctype html>"), ("s.jsonl", '{"type":"session"'), ("x", "# ")]
)
def test_the_ending_of_the_file_says_which_form(
    piserver: Run, sessions: Path, tmp_path: Path, name: str, start: str
) -> None:
    done = piserver("export", str(sessions / "first.jsonl"), "-o", name)
    assert done.stdout == f"{name}: {(tmp_path / name).stat().st_size:,} bytes\n"
    assert (tmp_path / name).read_text().startswith(start)


def test_secrets_are_replaced_and_it_is_said_how_many(piserver: Run, tmp_path: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    session = write_session(tmp_path / "s.jsonl", message("e1", None, "user", f"my key is {key}"))
    done = piserver("export", str(session), "--redact")
    assert key not in done.stdout
    assert "1 replaced in 1 entry" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list", "x", "--all"], 2),
        (["list", "--since", "yesterday"], 1),
        (["search", "(", "--regex"], 1),
        (["search", "x", "--session", "nobody"], 1),
        (["search", "x", "--session", "first", "--all"], 2),
        (["export", "nobody"], 1),
        (["export", "first", "--latest"], 2),
        (["export", "first", "--tree", "--entry", "a1"], 2),
        (["export", "first", "-o", "taken.md"], 1),
    ],
)
def test_failures_are_a_line_and_an_exit_code(
    piserver: Run, sessions: Path, tmp_path: Path, arguments: list[str], code: int
) -> None:
    (tmp_path / "taken.md").write_text("mine")
    done = piserver(*arguments)
    assert done.returncode == code
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "taken.md").read_text() == "mine"
    if "taken.md" in arguments:
        assert piserver(*arguments, "--overwrite").returncode == 0
