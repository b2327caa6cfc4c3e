"""The adapter for retrieval benchmarks, called as a benchmark runner calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.project import PLUGIN_ROOT

ADAPTER = os.path.join(PLUGIN_ROOT, "benchmarks", "recall_adapter.py")
CORPUS = [
    {
        "id": "d1",
        "title": "Use Postgres for the billing database",
        "tags": ["db"],
        "body": "Invoices need transactions.",
    },
    {
        "id": "d2",
        "title": "Deploy with blue-green releases",
        "tags": [],
        "body": "Switch when health checks pass.",
    },
]
QUERIES = [
    {"id": "q1", "text": "which database do we use for billing"},
    {"id": "q2", "text": "write a haiku", "session": "s"},
]


def run(*arguments: str, stdin: str = "") -> str:
    """Run a command of the adapter; return its output."""
    command = [sys.executable, ADAPTER, *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, encoding="utf-8", check=True, timeout=60
    ).stdout


def test_an_indexed_corpus_answers_queries(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in CORPUS), encoding="utf-8"
    )
    run("index", "--corpus", str(tmp_path), "--state", str(tmp_path))
    queries = "".join(json.dumps(query) + "\n" for query in QUERIES)
    first, second = map(
        json.loads, run("query", "--state", str(tmp_path), "--k", "1", stdin=queries).splitlines()
    )
    assert (first["id"], second["id"]) == ("q1", "q2")
    assert [result["id"] for result in first["results"]] == ["d1"]
    assert 0.5 <= first["results"][0]["score"] <= 1
    assert first["inject"] == ["d1"]
    assert second["inject"] == []
