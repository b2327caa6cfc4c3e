"""The rules and the policy of `config/hygiene/`, loaded once, and the anchors: the only places in a text where a rule's pattern is tried.

`config/hygiene/README.md` explains how to write a rule. The files come with the plugin, so tests check them, not each process. Running
hundreds of patterns over a long text would be too slow. A pattern is tried where one of its keywords occurs, or in the regions that a
prefilter selects: a cheap pattern shared by many rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from ..paths import load_data
from ..text import positions
from .filters import assignment_pattern, words

# In order of rank: if two findings overlap, the earlier file and the earlier rule determine the name.
FILES = ("keys", "services", "generic", "personal")
# Rules that are used only if the user's setting `hygiene.packs` names the pack; they rank above personal data.
PACKS = {"national-ids": "national"}
_START = 3
_NOT_ASCII = "?"  # in the encoded text, for a character outside ASCII
_VOCABULARY = re.compile(rb"[a-z0-9_.-]{2,}")
Ranks = dict[bytes, list[int]]  # of rules, by how their keywords start
_PLAIN = b"".join(bytes([code]) if _VOCABULARY.match(bytes([code, code])) else b" " for code in range(256))


class Rule:
    """One rule.

    `pattern` is matched at each keyword. With `window` it is searched in that many characters before and after a keyword, with `prefilter`
    in the regions of that prefilter. The finding is its group `value`, else the whole match.
    """

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.id: str = entry["id"]
        self.kind: str = entry.get("kind", "secret")
        self.keywords: list[str] = entry.get("keywords", [])  # in lower case
        self.window: list[int] = entry.get("window", [])  # empty for none
        self.prefilter: str = entry.get("prefilter", "")  # "" for none
        self.pattern = entry.get("pattern") or assignment_pattern(entry["names"], entry["value"])
        self.entropy = float(entry.get("entropy", 0))  # the minimum, in bits per character
        self.check: str = entry.get("check", "")  # of CHECKS; "" for none
        self.filters: list[str] = entry.get("filters", [])  # of FILTERS
        # Whether the value must be assigned to a name that means a secret.
        self.name_filter = bool(entry.get("name_filter"))
        self.reach: int = entry.get("reach", 48)  # characters before the value to search for the context
        # A pattern that must match shortly before or after the value; "" for none.
        context = "|".join(words(entry["context"])) if "context" in entry else ""
        self.context = r"(?i)(?<![a-z])(?:%s)(?![a-z])" % context if context else ""


def files(packs: Iterable[str] = tuple(PACKS)) -> tuple[str, ...]:
    """Return the names of the rule files by rank, including those of some packs; by default of all packs."""
    return (*FILES[:-1], *(PACKS[pack] for pack in packs if pack in PACKS), FILES[-1])


@cache
def rules(packs: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules in use with some packs, by rank."""
    return tuple(Rule(entry) for name in files(packs) for entry in load_data("hygiene", name)["rules"])


def count_formed() -> int:
    """Return the number of rules for secrets with a recognizable form, which have the first ranks."""
    return len(load_data("hygiene", FILES[0])["rules"])


@cache
def places() -> Mapping[str, Mapping[str, str]]:
    """Return what happens to a finding in each place, such as a memory, an injected text or a ledger: the action by kind or rule id."""
    policy: Mapping[str, Mapping[str, str]] = load_data("hygiene", "policy")["places"]
    return policy


def action(place: str, kind: str, rule: str) -> str:
    """Return the action, "allow", "redact" or "block"; an entry for the rule takes precedence over one for its kind."""
    return places()[place].get(rule, places()[place][kind])


class Prefilter(NamedTuple):
    """A cheap pattern, and how many characters around its match a rule may need.

    `within`: the name of a prefilter in whose matches this pattern is searched for; its regions surround those matches. "" for none.
    """

    pattern: re.Pattern[str]
    before: int
    after: int
    within: str = ""


@cache
def prefilters() -> dict[str, Prefilter]:
    """Return the prefilters by name."""
    entries = load_data("hygiene", "prefilters")["prefilters"]
    return {key: Prefilter(**{**row, "pattern": re.compile(row["pattern"])}) for key, row in entries.items()}


