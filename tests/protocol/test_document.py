"""The document says everything that the types and the registry say, and nothing that they do not."""

import re
import subprocess
import sys
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from piserver.protocol import schema
from piserver.protocol.errors import ErrorKind
from piserver.protocol.registry import METHODS, NOTIFICATIONS
from tests.protocol.document import DOCUMENT, ROOT, Example, examples, headings

SCHEMA = schema.build()
EXAMPLES = examples()
BY_LINE = [pytest.param(example, id=f"line {example.line}") for example in EXAMPLES]

UNPROVOKED = {"too-large", "timed-out", "client-failed"}
"""Kinds that no short message to a healthy server brings about."""


def test_generated_files_and_the_fingerprint_are_current() -> None:
    command = [sys.executable, "-m", "piserver.protocol.generate", "--check"]
    check = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr
    assert re.search(r"^<!-- piserver protocol \d+, fingerprint: [0-9a-f]{16} -->$", DOCUMENT.read_text("utf-8"), re.M)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_section_with_an_example_of_request_and_answer(name: str) -> None:
    assert headings().count(name) == 1
    here = [example for example in EXAMPLES if example.heading == name]
    [asked, *_] = [example.message["id"] for example in here if example.method == name]
    assert next(example.message["id"] for example in here if "result" in example.message) == asked


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_every_notification_has_a_section_with_an_example(name: str) -> None:
    assert headings().count(name) == 1
    assert any(example.heading == name and example.method == name for example in EXAMPLES)


def test_every_kind_of_error_is_explained_and_those_that_can_be_provoked_have_an_example() -> None:
    text = DOCUMENT.read_text("utf-8")
    table = text.partition("\n| kind | when |")[2].partition("\n\n")[0]
    explained = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.M))
    assert explained == set(get_args(ErrorKind))
    shown = {example.message["error"]["data"]["kind"] for example in EXAMPLES if "error" in example.message}
    assert explained - shown == UNPROVOKED


def test_every_type_and_section_that_is_referred_to_is_there() -> None:
    text = DOCUMENT.read_text("utf-8")
    links = set(re.findall(r"\]\(#([^)]*)\)", text))
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings()}
    assert links <= anchors


@pytest.mark.parametrize("example", BY_LINE)
def test_an_example_is_valid_by_the_schema(example: Example) -> None:
    message = example.message
    assert message["jsonrpc"] == "2.0"
    if "error" in message:
        return validate("ErrorData", message["error"]["data"], closed=False)
    if "result" in message:
        [method] = [e.method for e in EXAMPLES if e.message.get("id") == message["id"] and e.method is not None]
        if method == "initialize":
            return validate("Capabilities", message["result"]["capabilities"]["experimental"]["piserver"])
        if method in METHODS:
            return validate(METHODS[method].result.__name__, message["result"])
        return None
    method = message["method"]
    if method == "initialize":
        validate("Settings", message["params"]["initializationOptions"]["piserver"])
    elif method in METHODS and not refused(example):
        validate(METHODS[method].params.__name__, message["params"])
    elif method in NOTIFICATIONS:
        validate(NOTIFICATIONS[method].__name__, message["params"])
    return None


def test_the_schema_refuses_what_the_server_refuses() -> None:
    bad = [example for example in EXAMPLES if example.method in METHODS and refused(example)]
    assert bad
    for example in bad:
        name = METHODS[str(example.method)].params.__name__
        assert not Draft202012Validator(whole(name)).is_valid(example.message["params"]), example


def refused(request: Example) -> bool:
    """Whether the document's answer to a request is that its parameters are invalid."""
    [answer] = [e.message for e in EXAMPLES if e.message.get("id") == request.message["id"] and e.method is None]
    return answer.get("error", {}).get("data", {}).get("kind") == "invalid-params"


def validate(name: str, value: Any, *, closed: bool = True) -> None:
    """Raise unless a value is of a type and, if `closed`, has no member that the schema does not know."""
    Draft202012Validator(whole(name, closed=closed)).validate(value)


def whole(name: str, *, closed: bool = True) -> dict[str, Any]:
    definitions = {
        key: {**definition, "additionalProperties": False} if closed and "properties" in definition else definition
        for key, definition in SCHEMA["$defs"].items()
    }
    return {"$ref": schema.REF + name, "$defs": definitions}


def test_the_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
