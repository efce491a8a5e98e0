"""Lua annotations (LuaCATS) from the schema, for Neovim's language server client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from piserver.protocol.registry import PROTOCOL_VERSION
from piserver.protocol.schema import Schema, limits, referred, values

_HEADER = """\
-- The types of the piserver protocol. Generated from piserver/protocol by `make types`; not to be edited.
"""
_PLAIN = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "nil"}


def write(schema: Schema) -> str:
    """A module with a class for each object and an alias for each union, all named `piserver.…`.

    Neovim decodes a null member as absent, so what is received as null is optional here; what is sent as null is
    `vim.NIL`.
    """
    sent = _reachable(schema, [method["params"] for method in schema["methods"].values()])
    own = {referred(method["params"]) for method in schema["methods"].values()}
    common = schema["$defs"]["RequestParams"]["properties"]
    parts = [_HEADER]
    for name, definition in schema["$defs"].items():
        parts.append("".join(_definition(name, definition, name in sent, common if name in own else {})))
    methods = [
        f"---@field ['{name}'] fun(params: {_type(method['params'], True)}): {_type(method['result'], False)}\n"
        for name, method in schema["methods"].items()
    ]
    parts.append("--- Every request, by its method.\n---@class piserver.Methods\n" + "".join(methods))
    notifications = [
        f"---@field ['{name}'] {_type(notification['params'], False)}\n"
        for name, notification in schema["notifications"].items()
    ]
    parts.append(
        "--- Every notification from the server, by its method.\n---@class piserver.Notifications\n"
        + "".join(notifications)
    )
    parts.append(f"return {{ version = {PROTOCOL_VERSION} }}\n")
    return "\n".join(parts)


def _reachable(schema: Schema, roots: list[Schema]) -> set[str]:
    """Names of the definitions that can occur inside some schemas."""
    found: set[str] = set()
    waiting: list[object] = list(roots)
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            members = cast("Schema", item)
            name = referred(members)
            if name is not None and name not in found:
                found.add(name)
                waiting.append(schema["$defs"][name])
            waiting += members.values()
        elif isinstance(item, list):
            waiting += cast("list[object]", item)
    return found


def _definition(name: str, schema: Schema, sent: bool, common: Schema) -> Iterator[str]:
    if text := schema.get("description"):
        yield "".join(f"--- {line}".rstrip() + "\n" for line in text.split("\n"))
    if "properties" not in schema:
        yield f"---@alias piserver.{name} {_type(schema, sent)}\n"
        return
    yield f"---@class piserver.{name}{': piserver.RequestParams' if common else ''}\n"
    required = set(schema.get("required", ()))
    for field, member in schema["properties"].items():
        if field not in common:
            optional = field not in required or (not sent and _may_be_null(member))
            yield f"---@field {field}{'?' if optional else ''} {_type(member, sent)} {limits(member)}".rstrip() + "\n"


def _may_be_null(schema: Schema) -> bool:
    return schema.get("type") == "null" or any(map(_may_be_null, schema.get("anyOf", ())))


def _type(schema: Schema, sent: bool) -> str:
    if (name := referred(schema)) is not None:
        return f"piserver.{name}"
    if "enum" in schema:
        return "|".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if sent or not _may_be_null(option)]
        return "|".join("vim.NIL" if _may_be_null(option) else _type(option, sent) for option in options)
    match schema.get("type"):
        case "array":
            item = _type(schema.get("items", {}), sent)
            return f"({item})[]" if "|" in item else f"{item}[]"
        case "object":
            return f"table<string, {_type(values(schema), sent)}>"
        case str(plain):
            return _PLAIN[plain]
        case _:
            return "any"
