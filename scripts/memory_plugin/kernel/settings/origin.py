"""Where each value comes from: for people who wonder why a setting is what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .advice import hint, line

if TYPE_CHECKING:
    from .record import Problem, Settings

__all__ = ["Origin", "nested", "origins", "problem_record"]


class Origin(NamedTuple):
    """One key: its value, the layer that decided it, its file (empty for a default), and what was refused."""

    key: str
    value: object
    layer: str
    file: str
    refused: list[Problem]


def origins(settings: Settings, prefix: str = "") -> list[Origin]:
    """Every key, or those of the block or key `prefix`, in the order of the defaults."""
    return [_origin(settings, key) for key in settings.names() if _under(key, prefix)]


def _under(key: str, prefix: str) -> bool:
    return not prefix or key == prefix or key.startswith(prefix + ".")


def _origin(settings: Settings, key: str) -> Origin:
    layer = settings.origin(key)
    refused = [problem for problem in settings.problems if problem.kind == "refused" and problem.key == key]
    return Origin(key, settings.get(key), layer, settings.files.get(layer, ""), refused)


def nested(rows: list[Origin]) -> dict[str, object]:
    """The values as they would stand in the block `memory` of a file."""
    tree: dict[str, object] = {}
    for row in rows:
        *blocks, name = row.key.split(".")
        at = tree
        for block in blocks:
            below = at.setdefault(block, {})
            at = below if isinstance(below, dict) else {}
        at[name] = row.value
    return tree


def problem_record(problem: Problem) -> dict[str, object]:
    """A problem as JSON for programs."""
    return {
        "kind": problem.kind,
        "file": problem.file,
        "line": line(problem),
        "key": problem.key,
        "expected": problem.expected,
        "got": problem.got,
        "hint": hint(problem),
    }
