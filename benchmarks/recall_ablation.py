"""Measure what each part of the ranking contributes: macro nDCG@10 of a benchmark's sets with that part changed or removed.

recall_ablation.py --data DIR [--sets a,b] [--only NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import NamedTuple
from unittest.mock import patch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import document
from benchmarks.recall_stores import LIMIT, Answer, Set, mean, ndcg, sets
from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.text.words import fold
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import meta_get, meta_set, transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, rank


class Change(NamedTuple):
    """A change to one part: values of ranking.json, or a replaced function at each place that uses it."""

    name: str
    values: dict[str, object]
    functions: dict[str, Callable[..., object]]
    stop_words: bool = True
    fts5: bool = True


def _unstemmed(word: str) -> str:
    return word + "~"


def _unsplit(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char in "_." else " " for char in fold(text).lower()).split()


FORM: dict[str, Callable[..., object]] = {
    "memory_plugin.recall.documents.form": _unstemmed,
    "memory_plugin.recall.query.form": _unstemmed,
}
WORDS: dict[str, Callable[..., object]] = {
    "memory_plugin.recall.documents.tokenize": _unsplit,
    "memory_plugin.recall.query.tokenize": _unsplit,
}
CHANGES = (
    Change("as it is", {}, {}),
    Change("no stop words", {}, {}, stop_words=False),
    Change("no stemming", {}, FORM),
    Change("identifiers not split", {}, WORDS),
    Change("all fields alike", {"weights": [1, 1, 1, 1, 1]}, {}),
    Change("no character 4-grams", {"soft": 0}, {}),
    Change("no word forms", {"forms": 0}, {}),
    Change("no share of the title", {"title": 0}, {}),
    Change("none of these three", {"soft": 0, "forms": 0, "title": 0}, {}),
    Change("no background", {"prior": 0}, {}),
    Change("no corrections", {"corrections": 0}, {}),
    Change("strong postings as weak ones", {"strong": 1}, {}),
    Change("all postings, pool 500", {"pool": 500, "soft_pool": 500, "postings": 10**9, "terms": 10**4}, {}),
    Change("postings 8,000, pool 100", {"pool": 100, "soft_pool": 50, "postings": 8000}, {}),
    Change("postings 1,000", {"postings": 1000}, {}),
    Change("pool 20", {"pool": 20}, {}),
    Change("keyword fallback, no FTS5", {}, {}, fts5=False),
)


def reached(source: Set, change: Change) -> float:
    """Return the mean nDCG@10 of a set's queries under a change."""
    with tempfile.TemporaryDirectory() as folder:
        connection = create_index(os.path.join(folder, "index.sqlite"), fts5=change.fts5)
        model = json.loads(meta_get(connection, "model") or "")
        model["ranking"].update(change.values)
        if not change.stop_words:
            model["stopwords"] = dict.fromkeys(model["stopwords"], "")
        meta_set(connection, "model", json.dumps(model))
        with transaction(connection):
            put(connection, (document(record) for record in source.corpus))
        gains = []
        for asked in source.queries:
            words = analyze(str(asked["text"]))
            hits = rank(Corpus(connection, only_injectable=True), words, LIMIT, Deadline(60), FTS5)
            wanted = source.relevant[str(asked["id"])]
            gains.append(
                ndcg(Answer("own", hits, [wanted.get(hit.key, 0) for hit in hits], list(wanted.values())))
            )
        connection.close()
    return mean(gains)


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    sources = sets(options.data, options.sets)
    print("| change | macro | %s |" % " | ".join(source.name for source in sources))
    for change in CHANGES:
        if options.only not in ("", change.name):
            continue
        patches = [patch(place, function) for place, function in change.functions.items()]
        for each in patches:
            each.start()
        values = [reached(source, change) for source in sources]
        for each in patches:
            each.stop()
        print(
            "| %s | %.4f | %s |"
            % (change.name, mean(values), " | ".join("%.3f" % value for value in values)),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
