"""Values to JSON for the wire.

msgspec does the work: structs, `msgspec.Raw` as the bytes that they are, NaN and infinities as null. It cannot write
strings with lone surrogates, which come in as the escapes that JavaScript writes for an emoji cut in two; those go out
as the same ASCII escapes, so that a client gets back what it sent.
"""

import json
from collections.abc import Iterable
from typing import Any, cast

import msgspec

__all__ = ["encode"]

_encoder = msgspec.json.Encoder()


def encode(value: object) -> bytes:
    """The value as JSON in UTF-8, compact except for what `msgspec.Raw` brings along.

    Raises TypeError for values that JSON does not have and RecursionError for values that are nested too deeply.
    """
    if type(value) is msgspec.Raw:
        return bytes(value)
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _escaped(value)


def _escaped(value: object) -> bytes:
    """Like `encode`, leaf by leaf: slow, and only for values that hold a lone surrogate somewhere."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, dict):
        return _object(cast("dict[Any, object]", value).items())
    if isinstance(value, list | tuple | set | frozenset):
        return b"[%b]" % b",".join([_escaped(item) for item in cast("Iterable[object]", value)])
    if isinstance(value, msgspec.Struct) and not value.__struct_config__.array_like:
        fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        members: list[tuple[object, object]] = [(name, getattr(value, field)) for name, field in fields]
        if (tag := value.__struct_config__.tag) is not None:
            members.insert(0, (value.__struct_config__.tag_field, tag))
        return _object(members)
    return encode(value) if isinstance(value, msgspec.Raw) else _encoder.encode(value)


def _object(members: Iterable[tuple[Any, object]]) -> bytes:
    pairs = [(key, item) for key, item in members if item is not msgspec.UNSET]
    return b"{%b}" % b",".join([b"%b:%b" % (_key(key), _escaped(item)) for key, item in pairs])


def _key(key: object) -> bytes:
    if isinstance(key, str):
        return _string(key)
    return _encoder.encode({key: None})[1:-6]  # numbers and the like become strings: {"1":null} -> "1"


def _string(text: str) -> bytes:
    try:
        return _encoder.encode(text)
    except UnicodeEncodeError:
        return json.dumps(text).encode()
