"""The rules of all keys: whether a value fits its key, and whether a project may set it; and how files are applied over the defaults."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Optional

from ..fastjson import as_object, dumps
from ..paths import load_data
from ..text.clean import plain
from . import JUDGE_ENABLED, USER, Problem, Settings, merged, shipped

# What does not fit: the path below the key, empty for the whole value; what was expected there; what was found; and the invalid item of a
# list or the unknown name, which may be a secret and must not be shown. None for a value that fits.
Mismatch = Optional[tuple[tuple[str, ...], str, str, object]]

_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "boolean": ((bool,), "true or false"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "string": ((str,), "a text"),
    "array": ((list,), "a list of texts"),
    "object": ((dict,), "a block of keys"),
}
_MAX_PROBLEMS = 100  # of one file; a hostile one may hold a hundred thousand invalid keys
_BLOCK = "memory"
_OPTIONS = ("pluginConfigs", "memory@memory-plugin", "options")
_MAX_SHOWN = 24
_MAX_PLACE = 200
_MAX_CHOICES = 12


class Rule:
    """The rule of a block of keys, of a key, of a name below a key whose value is an object, or of the items of a list.

    `setting` is the rule of the key to which a name belongs, and of a key itself. `project`, `description` and `default` of a name below it
    are those of the key. `sizes` are the allowed numbers of characters or items; a text may have line breaks if it `has_lines`. `others` is
    the entry for names of the user's own; None if there can be none.
    """

    def __init__(self, entry: Mapping[str, Any], name: str = "", setting: Rule | None = None) -> None:
        get = entry.get
        self.name = name
        self.is_key = setting is not None or "default" in entry
        self.setting = setting or self
        self.type: str = entry["type"]
        self.choices: list[Any] = get("enum", [])
        self.bounds: list[float] = [entry[name] for name in ("minimum", "maximum") if name in entry]
        most = get("maxLength", get("maxItems", sys.maxsize - 1))
        self.sizes = range(get("minLength", get("minItems", 0)), most + 1)
        self.format: str = get("format", "")
        self.has_lines: bool = get("x-lines", False)
        self.items = Rule(entry["items"]) if "items" in entry else None
        self.others: Mapping[str, Any] | None = get("additionalProperties") or None
        self.required: list[str] = get("required", [])
        self.sum: float | None = get("x-sum")
        self.table: list[str] = get("x-table", [])
        self.project: str = get("x-project", "")
        self.description: str = get("description", "")
        self.default: object = get("default")
        self._entry = entry

    def below(self, name: str) -> Rule | None:
        """Return the rule of a name in an object; None for an unknown name."""
        entry = self.entries().get(name, self.others)
        if entry is None:
            return None
        if not self.is_key:
            return Rule(entry, self.name + "." + name if self.name else name)
        default = self.default.get(name) if isinstance(self.default, dict) else None
        of_the_key = {"x-project": self.project, "description": self.description, "default": default}
        return Rule({**entry, **of_the_key}, self.name + "." + name, self.setting)

    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the known names; those of a large table are in a file of their own, which few users need."""
        if "x-rules" not in self._entry:
            names: Mapping[str, Mapping[str, Any]] = self._entry.get("properties", {})
            return names
        table = load_data(*self._entry["x-rules"])
        return {name: entry for name, entry in table.items() if isinstance(entry, dict)}


def keys() -> dict[str, Rule]:
    """Return all keys by name, in the order of the schema. Raises SettingsFileError for a damaged schema."""
    return {rule.name: rule for rule in _keys(Rule(schema()))}


def _keys(rule: Rule) -> Iterator[Rule]:
    if rule.is_key:
        yield rule
    else:
        for below in filter(None, map(rule.below, rule.entries())):
            yield from _keys(below)


def find_key(name: str) -> Rule | None:
    """Return the rule of a key, or of a name below one; None for an unknown one. Raises SettingsFileError for a damaged schema."""
    rule: Rule | None = Rule(schema())
    for part in name.split("."):
        rule = rule.below(part) if rule else None
    return rule if rule and rule.is_key else None


def schema() -> dict[str, Any]:
    """Return the JSON schema of the block `memory`. Raises SettingsFileError for a damaged installation."""
    return shipped("settings.schema.json")


def mismatch(rule: Rule, value: object) -> Mismatch:
    """Return what of a value does not have the type, range, choice and format of its key; None if it fits."""
    if not _fits(rule, value):
        return (), expected(rule), shown(value), None
    if isinstance(value, list):
        return _mismatch_of_item(rule, rule.items, value) if rule.items else None
    return _mismatch_below(rule, value) if isinstance(value, dict) else None


