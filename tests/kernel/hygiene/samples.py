"""The examples of the rules, joined to texts."""

from __future__ import annotations

from typing import NamedTuple, cast

from memory_plugin.kernel.hygiene.rules import files
from memory_plugin.kernel.paths import load_data


class Sample(NamedTuple):
    """One example of a rule."""

    rule: str
    kind: str
    text: str


def raw_rules() -> list[dict[str, object]]:
    """Return every rule as in its file, by rank."""
    return [rule for name in files() for rule in load_data("hygiene", name)["rules"]]


def samples(field: str) -> list[Sample]:
    """Return all examples under `hit` or `miss`."""
    return [
        Sample(str(rule["id"]), str(rule.get("kind", "secret")), "".join(cast("list[str]", example)))
        for rule in raw_rules()
        for example in cast("list[object]", rule[field])
    ]
