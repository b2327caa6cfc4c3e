"""Which JSON schemas each vendor takes for structured output, written from their documentation; and a reply that fits one.

Anthropic: https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
OpenAI:    https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas
Gemini:    https://ai.google.dev/gemini-api/docs/structured-output (responseJsonSchema)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_COMMON = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "description",
    "$defs",
    "$ref",
}
KEYWORDS = {
    "anthropic": _COMMON | {"const", "allOf", "format", "title"},
    "openai": _COMMON | {"const", "title"},
    "gemini": _COMMON - {"$defs", "$ref"}
    | {"title", "format", "minItems", "maxItems", "minimum", "maximum", "prefixItems"},
}
_OPTIONAL, _UNIONS = 24, 16  # Anthropic's limits on optional properties and on properties with several types
_PROPERTIES, _ENUM_VALUES, _DEPTH = 5000, 1000, 10  # OpenAI's limits


def parts(schema: Schema, depth: int = 1) -> Iterator[tuple[Schema, int]]:
    """Yield a schema and all schemas within, each with its depth of objects."""
    yield schema, depth
    below = depth + (schema.get("type") == "object")
    for child in schema.get("properties", {}).values():
        yield from parts(child, below)
    for child in schema.get("anyOf", []):
        yield from parts(child, depth)
    if isinstance(schema.get("items"), dict):
        yield from parts(schema["items"], depth)


def problem(schema: object, vendor: str) -> str:
    """Return a vendor's objection to a schema; empty if it accepts it."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"'"
    found = list(parts(schema))
    for part, _ in found:
        complaint = _problem(part, vendor)
        if complaint:
            return complaint
    if vendor == "anthropic":
        return _too_complex(found)
    if vendor == "openai" and max(depth for _, depth in found) > _DEPTH:
        return "nested too deeply"
    properties = sum(len(part.get("properties", {})) for part, _ in found)
    values = sum(len(part.get("enum", [])) for part, _ in found)
    if vendor == "openai" and (properties > _PROPERTIES or values > _ENUM_VALUES):
        return "too many properties or enum values"
    return ""


def _problem(part: Schema, vendor: str) -> str:  # noqa: PLR0911 (one return a rule)
    unknown = set(part) - KEYWORDS[vendor]
    if unknown:
        return "'%s' is not permitted" % min(unknown)
    kinds = part.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not set(kinds) <= _TYPES or not (kinds or "anyOf" in part or "enum" in part):
        return "a schema must have a 'type' key"
    if any(isinstance(value, (dict, list)) for value in part.get("enum", [])):
        return "'enum' must hold strings, numbers, booleans or null"
    if vendor == "gemini" and not all(isinstance(v, (str, int, float)) for v in part.get("enum", [])):
        return "'enum' must hold strings or numbers"
    if "array" in kinds and "items" not in part:
        return "array schema missing items"
    if "object" not in kinds:
        return ""
    if vendor != "gemini" and part.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false"
    names, required = set(part.get("properties", {})), set(part.get("required", []))
    if required - names:
        return "'required' names what is no property"
    if vendor == "openai" and names - required:
        return (
            "'required' is required to be supplied and to be an array including every key in properties. Missing '%s'"
            % (min(names - required))
        )
    return ""


def _too_complex(found: list[tuple[Schema, int]]) -> str:
    optional = sum(len(set(part.get("properties", {})) - set(part.get("required", []))) for part, _ in found)
    unions = sum("anyOf" in part or isinstance(part.get("type"), list) for part, _ in found)
    if optional > _OPTIONAL:
        return "Too many optional parameters (%d)" % optional
    return "Too many parameters with union types (%d)" % unions if unions > _UNIONS else ""


def reply_to(schema: Schema, *, nulls: bool = False) -> Any:  # noqa: ANN401 (what the schema says)
    """Return a reply that fits a schema, of a usual length; with `nulls` null wherever it may stand."""
    options = schema.get("anyOf")
    if options:
        matching = [option for option in options if (option.get("type") == "null") is nulls]
        return reply_to((matching or options)[0], nulls=nulls)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"]
    if kind == "object":
        return {name: reply_to(child, nulls=nulls) for name, child in schema["properties"].items()}
    if kind == "array":
        entry = reply_to(schema["items"], nulls=nulls)
        return list(range(3)) if schema["items"].get("type") == "integer" else [entry] * 3
    return {
        "string": "It says so in so many words, twice.",
        "number": 0.5,
        "integer": 1,
        "boolean": True,
        "null": None,
    }[kind]
