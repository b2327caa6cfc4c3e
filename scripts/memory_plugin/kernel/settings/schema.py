"""The schema of the settings: the keys, whether a value fits its key, and whether a project may set it."""

from __future__ import annotations

from ..fastjson import dumps, loads
from .values import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
_NAMES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list of texts",
    "object": "a block of keys",
}
_MAX_SHOWN = 24
_MAX_CHOICES = 12


def fits(rule: dict[str, Any], value: object) -> bool:
    """Return whether a value has the type, range, choice and format of its key."""
    if not isinstance(value, _TYPES[rule["type"]]) or (isinstance(value, bool) and rule["type"] != "boolean"):
        return False
    if "enum" in rule:
        return value in rule["enum"]
    if isinstance(value, (int, float)):
        return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))
    if isinstance(value, str):
        return _text_fits(rule, value)
    if isinstance(value, list):
        return rule.get("minItems", 0) <= len(value) <= rule["maxItems"] and all(
            fits(rule["items"], item) for item in value
        )
    return not isinstance(value, dict) or "propertyNames" not in rule or _names_fit(rule, value)


def _names_fit(rule: dict[str, Any], value: dict[str, Any]) -> bool:
    """Return whether a block whose names the user chooses is not too large, and all its names and values are valid."""
    return len(value) <= rule["maxProperties"] and all(
        fits(rule["propertyNames"], name) and fits(rule["additionalProperties"], item)
        for name, item in value.items()
    )


def _text_fits(rule: dict[str, Any], value: str) -> bool:
    if not rule.get("minLength", 0) <= len(value) <= rule["maxLength"] or not value.isprintable():
        return False
    form = rule.get("format")
    return not value or form is None or _FORMS[form](value)


def _is_url(value: str) -> bool:
    """Return whether a judge accepts this address."""
    from ..judge.credentials import parse_address  # rarely set, and not needed while a prompt waits

    return parse_address(value) is not None


def _is_variable(value: str) -> bool:
    """Return whether this has the form of an environment variable's name; a key that is pasted by mistake does not."""
    return value.isascii() and value.isidentifier() and value == value.upper()


_FORMS = {"uri": _is_url, "environment-variable": _is_variable}
_FORM_NAMES = {
    "uri": "an https:// URL without user, password and query, or an http:// one to this machine",
    "environment-variable": "the name of an environment variable in capitals",
}


def expected(rule: dict[str, Any]) -> str:
    """Return a description of the values that fit."""
    if "enum" in rule:
        return "one of " + ", ".join(dumps(choice) for choice in rule["enum"])
    if "format" in rule:
        return _FORM_NAMES[rule["format"]]
    words = _NAMES[rule["type"]]
    if "enum" in rule.get("items", ()):
        choices = rule["items"]["enum"]
        is_short = len(choices) <= _MAX_CHOICES
        words = "a list of " + (", ".join(map(dumps, choices)) if is_short else "known ids")
    elif rule["type"] == "array" and rule["items"]["type"] != "string":
        whole = " whole" if rule["items"]["type"] == "integer" else ""
        words = "a list of %d%s numbers" % (rule["maxItems"], whole)
    if "propertyNames" in rule:
        words = "a block of names, each with " + expected(rule["additionalProperties"])
    if "minimum" in rule:
        words += " from %s to %s" % (dumps(rule["minimum"]), dumps(rule["maximum"]))
    elif rule["type"] == "string":
        words += " of %d to %d printable characters" % (rule.get("minLength", 0), rule["maxLength"])
    return words


