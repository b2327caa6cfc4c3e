"""Export an interview: the value map as Mermaid or JSON, the transcript as Markdown."""

from __future__ import annotations

from .graph import LEADS_TO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .interview_store import Interview

__all__ = ["as_json", "as_mermaid", "as_transcript"]

_MAX_LABEL = 60
_STANCES = {-1: "against", 1: "pro"}
# Characters with a meaning in Mermaid, as its entities (mermaid.js.org, "Entity codes to escape characters").
_ESCAPED = {
    '"': "#quot;", "#": "#35;", "<": "#lt;", ">": "#gt;", "[": "#91;", "]": "#93;", "(": "#40;", ")": "#41;", "{": "#123;",
    "}": "#125;", "|": "#124;", "`": "#96;", "&": "#amp;", ";": "#59;", "%": "#37;", "\\": "#92;",
}  # fmt: skip


def as_mermaid(interview: Interview) -> str:
    """Return the value map: one box per concept, one group per type, arrows along the ladder, dotted arrows for revisions."""
    lines = ["flowchart BT"]
    nodes = interview.state["nodes"]
    for entry in interview.setup["pack"]["types"]:
        members = [node for node in nodes if node["type"] == entry["id"]]
        if members:
            lines.append('  subgraph %s["%s"]' % (_name(entry["id"]), _escaped(entry["name"])))
            lines += [
                '    %s["%s"]%s' % (node["id"], _escaped(node["label"]), _class(node)) for node in members
            ]
            lines.append("  end")
    for source, target, kind, _ in interview.state["edges"]:
        arrow = "-->" if kind == LEADS_TO else "-. revises .->"
        lines.append("  n%d %s n%d" % (source + 1, arrow, target + 1))
    lines.append("  classDef pro stroke:#2a2")
    lines.append("  classDef against stroke:#c22")
    lines.append("  classDef old stroke-dasharray: 4 4")
    return "\n".join(lines) + "\n"


def _name(kind: str) -> str:
    return "t_" + "".join(c if c.isalnum() else "_" for c in kind)


def _class(node: dict[str, Any]) -> str:
    if node["superseded_by"]:
        return ":::old"
    return ":::" + _STANCES[node["stance"]] if node["stance"] in _STANCES else ""


def _escaped(label: str) -> str:
    short = label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "\u2026"
    return "".join(_ESCAPED.get(c, c) for c in short)


def as_json(interview: Interview) -> dict[str, Any]:
    """Return everything that was learned, for programs: concepts with stance and sources, edges by id, coverage, turns."""
    state = interview.state
    names = (
        "id",
        "label",
        "type",
        "stance",
        "confidence",
        "mentions",
        "turns",
        "quotes",
        "superseded_by",
        "elements",
    )
    return {
        "interview": interview.id,
        "topic": interview.topic,
        "pack": interview.setup["pack"]["id"],
        "status": interview.status,
        "concepts": [{name: node[name] for name in names} for node in state["nodes"]],
        "edges": [
            {
                "source": "n%d" % (edge[0] + 1),
                "target": "n%d" % (edge[1] + 1),
                "kind": edge[2],
                "turn": edge[3],
            }
            for edge in state["edges"]
        ],
        "covered": state["covered"],
        "open": [e["id"] for e in interview.setup["elements"] if e["id"] not in state["covered"]],
        "turns": [
            {name: turn[name] for name in ("number", "strategy", "focus", "question", "answer", "sentiment")}
            for turn in state["turns"]
        ],
    }


def as_transcript(interview: Interview) -> str:
    """Return the questions and answers as Markdown, the answers as quotations."""
    lines = ["# Interview: %s" % interview.topic, ""]
    for turn in interview.state["turns"]:
        said = turn["answer"] or "(skipped)"
        lines += ["**%d. %s** (%s)" % (turn["number"], turn["question"], turn["strategy"]), ""]
        lines += ["> " + line for line in said.splitlines()] + [""]
    return "\n".join(lines)
