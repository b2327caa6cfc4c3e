"""Apply settings files over the defaults: each key is checked against the schema, and a project's file may change only some."""

from __future__ import annotations

from .schema import allowed, mismatch, project_limit, shown
from .values import JUDGE_ENABLED, USER, Problem, Settings, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Block = dict[str, Any]

_MAX_PROBLEMS = 100  # of one file; a hostile one may hold a hundred thousand invalid keys
_BLOCK = "memory"
_OPTIONS, _PLUGIN = "pluginConfigs", "memory@memory-plugin"


class _Reading:
    """The content of one file: its valid keys (`leaves`), its blocks, the keys with invalid values, and its problems.

    `off` are unknown keys that are false.
    """

    __slots__ = ("blocks", "file", "invalid", "leaves", "off", "problems")

    def __init__(self, file: str) -> None:
        self.file = file
        self.leaves: dict[str, tuple[object, Block, tuple[str, ...]]] = {}
        self.blocks: set[str] = set()
        self.invalid: set[str] = set()
        self.off: list[str] = []
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
    _keep_off(reading, schema)
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


def _keep_off(reading: _Reading, schema: Block) -> None:
    """Let the switches of older versions that were off switch off what they did, so that an update turns nothing on."""
    for switch in reading.off:
        if switch in schema["x-off"]:
            key, value = schema["x-off"][switch]
            reading.leaves[key] = (value, _rule_of(schema, key), (_BLOCK, *switch.split(".")))


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
                if child is False:
                    reading.off.append(key + "." + name)


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