def shown(value: object) -> str:
    """Return a value for an error message: numbers and short words, but no text long enough to be a key."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a block of keys"
    if isinstance(value, str) and (len(value) > _MAX_SHOWN or not value.isprintable()):
        return "a text of %d characters" % len(value)
    if isinstance(value, float) and abs(value) == float("inf"):
        return "an infinite number"
    text = dumps(value)
    return text if len(text) <= 2 * _MAX_SHOWN else "a number of %d digits" % len(text)


def first_invalid_item(rule: dict[str, Any], value: object) -> object:
    """Return the first item of a list that does not fit; None if all fit, or for a value that is not a list."""
    items = value if isinstance(value, list) and rule["type"] == "array" else ()
    return next((item for item in items if not fits(rule["items"], item)), None)


def got(rule: dict[str, Any], value: object) -> str:
    """Return a description of an invalid value, as `shown` does; for a list, of its first invalid item."""
    item = first_invalid_item(rule, value)
    return shown(value) if item is None else "one with " + shown(item)


def project_limit(rule: dict[str, Any], own: Any) -> str:  # noqa: ANN401 - it fits the schema
    """Return a description of what a project's file may set under a key with a direction, given the user's own value."""
    raised = rule["x-project"] == "raise"
    if rule["type"] == "boolean":
        return "nothing but %s in a project's file" % ("true" if raised else "false")
    if rule["type"] == "array":
        change = "keeps each item of" if raised else "adds nothing to"
        return "a list that %s your own settings in a project's file" % change
    if "enum" in rule:
        at = rule["enum"].index(own)
        choices = rule["enum"][at:] if raised else rule["enum"][: at + 1]
        return "in a project's file " + " or ".join(dumps(choice) for choice in choices)
    bound = "at least" if raised else "at most"
    return "%s %s in a project's file, the value of your own settings" % (bound, dumps(own))


def allowed(rule: dict[str, Any], value: Any, own: Any) -> bool:  # noqa: ANN401 - both fit the same schema
    """Return whether a project may set this value, given the user's own; both fit the schema.

    The key's `x-project` is the direction in which the plugin does less: `lower` for limits, switches and lists of permissions, `raise` for
    thresholds and lists of checks.
    """
    direction = rule["x-project"]
    if direction not in ("lower", "raise"):
        return bool(direction == "any")
    less, more = (value, own) if direction == "lower" else (own, value)
    if "enum" in rule:
        return bool(rule["enum"].index(less) <= rule["enum"].index(more))
    if isinstance(less, list):
        return all(item in more for item in less)
    return bool(less <= more)


def nearest_choice(rule: dict[str, Any], item: object) -> str | None:
    """Return the choice that is most similar to an invalid item of a list; None if none is."""
    from difflib import get_close_matches  # not needed while a prompt waits

    choices = rule.get("items", {}).get("enum", ())
    word = item.lower() if isinstance(item, str) else ""
    same_start = [choice for choice in choices if choice.startswith(word + "-")]
    return next(iter(get_close_matches(word, choices, 1, 0.6) or same_start), None)


class Key:
    """One key: its dotted name, its part of the schema, its default, what a project may change, and its description."""

    __slots__ = ("default", "description", "name", "project", "rule")

    def __init__(self, name: str, rule: dict[str, Any]) -> None:
        self.name = name
        self.rule = rule
        self.default: object = rule["default"]
        self.project: str = rule["x-project"]
        self.description: str = rule["description"]


class WrongValueError(Exception):
    """Raised for a value that does not fit its key."""

    def __init__(self, key: str, expected: str, got: str) -> None:
        super().__init__("%s: expected %s, got %s" % (key, expected, got))


def keys() -> dict[str, Key]:
    """Return all keys by name, in the order of the schema. Raises SettingsFileError for a damaged schema."""
    result: dict[str, Key] = {}
    _collect_keys(schema(), "", result)
    return result


def _collect_keys(rule: dict[str, Any], name: str, result: dict[str, Key]) -> None:
    for part, below in rule.get("properties", {}).items():
        _collect_keys(below, name + "." + part if name else part, result)
    if "default" in rule:
        result[name] = Key(name, rule)


def top_level() -> tuple[str, ...]:
    """Return the blocks that are also read outside the block `memory`."""
    return tuple(schema()["x-top-level"])


def replacements() -> dict[str, str]:
    """Return what replaces the keys of older versions, by dotted name. Raises SettingsFileError for a damaged schema."""
    return dict(schema()["x-replaced"])


def canonical(name: str) -> str:
    """Return a key without the leading `memory.` that it has in a file."""
    return name.removeprefix("memory.")


def is_block(name: str) -> bool:
    """Return whether a name is that of a block of keys."""
    return any(key.startswith(name + ".") for key in keys())


def parsed(key: Key, text: str) -> object:
    """Parse a value from the command line: JSON, or for a string key the string itself.

    Raises WrongValueError if it does not fit.
    """
    value: object = text
    if key.rule["type"] != "string" or text.startswith('"'):
        try:
            value = loads(text)
        except ValueError:
            raise WrongValueError(key.name, expected(key.rule), shown(text)) from None
    require_valid(key, value)
    return value


def require_valid(key: Key, value: object) -> None:
    """Raise WrongValueError, with the nearest choice, for a value that does not fit a key."""
    if fits(key.rule, value):
        return
    nearest = nearest_choice(key.rule, first_invalid_item(key.rule, value))
    description = got(key.rule, value) + ("; nearest: " + nearest if nearest else "")
    raise WrongValueError(key.name, expected(key.rule), description)
