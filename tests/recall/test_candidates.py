"""Candidates: heaviest lists first, within the budget, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Model, Term, analyze, load_model, weigh_terms
from memory_plugin.recall.ranking import candidates, keyword_candidates
from tests.recall.memories import memory

MANY = [memory("note %d" % at, "common words here", key="k%03d" % at) for at in range(50)]
RARE = [memory("postgres", "common", key="title"), memory("other", "postgres", key="body")]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Yield an index with many common notes and two rare ones."""
    with closing(create_index(str(tmp_path / "i"))) as made:
        put(made, [*MANY, *RARE])
        yield made


def terms_of(connection: Connection, text: str) -> tuple[list[Term], Model]:
    """Return the weighted terms of a query, and the model."""
    model = load_model(connection)
    return weigh_terms(
        connection, analyze(text), model, only_injectable=True, documents=len(MANY) + len(RARE)
    ), model


def keys(connection: Connection, rowids: list[int]) -> list[str]:
    """Return the keys of row ids."""
    return [
        connection.execute("SELECT key FROM documents WHERE rowid = ?", (at,)).fetchone()[0] for at in rowids
    ]


def test_a_title_comes_before_a_body_and_a_rare_word_before_a_common_one(connection: Connection) -> None:
    terms, model = terms_of(connection, "postgres common")
    found = keys(connection, candidates(connection, terms, model, only_injectable=True, deadline=None))
    assert found[:2] == ["title", "body"]


def test_the_budget_runs_out_over_common_words(connection: Connection) -> None:
    terms, model = terms_of(connection, "postgres common words")
    model.ranking["postings"] = 10
    found = keys(connection, candidates(connection, terms, model, only_injectable=True, deadline=None))
    assert found == ["title", "body"]


def test_the_heaviest_list_is_read_even_beyond_the_budget(connection: Connection) -> None:
    terms, model = terms_of(connection, "common")
    model.ranking["postings"] = 1
    assert candidates(connection, terms, model, only_injectable=True, deadline=None)


def test_the_pool_is_bounded(connection: Connection) -> None:
    terms, model = terms_of(connection, "common words")
    for find in (candidates, keyword_candidates):
        found = find(connection, terms, model, only_injectable=True, deadline=None)
        assert len(found) == model.ranking["pool"]
        assert found == find(connection, terms, model, only_injectable=True, deadline=None)


def test_both_ways_of_finding_agree_on_the_best(connection: Connection) -> None:
    terms, model = terms_of(connection, "postgres common")
    by_fts5 = candidates(connection, terms, model, only_injectable=True, deadline=None)
    by_scan = keyword_candidates(connection, terms, model, only_injectable=True, deadline=None)
    assert by_fts5[:2] == by_scan[:2]
