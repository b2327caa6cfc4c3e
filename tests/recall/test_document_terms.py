"""The analyzed form of a document."""

from __future__ import annotations

from memory_plugin.recall.documents import document_terms
from tests.recall.memories import memory

STOP = {"en": frozenset(("the", "for")), "de": frozenset(("die", "der"))}


def test_fields_are_kept_apart_and_stop_words_left_out() -> None:
    terms = document_terms(memory("The users", "for billing billing", tags="db", files="a.py"), STOP)
    assert terms == (" user~s ", " db~ ", " bill~ing  bill~ing ", " a~  py~  a.py~ ", "")
    assert terms.lengths() == [1, 1, 2, 3, 0]
    assert terms.strong() == {"user", "db", "a", "py", "a.py"}
    assert terms.weak() == {"bill"}


def test_stop_words_are_those_of_the_documents_language() -> None:
    english = document_terms(memory("die casting for the mould"), STOP)
    german = document_terms(memory("die Datenbank der Rechnung"), STOP)
    assert " die~ " in english.title
    assert " die~ " not in german.title


def test_a_body_that_repeats_the_title_counts_once() -> None:
    terms = document_terms(memory("use uv", "use uv because pip is slow"), STOP)
    assert terms.title == " use~  uv~ "
    assert "uv~" not in terms.body
    assert "pip~" in terms.body
