"""What ranking needs of `config/recall/`: read when an index is made and kept inside it, so that a prompt opens one file."""

from __future__ import annotations

from ...kernel.fastjson import dumps, loads
from ...kernel.paths import data_path
from ..intents import by_first_word

_FILES = ("stopwords", "ranking", "confidence", "trees")


def model() -> str:
    """Return the prepared ranking model as one JSON text: the values of each file of `config/recall/` that ranking reads, by its name.

    Raises OSError or ValueError when the plugin's own files are missing or damaged.
    """
    intents = {
        intent: [passage for passages in by_language.values() for passage in passages]  # type: ignore[attr-defined]
        for intent, by_language in _values("intents").items()
    }
    prepared = {"intents": sorted(intents), "passages": by_first_word(intents)}
    return dumps({**prepared, **{name: _values(name) for name in _FILES}})


def background() -> dict[str, float]:
    """Stem -> the share of short English and technical texts that hold it, in (0, 1)."""
    found = _read("background")
    texts, counts = found["texts"], found["counts"]
    assert isinstance(texts, int)
    assert isinstance(counts, dict)
    return {str(term): int(count) / texts for term, count in counts.items()}


def _values(name: str) -> dict[str, object]:
    return {entry: described["value"] for entry, described in _read(name)["entries"].items()}  # type: ignore[attr-defined]


def _read(name: str) -> dict[str, object]:
    with open(data_path("recall", name + ".json"), encoding="utf-8") as file:
        found = loads(file.read())
    if not isinstance(found, dict):
        raise ValueError("config/recall/%s.json: expected an object" % name)  # noqa: TRY004 - a damaged file, no bug
    return found
