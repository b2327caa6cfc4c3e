"""Measure how fast an interview covers its subject, with oracle respondents who answer from notes.

    python3 benchmarks/interview_kit.py KIT     a folder with *_topics_filled.json (topics, subtopics, notes)

The respondent answers with two notes of the subtopic in question and may volunteer a note of a related one: the subtopic of the same topic
that shares the most words and has not come up yet. Two options decide the result, so both can be set: how often the respondent volunteers
(`--volunteers 0.5`: in every second answer), and how often an open question brings up something old (`--old 2`: every second time). A
subtopic counts as covered once one of its notes was given. Four interviewers get the same respondent: this plugin, a fixed order of all
subtopics, the same order without subtopics that already came up, and a random order (mean of twenty seeds).
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import random
import sys
from functools import partial
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from memory_plugin.interview.inputs import new_setup, parse_answer  # noqa: E402
from memory_plugin.interview.pipeline import ANSWER, apply_event, begin  # noqa: E402
from memory_plugin.kernel.text.words import stem, tokenize  # noqa: E402

TURNS = 40
MARKS = (10, 20, 30, 40)
IDLE = frozenset(
    tokenize(
        "a an and any as at by for from how in into is it of on or own that the their this to vs with work working"
    )
)
Topics = list[dict[str, Any]]


class Oracle:
    """A respondent who answers from notes; `told` counts the notes given per subtopic."""

    def __init__(self, topics: Topics, old: int, volunteers: float) -> None:
        self.old, self.volunteers = old, volunteers
        self.opened = self.asked = 0
        self.notes = {s["subtopic_id"]: s["notes"] for t in topics for s in t["subtopics"]}
        self.topic = {s["subtopic_id"]: t["topic"] for t in topics for s in t["subtopics"]}
        self.bags = {
            name: {stem(w) for note in notes for w in tokenize(note) if w not in IDLE}
            for name, notes in self.notes.items()
        }
        self.told = dict.fromkeys(self.notes, 0)

    def near(self, name: str) -> str:
        """Return the unused subtopic of the same topic that shares the most words; "" if there is none."""
        fresh = [
            o for o in self.notes if self.topic[o] == self.topic[name] and o != name and not self.told[o]
        ]
        mine = self.bags[name]
        return max(fresh, key=lambda o: len(mine & self.bags[o]) / len(mine | self.bags[o]), default="")

    def answer(self, name: str) -> list[tuple[str, str]]:
        """Return the notes given in answer to a question about a subtopic ("" for an open question), each with its subtopic."""
        self.asked += 1
        name = name or self.open()
        said = self.tell(name, 2)
        generous = int(self.asked * self.volunteers) > int((self.asked - 1) * self.volunteers)
        near = self.near(name) if generous else ""
        return said + self.tell(near, 1) if near else said

    def open(self) -> str:
        """Return the subtopic with which the respondent answers an open question."""
        self.opened += 1
        known = [name for name, count in self.told.items() if count and count < len(self.notes[name])]
        fresh = [name for name, count in self.told.items() if not count]
        stays = bool(known) and self.old > 0 and self.opened % self.old == 0
        pool = known if stays else fresh or known or list(self.notes)
        name: str = pool[self.opened * 7 % len(pool)]
        return name

    def tell(self, name: str, most: int) -> list[tuple[str, str]]:
        """Return the next notes of a subtopic."""
        first = self.told[name]
        notes = self.notes[name][first : first + most]
        self.told[name] += len(notes)
        return [(name, note) for note in notes]

    def coverage(self) -> float:
        """Return the share of subtopics with at least one note given."""
        return sum(map(bool, self.told.values())) / len(self.told)


def curve(
    oracle: Oracle, ask: Callable[[], str | None], take: Callable[[list[tuple[str, str]]], None]
) -> list[float]:
    """Return the coverage after each question; it stays constant once the interviewer stops."""
    found: list[float] = []
    while len(found) < TURNS:
        name = ask()
        if name is not None:
            take(oracle.answer(name))
        found.append(oracle.coverage())
    return found


def in_order(
    topics: Topics, volunteers: float, order: Callable[[list[str]], list[str]], *, skips: bool
) -> list[float]:
    """Return the coverage of an interviewer with a fixed order; with `skips`, already covered subtopics are skipped."""
    oracle = Oracle(topics, 0, volunteers)
    left = order(list(oracle.notes))

    def ask() -> str | None:
        while left and skips and oracle.told[left[0]]:
            left.pop(0)
        return left.pop(0) if left else None

    return curve(oracle, ask, lambda _: None)


def rule_based(topics: Topics, old: int, volunteers: float) -> tuple[list[float], dict[str, int]]:
    """Return the coverage of this plugin, which knows the subtopics but not the notes, and how often it used each strategy."""
    elements = [
        {"id": s["subtopic_id"], "label": s["subtopic_description"], "aliases": [], "group": t["topic"]}
        for t in topics
        for s in t["subtopics"]
    ]
    fact = {"id": "fact", "name": "Fact", "memory": "decision"}
    pack: Any = {
        "id": "kit", "name": "Kit", "reason": "a flat list", "types": [fact], "ladder": ["fact"], "terminal": ["fact"],
        "elements": elements,
    }  # fmt: skip
    setup = new_setup("your work", pack, TURNS, {"stop": {"coverage": 1.0}})
    oracle, used = (
        Oracle(topics, old, volunteers),
        dict.fromkeys((e["id"] for e in setup["scoring"]["strategies"]), 0),
    )
    state, decision = begin(setup, {})
    about: dict[str, str] = {}

    def ask() -> str | None:
        if decision["stop"]:
            return None
        used[decision["strategy"]] += 1
        focus = decision["focus"]
        return focus["key"] if focus["kind"] == "uncovered" else about.get(focus["key"].split("+")[0], "")

    def take(said: list[tuple[str, str]]) -> None:
        nonlocal decision
        concepts = [{"text": note, "type": "fact", "quote": note} for _, note in said]
        data = {"answer": ". ".join(note for _, note in said) or "Nothing to add.", "concepts": concepts}
        data["covered"] = sorted({name for name, _ in said})
        given, _ = parse_answer(data, setup)
        decision = apply_event(state, setup, {"kind": ANSWER, "given": given})
        for at, (name, _) in zip(state["turns"][-1]["concepts"], said):
            about[at] = name

    return curve(oracle, ask, take), used


def _shuffled(chance: random.Random, names: list[str]) -> list[str]:
    return chance.sample(names, len(names))


def at_random(topics: Topics, volunteers: float) -> list[float]:
    """Return the mean coverage over twenty random orders."""
    curves = []
    for seed in range(20):
        chance = random.Random(seed)
        curves.append(in_order(topics, volunteers, partial(_shuffled, chance), skips=False))
    return [sum(values) / len(values) for values in zip(*curves)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kit")
    parser.add_argument(
        "--old", type=int, default=0, help="how often an open question brings nothing new (0: never)"
    )
    parser.add_argument(
        "--volunteers", type=float, default=1.0, help="share of answers with a related note (0 to 1)"
    )
    arguments = parser.parse_args()
    people = sorted(glob.glob(os.path.join(arguments.kit, "*_topics_filled.json")))
    rows: dict[str, list[list[float]]] = {
        "memory interview": [],
        "fixed order": [],
        "fixed, skipping": [],
        "random": [],
    }
    uses: dict[str, int] = {}
    for path in people:
        with open(path, encoding="utf-8") as file:
            topics: Topics = json.load(file)
        found, used = rule_based(topics, arguments.old, arguments.volunteers)
        rows["memory interview"].append(found)
        rows["fixed order"].append(in_order(topics, arguments.volunteers, list, skips=False))
        rows["fixed, skipping"].append(in_order(topics, arguments.volunteers, list, skips=True))
        rows["random"].append(at_random(topics, arguments.volunteers))
        uses = {name: uses.get(name, 0) + count for name, count in used.items()}
    print("| interviewer | %s |" % " | ".join("%d turns" % mark for mark in MARKS))
    print("| --- |%s" % (" --- |" * len(MARKS)))
    for name, curves in rows.items():
        means = [sum(c[mark - 1] for c in curves) / len(curves) for mark in MARKS]
        print("| %s | %s |" % (name, " | ".join("%.2f" % value for value in means)))
    lowest = [min(c[mark - 1] for c in rows["memory interview"]) for mark in MARKS]
    print("\nlowest of %d people: %s" % (len(people), ", ".join("%.2f" % value for value in lowest)))
    print("strategies: %s" % ", ".join("%s %d" % pair for pair in uses.items() if pair[1]))


if __name__ == "__main__":
    main()
