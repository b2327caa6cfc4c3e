"""Near duplicates and other answers to the same question, measured on pairs that were written for it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.kernel.paths import data_path
from memory_plugin.memories.record import Memory, body_content, category_named, new_memory, parse_memory
from memory_plugin.memories.similarity import NEAR_DUPLICATE, SAME_TITLE, Similarity

with open(os.path.join(os.path.dirname(__file__), "similar_pairs.json"), encoding="utf-8") as _file:
    PAIRS: list[dict[str, Any]] = json.load(_file)["pairs"]
with open(data_path("recall", "stopwords.json"), encoding="utf-8") as _file:
    STOP = {name: frozenset(entry["value"].split()) for name, entry in json.load(_file)["entries"].items()}


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
            "older constraint on the same question",
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
