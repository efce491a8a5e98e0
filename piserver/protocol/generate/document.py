"""The generated parts of `protocol.md`: tables of fields, and the fingerprint of the schema.

A part stands between `<!-- generated: WHAT -->` and `<!-- end -->`, where WHAT is `params METHOD`, `result METHOD`,
`notification METHOD`, `type NAME`, or `types` for all types that have no part of their own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter

from piserver.protocol.registry import PROTOCOL_VERSION
from piserver.protocol.schema import Schema, limits, referred, values

_PART = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_FINGERPRINT = re.compile(r"<!-- piserver protocol \d+, fingerprint: .*? -->")


def fingerprint(schema_text: str) -> str:
    """The comment that ties the document to a schema."""
    digest = hashlib.sha256(schema_text.encode()).hexdigest()[:16]
    return f"<!-- piserver protocol {PROTOCOL_VERSION}, fingerprint: {digest} -->"


def fingerprint_of(text: str) -> str:
    """The comment that a document carries; empty if it carries none."""
    found = _FINGERPRINT.search(text)
    return found[0] if found else ""


def refresh(text: str, schema: Schema, schema_text: str) -> str:
    """The document with its generated parts written anew. Raises KeyError for a part that names nothing we have."""
    text = _FINGERPRINT.sub(fingerprint(schema_text), text, count=1)
    inline = _inline(schema)
    own = {part[2].removeprefix("type ") for part in _PART.finditer(text) if part[2].startswith("type ")}
    return _PART.sub(lambda part: f"{part[1]}{_part(part[2], schema, inline, own)}\n{part[3]}", text)


def _inline(schema: Schema) -> set[str]:
    """The types that are described where their only method is: parameters, and results that no other method has."""
    results = Counter(referred(method["result"]) for method in schema["methods"].values())
    found = {str(name) for name, count in results.items() if count == 1}
    found |= {str(referred(item["params"])) for item in schema["methods"].values()}
    found |= {str(referred(item["params"])) for item in schema["notifications"].values()}
    return found | {"RequestParams"}


def _part(what: str, schema: Schema, inline: set[str], own: set[str]) -> str:
    subject, _, name = what.partition(" ")
    definitions = schema["$defs"]
    match subject:
        case "params":
            definition = definitions[referred(schema["methods"][name]["params"])]
            common = definitions["RequestParams"]["properties"]
            return "Params: " + _fields(definition, set(common))
        case "result":
            result = str(referred(schema["methods"][name]["result"]))
            if not definitions[result]["properties"]:
                return "Result: `{}`."
            return (
                f"Result: {_fields(definitions[result])}"
                if result in inline
                else f"Result: [{result}](#{result.lower()})."
            )
        case "notification":
            return _fields(definitions[referred(schema["notifications"][name]["params"])])
        case "type":
            return _fields(definitions[name])
        case "types":
            rest = sorted(definitions.keys() - inline - own - {"Empty"})
            return "\n\n".join(f"#### {name}\n\n{_fields(definitions[name])}" for name in rest)
        case _:
            raise KeyError(what)


def _fields(schema: Schema, but: set[str] | None = None) -> str:
    """The description and a table of the fields; `?` marks those that may be absent. Of a union, what is in it."""
    if "properties" not in schema:
        return _type(schema)
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}{'' if name in required else '?'}`", _type(member), limits(member))
        for name, member in schema["properties"].items()
        if name not in (but or ())
    ]
    noted = any(notes for _, _, notes in rows)
    table = ["| field | type |" + (" |" if noted else ""), "| --- | --- |" + (" --- |" if noted else "")]
    table += [f"| {name} | {kind} |" + (f" {notes} |" if noted else "") for name, kind, notes in rows]
    return schema["description"] + "\n\n" + "\n".join(table)


def _type(schema: Schema) -> str:
    if (name := referred(schema)) is not None:
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return " \\| ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " \\| ".join(_type(option) for option in schema["anyOf"])
    match schema.get("type"):
        case "array":
            return f"array of {_type(schema.get('items', {}))}"
        case "object":
            return f"object of {_type(values(schema))}" if values(schema) else "object"
        case str(plain):
            return plain
        case _:
            return "any JSON"
