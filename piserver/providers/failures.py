"""Why a request failed, told alike for every vendor.

The SDKs' own error classes and HTTP statuses decide; the text only where they leave it open, since vendors put an
overflow of the context and a spent budget under the same status as other things.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from piserver.providers.base import Failure, FailureKind

RETRYABLE: frozenset[FailureKind] = frozenset({"rate-limit", "overloaded", "server", "network", "timeout", "cut-off"})
"""Failures that may not come again."""

_BY_STATUS: dict[int, FailureKind] = {
    400: "invalid-request",
    401: "auth",
    402: "quota",
    403: "auth",
    404: "invalid-request",
    408: "timeout",
    409: "server",
    413: "overflow",
    422: "invalid-request",
    429: "rate-limit",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    520: "server",
    524: "timeout",
    529: "overloaded",
}

THROTTLED = re.compile(
    r"(?i)rate.?limit|too many requests|throttl|requests per (?:minute|second|day)|tokens per (?:minute|second)"
)
"""Too much in a short time: some of these also speak of tokens and limits, and are no overflow."""

OVERFLOW = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"prompt is too long",
        r"input is too long",
        r"request_too_large",
        r"context[ _]length[ _]exceeded",
        r"exceeds? (?:the|this|its)?(?: model'?s?)? ?(?:maximum )?context (?:window|length|size)",
        r"maximum context length",
        r"(?:larger|longer) than the (?:model'?s )?context",
        r"exceeds the (?:available )?context size",
        r"(?:input|prompt) token count .*exceeds",
        r"maximum (?:prompt|input) length",
        r"reduce the length of the (?:messages|prompt|input)",
        r"too many (?:input )?tokens",
        r"token limit exceeded",
        r"context window exceed",
        r"input length and .?max_tokens.? exceed",
        r"the prompt is too long: [\d,]+ tokens",
    )
)
"""How vendors say that the context is larger than the window."""

_QUOTA = re.compile(
    r"(?i)insufficient_quota|exceeded your current quota|billing|credit balance|out of credits"
    r"|insufficient (?:funds|balance)|usage limit|spending limit|payment required"
)
_OVERLOADED = re.compile(r"(?i)overloaded|server is busy|temporarily unavailable|resource.?exhausted|at capacity")
_NETWORK = re.compile(
    r"(?i)econnreset|econnrefused|enotfound|eai_again|socket hang up|connection (?:error|reset|refused|closed|lost)"
    r"|name resolution|network is unreachable|fetch failed|bad gateway"
)
_TIMEOUT = re.compile(r"(?i)timed? ?out|etimedout|deadline exceeded|gateway time-?out")
_CUT_OFF = re.compile(
    r"(?i)incomplete chunked read|stream ended|premature(?:ly)? (?:close|end)|unexpected end|peer closed"
)
_AGAIN = re.compile(r"(?i)(?:please )?(?:try again|retry)(?: later| in | your request)")
_STATUS = re.compile(r"\b(429|500|502|503|504|520|524|529)\b")

_SECRET = re.compile(r"\b(?:sk|pk|rk|xai|gsk|key|AIza)[-_A-Za-z0-9]{12,}|(?i:bearer\s+)\S+")


def classify(
    text: str, *, status: int | None = None, known: FailureKind | None = None, headers: Mapping[str, str] | None = None
) -> Failure:
    """The failure that a vendor's error is. `known` is what its class says; `headers` may name when to come back."""
    text = without_secrets(text).strip() or "the vendor said nothing"
    kind = _kind(text, status, known)
    return Failure(
        kind=kind,
        message=text[:2000],
        retryable=kind in RETRYABLE,
        retry_after=retry_after(headers or {}),
        status=status,
    )


def _kind(text: str, status: int | None, known: FailureKind | None) -> FailureKind:
    if known in (None, "invalid-request", "rate-limit", "unknown") and _QUOTA.search(text):
        return "quota"
    if known in (None, "invalid-request", "unknown", "server") and is_overflow(text):
        return "overflow"
    if known is not None and known != "unknown":
        return known
    if status is not None:
        by_status = _BY_STATUS.get(status) or (
            "server" if status >= 500 else "invalid-request" if status >= 400 else None
        )
        if by_status is not None:
            return by_status
    return _by_text(text)


def _by_text(text: str) -> FailureKind:
    if THROTTLED.search(text):
        return "rate-limit"
    if _OVERLOADED.search(text):
        return "overloaded"
    if _TIMEOUT.search(text):
        return "timeout"
    if _CUT_OFF.search(text):
        return "cut-off"
    if _NETWORK.search(text):
        return "network"
    found = _STATUS.search(text)
    if found:
        return _BY_STATUS[int(found[1])]
    return "server" if _AGAIN.search(text) else "unknown"


def is_overflow(text: str) -> bool:
    """Whether an error's text says that the context is larger than the model's window."""
    return not THROTTLED.search(text) and any(pattern.search(text) for pattern in OVERFLOW)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds after which the vendor wants to be asked again: `retry-after-ms`, else `retry-after` in either form."""
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after-ms" in lower:
            return max(0.0, float(lower["retry-after-ms"]) / 1000)
        value = lower.get("retry-after")
        if value is None:
            return None
        try:
            return max(0.0, float(value))
        except ValueError:
            then = parsedate_to_datetime(value)
            return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError):
        return None


def without_secrets(text: str) -> str:
    """`text` with what looks like a key replaced: some vendors repeat the key that they refuse."""
    return _SECRET.sub("(key)", text)
