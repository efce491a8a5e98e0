r"""Messages of the server as typed values.

msgspec reads them in one go. What it refuses although a session file may hold it (strings with lone surrogates, which
come as `\ud83d` escapes, ill-formed UTF-8, deep nesting) is read by the slower reader that is used for such files.
"""

from typing import Any, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from piserver.entries import json
from piserver.protocol.encoding import encode

__all__ = ["ErrorObject", "Message", "decode", "decode_message"]

T = TypeVar("T")


class ErrorObject(Struct):
    """A JSON-RPC error."""

    code: int
    message: str
    data: Any = None


class Message(Struct):
    """The envelope of a reply (`result` or `error`), a notification (`method`), or a request (`method` and `id`)."""

    id: int | str | None | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


def decode_message(body: bytes) -> Message:
    """One message's envelope; what is inside stays raw. Raises msgspec.ValidationError or `JSONError`."""
    return decode(body, Message)


def decode(data: bytes | Raw, wanted: type[T]) -> T:
    """The value of a JSON text as `wanted`.

    `msgspec.Raw` fields hold the bytes as they came where msgspec can read the text, else the same value written anew.
    Raises msgspec.ValidationError for a value of another type, `JSONError` for what is no JSON.
    """
    try:
        return msgspec.json.decode(data, type=wanted)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError):
        value: Any = json.loads(bytes(data))
    return msgspec.convert(_with_raw(value, wanted), wanted)


def _with_raw(value: Any, wanted: Any) -> Any:
    """The value with everything that is wanted raw written as JSON again: `convert` takes Raw for Raw only."""
    if wanted is Raw:
        return _written(value)
    origin, arguments = get_origin(wanted), get_args(wanted)
    if isinstance(value, dict) and isinstance(wanted, type) and issubclass(wanted, Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(wanted)}
        return {name: _with_raw(item, fields.get(name)) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list) and origin is list:
        return [_with_raw(item, arguments[0]) for item in cast("list[Any]", value)]
    if origin is not None and UnsetType in arguments:
        return _with_raw(value, next(argument for argument in arguments if argument is not UnsetType))
    return cast("Any", value)


def _written(value: Any) -> Raw:
    try:
        return Raw(encode(value))
    except RecursionError:
        return Raw(json.dumps(value))
