"""The best memory comes first, only clear matches are confident, and nothing is found that must not be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.paths import load_data
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.documents import Document
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import CATEGORIES, FTS5, KEYWORD, Hit, candidate_backend, rank
from tests.recall.memories import memory

MakeIndex = Callable[..., Connection]
LOW, HIGH = 0.25, 0.5
RANK_BY_SCORE = load_data("recall", "confidence")["entries"]["rank_by_score"]["value"]

SHOP = [
    memory("Use Postgres for the billing database", "Invoices need transactions.", tags="database billing"),
    memory(
        "Deploy the web shop with blue-green releases", "Switch the load balancer when health checks pass."
    ),
    memory(
        "Dates in the API are ISO 8601 in UTC", "parseTimestamp() in src/api/dates.py refuses local times."
    ),
]
MORE = [
    memory("Redis caches the product catalogue", "Entries live for ten minutes."),
    memory("Passwords are hashed with Argon2", "Never log the hash."),
    memory(
        "Flaky checkout test",
        "test_checkout_retry fails when the clock jumps: E11000 duplicate key.",
        files="tests/test_checkout.py",
    ),
    memory("数据库迁移必须可回滚", "每次迁移都要有回滚脚本。"),
    memory("Die Rechnungen gehen nachts raus", "Der Versand der Rechnungen läuft um drei Uhr."),
    memory("Prefer composition over inheritance", "Small functions, few classes.", category="PREFERENCE"),
    memory("Kubernetes limits", "Pods get 512 MB; the OOM killer took the importer twice."),
]


@pytest.fixture
def make_index(tmp_path: Path) -> Iterator[MakeIndex]:
    """Yield a function that returns an index over some documents."""
    with ExitStack() as stack:

        def make(documents: list[Document], *, fts5: bool = True) -> Connection:
            connection = stack.enter_context(
                closing(create_index(str(tmp_path / ("%d.sqlite" % len(documents))), fts5=fts5))
            )
            with transaction(connection):
                put(connection, documents)
            return connection

        yield make


def ranked(
    connection: Connection, text: str, *, extra: str = "", limit: int = 5, injectable: bool = True
) -> list[Hit]:
    """Return the hits of a prompt."""
    backend = candidate_backend(connection, "auto")
    corpus = Corpus(connection, only_injectable=injectable)
    return rank(corpus, analyze(text, extra), limit, Deadline(60), backend)


FINDS = {
    "the obvious one": ("which database do we use for billing", "Use Postgres for the billing database"),
    "other forms of the words": (
        "deploying a new release of the shop",
        "Deploy the web shop with blue-green releases",
    ),
    "an identifier": ("what does parseTimestamp accept", "Dates in the API are ISO 8601 in UTC"),
    "a part of an identifier": ("parse a timestamp", "Dates in the API are ISO 8601 in UTC"),
    "a file": ("why does tests/test_checkout.py fail", "Flaky checkout test"),
    "a file by its name": ("test_checkout.py is red", "Flaky checkout test"),
    "an error": ("E11000 duplicate key error collection", "Flaky checkout test"),
    "a typing error": ("postgers or mysql", "Use Postgres for the billing database"),
    "a letter missing": ("kubernets limits", "Kubernetes limits"),
    "Chinese": ("迁移怎么回滚", "数据库迁移必须可回滚"),
    "German": ("Wann läuft der Versand der Rechnungen?", "Die Rechnungen gehen nachts raus"),
    "without diacritics": ("wann lauft der versand", "Die Rechnungen gehen nachts raus"),
}


@pytest.mark.parametrize("fts5", [True, False], ids=["fts5", "keyword"])
@pytest.mark.parametrize(("text", "title"), FINDS.values(), ids=FINDS)
def test_finds(make_index: MakeIndex, text: str, title: str, *, fts5: bool) -> None:
    hits = ranked(make_index(SHOP + MORE, fts5=fts5), text)
    assert hits
    assert hits[0].title == title


SURE = {
    "the obvious one": "which database do we use for billing",
    "in other words": "how do we deploy the web shop?",
}
UNSURE = {
    "a task": "please refactor this function to be cleaner",
    "something else": "write a haiku about the sea",
    "an order": "run the tests",
    "one word by chance": "use the other one instead",
    "thanks": "thanks, that looks good to me",
    "code": "for (int i = 0; i < n; i++) { sum += a[i]; }",
    "a question about the world": "what is the capital of Australia and how many people live there",
}


@pytest.mark.parametrize("documents", [SHOP, SHOP + MORE], ids=["three memories", "ten memories"])
@pytest.mark.parametrize("text", SURE.values(), ids=SURE)
def test_an_obvious_match_is_confident_in_a_tiny_store(
    make_index: MakeIndex, documents: list[Document], text: str
) -> None:
    assert ranked(make_index(documents), text)[0].confidence >= HIGH


@pytest.mark.parametrize(
    "documents", [SHOP[:1], SHOP, SHOP + MORE], ids=["one memory", "three memories", "ten memories"]
)
@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE)
def test_a_prompt_about_something_else_is_never_confident(
    make_index: MakeIndex, documents: list[Document], text: str
) -> None:
    assert all(hit.confidence < HIGH for hit in ranked(make_index(documents), text))


def test_a_single_weak_hit_gets_no_pointer(make_index: MakeIndex) -> None:
    hits = ranked(make_index(SHOP + MORE), "draw me a nice picture of a shop window with flowers and a cat")
    assert len(hits) >= 1
    assert hits[0].confidence < LOW


def test_pending_documents_are_found_by_search_only(make_index: MakeIndex) -> None:
    pending = memory("Use MySQL for the billing database", injectable=False)
    connection = make_index([*SHOP, pending])
    assert pending.title not in [hit.title for hit in ranked(connection, "billing database mysql")]
    assert ranked(connection, "billing database mysql", injectable=False)[0].title == pending.title


def test_pending_documents_do_not_change_other_scores(make_index: MakeIndex) -> None:
    crowd = [
        memory("billing database %d" % at, "which database for billing " * 9, injectable=False)
        for at in range(300)
    ]
    text = "which database do we use for billing"
    alone, crowded = ranked(make_index(SHOP), text), ranked(make_index(SHOP + crowd), text)
    assert [(hit.key, hit.score, hit.confidence) for hit in crowded] == [
        (hit.key, hit.score, hit.confidence) for hit in alone
    ]


def test_expired_documents_are_found_by_search_only(make_index: MakeIndex) -> None:
    old = memory("Old billing rule", expires_at="2026-05-31T23:59:59Z")
    coming = memory("Coming billing rule", expires_at="2999-06-02T00:00:00Z")
    connection = make_index([old, coming])
    assert [hit.title for hit in ranked(connection, "billing rule")] == [coming.title]
    assert {hit.title for hit in ranked(connection, "billing rule", injectable=False)} == {
        old.title,
        coming.title,
    }


def test_asked_as_phrases_find_their_memory(make_index: MakeIndex) -> None:
    expanded = memory("Invoices leave at night", asked_as=("when are bills mailed to customers?",))
    assert (
        ranked(make_index([*SHOP, expanded]), "when do we mail bills to customers")[0].title == expanded.title
    )


def test_the_previous_turn_helps_a_short_prompt(make_index: MakeIndex) -> None:
    connection = make_index(SHOP + MORE)
    assert (
        ranked(connection, "why is that?", extra="the billing database is Postgres")[0].title == SHOP[0].title
    )
    assert (
        ranked(connection, "redis catalogue", extra="the billing database is Postgres")[0].title
        == MORE[0].title
    )


def test_ties_are_ordered_by_category_and_key(make_index: MakeIndex) -> None:
    alike = [category for category in CATEGORIES if category not in ("RUNBOOK", "TECH_DEBT")]
    documents = [
        memory("billing rule", key=key, category=category)
        for key, category in zip("fedcba", [*reversed(alike), "OTHER", "DECISION"])
    ]
    hits = ranked(make_index(documents), "billing rule", limit=8)
    order = [(hit.category, hit.key) for hit in hits]
    assert order == sorted(order, key=lambda item: ([*CATEGORIES, "OTHER"].index(item[0]), item[1]))


def test_a_hit_explains_itself(make_index: MakeIndex) -> None:
    hit = ranked(make_index(SHOP + MORE), "which database do we use for billing")[0]
    assert set(hit.terms) == {"databas", "bill", "use"}
    assert 0 < hit.confidence <= 1
    assert (hit.tags, hit.injection_text) == (
        ["database", "billing"],
        "%s: %s" % (SHOP[0].title, SHOP[0].body),
    )


def test_a_hit_too_far_down_to_be_examined_shows_no_signals(make_index: MakeIndex) -> None:
    hits = ranked(
        make_index([memory("Billing rule %d" % at, "x" * at) for at in range(8)]), "billing rule", limit=8
    )
    assert ["answers" in hit.signals for hit in hits] == [True] * 6 + [False] * 2


class Spent(Deadline):
    """A deadline that ends after some calls."""

    def __init__(self, questions: int) -> None:
        super().__init__(60)
        self.left = questions

    def remaining(self) -> float:
        """Return 1.0 as long as calls are left, then 0.0."""
        self.left -= 1
        return float(self.left >= 0)


@pytest.mark.parametrize("fts5", [True, False], ids=["fts5", "keyword"])
def test_a_deadline_ends_the_search(make_index: MakeIndex, *, fts5: bool) -> None:
    corpus = Corpus(make_index(SHOP, fts5=fts5), only_injectable=True)
    query, backend = analyze("billing database"), FTS5 if fts5 else KEYWORD
    with pytest.raises(TimeoutError):
        rank(corpus, query, 5, Spent(0), backend)
    assert rank(corpus, query, 5, Spent(99), backend)


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "the of and", "?!"], ids=["nothing", "space", "NUL", "stop words", "signs"]
)
def test_an_empty_query_finds_nothing(make_index: MakeIndex, text: str) -> None:
    assert ranked(make_index(SHOP), text) == []


def test_an_empty_store_finds_nothing(make_index: MakeIndex) -> None:
    assert ranked(make_index([]), "billing database") == []


HOSTILE = {
    "FTS5 operators": 'billing AND OR NOT NEAR("database" billing, 2) * ^ : {title}: -x',
    "quotes": 'billing"\' OR 1=1 -- """ \'\'',
    "a lone surrogate": "billing \ud800 database \udfff",
    "NULs": "bil\0ling billing\0",
    "a marker of the index": 'billing~ing billing+ "billing+"',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_only_text(make_index: MakeIndex, text: str) -> None:
    assert ranked(make_index(SHOP), text)[0].title == SHOP[0].title


def test_a_huge_prompt_is_answered(make_index: MakeIndex) -> None:
    assert ranked(make_index(SHOP), "billing database " + "x" * 10_000_000)[0].title == SHOP[0].title


@given(text=st.text(alphabet=st.characters(codec=None)), extra=st.text(max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_gets_an_answer(tmp_path: Path, text: str, extra: str) -> None:
    with closing(create_index(str(tmp_path / "any.sqlite"))) as connection:
        put(connection, [*SHOP, *MORE, memory(text, extra, key="any")])
        hits = ranked(connection, text, extra=extra)
        assert all(0 <= hit.confidence <= 1 for hit in hits)
        order = [hit.signals["answers"] + RANK_BY_SCORE * hit.signals["relative"] for hit in hits]
        assert order == sorted(order, reverse=True)
