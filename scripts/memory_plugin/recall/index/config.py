"""What ranking needs of `config/recall/`, read when an index is made and kept inside it, so that a prompt opens one file."""

from __future__ import annotations

from ...kernel.native import digest, dumps, loads
from ...kernel.paths import data_path

FILES = ("stopwords.json", "ranking.json", "confidence.json")


def model() -> str:
    """The prepared ranking model: stop words, weights and the confidence model, as one JSON text.

    Raises OSError or ValueError when the plugin's own files are missing or damaged.
    """
    stop, ranking, confidence = (_read(name) for name in FILES)
    return dumps(
        {"stop": stop["languages"], "ranking": ranking["values"], "confidence": confidence["values"]}
    )


def model_digest() -> str:
    """The digest of the prepared model, by which an index made from older files is told."""
    return digest(model().encode("ascii"))


def stop_words() -> frozenset[str]:
    """The stop words that no document's terms hold: those of every language."""
    languages = _read("stopwords.json")["languages"]
    assert isinstance(languages, dict)
    return frozenset(word for words in languages.values() for word in words.split())


def _read(name: str) -> dict[str, object]:
    with open(data_path("recall", name), encoding="utf-8") as file:
        found = loads(file.read())
    if not isinstance(found, dict):
        raise ValueError("%s: expected an object" % name)
    return found
