"""The weights of the terms of a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, Term, analyze, weigh_terms
from tests.recall.memories import memory


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Yield an index over three memories, one of them not injectable."""
    with closing(create_index(str(tmp_path / "i"))) as index:
        put(
            index,
            [memory("Postgres returns"), memory("Redis"), memory("Postgres", key="held", injectable=False)],
        )
        yield index


def weighed(
    connection: Connection, text: str, *, extra: str = "", injectable: bool = True
) -> dict[str, Term]:
    """Return the terms of a query by stem."""
    found = weigh_terms(analyze(text, extra), Corpus(connection, only_injectable=injectable))
    return {term.stem: term for term in found}


def test_stop_words_weigh_nothing_and_repeated_words_more(connection: Connection) -> None:
    terms = weighed(connection, "the postgres and the postgres of redis")
    assert set(terms) == {"postgr", "redi"}
    assert terms["postgr"].weight == 2 * terms["postgr"].idf


def test_everyday_words_weigh_less_even_in_a_tiny_store(connection: Connection) -> None:
    terms = weighed(connection, "return redis")
    assert terms["return"].strong == terms["redi"].strong == 1
    assert terms["return"].idf < terms["redi"].idf / 1.5


def test_documents_that_are_not_injectable_count_for_search_only(connection: Connection) -> None:
    assert weighed(connection, "postgres")["postgr"].strong == 1
    assert weighed(connection, "postgres", injectable=False)["postgr"].strong == 2


def test_unknown_words_are_terms_without_documents(connection: Connection) -> None:
    terms = weighed(connection, "haiku")
    assert terms["haiku"].strong + terms["haiku"].weak == 0
    assert terms["haiku"].idf > terms.get("redi", terms["haiku"]).idf - 1


def test_a_typing_error_becomes_the_store_s_word_at_less_weight(connection: Connection) -> None:
    terms = weighed(connection, "postgrse")
    assert set(terms) == {"postgr"}
    assert terms["postgr"].weight < weighed(connection, "postgres")["postgr"].weight


def test_the_previous_turn_weighs_less(connection: Connection) -> None:
    terms = weighed(connection, "redis", extra="postgres")
    assert terms["postgr"].weight < terms["redi"].weight


def test_a_text_is_stripped_of_the_stop_words_of_its_own_language(connection: Connection) -> None:
    assert set(weighed(connection, "wann ist die Datenbank wieder da")) == {"datenbank"}
    assert "die" in weighed(connection, "does the process die")
