"""What a term of a query weighs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import create_index
from memory_plugin.recall.query import Term, analyze, weigh_terms
from memory_plugin.recall.ranking import load_model
from tests.recall.memories import memory


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Yield an index over three memories, one of them held."""
    with closing(create_index(str(tmp_path / "i"))) as made:
        put(
            made,
            [memory("Postgres returns"), memory("Redis"), memory("Postgres", key="held", injectable=False)],
        )
        yield made


def asked(connection: Connection, text: str, *, extra: str = "", injectable: bool = True) -> dict[str, Term]:
    """Return the terms of a query by stem."""
    found = weigh_terms(
        connection, analyze(text, extra), load_model(connection), injectable, documents=2 if injectable else 3
    )
    return {term.stem: term for term in found}


def test_stop_words_weigh_nothing_and_repeated_words_more(connection: Connection) -> None:
    terms = asked(connection, "the postgres and the postgres of redis")
    assert set(terms) == {"postgr", "redi"}
    assert terms["postgr"].weight == 2 * terms["postgr"].idf


def test_everyday_words_weigh_less_even_in_a_tiny_store(connection: Connection) -> None:
    terms = asked(connection, "return redis")
    assert terms["return"].strong == terms["redi"].strong == 1
    assert terms["return"].idf < terms["redi"].idf / 1.5


def test_held_documents_count_for_search_alone(connection: Connection) -> None:
    assert asked(connection, "postgres")["postgr"].strong == 1
    assert asked(connection, "postgres", injectable=False)["postgr"].strong == 2


def test_unknown_words_are_there_with_no_documents(connection: Connection) -> None:
    terms = asked(connection, "haiku")
    assert terms["haiku"].strong + terms["haiku"].weak == 0
    assert terms["haiku"].idf > terms.get("redi", terms["haiku"]).idf - 1


def test_a_typing_error_becomes_the_store_s_word_at_less_weight(connection: Connection) -> None:
    terms = asked(connection, "postgrse")
    assert set(terms) == {"postgr"}
    assert terms["postgr"].weight < asked(connection, "postgres")["postgr"].weight


def test_the_turn_before_weighs_less(connection: Connection) -> None:
    terms = asked(connection, "redis", extra="postgres")
    assert terms["postgr"].weight < terms["redi"].weight


def test_a_text_is_stripped_of_the_stop_words_of_its_own_language(connection: Connection) -> None:
    assert set(asked(connection, "wann ist die Datenbank wieder da")) == {"datenbank"}
    assert "die" in asked(connection, "does the process die")