@cache
def ranks_by_start(packs: tuple[str, ...]) -> tuple[Ranks, Ranks, list[int]]:
    """Return the ranks of the rules in use with these packs: by the first three characters of their keywords, or all of a shorter one.

    The first are those whose start is of letters alone, which one look into the `_grams` of a text finds; the last have no keywords.
    """
    by_gram: Ranks = {}
    by_start: Ranks = {}
    others: list[int] = []
    for rank, rule in enumerate(rules(packs)):
        if rule.prefilter:
            others.append(rank)
            continue
        for start in {keyword.encode("ascii")[:_START] for keyword in rule.keywords}:
            is_gram = len(start) == _START and _words_in(start) == [start]
            (by_gram if is_gram else by_start).setdefault(start, []).append(rank)
    return by_gram, by_start, others


@cache
def _words_in(keyword: bytes) -> list[bytes]:
    return _VOCABULARY.findall(keyword)


class Anchors:
    """The anchors of one text. Each keyword and prefilter is searched at its first use."""

    def __init__(self, text: str) -> None:
        self._text = text
        # One byte per character, so that positions are the same in both.
        self._lower = text.encode("ascii", "replace").lower()
        self._places: dict[str, list[int]] = {}
        self._regions: dict[str, list[tuple[int, int]]] = {}
        self._matched: dict[str, list[tuple[int, int]]] = {}
        # Texts repeat words: the set of their distinct parts rules out most keywords.
        parts = "\n".join(set(text.split())).encode("ascii", "replace").lower().translate(_PLAIN)
        vocabulary = self._vocabulary = b"\n".join(set(parts.split()))
        self._grams = {vocabulary[at : at + _START] for at in range(len(vocabulary) - _START + 1)}

    def _may_have(self, keyword: bytes) -> bool:
        """Return whether all words in a keyword are in the text."""
        for part in _words_in(keyword):
            if (len(part) >= _START and part[:_START] not in self._grams) or part not in self._vocabulary:
                return False
        return True

    def possible(self, by_gram: Ranks, by_start: Ranks, others: list[int]) -> list[int]:
        """Return the ranks of the rules whose keywords may be in the text, in order, and `others`."""
        ranks = chain(
            (by_gram[gram] for gram in by_gram.keys() & self._grams),
            (by_start[start] for start in filter(self._may_have, by_start)),
        )
        return sorted({*others, *chain.from_iterable(ranks)})

    def places(self, keyword: str) -> list[int]:
        """Return the positions of a keyword in lower-case ASCII, ignoring the case of the text."""
        if keyword not in self._places:
            self._places[keyword] = self._search(keyword)
        return self._places[keyword]

    def _search(self, keyword: str) -> list[int]:
        if keyword == _NOT_ASCII:
            return list(positions(self._text, keyword))
        encoded = keyword.encode("ascii")
        if not self._may_have(encoded):
            return []
        return list(positions(self._lower, encoded))

    def around(self, keywords: Iterable[str], before: int, after: int) -> list[tuple[int, int]]:
        """Return the regions from `before` characters before a keyword to `after` characters after its start."""
        places = sorted(place for keyword in keywords for place in self.places(keyword))
        return self._merged((place - before, place + after) for place in places)

    def regions(self, prefilter: str) -> list[tuple[int, int]]:
        """Return the regions that a prefilter selects."""
        if prefilter not in self._regions:
            margins = prefilters()[prefilter]
            self._regions[prefilter] = self._merged(
                (start - margins.before, end + margins.after) for start, end in self._matches(prefilter)
            )
        return self._regions[prefilter]

    def _matches(self, name: str) -> list[tuple[int, int]]:
        """Return where a prefilter matches; for one within another, the matches of the other that contain it."""
        if name not in self._matched:
            prefilter, text = prefilters()[name], self._text
            if prefilter.within:
                outer = self._matches(prefilter.within)
                self._matched[name] = [span for span in outer if prefilter.pattern.search(text, *span)]
            else:
                self._matched[name] = [match.span() for match in prefilter.pattern.finditer(text)]
        return self._matched[name]

    def _merged(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for start, end in spans:
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((max(0, start), end))
        return merged