def schema_problem(entry: Mapping[str, Any], value: object) -> str:
    """Return the first problem of a value that a JSON schema describes, with its place; empty if it fits."""
    problem = mismatch(Rule(entry), value)
    if problem is None:
        return ""
    path, wanted, found, _ = problem
    return "%s: expected %s, got %s" % (plain(".".join(path), _MAX_PLACE) or "the file", wanted, found)


def _mismatch_of_item(rule: Rule, items: Rule, values: list[object]) -> Mismatch:
    for at, item in enumerate(values):
        problem = mismatch(items, item)
        if problem is not None and items.type == "object":
            return ((str(at), *problem[0]), *problem[1:])
        if problem is not None:
            return (), expected(rule), "one with " + shown(item), item
    return None


def _fits(rule: Rule, value: object) -> bool:
    """Return whether a value fits, without the items of a list and the values of an object."""
    if not isinstance(value, _TYPES[rule.type][0]) or (isinstance(value, bool) and rule.type != "boolean"):
        return False
    if rule.choices:
        return value in rule.choices
    if isinstance(value, (int, float)):
        return not rule.bounds or rule.bounds[0] <= value <= rule.bounds[1]
    if isinstance(value, str) and value and rule.format and not _FORMS[rule.format][0](value):
        return False
    is_clean = rule.has_lines or not isinstance(value, str) or value.isprintable()
    return isinstance(value, (str, list, dict)) and len(value) in rule.sizes and is_clean


def _mismatch_below(rule: Rule, value: dict[str, Any]) -> Mismatch:
    for name in rule.required:
        if name not in value:
            return (name,), "a value", "none", None
    for name, item in value.items():
        below = rule.below(name)
        if below is None:
            return (name,), "a known name", "one that does not exist", name
        problem = mismatch(below, item)
        if problem is not None:
            return ((name, *problem[0]), *problem[1:])
    if rule.sum is not None and isinstance(rule.default, dict):
        total = round(sum({**rule.default, **value}.values()), 6)
        if total != rule.sum:
            return (), "numbers that add up to %g" % rule.sum, "a sum of %g" % total, None
    return None


def _is_url(value: str) -> bool:
    """Return whether a judge accepts this address."""
    from ..judge.vendors import parse_address  # rarely set, and not needed while a prompt waits

    return parse_address(value) is not None


_FORMS = {
    "uri": (_is_url, "an https:// URL without user, password and query, or an http:// one to this machine"),
    # A key that is pasted by mistake has another form.
    "environment-variable": (
        lambda value: value.isascii() and value.isidentifier() and value == value.upper(),
        "the name of an environment variable in capitals",
    ),
}


def expected(rule: Rule) -> str:
    """Return a description of the values that fit."""
    if rule.choices:
        return "one of " + ", ".join(map(dumps, rule.choices))
    if rule.format:
        return _FORMS[rule.format][1]
    words = _TYPES[rule.type][1]
    if rule.items and rule.items.choices:
        is_short = len(rule.items.choices) <= _MAX_CHOICES
        words = "a list of " + (", ".join(map(dumps, rule.items.choices)) if is_short else "known ids")
    elif rule.items and rule.items.type == "object":
        words = "a list of blocks, each with " + ", ".join(rule.items.entries())
    elif rule.items and rule.items.type != "string":
        words = "a list of %d%s numbers" % (rule.sizes[-1], " whole" * (rule.items.type == "integer"))
    elif rule.others:
        words = "a block of names, each with " + expected(Rule(rule.others))
    elif 0 < len(rule.entries()) <= _MAX_CHOICES:
        words = "a block with " + ", ".join(rule.entries())
    if rule.bounds:
        words += " from %s to %s" % (dumps(rule.bounds[0]), dumps(rule.bounds[1]))
    elif rule.type == "string":
        words += " of %d to %d printable characters" % (rule.sizes[0], rule.sizes[-1])
    return words


def shown(value: object) -> str:
    """Return a value for an error message: numbers and short words, but no text long enough to be a key."""
    if isinstance(value, (list, dict)):
        return "a block of keys" if isinstance(value, dict) else "a list" if value else "an empty list"
    if isinstance(value, str) and (len(value) > _MAX_SHOWN or not value.isprintable()):
        return "a text of %d characters" % len(value)
    if isinstance(value, float) and not isfinite(value):
        return "an infinite number" if abs(value) > 0 else "not a number"
    text = dumps(value)
    return text if len(text) <= 2 * _MAX_SHOWN else "a number of %d digits" % len(text)


