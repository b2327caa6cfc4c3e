"""Apply settings files over the defaults, as the schema allows: whether a value fits its key, and whether a project may set it."""

from __future__ import annotations

from typing import Any

from ..fastjson import dumps
from ..paths import load_data
from .values import JUDGE_ENABLED, USER, Problem, Settings, merged

Block = dict[str, Any]

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
_MAX_PROBLEMS = 100  # of one file; a hostile one may hold a hundred thousand invalid keys
_BLOCK = "memory"
_OPTIONS, _PLUGIN = "pluginConfigs", "memory@memory-plugin"
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


def names_in(rule: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rules of the names in an object; those of a large table are in a file of their own, which few users need."""
    if "x-rules" not in rule:
        names: dict[str, dict[str, Any]] = rule.get("properties", {})
        return names
    return {name: below for name, below in load_data(*rule["x-rules"]).items() if isinstance(below, dict)}


def rule_below(rule: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the rule of a name in an object; None for an unknown name."""
    known = names_in(rule)
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
    elif 0 < len(names_in(rule)) <= _MAX_CHOICES:
        words = "a block with " + ", ".join(names_in(rule))
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


class _Reading:
    """The content of one file: its valid keys (`leaves`), its blocks, the keys with invalid values, and its problems.

    `off` are unknown keys that are false.
    """

    __slots__ = ("blocks", "file", "invalid", "leaves", "problems")

    def __init__(self, file: str) -> None:
        self.file = file
        self.leaves: dict[str, tuple[object, Block, tuple[str, ...]]] = {}
        self.blocks: set[str] = set()
        self.invalid: set[str] = set()
        self.problems: list[Problem] = []

    def report(self, kind: str, path: tuple[str, ...], expected: str, got: str, item: object = None) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(kind, self.file, path, expected, got, item))


def apply(settings: Settings, schema: Block, contents: list[tuple[str, str, Block]]) -> None:
    """Apply files in order: `contents` holds (layer, path, JSON object), the user's layer first."""
    own: dict[str, object] = {}
    for layer, path, content in contents:
        reading = _read(schema, path, content)
        if layer == USER:
            _add_options(reading, schema, content)
            _apply_user(settings, reading)
        else:
            own = own or settings.snapshot_user_values()
            _apply_project(settings, own, reading, layer)
        settings.problems += reading.problems


def _read(schema: Block, path: str, content: Block) -> _Reading:
    reading = _Reading(path)
    for name in schema["x-top-level"]:
        if name in content:
            _check(reading, schema["properties"][name], content[name], (name,), name)
    if _BLOCK in content:
        _check(reading, schema, content[_BLOCK], (_BLOCK,), "")
    return reading


def _add_options(reading: _Reading, schema: Block, content: Block) -> None:
    """Add the options that Claude Code asked for (`userConfig` in plugin.json) and keeps in the user's file; keys of our own win."""
    found: object = content
    for name in (_OPTIONS, _PLUGIN, "options"):
        found = found.get(name) if isinstance(found, dict) else None
    for name, value in found.items() if isinstance(found, dict) else ():
        key = schema["x-options"].get(name)
        if key and key not in reading.leaves:
            _check(reading, _rule_of(schema, key), value, (_OPTIONS, _PLUGIN, "options", name), key)


def _rule_of(schema: Block, key: str) -> Block:
    for name in key.split("."):
        schema = schema["properties"][name]
    return schema


def _check(reading: _Reading, rule: Block, value: object, path: tuple[str, ...], key: str) -> None:
    """Check a key and all keys below it; the schema limits the depth.

    A block with a default is one value, and is used as a whole or not at all.
    """
    problem = mismatch(rule, value) if "default" in rule or not isinstance(value, dict) else None
    if problem is not None:
        reading.invalid.add(key)
        below, expected, got, item = problem
        reading.report("value", (*path, *below), expected, got, item)
    elif "default" in rule:
        at_top = reading.leaves.get(key, ({},))[0] if isinstance(value, dict) else None
        reading.leaves[key] = (merged(at_top, value), rule, path)
    elif isinstance(value, dict):
        reading.blocks.add(key)
        for name, child in value.items():
            if name in rule["properties"]:
                dotted = key + "." + name if key else name
                _check(reading, rule["properties"][name], child, (*path, name), dotted)
            else:
                reading.report("unknown", (*path, name), "a known key", "one that does not exist")


def _apply_user(settings: Settings, reading: _Reading) -> None:
    for key, (value, _, _) in reading.leaves.items():
        settings.set_value(key, merged(settings.get(key), value), USER)
    for block in reading.blocks:
        switch = block + ".enabled"
        is_set = switch in reading.leaves or switch in reading.invalid
        if switch.endswith(JUDGE_ENABLED) and settings.get(switch) is not None and not is_set:
            settings.set_value(switch, True, USER)


def _apply_project(settings: Settings, own: dict[str, object], reading: _Reading, layer: str) -> None:
    for key, (value, rule, path) in reading.leaves.items():
        if allowed(rule, value, own[key]):
            settings.set_value(key, merged(settings.get(key), value), layer)
        elif rule["x-project"] == "never":
            reading.report("refused", path, "this key only in your own settings", shown(value))
        else:
            reading.report("refused", path, project_limit(rule, own[key]), shown(value))
