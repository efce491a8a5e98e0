import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import DEADLINE, Run


def test_the_result_is_json_on_stdout(piserver: Run, tmp_path: Path) -> None:
    done = piserver("call", "session/create", json.dumps({"cwd": str(tmp_path), "name": "n"}))

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["info"]["name"] == "n"
    assert Path(json.loads(done.stdout)["info"]["path"]).is_file()


def test_a_session_is_named_by_its_id(piserver: Run, tmp_path: Path) -> None:
    made = json.loads(piserver("call", "session/create", json.dumps({"cwd": str(tmp_path)})).stdout)
    done = piserver("call", "session/getTree", '{"filter": "all"}', "--session", made["sessionId"])

    assert json.loads(done.stdout)["sessionId"] == made["sessionId"]
    assert json.loads(done.stdout)["window"]["filter"] == "all"


def test_a_session_is_named_by_its_path_and_parameters_come_from_stdin(piserver: Run, session_file: Path) -> None:
    text = "ä" * 200_000
    append = {"entry": {"type": "message", "message": {"role": "user", "content": text}}}
    done = piserver("call", "session/append", "-", "--session", str(session_file), input=json.dumps(append))

    assert done.returncode == 0
    assert len(json.loads(done.stdout)["entryIds"]) == 1
    assert json.loads(session_file.read_text().splitlines()[-1])["message"]["content"] == text


def test_g4_stdin_is_not_read_otherwise(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "piserver", "call", "session/list"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == {"sessions": [], "nextCursor": None}
        assert process.wait(DEADLINE) == 0  # with its stdin still open and silent


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["session/fork", '{"entryId": "nope"}', "--session", "session.jsonl"], "invalid-fork-target"),
        (["session/stats", "--session", "nobody"], "session-not-found"),
        (["session/list", '{"unknown": 1}'], "invalid-params"),
        (["session/nothing"], None),
    ],
)
def test_a_call_that_fails_ends_in_1_with_the_error_as_json(
    piserver: Run, session_file: Path, arguments: list[str], kind: str | None
) -> None:
    done = piserver("call", *arguments)
    error = json.loads(done.stdout)["error"]

    assert done.returncode == 1
    assert error.get("data", {}).get("kind") == kind
    assert done.stderr == f"piserver: {error['message']}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["session/list", "{"],
        ["session/list", "[1]"],
        ["session/stats", '{"sessionId": "a"}', "--session", "b"],
        ["session/list", "--timeout", "0"],
        ["session/list", "{}", "{}"],
    ],
)
def test_a_wrong_command_ends_in_2(piserver: Run, arguments: list[str]) -> None:
    done = piserver("call", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_input_that_does_not_end_is_given_up(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "piserver", "call", "session/list", "-", "--timeout", "0.2"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["error"]["data"]["kind"] == "timed-out"
        assert process.wait(DEADLINE) == 1
