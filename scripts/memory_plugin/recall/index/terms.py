"""The terms of a document's fields, in the form the index keeps them."""

from __future__ import annotations

from ...kernel.text.stem import stem
from ...kernel.text.tokens import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .document import Document

FIELDS = ("title", "tags", "body", "files", "asked_as")
STRONG_FIELDS = (0, 1, 3, 4)
# More than this of one field is not indexed: a memory is a note, and a pasted log must not outweigh a thousand notes.
MOST_WORDS = 2000


class Terms:
    """The terms of one document: per field a text in which each term has a space on either side, so that counting is a text search."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields

    def lengths(self) -> list[int]:
        """The number of terms per field, in the order of FIELDS."""
        return [field.count("  ") + 1 if field else 0 for field in self.fields]

    def strong(self) -> set[str]:
        """The terms that stand in a field other than the body."""
        return {term for at in STRONG_FIELDS for term in self.fields[at].split()}

    def weak(self) -> set[str]:
        """The terms that stand in the body alone."""
        return set(self.fields[2].split()) - self.strong()


def document_terms(document: Document, stop: frozenset[str], memo: dict[str, str]) -> Terms:
    """The terms of a document without stop words; `memo` keeps stems between calls."""
    texts = (
        document.title,
        "\n".join(document.tags),
        document.body,
        "\n".join(document.files),
        "\n".join(document.asked_as),
    )
    return Terms(tuple(_field(text, stop, memo) for text in texts))


def _field(text: str, stop: frozenset[str], memo: dict[str, str]) -> str:
    found: list[str] = []
    for word in words(text)[:MOST_WORDS]:
        if word not in stop:
            if word not in memo:
                memo[word] = stem(word)
            found.append(memo[word])
    return " " + "  ".join(found) + " " if found else ""
