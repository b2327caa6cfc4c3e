"""Candidates: heaviest lists first, within the budget, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, Term, analyze, weigh_terms
from memory_plugin.recall.ranking import FTS5, KEYWORD, candidates
from tests.recall.memories import memory

MANY = [memory("note %d" % at, "common words here", key="k%03d" % at) for at in range(50)]
RARE = [memory("postgres", "common", key="title"), memory("other", "postgres", key="body")]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Yield an index with many common notes and two rare ones."""
    with closing(create_index(str(tmp_path / "i"))) as made:
        put(made, [*MANY, *RARE])
        yield made


def terms_of(connection: Connection, text: str) -> tuple[list[Term], Corpus]:
    """Return the weighted terms of a query, and what is searched."""
    corpus = Corpus(connection, only_injectable=True)
    return weigh_terms(analyze(text), corpus), corpus


def keys(connection: Connection, rowids: list[int]) -> list[str]:
    """Return the keys of row ids."""
    return [
        connection.execute("SELECT key FROM documents WHERE rowid = ?", (at,)).fetchone()[0] for at in rowids
    ]


def found(terms: list[Term], corpus: Corpus, backend: str = FTS5) -> list[str]:
    """Return the keys of the candidates."""
    return keys(corpus.connection, candidates(terms, corpus, Deadline(60), backend))


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_a_title_comes_before_a_body_and_a_rare_word_before_a_common_one(
    connection: Connection, backend: str
) -> None:
    terms, corpus = terms_of(connection, "postgres common")
    assert found(terms, corpus, backend)[:2] == ["title", "body"]


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_the_budget_runs_out_over_common_words(connection: Connection, backend: str) -> None:
    terms, corpus = terms_of(connection, "postgres common words")
    corpus.model.ranking["postings"] = 10
    assert found(terms, corpus, backend) == ["title", "body"]


def test_the_heaviest_list_is_read_even_beyond_the_budget(connection: Connection) -> None:
    terms, corpus = terms_of(connection, "common")
    corpus.model.ranking["postings"] = 1
    assert found(terms, corpus)


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_the_pool_is_bounded(connection: Connection, backend: str) -> None:
    terms, corpus = terms_of(connection, "common words")
    first = found(terms, corpus, backend)
    assert len(first) == corpus.model.ranking["pool"]
    assert first == found(terms, corpus, backend)


def test_both_ways_of_finding_agree(connection: Connection) -> None:
    terms, corpus = terms_of(connection, "postgres common")
    assert found(terms, corpus) == found(terms, corpus, KEYWORD)
