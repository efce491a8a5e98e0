from __future__ import annotations

import json
from collections import Counter
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from piserver.repository.export import Redaction, export
from piserver.repository.export.redaction import Redactor, replace_secrets
from tests.repository.export.building import Log, call, text

# Parts are joined only here, so that scanners of this repository have nothing to find.
A40 = "a1B2c3D4e5" * 4
GITHUB = "ghp" + "_" + A40[:36]
AWS = "AKIA" + "IOSFODNN7EXAMPLE"[:16]
JWT = "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0In0" + "." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEowIBAAKCAQEA7\nx9+/abc=\n-----END RSA PRIVATE" + " KEY-----"

SECRETS = [
    ("private-key", PEM, PEM),
    ("private-key", f"key: {json.dumps(PEM)}", json.dumps(PEM)[1:-1]),
    ("private-key", PEM.partition("\n-----END")[0].replace("x9+/abc=", A40), A40),
    ("aws-access-key", f"id {AWS} here", AWS),
    ("github-token", f"git clone with {GITHUB}.", GITHUB),
    ("github-token", "github" + f"_pat_{A40}_x", A40),
    ("gitlab-token", "glpat" + "-a1B2c3D4e5a1B2c3D4e5", "a1B2c3D4e5"),
    ("slack-token", "xoxb" + "-123456789012-abcdefABCDEF", "abcdefABCDEF"),
    ("slack-webhook", "https://hooks.slack.com/" + "services/T00000000/B00000000/XXXXXXXX", "B00000000"),
    ("anthropic-key", "sk-ant" + f"-api03-{A40}", A40),
    ("openai-key", "sk-proj" + f"-{A40}_-x", A40),
    ("openai-key", "sk" + f"-{A40}", A40),
    ("openrouter-key", "sk-or" + f"-v1-{A40}", A40),
    ("google-key", "AIza" + A40[:35], A40[:35]),
    ("google-token", "ya29" + f".{A40}", A40),
    ("stripe-key", "sk" + f"_live_{A40}", A40),
    ("npm-token", "npm" + f"_{A40[:36]}", A40[:36]),
    ("huggingface-token", "hf" + f"_{A40[:34]}", A40[:34]),
    ("jwt", f"cookie {JWT}", JWT),
    ("authorization", "curl -H 'Authorization: Bearer abcdef0123456789'", "abcdef0123456789"),
    ("authorization", "authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("authorization", '"Authorization": "token abc123def456"', "abc123def456"),
    ("cookie", "Cookie: session=abc123def456; theme=dark", "abc123def456"),
    ("cookie", f"Cookie: a={GITHUB}; session=abc123def456", "abc123def456"),
    ("url-password", "postgres://app:s3cr3t@db.local:5432/app", "s3cr3t"),
    ("url-password", "https://x-access-token:abc@def@github.com/a", "abc@def"),
    ("url-password", "curl -s -u ada:s3cr3t https://x.example", "s3cr3t"),
    ("password", "password=letmein", "letmein"),
    ("password", "Password: Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("password", "database:\n  password: swordfish\n  host: x", "swordfish"),
    ("password", 'api_key = "abcd-efgh"', "abcd-efgh"),
    ("password", "client_secret: 'abcd1234'", "abcd1234"),
    ("password", 'password: str = "hunter2"', "hunter2"),
    ("password", '{"accessToken": "abcdef"}', "abcdef"),
    ("password", '{\\"password\\": \\"hunter2\\"}', "hunter2"),
    ("password", "passphrase: 'correct horse battery'", "correct horse battery"),
    ("password", "https://x.example/?token=abcdefgh&x=1", "abcdefgh"),
    ("password", "//registry.example/:_authToken=ab12cd34", "ab12cd34"),
    ("password", "mysql --password hunter2", "hunter2"),
    ("password", "tool --api-key=ab12cd34", "ab12cd34"),
    ("password", "DB_PASS=swordfish", "swordfish"),
    ("password", "  12→export STRIPE_KEY='abcdef123456'", "abcdef123456"),
    ("password", "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("password", "machine x login ada password hunter2", "hunter2"),
    ("password", "Server=db;Uid=sa;Pwd=hunter2;", "hunter2"),
]

HARMLESS = [
    "password = os.environ['DB_PASSWORD']",
    "password=password, user=user",
    "connect(host, password=db_password)",
    "token = get_token(request)",
    "token: string;",
    "password: str",
    "secret: Secret | None = None",
    "const token = tokens[0];",
    "max_tokens=4096, total_tokens: 123456",
    '"max_tokens": 4096',
    "The token: a piece of text.",
    "if password == expected:",
    'type="password" placeholder="Enter your password"',
    "PASSWORD=$DB_PASSWORD",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "API_KEY=<your key>",
    "API_KEY=sk-...",
    "password=********",
    "KEYBOARD=us",
    "PRIMARY_KEY=id",
    "SSH_AUTH_SOCK=/run/user/1000/keyring/ssh",
    "PWD=/home/ada/service",
    "https://example.com:8080/path?key=value",
    "ssh://git@github.com/a/b.git",
    "postgres://app:${PASSWORD}@db/app",
    "Bearer authentication is used",
    "basic understanding of basic authorization",
    "git log 3f786850e387550fdab836ed7e6dc881de23001b",
    "01a22ff0-130e-75b9-823e-c6d33c72a1bd",
    "sk-loading-spinner-inner-circle-animation",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----",
    "credentials: 'same-origin'",
    "fetchToken(secretName)",
    "secret = sha256(data)",
    "token = v2[0]",
    "`token` and `password` are required",
]


@pytest.mark.parametrize(("kind", "written", "secret"), SECRETS)
def test_a_secret_is_replaced_by_its_kind(kind: str, written: str, secret: str) -> None:
    counter: Counter[str] = Counter()
    replaced = replace_secrets(written, counter)
    assert secret not in replaced
    assert f"[redacted:{kind}]" in replaced
    assert counter[kind] == 1


@pytest.mark.parametrize("written", HARMLESS)
def test_what_is_no_secret_stays(written: str) -> None:
    counter: Counter[str] = Counter()
    assert replace_secrets(written, counter) == written
    assert not counter


@given(st.lists(st.sampled_from([written for _, written, _ in SECRETS] + HARMLESS) | st.text(max_size=9), max_size=5))
def test_what_was_redacted_has_nothing_left_to_redact(texts: list[str]) -> None:
    once = replace_secrets("\n".join(texts), Counter())
    again: Counter[str] = Counter()
    assert replace_secrets(once, again) == once
    assert not again


@pytest.mark.parametrize(
    "unit", ["-----BEGIN PRIVATE KEY-----", "a_", "curl ", "password=", "eyJ", "a://", "A_", "x:", "-u "]
)
def test_long_texts_take_no_more_than_their_length(unit: str) -> None:
    # Were any shape quadratic in the text, this would not end in an hour.
    assert len(replace_secrets(unit * (2_000_000 // len(unit)), Counter())) > 0


def entry(**message: Any) -> bytes:
    return json.dumps({"type": "message", "id": "e1", "parentId": None, "message": message}).encode()


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "x " + GITHUB},
        {"role": "user", "content": [{"type": "text", "text": GITHUB}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": GITHUB}]},
        {"role": "assistant", "content": [call("c", "bash", command=f"echo {GITHUB}")]},
        {"role": "assistant", "content": [call("c", "bash", id=GITHUB)]},
        {"role": "assistant", "content": [call("c", "x", deep=[[{"a": [GITHUB]}]])]},
        {"role": "toolResult", "content": [], "details": {"id": GITHUB}},
        {"role": "bashExecution", "command": "env", "output": f"A={GITHUB}\n"},
    ],
)
def test_secrets_are_found_wherever_an_entry_has_text(message: dict[str, Any]) -> None:
    redactor = Redactor()
    line = redactor.line(entry(**message))
    assert GITHUB.encode() not in line
    assert redactor.redactions == [Redaction("github-token", 1, ("e1",))]
    assert json.loads(line.replace(b"[redacted:github-token]", GITHUB.encode())) == json.loads(entry(**message))


def test_an_escape_hides_nothing() -> None:
    raw = entry(role="user", content="@").replace(b"@", "".join(f"\\u{ord(c):04x}" for c in GITHUB).encode())
    assert b"[redacted:github-token]" in Redactor().line(raw)


def test_a_field_that_is_called_like_a_secret_is_one_whatever_it_looks_like() -> None:
    line = Redactor().line(entry(role="assistant", content=[call("c", "login", user="ada", password="correcthorse")]))
    arguments = json.loads(line)["message"]["content"][0]["arguments"]
    assert arguments == {"user": "ada", "password": "[redacted:password]"}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "", "thinkingSignature": GITHUB},
        {"type": "text", "text": "x", "textSignature": GITHUB},
        {"type": "toolCall", "id": GITHUB, "name": "x", "arguments": {}, "thoughtSignature": GITHUB},
        {"type": "reasoning", "encrypted_content": GITHUB},
        {"type": "image", "mimeType": "image/png", "data": GITHUB},
    ],
)
def test_what_is_signed_encrypted_an_id_or_an_image_stays_whole(block: dict[str, Any]) -> None:
    raw = entry(role="assistant", content=[block])
    redactor = Redactor()
    assert redactor.line(raw) is raw
    assert redactor.redactions == []


def test_an_entry_of_any_depth_is_looked_through() -> None:
    depth = 20_000
    raw = b'{"type":"custom","id":"d","data":' + b"[" * depth + json.dumps(GITHUB).encode() + b"]" * depth + b"}"
    line = Redactor().line(raw)
    assert line == raw.replace(GITHUB.encode(), b"[redacted:github-token]")


@pytest.mark.parametrize("form", ["markdown", "html", "jsonl"])
@pytest.mark.parametrize("scope", ["path", "tree"])
def test_no_form_lets_a_secret_through_and_each_says_what_it_replaced(form: Any, scope: Any) -> None:
    log = Log()
    asked = log.user(f"use {GITHUB}")
    log.answer(text("ok"), call("c", "bash", command=f"curl -H 'Authorization: Bearer {JWT}' x"))
    log.result("c", "bash", [text(AWS)])
    log.add("compaction", summary=f"They use {GITHUB}", tokensBefore=1, firstKeptEntryId=asked)
    log.add("branch_summary", fromId="root", summary=AWS)
    label = log.add("label", targetId=asked, label=GITHUB)
    log.add("session_info", name=f"Session with {GITHUB}")
    exported = anyio.run(lambda: export(log.session(), form, scope=scope, redact=True))
    for secret in (GITHUB, JWT, AWS):
        assert secret.encode() not in exported.content.replace(b"\\", b"")
        assert secret not in repr(exported.redactions)
        assert secret.lower() not in exported.file_name
    found = {redaction.kind: redaction for redaction in exported.redactions}
    assert set(found) == {"github-token", "jwt", "aws-access-key"}
    assert {asked, label} <= set(found["github-token"].entry_ids)
    assert [found[kind].count for kind in ("github-token", "jwt", "aws-access-key")] == [4, 1, 2]
