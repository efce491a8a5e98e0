"""TypeScript types from the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from piserver.protocol.registry import PROTOCOL_VERSION
from piserver.protocol.schema import Schema, limits, referred, values

_HEADER = f"""\
// The types of the piserver protocol. Generated from piserver/protocol by `make types`; not to be edited.

export const PROTOCOL_VERSION = {PROTOCOL_VERSION};
"""
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def write(schema: Schema) -> str:
    """A module with an interface for each object, a type for each union, and maps of methods and notifications.

    An absent member is `?`, a null one `| null`. What may be any JSON is `unknown`.
    """
    own = {referred(method["params"]) for method in schema["methods"].values()}
    common = schema["$defs"]["RequestParams"]["properties"]
    parts = [_HEADER]
    for name, definition in schema["$defs"].items():
        parts.append("".join(_definition(name, definition, common if name in own else {})))
    parts.append(_map("Methods", "Every request, by its method.", [*_methods(schema)]))
    parts.append(_map("Notifications", "Every notification from the server, by its method.", [*_notifications(schema)]))
    return "\n".join(parts)


def _methods(schema: Schema) -> Iterator[str]:
    for name, method in schema["methods"].items():
        yield f'"{name}": {{ params: {_type(method["params"])}; result: {_type(method["result"])} }};'


def _notifications(schema: Schema) -> Iterator[str]:
    for name, notification in schema["notifications"].items():
        yield f'"{name}": {_type(notification["params"])};'


def _map(name: str, text: str, lines: list[str]) -> str:
    return f"/** {text} */\nexport interface {name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _definition(name: str, schema: Schema, common: Schema) -> Iterator[str]:
    yield _comment(schema.get("description"), "")
    if "properties" not in schema:
        yield f"export type {name} = {_type(schema)};\n"
        return
    if not schema["properties"]:
        yield f"export type {name} = Record<string, never>;\n"
        return
    yield f"export interface {name}{' extends RequestParams' if common else ''} {{\n"
    required = set(schema.get("required", ()))
    for field, member in schema["properties"].items():
        if field in common:
            continue
        yield _comment(limits(member), "  ")
        yield f"  {field}{'' if field in required else '?'}: {_type(member)};\n"
    yield "}\n"


def _type(schema: Schema) -> str:
    if (name := referred(schema)) is not None:
        return name
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type(option) for option in schema["anyOf"])
    match schema.get("type"):
        case "array":
            item = _type(schema.get("items", {}))
            return f"({item})[]" if "|" in item else f"{item}[]"
        case "object":
            return f"Record<string, {_type(values(schema))}>"
        case str(plain):
            return _PLAIN[plain]
        case _:
            return "unknown"


def _comment(text: Any, indent: str) -> str:
    if not text:
        return ""
    lines = re.sub(r"\*/", "* /", str(text)).split("\n")
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines) + f"{indent} */\n"
