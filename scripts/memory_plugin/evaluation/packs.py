"""Load and check rule packs: the gates to run and their rules. Each is a JSON file; `extends` names a base pack.

Objects are merged key by key, null removes a key, and lists are replaced. `config/evaluation/README.md` explains every field, and
`config/evaluation/pack.schema.json` says what it may hold. Every error names file and field.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from ..kernel.fastjson import as_object
from ..kernel.paths import load_data
from ..kernel.settings.schema import schema_problem
from . import EvaluationError, file_path, read_object, shipped_names
from .evaluation_gates import GATES
from .frames import Lexicon, compile_frame
from .rule_matching import MAX_SENTENCE, ClaimEvidence, PackRule, RulePack, UnlessPattern, find_matches

_LIST = re.compile(r"\{([a-z][a-z-]{1,40})\}")
_MAX_NESTING = 6  # lists within lists
# Objects, and the field with what all their entries have.
_COMPLETED = (("rules", "defaults"), ("evidence", "shared"))
_MAX_SECONDS = 2.0  # of computing for one pattern
_Read = TypeVar("_Read")


class PackReport(NamedTuple):
    """The result of a check; a pack with faults must not be used."""

    pack: str
    rules: int
    examples: int
    faults: list[str]


def load_pack(name: str, *, is_timed: bool = False) -> RulePack:
    """Load a pack by name, or by path if the name contains a slash or ends in .json.

    Raises EvaluationError, if `is_timed` also for a pattern that takes exponential time.
    """
    raw = _read_extended(name, (), "")
    for field, common in _COMPLETED:
        shared, entries = as_object(raw.pop(common, None)), as_object(raw.get(field))
        raw[field] = {key: {**shared, **as_object(entry)} for key, entry in entries.items()}
    with _naming(name):
        problem = schema_problem(_schema(), raw)
        _require(not problem, problem)
        return _PackReader(raw, is_timed).pack()


def _read_extended(name: str, chain: tuple[str, ...], folder: str) -> dict[str, Any]:
    """Return a pack's JSON object merged with its bases; `chain` are the files that extend it, `folder` is that of the last."""
    path = os.path.realpath(file_path("packs", name, folder))
    if path in chain:
        raise EvaluationError("%s: extends itself, through %s" % (chain[0], name))
    raw = read_object(path)
    base = raw.pop("extends", "")
    if not isinstance(base, str):
        raise EvaluationError("%s: extends: expected the name of one pack" % path)
    return merge_objects(_read_extended(base, (*chain, path), os.path.dirname(path)) if base else {}, raw)


