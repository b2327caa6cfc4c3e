"""Relations between memories: repeats, answers to the same question, and which ones supersede which."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import data_path
from memory_plugin.memories.record import Memory, body_content, category_named, new_memory, parse_memory
from memory_plugin.memories.relations import (
    NEAR_DUPLICATE,
    SAME_TITLE,
    Link,
    Resolution,
    Similarity,
    name_for,
    named_keys,
    older_names,
    resolve,
)

PLACE = "project:decision/"
with open(os.path.join(os.path.dirname(__file__), "similar_pairs.json"), encoding="utf-8") as _file:
    PAIRS: list[dict[str, Any]] = json.load(_file)["pairs"]
with open(data_path("recall", "stopwords.json"), encoding="utf-8") as _file:
    STOP = {name: frozenset(entry["value"].split()) for name, entry in json.load(_file)["entries"].items()}


def link(name: str, by: str = "", over: tuple[str, ...] = (), *, trusted: bool = True) -> Link:
    """Return a decision of the project, asked for as "about NAME"."""
    return Link(PLACE + name, trusted, by, over, ("about " + name,))


def resolved(*links: Link) -> Resolution:
    by_key = {item.key: item for item in links}
    return resolve(
        {key: item for key, item in by_key.items() if item.superseded_by or item.supersedes}, by_key.get
    )


CASES = [
    pytest.param([link("a", by="b"), link("b")], {"a": "b"}, {"b": ["a"]}, id="the older one says so"),
    pytest.param([link("a"), link("b", over=("a",))], {"a": "b"}, {"b": ["a"]}, id="the newer one says so"),
    pytest.param(
        [link("a", by="b"), link("b", over=("a",))], {"a": "b"}, {"b": ["a"]}, id="both ends say so"
    ),
    pytest.param(
        [link("a", by="b"), link("b", by="c"), link("c")],
        {"a": "b", "b": "c"},
        {"c": ["b", "a"]},
        id="a chain: the last one inherits all, the nearest first",
    ),
    pytest.param(
        [link("a"), link("b", over=("a",)), link("c", over=("b",))],
        {"a": "b", "b": "c"},
        {"c": ["b", "a"]},
        id="a chain told by the newer ones",
    ),
    pytest.param([link("a", by="gone")], {"a": "gone"}, {}, id="the newer one is missing"),
    pytest.param([link("b", over=("gone",))], {}, {}, id="the older one is missing"),
    pytest.param(
        [link("a"), link("b", over=("a",), trusted=False)], {}, {}, id="a pending memory silences nothing"
    ),
    pytest.param(
        [link("a", by="b"), link("b", trusted=False)],
        {"a": "b"},
        {},
        id="a pending memory inherits nothing",
    ),
    pytest.param(
        [link("a", by="b", trusted=False), link("b")],
        {"a": "b"},
        {},
        id="a pending memory lends nothing",
    ),
    pytest.param(
        [link("a", trusted=False), link("b", over=("a",))],
        {"a": "b"},
        {},
        id="nor does one that a trusted memory names",
    ),
    pytest.param(
        [link("a", by="b"), link("b", by="c", trusted=False), link("c")],
        {"a": "b", "b": "c"},
        {},
        id="a pending memory hands nothing on",
    ),
    pytest.param(
        [link("a", by="b"), link("b", by="a")],
        {"a": "b", "b": "a"},
        {},
        id="two that name each other as successor are both silent",
    ),
    pytest.param(
        [link("a", over=("b",)), link("b", over=("a",))],
        {},
        {},
        id="two that claim to supersede each other both speak",
    ),
    pytest.param([link("a", by="a", over=("a",))], {"a": "a"}, {}, id="a memory that names itself"),
    pytest.param(
        [link("a", by="b"), link("b"), link("c", over=("a",))],
        {"a": "b"},
        {"b": ["a"], "c": ["a"]},
        id="two successors inherit both",
    ),
]


@pytest.mark.parametrize(("links", "superseded", "inherited"), CASES)
def test_superseded_memories_and_inherited_phrases(
    links: list[Link], superseded: dict[str, str], inherited: dict[str, list[str]]
) -> None:
    found = resolved(*links)
    assert {key[len(PLACE) :]: by.replace(PLACE, "") for key, by in found.superseded.items()} == superseded
    assert {
        key[len(PLACE) :]: [phrase[len("about ") :] for phrase in phrases]
        for key, phrases in found.inherited.items()
    } == inherited


@pytest.mark.parametrize(
    ("key", "beside"),
    [
        (PLACE + "a", PLACE + "b"),
        ("project:runbook/a", PLACE + "b"),
        ("user:decision/a", PLACE + "b"),
        (PLACE + "a", "user:decision/a"),
    ],
)
def test_a_name_leads_back_to_its_memory(key: str, beside: str) -> None:
    name = name_for(key, beside)
    assert key in list(named_keys(name, beside))
    assert ("/" in name) == (key.rpartition("/")[0] != beside.rpartition("/")[0])


def test_an_id_means_the_memory_beside_first() -> None:
    assert next(named_keys("a", "user:runbook/b")) == "user:runbook/a"


def test_the_newest_names_the_whole_chain_where_the_names_mean_the_same() -> None:
    assert older_names(PLACE + "b", ("a",), PLACE + "c") == ["b", "a"]
    assert older_names(PLACE + "b", ("a",), "project:runbook/c") == ["decision/b"]
    assert older_names(PLACE + "b", ("a",), "user:decision/c") == ["project:decision/b"]


def test_at_most_eight_phrases_are_inherited() -> None:
    old = Link(PLACE + "a", True, "b", (), tuple("p%d" % number for number in range(20)))
    assert resolved(old, link("b")).inherited == {PLACE + "b": tuple("p%d" % number for number in range(8))}


@pytest.mark.slow
def test_a_hostile_tangle_is_resolved_soon() -> None:
    chain = [link("m%d" % number, by="m%d" % (number + 1)) for number in range(5000)]
    fan = [link("f%d" % number, over=tuple("m%d" % at for at in range(20))) for number in range(2000)]
    begun = time.process_time()
    found = resolved(*chain, *fan)
    assert len(found.superseded) == 5000
    assert time.process_time() - begun < 20


NAMES = st.sampled_from(["a", "b", "c", "d", "e", "gone"])
LINKS = st.lists(
    st.builds(
        lambda name, by, over, trusted: link(name, by, tuple(over), trusted=trusted),
        st.sampled_from("abcde"),
        NAMES | st.just(""),
        st.lists(NAMES, max_size=3),
        st.booleans(),
    ),
    unique_by=lambda one: one.key,
)


@given(LINKS)
def test_whatever_files_say(links: list[Link]) -> None:
    found = resolved(*links)
    trusted = {one.key for one in links if one.is_trusted}
    own = {one.key for one in links if one.superseded_by}
    assert own <= set(found.superseded)
    for key in set(found.superseded) - own:
        assert found.superseded[key] in trusted
    for key, phrases in found.inherited.items():
        assert key in trusted - set(found.superseded)
        assert all(PLACE + phrase[len("about ") :] in trusted for phrase in phrases)


def memory(data: dict[str, Any], identity: str = "m") -> Memory:
    category = category_named(data.get("category", "decision"))
    extra = {"tags": data.get("tags", []), "related_files": data.get("files", [])}
    data_of_memory = new_memory(
        category, identity, data["title"], body_content(category, data.get("body", "text")), extra
    )
    return parse_memory(data_of_memory, identity, category)


MEMORIES = [
    (pair["kind"], memory(pair["new"], "new-%d" % at), memory(pair["old"], "old-%d" % at))
    for at, pair in enumerate(PAIRS)
]
COMPARED = Similarity([one for _, new, old in MEMORIES for one in (new, old)], STOP)


def verdicts() -> list[tuple[str, str]]:
    return [(kind, COMPARED.why(new, old)) for kind, new, old in MEMORIES]


def test_the_measured_precision_and_recall() -> None:
    results = verdicts()
    reported = [kind for kind, why in results if why]
    reasons = [why for kind, why in results if kind != "topic"]
    assert len([kind for kind in reported if kind != "topic"]) / len(reported) >= 0.93
    assert len([why for why in reasons if why]) / len(reasons) >= 0.96


def test_the_reasons_are_distinguished() -> None:
    found = [(kind, why) for kind, why in verdicts() if why and kind != "topic"]
    right = [(kind == "duplicate") == (why in (NEAR_DUPLICATE, SAME_TITLE)) for kind, why in found]
    assert sum(right) / len(right) >= 0.95


def test_a_table_of_each_kind_is_tried() -> None:
    kinds = [pair["kind"] for pair in PAIRS]
    assert min(kinds.count(kind) for kind in ("duplicate", "same question", "topic")) >= 14


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        pytest.param(
            {"title": "Use  postgres"}, {"title": "use Postgres", "body": "other"}, SAME_TITLE, id="title"
        ),
        pytest.param(
            {"title": "Uploads: 100 MB", "tags": ["uploads"], "category": "constraint"},
            {"title": "Uploads: 20 MB", "tags": ["uploads"], "category": "constraint"},
            "similar constraint",
            id="the category is named",
        ),
        pytest.param(
            {
                "title": "Uploads are too slow",
                "tags": ["uploads"],
                "category": "tech_debt",
                "body": "no resume",
            },
            {
                "title": "Uploads are untested",
                "tags": ["uploads"],
                "category": "tech_debt",
                "body": "no fixtures",
            },
            "",
            id="technical debts answer no question",
        ),
        pytest.param({"title": "!!!", "body": "?"}, {"title": "...", "body": "-"}, "", id="no words at all"),
    ],
)
def test_why(new: dict[str, Any], old: dict[str, Any], why: str) -> None:
    assert Similarity([], STOP).why(memory(new, "a"), memory(old, "b")) == why


def test_every_threshold_has_a_reason() -> None:
    with open(data_path("memories", "similarity.json"), encoding="utf-8") as file:
        for name, entry in json.load(file)["entries"].items():
            assert len(entry["reason"]) > 40, name
