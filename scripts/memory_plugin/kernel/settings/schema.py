"""The schema of the settings: the keys, whether a value fits its key, and whether a project may set it."""

from __future__ import annotations

from ..data import load_data
from ..fastjson import dumps, loads
from .values import merged, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Settings

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


def mismatch(rule: dict[str, Any], value: object) -> tuple[tuple[str, ...], str, str, object] | None:
    """Return None for a value with the type, range, choice and format of its key.

    Otherwise: the path below the key, empty for the whole value; what was expected there; what was found; and the invalid item of a list or
    the unknown name, which may be a secret and must not be shown.
    """
    if not _fits(rule, value):
        return (), expected(rule), shown(value), None
    if isinstance(value, list):
        invalid = [item for item in value if mismatch(rule["items"], item)]
        return ((), expected(rule), "one with " + shown(invalid[0]), invalid[0]) if invalid else None
    return _mismatch_below(rule, value) if isinstance(value, dict) else None


def _fits(rule: dict[str, Any], value: object) -> bool:
    """Return whether a value fits, without the items of a list and the values of an object."""
    if not isinstance(value, _TYPES[rule["type"]]) or (isinstance(value, bool) and rule["type"] != "boolean"):
        return False
    if "enum" in rule:
        return value in rule["enum"]
    if isinstance(value, (int, float)):
        return bool(rule.get("minimum", value) <= value <= rule.get("maximum", value))
    if isinstance(value, list):
        return bool(rule.get("minItems", 0) <= len(value) <= rule["maxItems"])
    if isinstance(value, dict):
        return bool(len(value) <= rule.get("maxProperties", len(value)))
    return not isinstance(value, str) or _text_fits(rule, value)


def _mismatch_below(
    rule: dict[str, Any], value: dict[str, Any]
) -> tuple[tuple[str, ...], str, str, object] | None:
    for name, item in value.items():
        below = rule_below(rule, name)
        if below is None:
            return (name,), "a known name", "one that does not exist", name
        problem = mismatch(below, item)
        if problem is not None:
            return ((name, *problem[0]), *problem[1:])
    total = sum({**rule["default"], **value}.values()) if "x-sum" in rule else 0
    if "x-sum" in rule and round(total, 6) != rule["x-sum"]:
        return (), "numbers that add up to %g" % rule["x-sum"], "a sum of %g" % round(total, 6), None
    return None


def _names(rule: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rules of the names in an object; those of a large table are in a file of their own, which few users need."""
    if "x-rules" not in rule:
        names: dict[str, dict[str, Any]] = rule.get("properties", {})
        return names
    return {name: below for name, below in load_data(*rule["x-rules"]).items() if isinstance(below, dict)}


def rule_below(rule: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the rule of a name in an object; None for an unknown name."""
    known = _names(rule)
    if name in known:
        return known[name]
    others = rule.get("additionalProperties")
    return others if isinstance(others, dict) and mismatch(rule["propertyNames"], name) is None else None


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
    elif 0 < len(_names(rule)) <= _MAX_CHOICES:
        words = "a block with " + ", ".join(_names(rule))
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


def project_limit(rule: dict[str, Any], own: Any) -> str:  # noqa: ANN401 - it fits the schema
    """Return a description of what a project's file may set under a key with a direction, given the user's own value."""
    raised = rule["x-project"] == "raise"
    if rule["type"] == "boolean":
        return "nothing but %s in a project's file" % ("true" if raised else "false")
    if rule["type"] == "object":
        return "in a project's file no value above your own settings"
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
    if isinstance(value, dict):
        parts = {name: {**(rule_below(rule, name) or {}), "x-project": direction} for name in value}
        return all(allowed(part, value[name], own[name]) for name, part in parts.items())
    return bool(less <= more)


def nearest_choice(rule: dict[str, Any], item: object) -> str | None:
    """Return the choice of a list, or the name of an object, that is most similar to an unknown one; None if none is."""
    from difflib import get_close_matches  # not needed while a prompt waits

    choices = rule.get("items", {}).get("enum") or list(_names(rule))
    word = item.lower() if isinstance(item, str) else ""
    same_start = [choice for choice in choices if choice.startswith(word + "-")]
    return next(iter(get_close_matches(word, choices, 1, 0.6) or same_start), None)


class Key:
    """One key, or a name below a key whose value is an object: its dotted name, its rule, and its default.

    `setting` is the key itself, which has the description and what a project may change.
    """

    __slots__ = ("default", "description", "name", "project", "rule", "setting")

    def __init__(self, name: str, rule: dict[str, Any], above: Key | None = None) -> None:
        self.name = name
        self.rule = rule
        self.setting: str = above.setting if above else name
        self.default: object = None
        if above is None:
            self.default = rule["default"]
        elif isinstance(above.default, dict):
            self.default = above.default.get(name.rpartition(".")[2])
        self.project: str = above.project if above else rule["x-project"]
        self.description: str = above.description if above else rule["description"]


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
    if "default" in rule:
        result[name] = Key(name, rule)
        return
    for part, below in rule.get("properties", {}).items():
        _collect_keys(below, name + "." + part if name else part, result)


def find_key(name: str) -> Key | None:
    """Return the key of that name, or the name below a key; None for an unknown one. Raises SettingsFileError for a damaged schema."""
    found = keys().get(name)
    if found is not None or "." not in name:
        return found
    above, _, part = name.rpartition(".")
    key = find_key(above)
    rule = rule_below(key.rule, part) if key is not None else None
    return None if rule is None else Key(name, rule, key)


def top_level() -> tuple[str, ...]:
    """Return the blocks that are also read outside the block `memory`."""
    return tuple(schema()["x-top-level"])


def replacements() -> dict[str, str]:
    """Return what replaces the keys of older versions, by dotted name. Raises SettingsFileError for a damaged schema."""
    return dict(schema()["x-replaced"])


def canonical(name: str) -> str:
    """Return a key without the leading `memory.` that it has in a file."""
    return name.removeprefix("memory.")


def table_value(name: str, settings: Settings | None) -> Any:  # noqa: ANN401 (any JSON)
    """Return what can be changed of a shipped table, or of a name in it: with the user's changes, or as shipped for None.

    Raises LookupError for a key without a table.
    """
    key = find_key(name)
    setting = keys()[key.setting if key else ""]
    changes = settings.block(setting.name) if settings else {}
    value = _changeable(setting.rule, merged(load_data(*setting.rule["x-table"]), changes))
    for part in name[len(setting.name) + 1 :].split(".") if name != setting.name else ():
        value = value[part]
    return value


def _changeable(rule: dict[str, Any], table: Any) -> Any:  # noqa: ANN401 (any JSON)
    if rule["type"] != "object":
        return table
    entries = {entry["id"]: entry for entry in table} if isinstance(table, list) else table
    rules = ((name, rule_below(rule, name)) for name in entries)
    return {name: _changeable(below, entries[name]) for name, below in rules if below is not None}


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
    problem = mismatch(key.rule, value)
    if problem is None:
        return
    path, expected_value, got, item = problem
    rule = key.rule
    for name in path:
        rule = rule_below(rule, name) or rule
    nearest = nearest_choice(rule, item)
    name = ".".join((key.name, *path))
    raise WrongValueError(name, expected_value, got + ("; nearest: " + nearest if nearest else ""))
