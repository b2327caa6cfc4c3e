"""The rules, loaded once; a pattern is compiled at its first use.

`config/hygiene/README.md` explains how to write one.
"""

from __future__ import annotations

import re
from functools import cache

from ..hygiene_choice import chosen_packs
from .anchors import prefilters
from .assignment import assignment_pattern
from .checks import CHECKS
from .filters import FILTERS
from .policy import KINDS
from .tables import DataError, strings, table, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# In order of rank: if two findings overlap, the earlier file and the earlier rule determine the name.
FILES = ("keys.json", "services.json", "generic.json", "personal.json")
# Rules that are used only if the user's setting `hygiene.packs` names the pack; they rank above personal data.
PACKS = {"national-ids": "national.json"}

_REACH = 48
_FIELDS = {
    "id", "kind", "reason", "keywords", "pattern", "names", "value", "entropy", "check", "filters", "name_filter",
    "context", "reach", "window", "prefilter", "hit", "miss",
}  # fmt: skip


class Rule:
    """One rule.

    `pattern` is matched at each keyword. With `window` it is searched in that many characters before and after a keyword, with `prefilter`
    in the regions of that prefilter. The finding is its group `value`, else the whole match.
    """

    __slots__ = (
        "check",
        "context",
        "entropy",
        "filters",
        "id",
        "keywords",
        "kind",
        "name_filter",
        "pattern",
        "prefilter",
        "reach",
        "window",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 (its fields)
        self,
        *,
        id: str,  # noqa: A002 (its name in the files)
        kind: str,
        keywords: tuple[str, ...],
        window: tuple[int, ...],
        prefilter: str,
        pattern: str,
        entropy: float,
        check: str,
        filters: tuple[str, ...],
        name_filter: bool,
        context: str,
        reach: int,
    ) -> None:
        self.id = id
        self.kind = kind
        self.keywords = keywords  # in lower case
        self.window = window  # empty for none
        self.prefilter = prefilter  # "" for none
        self.pattern = pattern
        self.entropy = entropy  # the minimum, in bits per character
        self.check = check  # of CHECKS; "" for none
        self.filters = filters  # of FILTERS
        self.name_filter = name_filter  # whether the value must be assigned to a name that means a secret
        self.context = context  # pattern that must match shortly before or after the value; "" for none
        self.reach = reach  # characters before the value in which the context is searched


def files(packs: Iterable[str] = tuple(PACKS)) -> tuple[str, ...]:
    """Return the rule files by rank, including those of some packs; by default of all packs."""
    return (*FILES[:-1], *(PACKS[pack] for pack in packs if pack in PACKS), FILES[-1])


def rules() -> tuple[Rule, ...]:
    """Return the rules in use by rank. Raises DataError that names the file, the rule and the field."""
    return _rules(files(chosen_packs()))


def formed_rules() -> tuple[Rule, ...]:
    """Return the rules for secrets with a recognizable form, which have the first ranks."""
    return _rules(FILES[:1])


@cache
def _rules(names: tuple[str, ...]) -> tuple[Rule, ...]:
    loaded = [_rule(entry, name) for name in names for entry in _entries(name)]
    ids: set[str] = set()
    for rule in loaded:
        if rule.id in ids:
            raise DataError("duplicate rule id %s" % rule.id)
        ids.add(rule.id)
    return tuple(loaded)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern; the cache of `re` is too small for all rules."""
    return re.compile(pattern)


def _entries(name: str) -> list[object]:
    entries = table(name).get("rules")
    if not isinstance(entries, list):
        raise DataError("%s: rules: expected a list" % name)
    return entries


def _rule(entry: object, name: str) -> Rule:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        raise DataError("%s: every rule is an object with an id" % name)
    where = "%s: %s" % (name, entry["id"])
    unknown = sorted(set(entry) - _FIELDS)
    if unknown:
        raise DataError("%s: unknown field %s" % (where, unknown[0]))
    kind, check = entry.get("kind", "secret"), entry.get("check", "")
    filters = strings(entry.get("filters"), where + ": filters")
    if kind not in KINDS or (check and check not in CHECKS) or not FILTERS.keys() >= set(filters):
        raise DataError("%s: unknown kind, check or filter" % where)
    return Rule(
        id=entry["id"],
        kind=kind,
        keywords=strings(entry.get("keywords"), where + ": keywords"),
        window=_window(entry.get("window", []), where),
        prefilter=_prefilter(entry, where),
        pattern=_pattern(entry, where),
        entropy=float(entry.get("entropy", 0)),
        check=check,
        filters=filters,
        name_filter=entry.get("name_filter") is True,
        context=_context(entry.get("context", "")),
        reach=int(entry.get("reach", _REACH)),
    )


def _text(entry: Mapping[str, object], field: str, where: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str) or not value:
        raise DataError("%s: %s: expected a text" % (where, field))
    return value


def _pattern(entry: Mapping[str, object], where: str) -> str:
    if "pattern" in entry:
        return _text(entry, "pattern", where)
    return assignment_pattern(_text(entry, "names", where), _text(entry, "value", where))


def _window(value: object, where: str) -> tuple[int, ...]:
    if (
        not isinstance(value, list)
        or not all(isinstance(item, int) for item in value)
        or len(value) not in (0, 2)
    ):
        raise DataError("%s: window: expected two numbers" % where)
    return tuple(value)


def _prefilter(entry: Mapping[str, object], where: str) -> str:
    name = entry.get("prefilter", "")
    if not isinstance(name, str) or (name not in prefilters() if name else not entry.get("keywords")):
        raise DataError(
            "%s: prefilter: expected one of %s, or else keywords" % (where, ", ".join(prefilters()))
        )
    return name


def _context(name: object) -> str:
    return r"(?i)(?<![a-z])(?:%s)(?![a-z])" % "|".join(words(str(name))) if name else ""
