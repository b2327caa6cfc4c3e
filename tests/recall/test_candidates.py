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


def found(connection: Connection, terms: list[Term], model: Model, backend: str = FTS5) -> list[str]:
    """Return the keys of the candidates."""
    rowids = candidates(connection, terms, model, only_injectable=True, deadline=None, backend=backend)
    return keys(connection, rowids)


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_a_title_comes_before_a_body_and_a_rare_word_before_a_common_one(
    connection: Connection, backend: str
) -> None:
    terms, model = terms_of(connection, "postgres common")
    assert found(connection, terms, model, backend)[:2] == ["title", "body"]


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_the_budget_runs_out_over_common_words(connection: Connection, backend: str) -> None:
    terms, model = terms_of(connection, "postgres common words")
    model.ranking["postings"] = 10
    assert found(connection, terms, model, backend) == ["title", "body"]


def test_the_heaviest_list_is_read_even_beyond_the_budget(connection: Connection) -> None:
    terms, model = terms_of(connection, "common")
    model.ranking["postings"] = 1
    assert found(connection, terms, model)


@pytest.mark.parametrize("backend", [FTS5, KEYWORD])
def test_the_pool_is_bounded(connection: Connection, backend: str) -> None:
    terms, model = terms_of(connection, "common words")
    first = found(connection, terms, model, backend)
    assert len(first) == model.ranking["pool"]
    assert first == found(connection, terms, model, backend)


def test_both_ways_of_finding_agree(connection: Connection) -> None:
    terms, model = terms_of(connection, "postgres common")
    assert found(connection, terms, model) == found(connection, terms, model, KEYWORD)
