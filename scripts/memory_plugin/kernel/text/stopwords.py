"""Which language a text is in, as far as its stop words tell."""

from __future__ import annotations

DEFAULT = "en"


def language(words: list[str], stop: dict[str, frozenset[str]]) -> str:
    """The language whose stop words the text holds most of; English for a draw and for none.

    `stop` has the stop words by language, English among them.
    """
    best, most = DEFAULT, sum(word in stop[DEFAULT] for word in words)
    for name, idle in stop.items():
        hits = sum(word in idle for word in words)
        if hits > most:
            best, most = name, hits
    return best
