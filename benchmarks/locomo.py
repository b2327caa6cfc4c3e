"""Rank the evidence of LoCoMo's questions with the product's ranking and, in the same run, with SQLite's FTS5 and its Porter stemmer.

    locomo.py FILE [--conversations 1,2,3,6,9] [--sessions] [--json]

FILE is `locomo10.json` of the LoCoMo benchmark (Maharana et al. 2024; CC BY-NC 4.0, so it is not part of this repository). Each turn of a
conversation becomes a memory: its title is the speaker and the date of the session, its body the text and the caption of an image. With
`--sessions` each session becomes one. Conversations count from 0; the product was never fitted to those named above, the default.
Recall@k is the share of a question's evidence among the first k, averaged over the questions; hit@k is the share of questions with any.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import document
from memory_plugin.kernel.context import Deadline
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index_in_memory
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, rank

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
CUTS = (5, 10)
Record = dict[str, Any]
Search = Callable[[str], list[str]]


class Question(NamedTuple):
    """A question, the name of its category, and the ids of the memories that answer it."""

    text: str
    category: str
    evidence: set[str]


def memories(conversation: Record, *, by_session: bool) -> Iterator[Record]:
    """Yield the memories of a conversation; the id is that of the turn, or of its session (`D3`)."""
    for name, turns in conversation.items():
        if not re.fullmatch(r"session_\d+", name):
            continue
        date = str(conversation.get(name + "_date_time", ""))
        texts = [(turn, "%s %s" % (turn.get("text", ""), turn.get("blip_caption", ""))) for turn in turns]
        if by_session:
            body = "\n".join("%s: %s" % (turn["speaker"], text) for turn, text in texts)
            yield {"id": "D" + name.partition("_")[2], "title": date, "body": body}
        else:
            for turn, text in texts:
                yield {"id": turn["dia_id"], "title": "%s, %s" % (turn["speaker"], date), "body": text}


def questions(sample: Record, known: set[str], *, by_session: bool) -> Iterator[Question]:
    """Yield the questions whose evidence exists; some entries of the benchmark join ids with blanks or semicolons."""
    for row in sample["qa"]:
        ids = {identity for entry in row.get("evidence") or () for identity in re.findall(r"D\d+:\d+", entry)}
        evidence = {identity.partition(":")[0] if by_session else identity for identity in ids} & known
        if evidence:
            yield Question(str(row["question"]), CATEGORIES[row["category"]], evidence)


def product(records: list[Record]) -> Search:
    """Return the product's search over memories."""
    connection = create_index_in_memory()
    with transaction(connection):
        put(connection, map(document, records))

    def search(text: str) -> list[str]:
        return [
            hit.key
            for hit in rank(
                Corpus(connection, only_injectable=True), analyze(text), CUTS[-1], Deadline(60), FTS5
            )
        ]

    return search


def porter(records: list[Record]) -> Search:
    """Return FTS5's search with BM25: any word of the question may match."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE memory USING fts5(id UNINDEXED, text, tokenize='porter')")
    connection.executemany(
        "INSERT INTO memory VALUES (?, ?)", ((row["id"], "%(title)s %(body)s" % row) for row in records)
    )

    def search(text: str) -> list[str]:
        words = " OR ".join('"%s"' % word for word in re.findall(r"\w+", text))
        query = "SELECT id FROM memory WHERE memory MATCH ? ORDER BY bm25(memory) LIMIT ?"
        with closing(connection.execute(query, (words, CUTS[-1]))) as rows:
            return [str(row[0]) for row in rows]

    return search


def measure(samples: list[Record], *, by_session: bool) -> dict[str, dict[str, list[float]]]:
    """Return for each ranking and category the rows [recall@5, recall@10, hit@5, 1] of the questions, summed."""
    sums: dict[str, dict[str, list[float]]] = {}
    for sample in samples:
        records = list(memories(sample["conversation"], by_session=by_session))
        asked = list(questions(sample, {row["id"] for row in records}, by_session=by_session))
        for name, search in (("memory", product(records)), ("FTS5 porter", porter(records))):
            for question in asked:
                found = search(question.text)
                recalls = [
                    len(question.evidence.intersection(found[:cut])) / len(question.evidence) for cut in CUTS
                ]
                row = [*recalls, float(recalls[0] > 0), 1.0]
                for category in (question.category, "all"):
                    total = sums.setdefault(name, {}).setdefault(category, [0.0] * len(row))
                    total[:] = map(sum, zip(total, row))
    return sums


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--conversations", default="1,2,3,6,9")
    parser.add_argument("--sessions", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        samples = json.load(file)
    chosen = [samples[int(number)] for number in options.conversations.split(",")]
    sums = measure(chosen, by_session=options.sessions)
    means = {
        name: {
            category: [value / row[-1] for value in row[:-1]] + [row[-1]] for category, row in table.items()
        }
        for name, table in sums.items()
    }
    if options.json:
        print(json.dumps(means, indent=2))
        return
    print(
        "%-12s %-12s %9s %9s %10s %7s" % ("ranking", "questions", "number", "recall@5", "recall@10", "hit@5")
    )
    for name, table in means.items():
        for category in sorted(table, key=lambda category: (category == "all", category)):
            five, ten, hit, number = table[category]
            print("%-12s %-12s %9d %9.3f %10.3f %7.3f" % (name, category, number, five, ten, hit))


if __name__ == "__main__":
    main()
