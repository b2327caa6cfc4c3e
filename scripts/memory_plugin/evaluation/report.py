"""Report an evaluation to people: one line per conversation, or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.text.clean import plain
from ..kernel.text.tags import escape_content

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_CELL = 240
_MARKDOWN = frozenset("\\`*_[]{}#|!~$")


def summary_line(entry: Mapping[str, Any]) -> str:
    """Return verdict, score and reason of one conversation."""
    score = "" if entry["overall"] is None else " %.2f" % entry["overall"]
    return "%s%s  %s: %s" % (entry["verdict"].upper(), score, plain(str(entry["id"]), 200), entry["reason"])


def markdown_report(summary: Mapping[str, Any]) -> str:
    """Return the whole report: the verdict, then each conversation with its gates, evidence, jury and costs."""
    lines = [
        "# Evaluation",
        "",
        "**%s**, %s" % (summary["verdict"].upper(), _conversations(len(summary["results"]))),
    ]
    if summary["kappa"] is not None:
        lines.append("Agreement between judges (mean quadratic weighted kappa): %.2f" % summary["kappa"])
    for tier, row in summary["tiers"].items():
        lines.append("Tier %s: %s, %d passed" % (_text(tier), _conversations(row["n"]), row["passed"]))
    for entry in summary["results"]:
        lines += ["", *_entry(entry)]
    return "\n".join(lines) + "\n"


def _entry(entry: Mapping[str, Any]) -> list[str]:
    lines = ["## %s" % _text(entry["id"]), "", _text(summary_line(entry)), ""]
    lines += ["| gate | pack | status | ms |", "| --- | --- | --- | --- |"]
    for gate in entry["gates"]:
        status = gate["status"] + ("" if gate["hard"] else " (does not count)")
        lines.append("| %s | %s | %s | %.1f |" % (gate["gate"], gate["pack"], status, gate["ms"]))
    lines += _evidence(entry["gates"])
    lines += _jury(entry["jury"])
    lines += _probes(entry.get("probes", []))
    cost = entry["cost_usd"]["judges"]
    lines += [
        "",
        "Rules: %.1f ms, no cost. Judges: %.0f ms, %s."
        % (
            entry["latency_ms"]["rules"],
            entry["latency_ms"]["judges"],
            "cost unknown" if cost is None else "$%.4f" % cost,
        ),
    ]
    return lines


def _evidence(gates: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for gate in gates:
        if gate["error"]:
            lines.append("- %s: error, which counts as a fail: %s" % (gate["gate"], _text(gate["error"])))
        for finding in gate["findings"]:
            status = "note" if finding["note"] else "fail"
            lines.append(
                "- %s, %s, turn %d (%s), `%s`: %s %s"
                % (
                    gate["gate"], status, finding["turn"], finding["role"], finding["rule"], finding["reason"],
                    "\u201c%s\u201d" % _text(finding["excerpt"]) if finding["excerpt"] else "",
                )
            )  # fmt: skip
    return ["", *lines] if lines else []


def _jury(jury: Mapping[str, Any]) -> list[str]:
    if not jury["asked"]:
        return ["", "Judges were not asked: %s." % _text(jury["why"])]
    lines = [
        "",
        "| dimension | weight | %s | median | mean | sd | abstained |"
        % " | ".join(_text(judge["judge"]) for judge in jury["judges"]),
    ]
    lines.append("|" + " --- |" * (6 + len(jury["judges"])))
    for row in jury["dimensions"]:
        scores = " | ".join("-" if score is None else str(score) for score in row["scores"])
        figures = " | ".join(
            "unscored" if row[name] is None else "%.2f" % row[name] for name in ("median", "mean", "sd")
        )
        lines.append(
            "| %s | %g | %s | %s | %d |"
            % (row["dimension"], row["weight"], scores, figures, row["abstained"])
        )
    if jury["one_family"]:
        lines.append(
            "\nAll judges are of one family; they differ in persona only." if len(jury["judges"]) > 1 else ""
        )
    failed = (judge for judge in jury["judges"] if judge["outcome"] != "ok")
    lines += ["- %s: %s" % (_text(judge["judge"]), judge["outcome"]) for judge in failed]
    if jury["variance"]["runs"] > 1:
        lines.append(
            "\n%(runs)d runs: mean %(mean).3f, sd %(sd).3f, from %(min).3f to %(max).3f" % jury["variance"]
        )
    return lines


def _probes(probes: Sequence[Mapping[str, Any]]) -> list[str]:
    if not probes:
        return []
    lines = ["", "| probe | kind | score | passed |", "| --- | --- | --- | --- |"]
    for probe in probes:
        score = "-" if probe["score"] is None else "%.2f" % probe["score"]
        lines.append(
            "| %s | %s | %s | %s |"
            % (_text(probe["query"]), probe["kind"], score, "yes" if probe["passed"] else "no")
        )
    return lines


def _text(value: object) -> str:
    """Return a text on one line in which nothing is Markdown or HTML."""
    line = escape_content(plain(str(value), _MAX_CELL))
    return "".join("\\" + c if c in _MARKDOWN else c for c in line)


def _conversations(number: int) -> str:
    return "%d conversation%s" % (number, "" if number == 1 else "s")
