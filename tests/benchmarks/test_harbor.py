"""Recall with the shipped weights, on a made-up project's memories and prompts as people type them in coding sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.recall_adapter import thresholds
from benchmarks.recall_stores import Answer, Set, false_injections, injected, sets, whole
from memory_plugin.kernel.context import Deadline
from memory_plugin.recall.documents import Document
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, rank
from tests.project import PLUGIN_ROOT
from tests.recall.memories import memory

THRESHOLD = thresholds()[0]
MAX_SHOWN = 3
IN_TITLE = memory("The token bucket is in throttle.ts", "Every key gets 100 requests a minute.")
IN_BODY = memory("Rate limit", "Every key gets 100 requests a minute, by the token bucket in throttle.ts.")
IN_FILES = memory("Rate limit", "Every key gets 100 requests a minute.", files="src/api/throttle.ts")
OTHERS = [
    memory("Invoices are stored in Postgres", "Fifteen is the version; the tables are in billing.sql."),
    memory("Tests are written with vitest", "One file beside each module, no snapshots."),
    memory("Prefer pnpm over npm", "The lock file is pnpm-lock.yaml."),
]


@pytest.fixture(scope="module")
def harbor() -> Set:
    """Return the made-up project with its prompts."""
    return sets(os.path.join(PLUGIN_ROOT, "benchmarks"), "harbor")[0]


@pytest.fixture(scope="module")
def answers(harbor: Set) -> list[Answer]:
    """Return the plugin's answers to its prompts."""
    return whole(harbor)


def test_exactly_the_queries_have_a_relevant_memory(harbor: Set) -> None:
    ids = {record["id"] for record in harbor.corpus}
    assert {query["id"] for query in harbor.queries} == set(harbor.relevant)
    assert {key for grades in harbor.relevant.values() for key in grades} <= ids


def test_most_prompts_get_their_memory_and_few_get_another(answers: list[Answer]) -> None:
    """A prompt with a word of its own that the memory lacks gets no full text, but the line with its statement."""
    precision, recall, _ = injected(answers, THRESHOLD)
    assert precision >= 0.95
    assert recall >= 0.5
    reached = [
        grade
        for answer in answers
        for hit, grade in zip(answer.hits[:MAX_SHOWN], answer.grades)
        if max(hit.confidence, hit.pointer_confidence) >= THRESHOLD
    ]
    assert sum(grade > 0 for grade in reached) >= 0.85 * sum(
        min(MAX_SHOWN, len(answer.ideal)) for answer in answers
    )


def test_prompts_that_need_no_memory_get_none(answers: list[Answer]) -> None:
    assert false_injections(answers, "prompt", THRESHOLD) == 0.0


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix the bug in throttle.ts",
        "refactor throttle.ts",
        "please make throttle.ts faster",
        "why is throttle.ts so slow?",
    ],
)
@pytest.mark.parametrize(
    "document", [pytest.param(IN_TITLE, id="title"), pytest.param(IN_BODY, id="body"), pytest.param(IN_FILES, id="files")]
)  # fmt: skip
@pytest.mark.parametrize("others", [0, 3])
def test_a_prompt_that_names_a_file_gets_the_memory_that_names_it(
    prompt: str, document: Document, others: int, tmp_path: Path
) -> None:
    connection = create_index(str(tmp_path / "index.sqlite"))
    with transaction(connection):
        put(connection, [document, *OTHERS[:others]])
    best = rank(Corpus(connection, only_injectable=True), analyze(prompt), 1, Deadline(60), FTS5)[0]
    other = rank(
        Corpus(connection, only_injectable=True),
        analyze(prompt.replace("throttle", "parser")),
        1,
        Deadline(60),
        FTS5,
    )
    connection.close()
    assert best.confidence >= THRESHOLD
    assert not other or other[0].confidence < THRESHOLD


@pytest.mark.slow
def test_the_only_memory_on_a_subject_is_found_among_thousands(tmp_path: Path) -> None:
    words = ["word%s" % chr(97 + at % 26) * (1 + at % 3) + chr(97 + at // 26 % 26) for at in range(600)]
    others = [
        memory("%s %s %s" % tuple(words[(at * step) % 600] for step in (1, 7, 11)), " ".join(words[at % 500 : at % 500 + 40]), "o%d" % at)
        for at in range(3000)
    ]  # fmt: skip
    connection = create_index(str(tmp_path / "index.sqlite"))
    with transaction(connection):
        put(
            connection,
            [*others, memory("Use Postgres for the billing database", "Postgres 15, never MySQL.")],
        )
    query = analyze("which database do we use for billing?")
    best = rank(Corpus(connection, only_injectable=True), query, 1, Deadline(60), FTS5)[0]
    connection.close()
    assert best.title.startswith("Use Postgres")
    assert best.confidence >= THRESHOLD
