"""Export an interview: the value map as Mermaid or JSON, the transcript as Markdown."""

from __future__ import annotations

from .graph import LEADS_TO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .interview_store import Interview

_MAX_LABEL = 60
_NODE_FIELDS = (
    "id", "label", "type", "stance", "confidence", "mentions", "turns", "quotes", "superseded_by", "elements",
)  # fmt: skip
_TURN_FIELDS = ("number", "strategy", "focus", "question", "answer", "sentiment")
_STANCE_CLASSES = {-1: "against", 1: "pro"}
# Mermaid's special characters as its entities (mermaid.js.org, "Entity codes to escape characters").
_ENTITIES = {
    '"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "[": "#91;", "]": "#93;", "(": "#40;", ")": "#41;", "{": "#123;",
    "}": "#125;", "|": "#124;", "`": "#96;", "&": "#amp;", ";": "#59;", "%": "#37;", "\\": "#92;",
}  # fmt: skip


def as_mermaid(interview: Interview) -> str:
    """Return the value map: one box per concept, grouped by type, with arrows along the ladder and dotted arrows for revisions."""
    lines = ["flowchart BT"]
    nodes = interview.state["nodes"]
    for entry in interview.setup["pack"]["types"]:
        members = [node for node in nodes if node["type"] == entry["id"]]
        if members:
            lines.append('  subgraph %s["%s"]' % (_group_id(entry["id"]), _escaped(entry["name"])))
            lines += [
                '    %s["%s"]%s' % (node["id"], _escaped(node["label"]), _style_class(node))
                for node in members
            ]
            lines.append("  end")
    for source, target, kind, _ in interview.state["edges"]:
        arrow = "-->" if kind == LEADS_TO else "-. revises .->"
        lines.append("  n%d %s n%d" % (source + 1, arrow, target + 1))
    lines.append("  classDef pro stroke:#2a2")
    lines.append("  classDef against stroke:#c22")
    lines.append("  classDef old stroke-dasharray: 4 4")
    return "\n".join(lines) + "\n"


def _group_id(concept_type: str) -> str:
    return "t_" + "".join(char if char.isalnum() else "_" for char in concept_type)


def _style_class(node: dict[str, Any]) -> str:
    name = "old" if node["superseded_by"] else _STANCE_CLASSES.get(node["stance"], "")
    return ":::" + name if name else ""


def _escaped(label: str) -> str:
    short = label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "\u2026"
    return "".join(_ENTITIES.get(char, char) for char in short)


def as_json(interview: Interview) -> dict[str, Any]:
    """Return the result of an interview: concepts with stance and sources, edges by node id, coverage and turns."""
    state = interview.state
    elements = [element["id"] for element in interview.setup["elements"]]
    return {
        "interview": interview.id,
        "topic": interview.topic,
        "pack": interview.setup["pack"]["id"],
        "status": interview.status,
        "concepts": [{name: node[name] for name in _NODE_FIELDS} for node in state["nodes"]],
        "edges": [
            {"source": "n%d" % (source + 1), "target": "n%d" % (target + 1), "kind": kind, "turn": turn}
            for source, target, kind, turn in state["edges"]
        ],
        "covered": state["covered"],
        "open": [element for element in elements if element not in state["covered"]],
        "turns": [{name: turn[name] for name in _TURN_FIELDS} for turn in state["turns"]],
    }


def as_transcript(interview: Interview) -> str:
    """Return the questions and answers as Markdown, the answers as quotations."""
    lines = ["# Interview: %s" % interview.topic, ""]
    for turn in interview.state["turns"]:
        answer = turn["answer"] or "(skipped)"
        lines += ["**%d. %s** (%s)" % (turn["number"], turn["question"], turn["strategy"]), ""]
        lines += ["> " + line for line in answer.splitlines()] + [""]
    return "\n".join(lines)
