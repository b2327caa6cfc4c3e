"""The rules: phrases with their category and position, the plugin's own and the user's pack."""

from __future__ import annotations

from ..kernel.files import read_regular
from ..kernel.native import loads
from ..kernel.paths import data_path
from .phrases import Phrases, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = [
    "PACK",
    "POSITIONS",
    "Match",
    "Rule",
    "Rules",
    "RulesError",
    "load_rule_table",
    "load_rules",
    "pack_problem",
    "read_pack",
    "word_classes",
]

PACK = "responses-rules.json"  # in the state folder
POSITIONS = {"anywhere": 0, "sentence": 1, "line": 2, "reply": 3}
_MAX_BYTES = 1 << 20
_MOST_OWN = 500


class RulesError(ValueError):
    """A rule file that says something else than it may."""


class Rule:
    """One rule: `level` is the least that the phrase has to begin, `behind` the signs one of which has to follow, empty for any.

    What an `exempt` rule takes is no filler, and none for another rule either.
    """

    __slots__ = ("behind", "category", "exempt", "id", "level")

    def __init__(self, name: str, category: str, level: int, behind: str, *, exempt: bool) -> None:
        self.id = name
        self.category = category
        self.level = level
        self.behind = behind
        self.exempt = exempt


class Match:
    """A filler phrase: its place in the original text and the rule that it fits; `first` and `behind` are its words."""

    __slots__ = ("behind", "end", "first", "rule", "start")

    def __init__(self, rule: Rule, start: int, end: int, first: int, behind: int) -> None:
        self.rule = rule
        self.start = start
        self.end = end
        self.first = first
        self.behind = behind


class Rules:
    """All rules in effect; pattern number `n` belongs to `rule_of[n]`."""

    __slots__ = ("chain", "cues", "interjections", "phrases", "rule_of", "starters", "trouble")

    def __init__(self, table: Mapping[str, Any], pack: Mapping[str, Any]) -> None:
        exempt, more = pack.get("exempt"), pack.get("rules")
        exempted = exempt if isinstance(exempt, dict) else {}
        added = more[:_MOST_OWN] if isinstance(more, list) else []
        classes = word_classes(table)
        self.rule_of: list[Rule] = []
        self.trouble = ""
        patterns: list[str] = []
        entries = [(entry, False) for entry in table["rules"]] + [(entry, True) for entry in added]
        for entry, own in entries:
            if own and pack_problem(entry, classes):
                self.trouble = "a rule of your own pack is left out: " + pack_problem(entry, classes)
                continue
            level, behind = POSITIONS[entry["position"]], entry.get("behind", "")
            rule = Rule(entry["id"], entry["category"], level, behind, exempt=entry["id"] in exempted)
            patterns += entry["patterns"]
            self.rule_of += [rule] * len(entry["patterns"])
        self.phrases = Phrases(patterns, classes)
        self.interjections = frozenset(table["interjections"].split())
        self.chain = self.interjections | frozenset(table["chain"].split())
        self.starters = self.chain | self.phrases.first_words.keys()
        self.cues = frozenset(table["mention_cues"].split())


def word_classes(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The named classes of words of a rule file."""
    return {name: frozenset(words.split()) for name, words in table["classes"].items()}


def pack_problem(entry: object, classes: Mapping[str, frozenset[str]]) -> str:
    """What is wrong with a rule of the user's pack; empty when nothing is."""
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(name), str) for name in ("id", "category", "position")
    ):
        return "id, category and position have to be texts"
    patterns = entry.get("patterns")
    if entry["position"] not in POSITIONS or not isinstance(entry.get("behind", ""), str):
        return "%s: position is one of %s" % (entry["id"][:60], ", ".join(POSITIONS))
    if (
        not isinstance(patterns, list)
        or not 0 < len(patterns) <= 50
        or not all(isinstance(item, str) for item in patterns)
    ):
        return "%s: patterns is a list of 1 to 50 texts" % entry["id"][:60]
    try:
        for pattern in patterns:
            parse(pattern, classes)
    except ValueError as error:
        return "%s: %s" % (entry["id"][:60], error)
    return ""


def load_rule_table() -> dict[str, Any]:
    """The plugin's own rule file."""
    with open(data_path("replies", "filler.json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    return table


def load_rules(state_dir: str | None) -> Rules:
    """The plugin's rules and the user's pack, whose faults are said in `trouble`."""
    pack, trouble = read_pack(state_dir)
    rules = Rules(load_rule_table(), pack)
    rules.trouble = trouble or rules.trouble
    return rules


def read_pack(state_dir: str | None) -> tuple[dict[str, Any], str]:
    """The user's pack, empty when there is none, and why it is not used, empty when it is."""
    if state_dir is None:
        return {}, ""
    try:
        pack = loads(read_regular("%s/%s" % (state_dir, PACK), _MAX_BYTES)[0].decode("utf-8"))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, "your own rule pack is not used: %s" % error
    return (
        (pack, "") if isinstance(pack, dict) else ({}, "your own rule pack is not used: it is no JSON object")
    )
