from pathlib import Path

from tests.cli.conftest import Run, message, write_session


def test_a_sound_file_is_called_sound(piserver: Run, tmp_path: Path) -> None:
    write_session(tmp_path / "s.jsonl", message("e1", None, "user", "Hello"))
    done = piserver("verify", "s.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    path, what, digest, verdict = done.stdout.splitlines()
    assert path == str((tmp_path / "s.jsonl").resolve())
    assert what.startswith("session s1, version 3, 1 entries on 2 lines, ")
    assert digest.startswith("sha256 ")
    assert verdict == "Nothing is wrong."


def test_what_is_wrong_is_said_and_mended(piserver: Run, session_file: Path) -> None:
    before = session_file.read_bytes()
    found = piserver("verify", session_file.name)
    assert (found.returncode, found.stderr) == (1, "")
    assert "line 7 is skipped: not JSON" in found.stdout
    assert "piserver repair would:\n  line 7, byte" in found.stdout
    assert session_file.read_bytes() == before

    done = piserver("repair", session_file.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"backup: {session_file.resolve()}.bak" in done.stdout
    assert session_file.read_bytes() == before.replace(b"this is no entry\n", b"")
    assert Path(f"{session_file}.bak").read_bytes() == before
    assert b"this is no entry\n" in Path(f"{session_file}.damaged").read_bytes()

    assert "There was nothing to mend." in piserver("repair", session_file.name).stdout
    assert piserver("verify", session_file.name).returncode == 0


def test_what_an_entry_is_called_does_nothing_to_a_terminal(piserver: Run, tmp_path: Path) -> None:
    twice = message("\x1b[2J", None, "user", "Hello")
    write_session(tmp_path / "s.jsonl", twice, twice)
    found = piserver("verify", "s.jsonl")
    assert found.returncode == 1
    assert "\x1b" not in found.stdout
    assert "line 3: a second entry has the id" in found.stdout


def test_what_fails_is_told_in_a_line(piserver: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Buy milk.\n")
    for command in ("verify", "repair"):
        for name in ("./nothing.jsonl", "notes.txt", "no-such-id"):
            done = piserver(command, name)
            assert (done.returncode, done.stdout) == (1, "")
            [line] = done.stderr.splitlines()
            assert line.startswith("Error: ")
    assert (tmp_path / "notes.txt").read_text() == "Buy milk.\n"
