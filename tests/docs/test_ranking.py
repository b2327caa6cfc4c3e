"""The numbers in docs/ranking.md are those of the configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.kernel.paths import data_path
from tests.docs.pages import page

TEXT = page("docs/ranking.md")


def values(name: str) -> dict[str, Any]:
    """Return the values in a file of recall's configuration, by id."""
    with open(data_path("recall", name + ".json"), encoding="utf-8") as file:
        return {entry: described["value"] for entry, described in json.load(file)["entries"].items()}


RANKING, CONFIDENCE = values("ranking"), values("confidence")
NUMBER_WORDS = {13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen"}
WEIGHTS = sum(len(CONFIDENCE[part]) - 1 for part in ("concerns", "stands_out"))
SENTENCES = {
    "postings": "until {:,} postings are read".format(RANKING["postings"]),
    "pool": "over the first %d," % RANKING["pool"],
    "soft_pool": "4-grams for the first %d " % RANKING["soft_pool"],
    "base": "near `base` (%s)" % CONFIDENCE["base"],
    "weights": "%s weights" % NUMBER_WORDS[WEIGHTS],
}


@pytest.mark.parametrize("sentence", SENTENCES.values(), ids=SENTENCES)
def test_the_page_has_the_configured_number(sentence: str) -> None:
    assert sentence in TEXT
