"""The rules and the policy of `config/hygiene/`, loaded once; a pattern is compiled at its first use.

`config/hygiene/README.md` explains how to write a rule. The files come with the plugin, so tests check them, not each process.
"""

from __future__ import annotations

import re
from functools import cache

from ..data import load_data
from ..hygiene_choice import allowed, chosen_packs
from .filters import assignment_pattern, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

ACTIONS = ("allow", "redact", "block")
KINDS = (
    "secret",
    "url_credentials",
    "credit_card",
    "iban",
    "us_ssn",
    "email",
    "phone",
    "ip_address",
    "home_path",
    "person_name",
    "postal_address",
    "birth_date",
    "national_id",
    "record_number",
)
# In order of rank: if two findings overlap, the earlier file and the earlier rule determine the name.
FILES = ("keys", "services", "generic", "personal")
# Rules that are used only if the user's setting `hygiene.packs` names the pack; they rank above personal data.
PACKS = {"national-ids": "national"}
_REACH = 48


class Rule:
    """One rule.

    `pattern` is matched at each keyword. With `window` it is searched in that many characters before and after a keyword, with `prefilter`
    in the regions of that prefilter. The finding is its group `value`, else the whole match.
    """

    __slots__ = (
        "check", "context", "entropy", "filters", "id", "keywords", "kind", "name_filter", "pattern", "prefilter", "reach", "window",
    )  # fmt: skip

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
        self.name_filter = bool(
            entry.get("name_filter")
        )  # whether the value must be assigned to a name that means a secret
        self.reach: int = entry.get(
            "reach", _REACH
        )  # characters before the value in which the context is searched
        # A pattern that must match shortly before or after the value; "" for none.
        context = "|".join(words(entry["context"])) if "context" in entry else ""
        self.context = r"(?i)(?<![a-z])(?:%s)(?![a-z])" % context if context else ""


def files(packs: Iterable[str] = tuple(PACKS)) -> tuple[str, ...]:
    """Return the names of the rule files by rank, including those of some packs; by default of all packs."""
    return (*FILES[:-1], *(PACKS[pack] for pack in packs if pack in PACKS), FILES[-1])


def rules() -> tuple[Rule, ...]:
    """Return the rules in use by rank."""
    return _rules(files(chosen_packs()))


def formed_rules() -> tuple[Rule, ...]:
    """Return the rules for secrets with a recognizable form, which have the first ranks."""
    return _rules(FILES[:1])


@cache
def _rules(names: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(Rule(entry) for name in names for entry in load_data("hygiene", name)["rules"])


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern; the cache of `re` is too small for all rules."""
    return re.compile(pattern)


@cache
def places() -> Mapping[str, Mapping[str, str]]:
    """Return what happens to a finding in each place, such as a memory, an injected text or a ledger: the action by kind or rule id."""
    policy: Mapping[str, Mapping[str, str]] = load_data("hygiene", "policy")["places"]
    return policy


def action(place: str, kind: str, rule: str) -> str:
    """Return the action, "allow", "redact" or "block"; an entry for the rule takes precedence over one for its kind.

    A rule in the user's setting `hygiene.allow` is allowed everywhere.
    """
    if allowed(rule):
        return "allow"
    return places()[place].get(rule, places()[place][kind])
