"""The protocol as one JSON Schema, made from the types: what every other description of it is written from."""

from __future__ import annotations

import json
import re
from typing import Any, cast, get_args

import msgspec

from piserver.entries.types import AnyDraft
from piserver.protocol.base import Params, Shape
from piserver.protocol.capabilities import Capabilities
from piserver.protocol.errors import ErrorKind
from piserver.protocol.registry import METHODS, NOTIFICATIONS, PROTOCOL_VERSION
from piserver.protocol.settings import Settings
from piserver.session import Durability, Filter
from piserver.storage.repair import StepKind
from piserver.tree import DiagnosticKind

Schema = dict[str, Any]

REF = "#/$defs/"


class ErrorData(Shape, kw_only=True):
    """The `data` of an error: its kind, and whether the same request may succeed later without anything being changed.

    Some kinds add fields of their own.
    """

    kind: ErrorKind
    retryable: bool


class RequestParams(Params, kw_only=True):
    """What the parameters of every method may hold besides their own fields; `_meta` is ignored."""

    work_done_token: str | int | msgspec.UnsetType = msgspec.UNSET
    partial_result_token: str | int | msgspec.UnsetType = msgspec.UNSET
    meta: Any = msgspec.field(name="_meta", default=msgspec.UNSET)


_NAMED: dict[str, Any] = {
    "EntryDraft": AnyDraft,
    "Filter": Filter,
    "Durability": Durability,
    "DiagnosticKind": DiagnosticKind,
    "RepairStepKind": StepKind,
    "ErrorKind": ErrorKind,
}
"""Unions that get a name of their own, as they have in Python."""


def build() -> Schema:
    """A JSON Schema (2020-12) document with every type under `$defs`, and beside them which method takes which.

    `methods` maps a name to `{params, result, changes}`, `notifications` a name to `{params}`; the values refer into
    `$defs`. `Settings`, `Capabilities` and `ErrorData` are found by their names.
    """
    types: list[Any] = [RequestParams, Settings, Capabilities, ErrorData]
    for spec in METHODS.values():
        types += [spec.params, spec.result]
    types += NOTIFICATIONS.values()
    _, components = msgspec.json.schema_components(types, ref_template=REF + "{name}")
    named, _ = msgspec.json.schema_components(list(_NAMED.values()), ref_template=REF + "{name}")
    names = dict(zip(_NAMED, named, strict=True))
    definitions: Schema = {name: _in_order(_NAMED[name], union) for name, union in names.items()}
    for name, schema in components.items():
        definitions[name] = _in_wire_words(_with_names(schema, names))
    common = definitions["RequestParams"]["properties"]
    for spec in METHODS.values():
        definitions[spec.params.__name__]["properties"] |= common
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"piserver protocol {PROTOCOL_VERSION}",
        "$comment": "Generated from the types in piserver/protocol by `make types`; not to be edited.",
        "methods": {
            name: {"params": _ref(spec.params), "result": _ref(spec.result), "changes": spec.changes}
            for name, spec in METHODS.items()
        },
        "notifications": {name: {"params": _ref(shape)} for name, shape in NOTIFICATIONS.items()},
        "$defs": definitions,
    }


def referred(schema: Schema) -> str | None:
    """The name of the definition that a schema refers to, if it is a reference."""
    reference = schema.get("$ref")
    return reference.removeprefix(REF) if isinstance(reference, str) else None


def values(schema: Schema) -> Schema:
    """The schema of an object's values where its members are not named; `{}`, any JSON, if it says nothing of them."""
    found = schema.get("additionalProperties")
    return cast("Schema", found) if isinstance(found, dict) else {}


def limits(schema: Schema) -> str:
    """Default and bounds of a field as a sentence without its end; empty if there are none."""
    parts: list[str] = []
    if "default" in schema:
        parts.append(f"default `{json.dumps(schema['default'])}`")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        parts.append(f"at least {low}" if high is None else f"{low} to {high}")
    if "maxItems" in schema:
        parts.append(f"at most {schema['maxItems']}")
    return ", ".join(parts)


def _ref(type: type[msgspec.Struct]) -> Schema:
    return {"$ref": REF + type.__name__}


def _in_order(union: Any, schema: Schema) -> Schema:
    """The words of an enumeration in the order in which Python gives them, which means something."""
    return {"enum": list(get_args(union))} if "enum" in schema else schema


def _with_names(schema: Any, names: Schema) -> Any:
    """The schema with references in the place of unions that have a name."""
    if isinstance(schema, list):
        return [_with_names(item, names) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("Schema", schema)
    bare = {key: value for key, value in members.items() if key != "default"}
    for name, union in names.items():
        if bare == union:
            default = {"default": members["default"]} if "default" in members else {}
            return {"$ref": REF + name} | default
    return {key: _with_names(value, names) for key, value in members.items()}


_PYTHON_WORDS = {"None": "null", "UNSET": "absent"}


def _in_wire_words(schema: Schema) -> Schema:
    """The schema with a description that speaks of fields and values as they are on the wire."""
    text = schema.get("description")
    if not isinstance(text, str):
        return schema
    text = re.sub(r" \([^()]*`piserver\.[^()]*\)", "", text)  # where Python readers are sent
    text = re.sub(r"\b(None|UNSET)\b", lambda word: _PYTHON_WORDS[word[0]], text)
    text = re.sub(r"`[a-z]+(?:_[a-z]+)+`", lambda word: _camel(word[0], schema["properties"]), text)
    return schema | {"description": text}


def _camel(word: str, properties: Schema) -> str:
    camel = re.sub(r"_([a-z])", lambda letter: letter[1].upper(), word)
    return camel if camel.strip("`") in properties else word
