"""Writes what is derived from the protocol's types: JSON Schema, TypeScript, Lua annotations, parts of `protocol.md`.

python -m piserver.protocol.generate            write them
python -m piserver.protocol.generate --check    exit 1 if one of them is not current
"""
