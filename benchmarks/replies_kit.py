"""Measure how well the rules find filler and preambles in labeled replies, and how often replies are escalated to a judge.

    python3 benchmarks/replies_kit.py KIT_FOLDER [--half tune|check|all] [--show] [--markdown]

`labelled.jsonl` holds hand-labeled replies, `pairs.jsonl` prompts with replies. A hash of the id selects the half: tune the rules on one
half and check them on the other. `--show` lists the errors. Nothing is written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from typing import Any, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.settings.load import load
from memory_plugin.replies.rows import Score
from memory_plugin.replies.score import ReplyScorer

NEAR = 3  # words by which a preamble may be off
SHORTEST = 20  # words of a reply that counts for rates
FEW = 10  # replies below which a model gets no row of its own


class Comparison(NamedTuple):
    """The agreement of labels and rules on some replies."""

    replies: int
    hit: int
    wrong: int
    missed: int
    near: int

    @property
    def precision(self) -> float:
        """Return the correct findings divided by all findings."""
        return self.hit / (self.hit + self.wrong) if self.hit + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Return the correct findings divided by all labels."""
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0

    def line(self) -> str:
        """Return a line of numbers."""
        f1 = 2 * self.precision * self.recall / (self.precision + self.recall)
        shares = (self.replies, self.precision, self.recall, f1, self.near / self.replies)
        return "%4d replies  precision %.3f  recall %.3f  F1 %.3f  preamble within 3 words %.3f" % shares


def rows(folder: str, name: str) -> list[dict[str, Any]]:
    """Return the records of a file of the kit."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def half_of(row: dict[str, Any]) -> str:
    """Return the half that a labeled reply belongs to."""
    return (
        "check" if int(hashlib.md5(row["id"].encode(), usedforsecurity=False).hexdigest(), 16) % 2 else "tune"
    )


def score(row: dict[str, Any], scorer: ReplyScorer) -> Score:
    """Return the score of one row."""
    return scorer.score(row["response"], row.get("user") or "")


def compare(labeled: list[dict[str, Any]], scorer: ReplyScorer, *, show: bool) -> Comparison:
    """Compare the labels with the findings of the rules."""
    counts: Counter[str] = Counter()
    for row in labeled:
        found = score(row, scorer)
        wanted, told = row["labels"]["has_filler"], found.padding_count > 0
        counts["hit"] += wanted and told
        counts["wrong"] += told and not wanted
        counts["missed"] += wanted and not told
        counts["near"] += abs(found.preamble_words - row["labels"]["preamble_words"]) <= NEAR
        if show and wanted != told:
            phrases = [(row["response"][start:end], rule) for start, end, rule in found.matches]
            print(row["id"], "wrong" if told else "missed", phrases or row["labels"]["filler_spans"])
    return Comparison(len(labeled), counts["hit"], counts["wrong"], counts["missed"], counts["near"])


def rates(
    pairs: list[dict[str, Any]], scorer: ReplyScorer
) -> tuple[Counter[str], dict[str, list[Score]], dict[str, list[Score]]]:
    """Return the gate's rows, and the scores by model and by kind of message, for replies of at least 20 words."""
    gates: Counter[str] = Counter()
    models: dict[str, list[Score]] = {}
    kinds: dict[str, list[Score]] = {}
    for row in pairs:
        if len(row["response"].split()) >= SHORTEST:
            found = score(row, scorer)
            gates[found.gate] += 1
            models.setdefault(row["model"] or "unknown", []).append(found)
            kinds.setdefault(found.query_type, []).append(found)
    return gates, models, kinds


def table(title: str, groups: dict[str, list[Score]], *, markdown: bool) -> None:
    """Print escalation, filler and density by group, the largest first; small groups together."""
    large = {name: scores for name, scores in groups.items() if len(scores) >= FEW}
    small = [one for name, scores in groups.items() if name not in large for one in scores]
    if markdown:
        print(
            "\n| %s | replies | escalated | with filler | median density |\n| --- | --- | --- | --- | --- |"
            % title
        )
    else:
        print("\n%-30s replies  escalated  with filler  median density" % title)
    for name, scores in [
        *sorted(large.items(), key=lambda item: -len(item[1])),
        ("fewer than %d each" % FEW, small),
    ]:
        if not scores:
            continue
        densities = sorted(one.density for one in scores if one.density is not None)
        cells = (
            name,
            len(scores),
            100 * sum(one.escalate for one in scores) / len(scores),
            100 * sum(one.padding_count > 0 for one in scores) / len(scores),
            densities[len(densities) // 2] if densities else 0.0,
        )
        print(
            ("| %s | %d | %.0f%% | %.0f%% | %.3f |" if markdown else "%-30s %7d  %7.0f%%  %9.0f%%  %14.3f")
            % cells
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder")
    parser.add_argument("--half", choices=["tune", "check", "all"], default="all")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    scorer = ReplyScorer(load(None, None), None)
    labeled = rows(arguments.folder, "labelled.jsonl")
    for half in ("tune", "check", "all"):
        if arguments.half in (half, "all"):
            chosen = [row for row in labeled if half in ("all", half_of(row))]
            print("%-6s" % half, compare(chosen, scorer, show=arguments.show and half != "all").line())
    gates, models, kinds = rates(rows(arguments.folder, "pairs.jsonl"), scorer)
    total = sum(gates.values())
    escalated = sum(one.escalate for scores in models.values() for one in scores)
    print("\n%d replies of %d words and more: %.1f%% escalated" % (total, SHORTEST, 100 * escalated / total))
    print(", ".join("%s %d" % pair for pair in gates.most_common()))
    table("model", models, markdown=arguments.markdown)
    table("message", kinds, markdown=arguments.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
