"""Report an evaluation to people: lines for a terminal, or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..kernel.text.clean import plain
from ..kernel.text.tags import escape_content

_MAX_CELL = 240
_MARKDOWN = frozenset("\\`*_[]{}#|!~$")


def text_lines(entry: Mapping[str, Any]) -> list[str]:
    """Return the verdict of one conversation, then its findings and scores."""
    lines = [_summary_line(entry)]
    for gate in entry["gates"]:
        for finding in gate["findings"]:
            place = "%s %s, turn %d, %s" % (
                _severity(gate, finding),
                gate["gate"],
                finding["turn"],
                finding["role"],
            )
            lines.append("  %s: %s (%s) %s" % (place, finding["reason"], finding["rule"], finding["excerpt"]))
        if gate["error"]:
            lines.append("  error in %s, which counts as a fail: %s" % (gate["gate"], gate["error"]))
    for row in entry["jury"].get("dimensions", []):
        median = "unscored" if row["median"] is None else "%.1f" % row["median"]
        lines.append("  %s: %s of %s" % (row["dimension"], median, row["scores"]))
    if not entry["jury"]["asked"]:
        lines.append("  judges were not asked: %s" % entry["jury"]["why"])
    return lines


def _summary_line(entry: Mapping[str, Any]) -> str:
    score = "" if entry["overall"] is None else " %.2f" % entry["overall"]
    return "%s%s  %s: %s" % (entry["verdict"].upper(), score, plain(str(entry["id"]), 200), entry["reason"])


def _severity(gate: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    return "note" if finding["note"] or not gate["hard"] else "fail"


def markdown_report(summary: Mapping[str, Any]) -> str:
    """Return the whole report: the verdict, then each conversation with its gates, evidence, jury and costs."""
    count = len(summary["results"])
    lines = ["# Evaluation", ""]
    lines.append("**%s**, %d conversation%s" % (summary["verdict"].upper(), count, "" if count == 1 else "s"))
    if summary["kappa"] is not None:
        lines.append("Agreement between judges (mean quadratic weighted kappa): %.2f" % summary["kappa"])
    for entry in summary["results"]:
        cost = entry["cost_usd"]["judges"]
        lines += [
            "",
            "## " + _text(entry["id"]),
            "",
            _text(_summary_line(entry)),
            "",
            *_gates(entry["gates"]),
        ]
        lines += ["", *_jury(entry["jury"]), ""]
        lines.append(
            "Rules: %.1f ms, no cost. Judges: %.0f ms, %s."
            % (
                entry["latency_ms"]["rules"],
                entry["latency_ms"]["judges"],
                "cost unknown" if cost is None else "$%.4f" % cost,
            )
        )
    return "\n".join(lines) + "\n"


def _gates(gates: Iterable[Mapping[str, Any]]) -> list[str]:
    rows, evidence = [["gate", "pack", "status", "ms"]], []
    for gate in gates:
        status = gate["status"] + ("" if gate["hard"] else " (does not count)")
        rows.append([gate["gate"], gate["pack"], status, "%.1f" % gate["ms"]])
        if gate["error"]:
            evidence.append("- %s: error, which counts as a fail: %s" % (gate["gate"], _text(gate["error"])))
        for finding in gate["findings"]:
            place = gate["gate"], _severity(gate, finding), finding["turn"], finding["role"], finding["rule"]
            quote = " \u201c%s\u201d" % _text(finding["excerpt"]) if finding["excerpt"] else ""
            evidence.append("- %s, %s, turn %d (%s), `%s`: " % place + finding["reason"] + quote)
    return [*_table(rows), *(["", *evidence] if evidence else [])]


def _jury(jury: Mapping[str, Any]) -> list[str]:
    if not jury["asked"]:
        return ["Judges were not asked: %s." % _text(jury["why"])]
    names = [_text(judge["judge"]) for judge in jury["judges"]]
    rows = [["dimension", "weight", *names, "median", "mean", "sd", "abstained"]]
    for row in jury["dimensions"]:
        scores = ["-" if score is None else str(score) for score in row["scores"]]
        figures = [
            "unscored" if row[name] is None else "%.2f" % row[name] for name in ("median", "mean", "sd")
        ]
        rows.append([row["dimension"], "%g" % row["weight"], *scores, *figures, str(row["abstained"])])
    lines = _table(rows)
    if jury["one_family"] and len(names) > 1:
        lines += ["", "All judges are of one family; they differ in persona only."]
    failed = [judge for judge in jury["judges"] if judge["outcome"] != "ok"]
    return [*lines, *("- %s: %s" % (_text(judge["judge"]), judge["outcome"]) for judge in failed)]


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| %s |" % " | ".join(row) for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def _text(value: object) -> str:
    """Return a text on one line in which nothing is Markdown or HTML."""
    line = escape_content(plain(str(value), _MAX_CELL))
    return "".join("\\" + c if c in _MARKDOWN else c for c in line)
