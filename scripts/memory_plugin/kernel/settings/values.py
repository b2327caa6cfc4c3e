"""One value against the schema of its key: does it fit, and may a project say it."""

from __future__ import annotations

from ..native import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "allowed",
    "expected",
    "fits",
    "got",
    "higher_than",
    "lower_than",
    "misfit",
    "nearest_choice",
    "shown",
]

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
_LONGEST_SHOWN = 24
_MOST_CHOICES = 12


def fits(rule: dict[str, Any], value: object) -> bool:
    """Whether a value has the type, range, choice and form that the schema of its key asks for."""
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
    """Whether a block of the user's own names holds few enough, each well formed and with a value that fits."""
    return len(value) <= rule["maxProperties"] and all(
        fits(rule["propertyNames"], name) and fits(rule["additionalProperties"], below)
        for name, below in value.items()
    )


def _text_fits(rule: dict[str, Any], value: str) -> bool:
    if not rule.get("minLength", 0) <= len(value) <= rule["maxLength"] or not value.isprintable():
        return False
    form = rule.get("format")
    return not value or form is None or _FORMS[form](value)


def _is_url(value: str) -> bool:
    """Whether a judge takes this address."""
    from ..judge.address import parse_address  # seldom set, and not for the prompt's path

    return parse_address(value) is not None


def _is_variable(value: str) -> bool:
    """Whether this is written like an environment variable's name; a key pasted by mistake does not pass."""
    return value.isascii() and value.isidentifier() and value == value.upper()


_FORMS = {"uri": _is_url, "environment-variable": _is_variable}
_FORM_NAMES = {
    "uri": "an https:// URL without user, password and query, or an http:// one to this machine",
    "environment-variable": "the name of an environment variable in capitals",
}


def expected(rule: dict[str, Any]) -> str:
    """What fits, in words."""
    if "enum" in rule:
        return "one of " + ", ".join(dumps(choice) for choice in rule["enum"])
    if "format" in rule:
        return _FORM_NAMES[rule["format"]]
    words = _NAMES[rule["type"]]
    if "enum" in rule.get("items", ()):
        choices = rule["items"]["enum"]
        few = len(choices) <= _MOST_CHOICES
        words = "a list of " + (", ".join(dumps(choice) for choice in choices) if few else "known ids")
    elif rule["type"] == "array" and rule["items"]["type"] != "string":
        words = "a list of %d%s numbers" % (
            rule["maxItems"],
            " whole" if rule["items"]["type"] == "integer" else "",
        )
    if "propertyNames" in rule:
        words = "a block of names, each with " + expected(rule["additionalProperties"])
    if "minimum" in rule:
        words += " from %s to %s" % (dumps(rule["minimum"]), dumps(rule["maximum"]))
    elif rule["type"] == "string":
        words += " of %d to %d printable characters" % (rule.get("minLength", 0), rule["maxLength"])
    return words


def shown(value: object) -> str:
    """A value as an error may show it: numbers and short words, never what is long enough to be a key."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a block of keys"
    if isinstance(value, str) and (len(value) > _LONGEST_SHOWN or not value.isprintable()):
        return "a text of %d characters" % len(value)
    if isinstance(value, float) and abs(value) == float("inf"):
        return "a number without end"
    text = dumps(value)
    return text if len(text) <= 2 * _LONGEST_SHOWN else "a number of %d digits" % len(text)


def misfit(rule: dict[str, Any], value: object) -> object:
    """The first item of a list that does not fit; None when each does, and for what is no list."""
    items = value if isinstance(value, list) and rule["type"] == "array" else ()
    return next((item for item in items if not fits(rule["items"], item)), None)


def got(rule: dict[str, Any], value: object) -> str:
    """What was found where something else was expected, in words, as `shown`; of a list the item that does not fit."""
    item = misfit(rule, value)
    return shown(value) if item is None else "one with " + shown(item)


def higher_than(value: object) -> str:
    """Return what a project may say under a key that it may only raise, in words."""
    return "at least %s in a project's file, the value of your own settings" % dumps(value)


def lower_than(rule: dict[str, Any], ceiling: object) -> str:
    """What a project may say under a key that it may only lower, in words."""
    if rule["type"] == "boolean":
        return "nothing but false in a project's file"
    if "enum" in rule:
        choices = rule["enum"][: rule["enum"].index(ceiling) + 1]
        return "in a project's file " + " or ".join(dumps(choice) for choice in choices)
    return "at most %s in a project's file, the value of your own settings" % dumps(ceiling)


def allowed(rule: dict[str, Any], value: Any, ceiling: Any) -> bool:  # noqa: ANN401 - both fit the same schema
    """Whether a project may set this value, given the user's own; both fit the schema."""
    if rule["x-project"] == "any":
        return True
    if rule["x-project"] == "never":
        return False
    if rule["x-project"] == "raise":
        return bool(value >= ceiling)
    if "enum" in rule:
        return bool(rule["enum"].index(value) <= rule["enum"].index(ceiling))
    return bool(value <= ceiling)


def nearest_choice(rule: dict[str, Any], item: object) -> str | None:
    """The choice for a list's items that somebody who wrote this one most likely meant; None when nothing comes near."""
    from difflib import get_close_matches  # not for the prompt's path

    choices = rule.get("items", {}).get("enum", ())
    word = item.lower() if isinstance(item, str) else ""
    same_start = [choice for choice in choices if choice.startswith(word + "-")]
    return next(iter(get_close_matches(word, choices, 1, 0.6) or same_start), None)