def merge_objects(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects: nested objects are merged, null removes a key, any other value of `changes` replaces that of `base`."""
    result = {**base, **changes}
    for key, value in changes.items():
        if isinstance(value, dict):
            inner = base.get(key)
            result[key] = merge_objects(inner if isinstance(inner, dict) else {}, value)
    return {key: value for key, value in result.items() if value is not None}


@cache
def _schema() -> dict[str, Any]:
    return load_data("evaluation", "pack.schema")


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Put a place before the message of an error."""
    try:
        yield
    except (ValueError, re.error, RecursionError, OverflowError) as error:
        raise EvaluationError("%s: %s" % (where, error)) from None


def _require(condition: object, text: str) -> None:
    if not condition:
        raise EvaluationError(text)


def _require_known(names: Iterable[object], known: Iterable[str], what: str) -> None:
    known = tuple(known)
    for name in names:
        _require(name in known, "unknown %s %s" % (what, name))


class _PackReader:
    """Reads the fields of one pack's JSON object."""

    def __init__(self, raw: dict[str, Any], is_timed: bool) -> None:
        self.raw = raw
        self.is_timed = is_timed
        self.lists, self.macros = raw.get("lists", {}), raw.get("macros", {})
        self.gates = raw.get("gates", {})
        self.unless = self.each("unless", self.exception)
        self.evidence = self.each("evidence", self.proof)
        self.lexicon = Lexicon(*(raw.get(field, {}) for field in ("words", "irregular", "spellings")))

    def each(self, field: str, read: Callable[[Any], _Read]) -> dict[str, _Read]:
        """Return what a function reads from each entry of an object in the pack; errors name the entry."""
        result = {}
        for key, entry in self.raw.get(field, {}).items():
            with _naming("%s: %s" % (field, key)):
                result[key] = read(entry)
        return result

    def pack(self) -> RulePack:
        _require_known(self.gates, GATES, "gate")
        disclosure = {"every": 1, "phrases": [], **self.raw.get("disclosure", {})}
        with _naming("disclosure"):
            disclosed = self.pattern(disclosure["phrases"])
        return RulePack(
            self.raw["id"],
            self.gates,
            tuple(rule._replace(id=key) for key, rule in self.each("rules", self.rule).items()),
            self.optional_pattern(self.raw, "neutral"),
            self.optional_pattern(self.raw, "contrast"),
            self.each("answers", self.pattern),
            self.evidence,
            (disclosure["every"], disclosed),
            self.raw.get("leaks", {}),
            self.lexicon,
            self.each("contradictions", self.pattern),
        )

    def rule(self, entry: dict[str, Any]) -> PackRule:
        _require_known([entry["gate"]], self.gates, "gate")
        _require_known([entry.get("needs", "")], ("", *self.evidence), "evidence")
        _require_known(entry.get("unless", ()), self.unless, "exception")
        _require(entry["hit"] and entry["miss"], "expected at least one hit and at least one miss")
        is_matching = entry.get("patterns") or entry.get("frames") or "hint" in entry
        _require(is_matching, "expected patterns, frames or a hint")
        frames = entry.get("frames", ())
        compiled = {
            "patterns": self.optional_pattern(entry, "patterns"),
            "frames": tuple(compile_frame(each, self.macros, self.lexicon) for each in frames),
            "unless": tuple(self.unless[name] for name in entry.get("unless", ())),
        }
        return PackRule(**{**entry, **compiled})

    def exception(self, entry: dict[str, Any]) -> UnlessPattern:
        return UnlessPattern(entry["where"], self.pattern(entry["patterns"]))

    def proof(self, entry: dict[str, Any]) -> ClaimEvidence:
        flags = frozenset(name for name, value in entry.items() if value is True)
        fields = _schema()["properties"]["evidence"]["additionalProperties"]["properties"]
        parts = [name for name, field in fields.items() if field["type"] == "array"]
        return ClaimEvidence(flags, {name: self.optional_pattern(entry, name) for name in parts})

    def optional_pattern(self, entry: Mapping[str, Any], name: str) -> re.Pattern[str] | None:
        with _naming(name):
            return self.pattern(entry[name]) if entry.get(name) else None

    def pattern(self, texts: list[str]) -> re.Pattern[str]:
        """Compile several patterns as one, with `{name}` replaced by the alternatives of that list."""

        def alternatives(name: re.Match[str]) -> str:
            _require_known([name[1]], self.lists, "list")
            return "(?:%s)" % "|".join(self.lists[name[1]])

        text = "|".join("(?:%s)" % pattern for pattern in texts)
        for _ in range(_MAX_NESTING):
            text = _LIST.sub(alternatives, text)
        pattern = re.compile(text, re.IGNORECASE)
        is_slow = self.is_timed and _is_slow(pattern)
        _require(not is_slow, "a pattern takes too long on a sentence that repeats a character")
        return pattern


def check_pack(name: str) -> PackReport:
    """Check that a pack's examples match as stated. Raises EvaluationError if it cannot be read or a pattern takes exponential time."""
    pack = load_pack(name, is_timed=True)
    kinds = [
        (rule, text, is_hit, "not found" if is_hit else "a false alarm")
        for rule in pack.rules
        for is_hit, texts in ((True, rule.hit), (False, rule.miss))
        for text in texts
    ]
    faults = [
        "%s: %s: %s" % (rule.id, fault, text)
        for rule, text, is_hit, fault in kinds
        if bool(find_matches(pack, [rule], text)) != is_hit
    ]
    return PackReport(pack.id, len(pack.rules), len(kinds), faults)


def _is_slow(pattern: re.Pattern[str]) -> bool:
    """Return whether a pattern takes exponential time, as nested repetitions do. Always False on Windows, where no search can be ended."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    if not hasattr(signal, "setitimer"):
        return False
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MAX_SECONDS)
    try:
        for character in set(pattern.pattern):
            pattern.search(character * (MAX_SENTENCE - 1) + "\0")
    except TimeoutError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return False


def chosen_packs(names: list[str]) -> list[RulePack]:
    """Return the packs to use. Raises EvaluationError for a pack with errors, or one without gates, which would pass everything."""
    packs = []
    for name in names:
        if name not in shipped_names("packs") and check_pack(name).faults:
            raise EvaluationError("%s has errors; see: memory evaluate rules check %s" % (name, name))
        packs.append(load_pack(name))
        if not packs[-1].gates:
            why = "it is only a base for other packs; see: memory evaluate --help"
            raise EvaluationError("%s has no gates: %s" % (name, why))
    return packs
