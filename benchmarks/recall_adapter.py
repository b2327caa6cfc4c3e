"""Run the product's index and ranking as the two commands of a retrieval benchmark's runner.

    recall_adapter.py index --corpus DIR --state DIR    reads DIR/corpus.jsonl {id, title, tags, body, category, files}
    recall_adapter.py query --state DIR --k K           reads {id, text} lines, prints {id, results: [{id, score}], inject: [id],
                                                        point: [id]} lines

`score` is the confidence, with the rank as its tie-breaker; `inject` and `point` are what the product would inject and point to with its
default settings.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.documents import Document
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import open_index, transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, rank


def document(record: dict[str, object]) -> Document:
    """Return the document for a benchmark's record."""
    key = str(record["id"])
    tags, files, asked_as = (record.get(name) or [] for name in ("tags", "files", "asked_as"))
    assert isinstance(tags, list)
    assert isinstance(files, list)
    assert isinstance(asked_as, list)
    return Document(
        key=key,
        scope="project",
        id=key,
        category=str(record.get("category", "")).upper(),
        title=str(record["title"]),
        tags=[str(tag) for tag in tags],
        body=str(record["body"]),
        files=[str(name) for name in files],
        asked_as=[str(phrase) for phrase in asked_as],
        path=key,
        stamp="",
        digest="",
        injectable=True,
        trust="trusted",
        expires_at="",
        updated_at=str(record.get("created_at", "")),
        inject="",
    )


def thresholds() -> tuple[float, float]:
    """Return the default thresholds for injecting a memory and for pointing to it."""
    retrieval = _retrieval()
    return float(retrieval["inject_threshold"]), float(retrieval["pointer_threshold"])


def most() -> tuple[int, int]:
    """Return the default maximum of injected memories and of pointers per prompt."""
    retrieval = _retrieval()
    return int(retrieval["max_inject"]), int(retrieval["max_pointers"])


def _retrieval() -> dict[str, Any]:
    with open(data_path("defaults.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return {key[len("retrieval.") :]: value for key, value in found.items() if key.startswith("retrieval.")}


def index(corpus: str, state: str) -> None:
    """Index every record of a corpus."""
    connection = create_index(os.path.join(state, "index.sqlite"))
    with open(os.path.join(corpus, "corpus.jsonl"), encoding="utf-8") as file, transaction(connection):
        put(connection, (document(json.loads(line)) for line in file))
    connection.close()


def query(state: str, limit: int) -> None:
    """Answer every query on standard input."""
    connection = open_index(os.path.join(state, "index.sqlite"))
    inject_from, point_from = thresholds()
    most_injected, most_pointed = most()
    for line in sys.stdin:
        asked = json.loads(line)
        hits = rank(
            Corpus(connection, only_injectable=True), analyze(asked["text"]), limit, Deadline(60), FTS5
        )
        results = [{"id": hit.key, "score": hit.confidence} for hit in hits]
        inject = [hit.key for hit in hits if hit.confidence >= inject_from][:most_injected]
        plausible = [hit.key for hit in hits if hit.pointer_confidence >= point_from]
        point = [key for key in plausible if key not in inject][:most_pointed]
        print(json.dumps({"id": asked["id"], "results": results, "inject": inject, "point": point}))


def main() -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("index", "query"))
    parser.add_argument("--corpus")
    parser.add_argument("--state", required=True)
    parser.add_argument("--k", type=int, default=15)
    options = parser.parse_args()
    if options.command == "index":
        index(options.corpus, options.state)
    else:
        query(options.state, options.k)
    return 0


if __name__ == "__main__":
    sys.exit(main())
