"""From the bytes of one message to its checked JSON-RPC envelope, or to the error that answers it.

Every malformed message must get an answer, with its id wherever that can be found.
"""

import json
import re
from typing import Any, cast

import msgspec
import orjson

from piserver.entries.json import JSONError, loads, non_finite
from piserver.protocol.errors import INVALID_PARAMS, RequestError
from piserver.server.framing import sniff_id
from piserver.server.progress import ProgressToken

__all__ = ["INVALID_REQUEST", "PARSE_ERROR", "Id", "MessageError", "invalid_params", "open_envelope", "take_params"]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600

Id = int | str


class MessageError(Exception):
    """A message that cannot be dispatched, and how to answer it. `id` is None where none could be found."""

    def __init__(self, id: Id | None, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.id = id
        self.code = code
        self.message = message
        self.data = data


def open_envelope(body: bytes) -> dict[str, Any]:
    """Reads one message: a request or notification (`method` is a string), or a reply (`result` or `error` instead).

    An `id` beside `method` is a string or an integer. `params` is not looked at. Raises MessageError.
    """
    try:
        message: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        message = _loads_carefully(body)
    if type(message) is not dict:
        what = "batches are not supported" if type(message) is list else "a message must be an object"
        raise MessageError(None, INVALID_REQUEST, f"Invalid request: {what}.")
    envelope = cast("dict[str, Any]", message)
    if envelope.get("jsonrpc") != "2.0":
        raise MessageError(_id_of(envelope), INVALID_REQUEST, 'Invalid request: "jsonrpc" must be "2.0".')
    if "method" not in envelope:
        if "result" in envelope or "error" in envelope:
            return envelope
        raise MessageError(_id_of(envelope), INVALID_REQUEST, 'Invalid request: "method" is missing.')
    if type(envelope["method"]) is not str:
        raise MessageError(_id_of(envelope), INVALID_REQUEST, 'Invalid request: "method" must be a string.')
    if "id" in envelope and _id_of(envelope) is None:
        raise MessageError(None, INVALID_REQUEST, 'Invalid request: "id" must be a string or an integer.')
    return envelope


def take_params(params: Any) -> tuple[dict[str, Any], ProgressToken | None, ProgressToken | None]:
    """The parameters as an object, and taken out of it what belongs to the protocol.

    Returns `(params, workDoneToken, partialResultToken)`; `_meta` is dropped. Missing parameters, null, `[]` and
    `[null]` are what clients send for "none". Raises RequestError (invalid-params).
    """
    if params is None or params == [] or params == [None]:
        return {}, None, None
    if type(params) is not dict:
        raise RequestError("invalid-params", "The parameters must be an object.")
    fields = cast("dict[str, Any]", params)
    fields.pop("_meta", None)
    tokens = fields.pop("workDoneToken", None), fields.pop("partialResultToken", None)
    for name, token in zip(("workDoneToken", "partialResultToken"), tokens, strict=True):
        if type(token) not in (int, str, type(None)):
            data = {"path": name, "field": name}
            raise RequestError("invalid-params", f"`{name}` must be a string or an integer.", data=data)
    return fields, *tokens


_PLACE = re.compile(r"^(.*?)(?: - at `(.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"(?:unknown|required) field `(.*)`$", re.DOTALL)
_LAST = re.compile(r"([^.\[\]]+)(?:\[[^\]]*\])*$")


def invalid_params(error: msgspec.ValidationError) -> RequestError:
    """The validation error in the client's terms: `data.path` leads to the fault, `data.field` is the field's name."""
    place = _PLACE.match(str(error))
    text, path = (place[1], (place[2] or "").removeprefix("$").removeprefix(".")) if place else (str(error), "")
    if named := _FIELD.search(text):
        path = f"{path}.{named[1]}" if path else named[1]
    data: dict[str, Any] = {"path": path} if path else {}
    if named:
        data["field"] = named[1]
    elif last := _LAST.search(path):
        data["field"] = last[1]
    return RequestError("invalid-params", f"{text} (at `{path}`)." if path and not named else f"{text}.", data=data)


def _id_of(envelope: dict[str, Any]) -> Id | None:
    id = envelope.get("id")
    return id if type(id) is int or type(id) is str else None


def _loads_carefully(body: bytes) -> Any:
    """What the fast parser refuses and yet may be JSON; tells broken text from numbers that JSON does not have."""
    try:
        body.decode()
    except UnicodeDecodeError:
        raise MessageError(None, PARSE_ERROR, "Parse error: the message is not UTF-8.") from None
    try:
        value = loads(body)
    except JSONError as error:
        if (value := _with_constants(body)) is None:
            raise MessageError(None, PARSE_ERROR, f"Parse error: {error}") from None
    except RecursionError:
        raise MessageError(sniff_id(body[:1024]), PARSE_ERROR, "Parse error: nested too deeply.") from None
    else:
        if not non_finite(value):
            return value
    id = _id_of(cast("dict[str, Any]", value)) if type(value) is dict else None
    error = RequestError("invalid-params", "The message holds a number that JSON does not have (NaN or an infinity).")
    raise MessageError(id, INVALID_PARAMS, error.message, error.wire_data())


def _with_constants(body: bytes) -> Any:
    """The value of a text that is JSON but for `NaN` and `Infinity`; None if it is not even that."""
    try:
        return json.loads(body.decode())  # bytes would be searched for other encodings
    except (ValueError, RecursionError):
        return None
