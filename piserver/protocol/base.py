"""What all wire types have in common.

Names are snake_case here and camelCase on the wire. A field that may be absent is `X | UnsetType = UNSET` and is left
out when unset; a field that may be null is `X | None` and is sent as null. JSON that passes through unread is
`msgspec.Raw` in results and `Any` in parameters.
"""

import msgspec

__all__ = ["Empty", "Params", "Shape"]


class Params(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """Base of everything that clients send: fields that we do not know are refused, so that typing errors surface."""


class Shape(msgspec.Struct, rename="camel", kw_only=True):
    """Base of everything that the server sends: results, notifications and their parts."""


class Empty(Params):
    """The parameters of a method that has none."""
