"""Apply settings files over the defaults: each key is checked against the schema, and a project's file may change only some."""

from __future__ import annotations

from .schema import allowed, expected, first_invalid_item, fits, got, project_limit, shown
from .values import JUDGE_ENABLED, USER, Problem, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Block = dict[str, Any]

_MAX_PROBLEMS = 100  # of one file; a hostile one may hold a hundred thousand invalid keys
_BLOCK = "memory"


class _Reading:
    """The content of one file: its valid keys (`leaves`), its blocks, the keys with invalid values, and its problems."""

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


def _check(reading: _Reading, rule: Block, value: object, path: tuple[str, ...], key: str) -> None:
    """Check a key and all keys below it; the schema limits the depth.

    A block with a default is one value: its names are chosen by the user.
    """
    if not fits(rule, value):
        reading.invalid.add(key)
        reading.report("value", path, expected(rule), got(rule, value), first_invalid_item(rule, value))
    elif "default" in rule:
        reading.leaves[key] = (value, rule, path)
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
        settings.set_value(key, value, USER)
    for block in reading.blocks:
        switch = block + ".enabled"
        is_set = switch in reading.leaves or switch in reading.invalid
        if switch.endswith(JUDGE_ENABLED) and settings.get(switch) is not None and not is_set:
            settings.set_value(switch, True, USER)


def _apply_project(settings: Settings, own: dict[str, object], reading: _Reading, layer: str) -> None:
    for key, (value, rule, path) in reading.leaves.items():
        if allowed(rule, value, own[key]):
            settings.set_value(key, value, layer)
        elif rule["x-project"] == "never":
            reading.report("refused", path, "this key only in your own settings", shown(value))
        else:
            reading.report("refused", path, project_limit(rule, own[key]), shown(value))
