"""The derived parts of config/. Run as a script, this updates them.

The choices of `hygiene.allow` in settings.schema.json are the ids of all hygiene rules; the table in README.md comes from the schema; and
interview/scoring_rules.json says what can be changed of interview/scoring.json.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
import textwrap
from typing import Any

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config")
README = os.path.join(CONFIG, "README.md")
SCHEMA = os.path.join(CONFIG, "settings.schema.json")
RULES = os.path.join(CONFIG, "interview", "scoring_rules.json")
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def schema() -> dict[str, Any]:
    """Return the schema of the block `memory`."""
    with open(SCHEMA, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def leaves(rule: dict[str, Any], name: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return each dotted key with its part of the schema, in order."""
    found: list[tuple[str, dict[str, Any]]] = []
    for part, below in rule.get("properties", {}).items():
        dotted = name + "." + part if name else part
        found += [(dotted, below)] if "default" in below else leaves(below, dotted)
    return found


def values(rule: dict[str, Any]) -> str:
    """Return the values that a key takes, as a cell of the table."""
    if "enum" in rule or rule["type"] == "boolean":
        return ", ".join("`%s`" % choice for choice in rule.get("enum", ("true", "false")))
    if "minimum" in rule:
        return "%s %s to %s" % (rule["type"], rule["minimum"], rule["maximum"])
    if "enum" in rule.get("items", {}):
        choices = rule["items"]["enum"]
        return "list of %s" % (
            ", ".join("`%s`" % choice for choice in choices) if len(choices) <= 12 else "known ids"
        )
    if rule["type"] == "array" and rule["items"]["type"] == "integer":
        return "list of %d integers" % rule["maxItems"]
    if "properties" in rule or "x-rules" in rule:
        return "block of " + ", ".join("`%s`" % name for name in rule.get("properties") or scoring_rules())
    return {"string": "text", "array": "list of texts", "object": "block of lists of 2 numbers"}[rule["type"]]


def table() -> str:
    """Return the table in Markdown."""
    rows = ["| key | values | default | project | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, rule in leaves(schema()):
        cells = (name, values(rule), json.dumps(rule["default"]), rule["x-project"], rule["description"])
        rows.append("| `%s` | %s | `%s` | %s | %s |" % cells)
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """Return the README's text with the current table."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def hygiene_rule_ids() -> list[str]:
    """Return the ids of all hygiene rules, including optional packs."""
    ids: list[str] = []
    for path in glob.glob(os.path.join(CONFIG, "hygiene", "*.json")):
        with open(path, encoding="utf-8") as file:
            ids += [rule["id"] for rule in json.load(file).get("rules", ())]
    return sorted(ids)


def with_rule_ids(text: str) -> str:
    """Return the schema's text with the current hygiene rules as choices of `hygiene.allow`."""
    ids = ", ".join('"%s"' % name for name in hygiene_rule_ids())
    lines = textwrap.wrap(ids, 128, break_on_hyphens=False)
    choices = "".join("\n" + " " * 12 + line for line in lines) + "\n" + " " * 10
    return re.sub(
        r'("allow": \{\s*"type": "array", "items": \{[^[]*\[)[^]]*',
        lambda match: match[1] + choices,
        text,
        count=1,
    )


# What can be changed of an entry of the interview's scoring, with the bounds of numbers.
ENTRIES = {
    "phases": {"turns": (1, 200)},
    "strategies": {
        "enabled": (0, 0),
        "priority_base": (0, 5),
        **dict.fromkeys(("intent", "why", "probe"), (0, 0)),
    },
    "vetoes": {"enabled": (0, 0), "params": (0, 1000)},
    "scorers": {"enabled": (0, 0), "weight": (0, 5), "params": (0, 1000)},
}


def block(rules: dict[str, Any]) -> dict[str, Any]:
    """Return the rule of a block with these names."""
    return {"type": "object", "additionalProperties": False, "properties": rules}


def rule_for(shipped: Any, bounds: tuple[float, float]) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
    """Return the rule of values with the type of a shipped one."""
    if isinstance(shipped, dict):
        return block({name: rule_for(value, bounds) for name, value in shipped.items()})
    if isinstance(shipped, list):
        size = {"minItems": 1, "maxItems": 200}
        if not isinstance(shipped[0], str):
            size = dict.fromkeys(size, len(shipped))
        return {"type": "array", "items": rule_for(shipped[0], bounds), **size}
    if isinstance(shipped, (bool, str)):
        return {"type": "boolean"} if isinstance(shipped, bool) else {"type": "string", "maxLength": 4000}
    kind = "integer" if isinstance(shipped, int) else "number"
    return {"type": kind, "minimum": bounds[0], "maximum": bounds[1]}


def scoring_rules() -> dict[str, Any]:
    """Return the rules of what can be changed of config/interview/scoring.json."""
    with open(os.path.join(CONFIG, "interview", "scoring.json"), encoding="utf-8") as file:
        shipped = json.load(file)
    rules = {
        part: block(
            {
                entry["id"]: block(
                    {name: rule_for(entry[name], bounds) for name, bounds in fields.items() if name in entry}
                )
                for entry in shipped[part]
            }
        )
        for part, fields in ENTRIES.items()
    }
    multipliers = rule_for(shipped["multipliers"], (0, 5))
    return {**rules, "multipliers": multipliers, "stop": block({"coverage": rule_for(0.5, (0, 1))})}


def scoring_text() -> str:
    """Return the text of interview/scoring_rules.json."""
    rules = {
        "reason": "What the setting interview.scoring can change; settings_table.py derives it from scoring.json."
    }
    lines = ",\n".join(
        "  %s: %s" % (json.dumps(name), json.dumps(rule))
        for name, rule in {**rules, **scoring_rules()}.items()
    )
    return "{\n%s\n}\n" % lines


if __name__ == "__main__":
    with open(SCHEMA, encoding="utf-8") as file:
        text = with_rule_ids(file.read())
    with open(SCHEMA, "w", encoding="utf-8") as file:
        file.write(text)
    with open(README, encoding="utf-8") as file:
        text = with_table(file.read())
    with open(README, "w", encoding="utf-8") as file:
        file.write(text)
    with open(RULES, "w", encoding="utf-8") as file:
        file.write(scoring_text())
    sys.stdout.write(
        "written: config/settings.schema.json, config/README.md, config/interview/scoring_rules.json\n"
    )
