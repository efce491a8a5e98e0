"""What keys, tokens and passwords look like in text.

Each shape is a regular expression without nested repetition, so that its time is linear in the text but for a small
factor. A group named `secret` is what is replaced; without one it is the whole match.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass

Match = re.Match[str]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. A text in which none of `hints` stands (in any case of letters) is not searched."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[Match], bool] = lambda match: True


def _token(kind: str, hint: str | tuple[str, ...], pattern: str) -> Shape:
    """A token that is known by its beginning."""
    hints = (hint,) if isinstance(hint, str) else hint
    return Shape(kind, tuple(h.lower() for h in hints), re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})"))


def secret_group(match: Match) -> int | str:
    """The group that holds the secret."""
    return "secret" if "secret" in match.re.groupindex else 0


# Values that stand where a secret would, but are none: placeholders, references, types, words of the language.
_STAND_IN = re.compile(
    r"""\[redacted:|[$%{<(\[&]|\*+$|x{3,}$|\.{2,}|…|(?:your|my|some|example|dummy|fake)[-_\s]|
    (?:none|null|nil|undefined|true|false|str|string|secretstr|text|bytes|int|number|bool|boolean|any|object|optional|
    required|password|passwd|passphrase|secret|token|api[-_]?key|changeme|redacted|hidden|masked|example|placeholder)
    (?![A-Za-z0-9])|(?:process|os|config|settings|self|this|args|options|params|env|secrets|import)\.[A-Za-z_]""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME = r"""(?P<name>pass(?:word|wd|phrase)|secret|token|x-amz-signature|
    (?:api|access|secret|private|auth|encryption|signing|master|account|service|storage|subscription)[_-]?key)"""
_FIELD = re.compile(_NAME + "$", re.IGNORECASE | re.VERBOSE)
_WORDS = re.compile(r"[A-Za-z_]+(?:[.-][A-Za-z_]+)*$")


def is_secret_field(name: str, value: str) -> bool:
    """Whether a string that is called `name` in an object is a secret, whatever it looks like."""
    return _FIELD.search(name) is not None and _is_value(value)


def _is_value(value: str) -> bool:
    """Whether a string that is given to such a name can be a secret: no placeholder, no sentence, no other name."""
    stands_in = _STAND_IN.match(value) or value.endswith("...") or _FIELD.search(value)
    return len(value) >= 4 and not re.search(r"\s", value) and not stands_in


def _is_quoted_value(match: Match) -> bool:
    value = match["secret"]
    return _is_value(re.sub(r"\s", "-", value) if match["name"].lower() == "passphrase" else value)


def _is_bare_value(match: Match) -> bool:
    """Whether a value without quotes is one, and not code: a call, a variable, a type, a count of tokens."""
    value, name, text = match["secret"], match["name"].lower(), match.string
    follows = text[match.end() : match.end() + 1]
    if not _is_value(value) or follows in ("(", "[", "{") or (name == "token" and value.isdigit()):
        return False
    if not _WORDS.match(value):
        return True
    if len(value) < 6 or "." in value:
        return False
    if match["sign"] == "=":  # and no space around it: a query, a command's option, a connection string
        return follows not in (")", ",") and (value.islower() or len(value) >= 16)
    before = text[max(0, match.start() - 80) : match.start()].rpartition("\n")[2]
    behind = text[match.end() : match.end() + 80].partition("\n")[0]
    # The only thing said on its line, as in YAML.
    return (
        name[:4] == "pass" and value.islower() and re.fullmatch(r"[\s\w\"'+.-]*", before + behind.strip()) is not None
    )


def _is_environment_value(match: Match) -> bool:
    value, name = match["secret"].strip("\"'"), match["name"]
    if (
        _STAND_IN.match(value)
        or value.endswith("...")
        or value[:1] in "/.~"
        or "PUBLIC" in name
        or re.match(r"[a-z+]+://", value)
    ):
        return False
    if re.search(r"(?:^|_)(?:TOKEN|SECRET|PASS|PASSWORD|PASSWD|PWD|PASSPHRASE)(?:_|$)", name):
        return len(value) >= 4
    return len(value) >= 12 and re.search(r"\d", value) is not None


def _is_basic(match: Match) -> bool:
    """Whether what follows `Basic` is a name and a password in base64."""
    value = match["secret"].rstrip("=")
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False


def _is_no_stand_in(match: Match) -> bool:
    return not _STAND_IN.match(match["secret"])


def _is_option_value(match: Match) -> bool:
    return not _STAND_IN.match(match["secret"]) and not _WORDS.match(match["secret"])


_NAME_HINTS = ("pass", "secret", "token", "key", "x-amz-signature")

SHAPES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        ("private key",),
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:(?!-----)[\s\S])*-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            # cut off before its end: lines of base64
            r"|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,})*)"
        ),
    ),
    _token("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _token("github-token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _token("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _token("gitlab-token", "gl", r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{20,300}"),
    _token("slack-token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,300}"),
    _token("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,300}"),
    _token(
        "slack-webhook", "hooks.slack.com", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,200}"
    ),
    _token("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,300}"),
    _token("openrouter-key", "sk-or-", r"sk-or-v\d-[A-Za-z0-9]{32,200}"),
    _token("openai-key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,300}"),
    _token("openai-key", "sk-", r"sk-[A-Za-z0-9]{32,200}(?![A-Za-z0-9])"),
    _token("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _token("google-token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,2000}"),
    _token("google-client-secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,100}"),
    _token("stripe-key", ("k_live_", "k_test_", "whsec_"), r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,300}"),
    _token("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _token("pypi-token", "pypi-", r"pypi-[A-Za-z0-9_-]{50,500}"),
    _token("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,100}"),
    _token("xai-key", "xai-", r"xai-[A-Za-z0-9]{40,200}"),
    _token("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,100}"),
    _token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,100}"),
    _token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _token("sendgrid-key", "sg.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _token("telegram-token", ":aa", r"\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _token("digitalocean-token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _token("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?![a-f0-9])"),
    _token("vault-token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    _token("shopify-token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _token("docker-token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,100}"),
    _token("atlassian-token", "atatt3", r"ATATT3[A-Za-z0-9_=-]{50,400}"),
    _token("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,100}"),
    _token("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _token("jwt", "eyj", r"eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,4000}){1,3}"),
    Shape(
        "authorization",
        ("bearer",),
        re.compile(r"(?i)\bbearer[ \t]+(?P<secret>(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/-]{12,8000}={0,2})"),
    ),
    Shape(
        "authorization",
        ("basic",),
        re.compile(r"(?i)\bbasic[ \t]+(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})(?![A-Za-z0-9+/])"),
        _is_basic,
    ),
    Shape(
        "authorization",
        ("authorization",),
        re.compile(
            r"""(?i)\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?
            (?:(?:token|digest|apikey|api-key|key|bearer|basic)[ \t]+)?
            (?P<secret>(?!(?:bearer|basic|token|digest|apikey|api-key|key)\b)(?=[^\s"',;]*\d)[^\s"',;$<{\[(]{8,8000})""",
            re.VERBOSE,
        ),
    ),
    Shape(
        "cookie",
        ("cookie",),
        re.compile(r"""(?i)(?:^|(?<=["'\s<>*]))(?:set-)?cookie:[ \t]*(?P<secret>[^\s"'=;]{1,100}=[^\r\n"']{6,4000})"""),
    ),
    Shape(
        "url-password",
        ("://",),
        re.compile(
            r"""(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/:@"'<>`]{0,200}:(?P<secret>[^\s/"'<>`]{1,300})@"""
        ),
        _is_no_stand_in,
    ),
    Shape(
        "url-password",
        ("curl",),
        re.compile(r"""\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?["']?[^\s:"'$]{1,100}:(?P<secret>[^\s"'$]{1,200})"""),
    ),
    Shape(
        "password",
        ("--",),
        re.compile(
            r"""(?i)--(?:[a-z0-9]{1,30}-){0,4}(?:password|passwd|passphrase|token|secret|api-?key)[ ]["']?
            (?P<secret>[^\s"'`,;)\]}-][^\s"'`,;)\]}]{3,500})""",
            re.VERBOSE,
        ),
        _is_option_value,
    ),
    Shape("password", ("login",), re.compile(r"\blogin\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(?P<secret>\S{1,200})")),
    Shape("password", ("pwd",), re.compile(r"(?i);[ \t]*pwd=(?P<secret>[^\s;\"']{1,200})")),
    Shape(
        "password",
        _NAME_HINTS,
        re.compile(
            rf"""(?i){_NAME}\\?["']?[ \t]{{0,4}}(?::[ \t]{{0,4}}[a-z][\w.|]{{0,40}}[ \t]{{1,4}}(?==))?
            (?:=>|:=|=(?!=)|:)[ \t]{{0,4}}(?:[bfru]{{1,2}}(?=["']))?
            \\?(?P<quote>["'`])(?P<secret>(?:(?!\\?(?P=quote))[^\r\n]){{1,2000}})""",
            re.VERBOSE,
        ),
        _is_quoted_value,
    ),
    Shape(
        "password",
        _NAME_HINTS,
        re.compile(
            rf"""(?i){_NAME}["']?(?P<sign>[ \t]{{0,4}}(?:=>|:=|=(?!=)|:)[ \t]{{0,4}})
            (?P<secret>[^\s"'`,;&<>(){{}}\[\]|\\][^\s"'`,;&<>(){{}}\[\]|\\]{{0,2000}})""",
            re.VERBOSE,
        ),
        _is_bare_value,
    ),
    Shape(
        "password",
        ("=",),
        re.compile(
            r"""(?m)^[ \t+]{0,20}(?:\d{1,6}[ \t→|:]{1,4})?(?:(?:export|set)[ \t]{1,4})?
            (?P<name>(?:[A-Z0-9]{1,40}_){0,8}?(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PWD|PASSPHRASE|CREDENTIALS?|AUTH)
            (?:_[A-Z0-9]{1,40}){0,4})=(?P<secret>"[^"\n]{1,2000}"?|'[^'\n]{1,2000}'?|[^\s"'\#][^\s\#]{0,2000})""",
            re.VERBOSE,
        ),
        _is_environment_value,
    ),
)
