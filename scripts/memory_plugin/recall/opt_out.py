"""The wordings with which a prompt opts out of memories; most prompts have no hint of one, and then this is not imported."""

from __future__ import annotations

from ..kernel.paths import load_data
from ..kernel.text import positions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_OF_WORDS = 3  # words after "of" in which the owner of a memory is looked for
_MAX_CLAUSE = 60  # characters


class OptOut:
    """The wordings with which a prompt opts out of memories."""

    def __init__(self) -> None:
        self._table = table = load_data("recall", "opt_out")
        names = ("polite", "many", "determiners", "nouns", "of", "of_determiners", "owners", "other_senses")
        self._words = {name: set(table[name].split()) for name in names}
        self._clauses = set(table["clauses"])
        self._clause_ends = str.maketrans(dict.fromkeys(table["clause_ends"], "\n"))
        self._before_tags = str.maketrans(dict.fromkeys(table["before_tags"], " "))
        # Words are joined by spaces: what ends a passage has one before it, what begins one has one behind it.
        self._verbs = [" " + verb for verb in sorted(table["verbs"], key=lambda verb: -len(verb.split()))]
        self._not_after = tuple(" " + phrase for phrase in table["not_after"])
        self._turned = tuple(phrase + " " for phrase in table["turned_round_by"])
        self._after_noun = tuple(phrase + " " for phrase in table["after_noun"])
        self._around = [(" " + verb, then + " ") for verb, then in table["around"]]

    def has_tag(self, text: str) -> bool:
        """Return whether a text contains a tag such as `#nomem`, as a word of its own."""
        words = text.lower().replace("\uff03", "#").translate(self._before_tags).split()
        return any(_is_tag(word, tag) for word in words for tag in self._table["tags"])

    def has_request(self, text: str, words: list[str]) -> bool:
        """Return whether a passage with these words asks not to use memories; `text` is in lower case, with plain apostrophes."""
        return self._has_clause(text) or self._has_phrase(words) or self._has_unspaced(text)

    def _has_clause(self, text: str) -> bool:
        clauses = text.translate(self._clause_ends).replace(" - ", "\n").split("\n")
        short = [clause.split() for clause in clauses if len(clause) < _MAX_CLAUSE]
        polite = self._words["polite"]
        return any(" ".join(word for word in words if word not in polite) in self._clauses for words in short)

    def _has_phrase(self, words: list[str]) -> bool:
        return not self._words["nouns"].isdisjoint(words) and any(
            word in self._words["nouns"]
            and self._is_refused(words, at)
            and not self._is_computer_memory(words[at + 1 : at + 2 + _MAX_OF_WORDS])
            for at, word in enumerate(words)
        )

    def _is_refused(self, words: list[str], at: int) -> bool:
        """Return whether words refuse the noun at this place: before it, past determiners, behind it, or around it.

        An example of the last two is "nutze dein Gedächtnis nicht".
        """
        start = at
        while start > 0 and words[start - 1] in self._words["determiners"]:
            start -= 1
        before, after = " " + " ".join(words[:start]), " ".join(words[at + 1 :]) + " "
        if after.startswith(self._after_noun):
            return True
        if any(before.endswith(verb) and after.startswith(then) for verb, then in self._around):
            return True
        verb = next((verb for verb in self._verbs if before.endswith(verb)), "")
        if not verb or after.startswith(self._turned) or before.removesuffix(verb).endswith(self._not_after):
            return False
        is_of_many = verb[1:] in self._table["verbs_of_many"]
        return not is_of_many or not self._words["many"].isdisjoint(words[start : at + 1])

    def _is_computer_memory(self, after: list[str]) -> bool:
        """Return whether the words after a noun make it a computer's memory: "leak", or "of" an owner other than ours."""
        if not after:
            return False
        if after[0] not in self._words["of"]:
            return after[0] in self._words["other_senses"]
        owner = [word for word in after[1:] if word not in self._words["of_determiners"]]
        return bool(owner) and owner[0] not in self._words["owners"] | self._words["determiners"]

    def _has_unspaced(self, text: str) -> bool:
        if text.isascii():
            return False
        squeezed = "".join(text.split())
        return any(_has_unspaced(squeezed, group) for group in self._table["unspaced"])


def _is_tag(word: str, tag: str) -> bool:
    after = word[len(tag) : len(tag) + 1]
    return word.startswith(tag) and not (after.isalnum() or after in tuple("_-/=#"))


def _has_unspaced(text: str, group: dict[str, Any]) -> bool:
    """Return whether a text without spaces has a verb and a noun, in this order or not, with nothing but `between` in the middle."""
    names = ("verbs", "nouns") if group["order"] == "verb first" else ("nouns", "verbs")
    first_words, second_words = (group[name] for name in names)
    for first in first_words:
        for at in positions(text, first):
            is_negated = text[:at].endswith(tuple(group["not_after"]))
            if not is_negated and _is_followed(text[at + len(first) :], second_words, group):
                return True
    return False


def _is_followed(rest: str, words: list[str], group: dict[str, list[str]]) -> bool:
    while True:
        for word in words:
            if rest.startswith(word) and not rest[len(word) :].startswith(tuple(group["other_senses"])):
                return True
        skipped = next((word for word in group["between"] if word and rest.startswith(word)), "")
        if not skipped:
            return False
        rest = rest[len(skipped) :]