def allowed(rule: Rule, value: Any, own: Any) -> bool:  # noqa: ANN401 - both fit the same schema
    """Return whether a project may set this value, given the user's own; both fit the schema.

    The key's `x-project` is the direction in which the plugin does less: `lower` for limits, switches and lists of permissions, `raise` for
    thresholds and lists of checks.
    """
    if rule.project not in ("lower", "raise"):
        return rule.project == "any"
    less, more = (value, own) if rule.project == "lower" else (own, value)
    if rule.choices:
        return rule.choices.index(less) <= rule.choices.index(more)
    if isinstance(less, list):
        return all(item in more for item in less)
    if isinstance(value, dict):
        parts = ((rule.below(name), name) for name in value)
        return all(allowed(part, value[name], own[name]) for part, name in parts if part)
    return bool(less <= more)


class _Reading:
    """What one file sets: its valid keys with their value and path, the names of its keys and blocks, and its problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.valid: dict[str, tuple[object, Rule, tuple[str, ...]]] = {}
        self.names: set[str] = set()
        self.problems: list[Problem] = []

    def report(self, kind: str, path: tuple[str, ...], expected: str, got: str, item: object = None) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(Problem(kind, self.file, path, expected, got, item))

    def check(self, rule: Rule, value: object, path: tuple[str, ...]) -> None:
        """Check a key and all keys below it. A key whose value is an object is used as a whole or not at all."""
        is_block = isinstance(value, dict) and not rule.is_key
        if is_block or rule.is_key:
            self.names.add(rule.name)
        problem = None if is_block else mismatch(rule, value)
        if problem is not None:
            self.report("value", (*path, *problem[0]), *problem[1:])
        elif rule.is_key:
            at_top = self.valid.get(rule.name, ({},))[0] if isinstance(value, dict) else None
            self.valid[rule.name] = (merged(at_top, value), rule, path)
        elif isinstance(value, dict):
            for name, child in value.items():
                below = rule.below(name)
                if below is not None:
                    self.check(below, child, (*path, name))
                else:
                    self.report("unknown", (*path, name), "a known key", "one that does not exist")


def apply(settings: Settings, contents: list[tuple[str, str, dict[str, object]]]) -> None:
    """Apply files in order: `contents` holds (layer, path, JSON object), the user's layer first."""
    entry = schema()
    rule = Rule(entry)
    for layer, path, content in contents:
        reading = _Reading(path)
        for name in filter(content.__contains__, entry["x-top-level"]):
            reading.check(Rule(entry["properties"][name], name), content[name], (name,))
        if _BLOCK in content:
            reading.check(rule, content[_BLOCK], (_BLOCK,))
        if layer == USER:
            _add_options(reading, entry["x-options"], content)
            _apply_user(settings, reading)
        else:
            _apply_project(settings, reading, layer)
        settings.problems += reading.problems


def _add_options(reading: _Reading, keys: Mapping[str, str], content: dict[str, object]) -> None:
    """Add the options that Claude Code asked for (`userConfig` in plugin.json) and keeps in the user's file; keys of our own win."""
    found: object = content
    for name in _OPTIONS:
        found = as_object(found).get(name)
    for name, value in as_object(found).items():
        rule = find_key(keys.get(name, ""))
        if rule is not None and rule.name not in reading.valid:
            reading.check(rule, value, (*_OPTIONS, name))


def _apply_user(settings: Settings, reading: _Reading) -> None:
    """Apply the valid keys. A judge's block without the key `enabled` switches that judge on."""
    for key, (value, _, _) in reading.valid.items():
        settings.set_value(key, value, USER)
    for key in settings.all_keys():
        block = key.removesuffix(JUDGE_ENABLED) + ".judge"
        if key.endswith(JUDGE_ENABLED) and block in reading.names and key not in reading.names:
            settings.set_value(key, True, USER)


def _apply_project(settings: Settings, reading: _Reading, layer: str) -> None:
    own = settings.user_values()
    for key, (value, rule, path) in reading.valid.items():
        if allowed(rule, value, own[key]):
            settings.set_value(key, value, layer)
        elif rule.project == "never":
            reading.report("refused", path, "this key only in your own settings", shown(value))
        else:
            bound = "least" if rule.project == "raise" else "most"
            limit = "at %s %s in a project's file, the value of your own settings" % (bound, dumps(own[key]))
            reading.report("refused", path, limit, shown(value))
