"""After any sequence of changes, the index is the same as a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.documents import Document
from memory_plugin.recall.index_documents import (
    drop,
    files_of_texts,
    put,
    set_injectable,
    stamps,
    total_documents,
)
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.session_catalog import count_memories, pending_texts
from tests.recall.memories import memory
from tests.recall.store_files import all_documents

WORDS = ("postgres", "billing", "users", "userName", "the", "数据库", "migrating", "store.py")


@pytest.fixture(params=[True, False], ids=["with FTS5", "without FTS5"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Yield a new index."""
    with closing(create_index(str(tmp_path / "index.sqlite"), fts5=request.param)) as made:
        yield made


def counts(connection: Connection) -> tuple[object, object]:
    """Return the vocabulary that some document holds, and the totals."""
    vocabulary = connection.execute(
        "SELECT term, strong, weak, held_strong, held_weak FROM vocabulary "
        "WHERE strong OR weak OR held_strong OR held_weak ORDER BY term"
    ).fetchall()
    return vocabulary, connection.execute("SELECT * FROM totals ORDER BY injectable").fetchall()


def found_by_fts5(connection: Connection, table: str, token: str) -> list[str]:
    """Return the keys of the documents in a table's postings of a token."""
    select = "SELECT rowid FROM %s WHERE %s MATCH ?" % (table, table)  # noqa: S608 - a name of ours
    found = connection.execute(select, ('"%s"' % token,)).fetchall()
    return sorted(
        connection.execute("SELECT key FROM documents WHERE rowid = ?", (rowid,)).fetchone()[0]
        for (rowid,) in found
    )


def test_a_document_comes_back_without_its_body(connection: Connection) -> None:
    put(
        connection,
        [memory("T", "secret body", tags="a b", files="x.py", asked_as=("how?",), expires_at="2027")],
    )
    (found,) = all_documents(connection)
    assert (found.title, found.body, found.tags, found.files, found.asked_as) == (
        "T",
        "",
        ["a", "b"],
        ["x.py"],
        ["how?"],
    )
    assert (found.injectable, found.expires_at, found.inject) == (True, "2027", "T: secret body")


def test_listing_by_scope(connection: Connection) -> None:
    put(connection, [memory("a"), memory("b", scope="user")])
    assert [found.key for found in all_documents(connection)] == ["a", "b"]
    assert [found.key for found in all_documents(connection, "user")] == ["b"]
    assert total_documents(connection) == 2
    assert stamps(connection, "user") == {"/p/b.json": "1:2:3"}


def test_a_lone_surrogate_is_replaced(connection: Connection) -> None:
    put(connection, [memory("bad \ud800 title", key="k\ud800")])
    assert [found.title for found in all_documents(connection)] == ["bad ? title"]
    assert drop(connection, ["/p/k\ud800.json"]) == 1
    assert total_documents(connection) == 0


def test_dropping_an_unknown_file_changes_nothing(connection: Connection) -> None:
    put(connection, [memory("a", "postgres")])
    before = counts(connection)
    assert drop(connection, ["/p/b.json"]) == 0
    set_injectable(connection, "b", injectable=False)
    assert counts(connection) == before


def test_a_flag_moves_a_document_between_the_postings(tmp_path: Path) -> None:
    with closing(create_index(str(tmp_path / "i"))) as connection:
        put(connection, [memory("Postgres", "billing")])
        set_injectable(connection, "Postgres", injectable=False)
        assert found_by_fts5(connection, "postings", "bill") == []
        assert found_by_fts5(connection, "postings_held", "bill") == ["Postgres"]
        assert found_by_fts5(connection, "postings_held", "postgr+") == ["Postgres"]
        (found,) = all_documents(connection)
        assert not found.injectable
        set_injectable(connection, "Postgres", injectable=True)
        assert found_by_fts5(connection, "postings", "bill") == ["Postgres"]


documents = st.builds(
    memory,
    title=st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join),
    body=st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join),
    key=st.sampled_from("abcd"),
    tags=st.sampled_from(("", "postgres", "billing x")),
    injectable=st.booleans(),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), documents),
        st.tuples(st.just("drop"), st.sampled_from("abcd")),
        st.tuples(st.just("flag"), st.sampled_from("abcd"), st.booleans()),
    ),
    max_size=12,
)


@given(steps=steps)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_equals_a_fresh_build(tmp_path: Path, steps: list[tuple[Any, ...]]) -> None:
    kept: dict[str, Document] = {}
    with (
        closing(create_index(str(tmp_path / "grown"))) as grown,
        closing(create_index(str(tmp_path / "fresh"))) as fresh,
    ):
        with transaction(grown):
            for what, *rest in steps:
                if what == "put":
                    document = rest[0]
                    put(grown, [document])
                    kept[document.key] = document
                elif what == "drop":
                    drop(grown, ["/p/%s.json" % rest[0]])
                    kept.pop(rest[0], None)
                else:
                    set_injectable(grown, rest[0], injectable=bool(rest[1]))
                    if rest[0] in kept:
                        kept[rest[0]] = kept[rest[0]]._replace(injectable=bool(rest[1]))
        put(fresh, kept.values())
        assert counts(grown) == counts(fresh)
        for table in ("postings", "postings_held"):
            for token in ("postgr", "postgr+", "bill", "数据+"):
                assert found_by_fts5(grown, table, token) == found_by_fts5(fresh, table, token)


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(
            lambda connection: files_of_texts(connection, ["0123"]), id="the files of a decided text"
        ),
        pytest.param(pending_texts, id="what awaits approval"),
    ],
)
def test_a_query_of_a_large_store_does_not_read_it_all(
    read: Callable[[Connection], object], connection: Connection
) -> None:
    put(connection, [memory("Title %d" % number) for number in range(500)])
    steps: list[None] = []
    connection.set_progress_handler(lambda: steps.append(None), 100)
    read(connection)
    assert len(steps) < 5  # a scan takes several steps for each document


def test_a_memory_that_expired_since_it_was_indexed_is_not_counted(connection: Connection) -> None:
    put(connection, [memory("New"), memory("Old", expires_at="2020-01-01T00:00:00Z")])
    assert total_documents(connection) == 2
    assert count_memories(connection) == 1
