"""The terms of a document's fields, in the form the index keeps them.

A field is one text in which every term stands as `" stem~ending "`, the ending being what the stem took off the word.  So everything
ranking needs is a substring search at C speed: `" migrat~"` counts the term, `" migrat~ing "` that very form, `"rat~"` an end, `"igra"`
an inside.  A line break separates the phrases of `asked_as`, so that one phrase can be compared with a prompt.
"""

from __future__ import annotations

from ..kernel.text.stem import stem
from ..kernel.text.tokens import language, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .index_documents import Document

FIELDS = ("title", "tags", "body", "files", "asked_as")
# Marks the posting of a term in a strong field; no term contains it, because it is not a character of words.
STRONG_MARK = "+"
# More words than this of one field are not indexed: a memory is a note, and a pasted log must not outweigh a thousand notes.
MOST_WORDS = 2000
_PHRASE_WORDS = 100


class Terms:
    """The terms of one document, field by field in the order of FIELDS."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[str, ...]) -> None:
        self.fields = fields

    def lengths(self) -> list[int]:
        """Return the number of terms per field."""
        return [field.count("~") for field in self.fields]

    def strong(self) -> set[str]:
        """Return the terms in the fields other than the body."""
        title, tags, _, files, asked_as = self.fields
        return _stems(title + tags + files + asked_as)

    def weak(self) -> set[str]:
        """Return the terms that only the body holds."""
        return _stems(self.fields[2]) - self.strong()


def document_terms(document: Document, stop: dict[str, frozenset[str]], memo: dict[str, str]) -> Terms:
    """Return the terms of a document without its language's stop words; `memo` keeps forms between calls."""
    texts = (
        document.title,
        "\n".join(document.tags),
        document.body,
        "\n".join(document.files),
    )
    fields = [words(text)[:MOST_WORDS] for text in texts]
    phrases = [words(text)[:_PHRASE_WORDS] for text in (*document.asked_as, *document.inherited)]
    idle = stop[language([word for field in (*fields, *phrases) for word in field], stop)]
    asked_as = "\n".join(filter(None, (_field(phrase, idle, memo) for phrase in phrases)))
    return Terms((*(_field(field, idle, memo) for field in fields), asked_as))


def form(word: str) -> str:
    """Return a word as `stem~ending`; equal words give equal forms."""
    base = stem(word)
    if word.startswith(base):
        return base + "~" + word[len(base) :]
    shared = 0
    while shared < len(base) and base[shared] == word[shared]:
        shared += 1
    return base + "~" + word[shared:]


def _field(found: list[str], idle: frozenset[str], memo: dict[str, str]) -> str:
    forms: list[str] = []
    for word in found:
        if word not in idle:
            if word not in memo:
                memo[word] = form(word)
            forms.append(memo[word])
    return " " + "  ".join(forms) + " " if forms else ""


def _stems(field: str) -> set[str]:
    return {term.partition("~")[0] for term in field.split()}
