"""Measure the evaluation's gates on our tables of sentences, a kit's prompts about self-harm, and hostile text.

    python3 benchmarks/evaluation_kit.py [KIT_FOLDER] [--show]

`--show` lists misses and false positives, except in halves that are held out. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.evaluation.conversations import Conversation, ConversationTurn
from memory_plugin.evaluation.evaluation_gates import find_full_names, run_gates
from memory_plugin.evaluation.packs import load_pack
from memory_plugin.evaluation.rule_matching import find_matches

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROUNDS = 5
TABLES = (
    ("compliance", "caregiving", "assistant", "violation"),
    ("crisis", "caregiving", "user", "signal"),
    ("honesty", "honesty", "assistant", "violation"),
)
SELF_HARM = "Suicide, Self-Harm, and Eating Disorders"
# The kit files both under one area; a diet is no suicide, so it is counted apart.
EATING = ("eat", "skinny", "weight", "anorexi", "vomit", "bulimi", "laxative", "calorie")
HOSTILE = (
    "you have ",
    "not ",
    '"',
    "stop taking your ",
    "all tests ",
    "i want to ",
    "a" * 50,
    "\u0456",
    ". ",
    "> \n",
)


def records(path: str) -> list[dict[str, Any]]:
    """Return the records of a JSONL file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def table(name: str, pack: str, speaker: str, positive: str, show: bool) -> None:
    """Print the results of one gate on one table, by half."""
    loaded = load_pack(pack)
    rules = [rule for rule in loaded.rules_for(name, speaker) if not rule.against]
    rows = records(os.path.join(ROOT, "tests", "evaluation", name + ".jsonl"))
    for half in dict.fromkeys(row["half"] for row in rows):
        counts = {True: [0, 0], False: [0, 0]}
        for row in rows:
            if row["half"] == half:
                found, wanted = bool(find_matches(loaded, rules, row["text"])), row["label"] == positive
                counts[wanted][0] += found
                counts[wanted][1] += 1
                if show and found != wanted and half != "held-out":
                    print("  %s %r" % ("missed" if wanted else "wrong ", row["text"]))
        print("%-12s %-10s found %d of %d, false %d of %d" % (name, half, *counts[True], *counts[False]))


def kit(folder: str, show: bool) -> None:
    """Print the crisis gate's results on prompts that other people wrote."""
    pack = load_pack("caregiving")
    rules = pack.rules_for("crisis", "user")
    counts: dict[str, list[int]] = {}
    for row in records(os.path.join(folder, "simplesafetytests.jsonl")):
        text = row["prompts_final"]
        eating = row["harm_area"] == SELF_HARM and any(word in text.lower() for word in EATING)
        kind = (
            "other harms"
            if row["harm_area"] != SELF_HARM
            else "eating disorders"
            if eating
            else "suicide and self-harm"
        )
        count(
            counts,
            kind,
            text,
            bool(find_matches(pack, rules, text)),
            show and kind == "suicide and self-harm",
            wanted=True,
        )
    for row in records(os.path.join(folder, "xstest_prompts.jsonl")):
        harmful = row["type"].startswith("contrast_")
        about = harmful and any(word in row["prompt"].lower() for word in ("myself", "suicide", "self-harm"))
        kind = "contrasts on self-harm" if about else "other contrasts" if harmful else "harmless prompts"
        is_found = bool(find_matches(pack, rules, row["prompt"]))
        count(counts, kind, row["prompt"], is_found, show, wanted=about)
    for kind, (found, total) in counts.items():
        print("crisis       %-24s found %d of %d" % (kind, found, total))


def names(folder: str) -> None:
    """Print how many full names of a kit's texts are found, and how many findings are no name."""
    full = found = wrong = 0
    for row in records(os.path.join(folder, "pii_spans.jsonl")):
        text = row["full_text"]
        spans = list(find_full_names(text))
        people = [
            (span["start_position"], span["end_position"])
            for span in row["spans"]
            if span["entity_type"] == "PERSON"
        ]
        overlaps = [
            (name, span) for name in people for span in spans if span[0] < name[1] and name[0] < span[1]
        ]
        full += sum(" " in text[slice(*name)] for name in people)
        found += len({name for name, _ in overlaps if " " in text[slice(*name)]})
        wrong += len(set(spans) - {span for _, span in overlaps})
    print("names        found %d of %d full names, false %d" % (found, full, wrong))


def count(
    counts: dict[str, list[int]], kind: str, text: str, found: bool, show: bool, *, wanted: bool
) -> None:
    """Count one prompt."""
    entry = counts.setdefault(kind, [0, 0])
    entry[0] += found
    entry[1] += 1
    if show and found != wanted:
        print("  %s: found %s: %r" % (kind, found, text))


def speed() -> None:
    """Print the milliseconds that all gates take per turn, and for hostile turns of 100 kB."""
    packs = [load_pack(name) for name in ("hygiene", "honesty", "caregiving")]
    texts = [
        row["text"]
        for name, *_ in TABLES
        for row in records(os.path.join(ROOT, "tests", "evaluation", name + ".jsonl"))
    ]
    some = texts[::5]  # a thousand turns tell the time of one, however long the tables grow
    turns = tuple(ConversationTurn(at, ("user", "assistant")[at % 2], text) for at, text in enumerate(some))
    run_gates(packs, Conversation("warm", turns[:2]))
    started = time.process_time()
    rounds = [run_gates(packs, Conversation("speed", turns)) for _ in range(_ROUNDS)]
    seconds = (time.process_time() - started) / _ROUNDS
    print("speed        %.2f ms a turn, all gates, %d turns" % (seconds * 1e3 / len(turns), len(turns)))
    for runs in zip(*rounds):
        best = min(result.ms for result in runs) / len(turns)
        print("speed        %.3f ms a turn, %s of %s, best of five" % (best, runs[0].gate, runs[0].pack))
    worst = ("", 0.0)
    for piece in HOSTILE:
        text = piece * (100_000 // len(piece))
        started = time.process_time()
        run_gates(
            packs,
            Conversation("x", (ConversationTurn(1, "user", text), ConversationTurn(2, "assistant", text))),
        )
        worst = max(worst, (piece, time.process_time() - started), key=lambda pair: pair[1])
    print("speed        slowest hostile pair of turns, 100 kB each: %.2f s (%.20r)" % (worst[1], worst[0]))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kit", nargs="?")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for name, pack, speaker, positive in TABLES:
        table(name, pack, speaker, positive, options.show)
    if options.kit:
        kit(options.kit, options.show)
        names(options.kit)
    speed()
    return 0


if __name__ == "__main__":
    sys.exit(main())
