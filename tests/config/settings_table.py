"""The table of keys in config/README.md. Run as a script, it writes the table anew."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config")
README = os.path.join(CONFIG, "README.md")
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def schema() -> dict[str, Any]:
    """The schema of the block `memory`."""
    with open(os.path.join(CONFIG, "settings.schema.json"), encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def leaves(rule: dict[str, Any], name: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Each key with its part of the schema, in order."""
    found: list[tuple[str, dict[str, Any]]] = []
    for part, below in rule.get("properties", {}).items():
        dotted = name + "." + part if name else part
        found += [(dotted, below)] if "default" in below else leaves(below, dotted)
    return found


def values(rule: dict[str, Any]) -> str:
    """What a key takes, in the table's words."""
    if "enum" in rule:
        return ", ".join("`%s`" % choice for choice in rule["enum"])
    if rule["type"] == "boolean":
        return "`true`, `false`"
    if "minimum" in rule:
        return "%s %s to %s" % (rule["type"], rule["minimum"], rule["maximum"])
    if "enum" in rule.get("items", {}):
        choices = rule["items"]["enum"]
        return "list of %s" % (", ".join("`%s`" % c for c in choices) if len(choices) <= 12 else "known ids")
    if rule["type"] == "array" and rule["items"]["type"] == "integer":
        return "list of %d integers" % rule["maxItems"]
    return {"string": "text", "array": "list of texts", "object": "block of lists of 2 numbers"}[rule["type"]]


def table() -> str:
    """The whole table in Markdown."""
    rows = ["| key | values | default | project | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, rule in leaves(schema()):
        cells = (name, values(rule), json.dumps(rule["default"]), rule["x-project"], rule["description"])
        rows.append("| `%s` | %s | `%s` | %s | %s |" % cells)
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """The README's text with the table of now."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    with open(README, encoding="utf-8") as file:
        text = with_table(file.read())
    with open(README, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write("written: config/README.md\n")
