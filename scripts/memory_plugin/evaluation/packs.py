"""Load and check rule packs: the gates to run and their rules. Each is a JSON file; `extends` names a base pack.

Objects are merged key by key, null removes a key, and lists are replaced. `config/evaluation/README.md` explains every field. Every error
names file and field.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from ..kernel.fastjson import as_number
from . import EvaluationError, file_path, read_object, shipped_names
from .evaluation_gates import GATES
from .frames import Lexicon, compile_frame
from .rule_matching import MAX_SENTENCE, READS, ClaimEvidence, PackRule, RulePack, UnlessPattern, find_matches

_LIST = re.compile(r"\{([a-z][a-z-]{1,40})\}")
_MAX_NESTING = 6  # lists within lists
_FIELDS = {
    "id", "reason", "gates", "rules", "lists", "unless", "neutral", "contrast", "answers", "evidence", "disclosure", "leaks", "words",
    "irregular", "spellings", "macros", "shared", "defaults", "contradictions",
}  # fmt: skip
_RULE_FIELDS = {
    "gate", "speaker", "reason", "patterns", "frames", "unless", "needs", "reads", "against", "hint", "any_of", "hit", "miss",
}  # fmt: skip
_SPEAKERS = ("assistant", "user", "both")
_PLACES = ("before", "after", "sentence", "text")
_MAX_SECONDS = 2.0  # of computing for the patterns of one rule


class PackReport(NamedTuple):
    """The result of a check; a pack with faults must not be used."""

    pack: str
    rules: int
    examples: int
    faults: list[str]


def pack_names() -> list[str]:
    """Return the names of the packs that the plugin ships."""
    return shipped_names("packs")


def load_pack(name: str) -> RulePack:
    """Load a pack by name, or by path if the name contains a slash or ends in .json. Raises EvaluationError."""
    return _PackReader(_read_extended(name, (), ""), name).pack()


def _read_extended(name: str, chain: tuple[str, ...], folder: str) -> dict[str, Any]:
    """Return a pack's JSON object merged with its bases; `chain` are the files that extend it, `folder` is that of the last."""
    path = os.path.realpath(file_path("packs", name, folder))
    if path in chain:
        raise EvaluationError("%s: extends itself, through %s" % (chain[0], name))
    raw = read_object(path)
    base = raw.pop("extends", "")
    if not isinstance(base, str):
        raise EvaluationError("%s: extends: expected the name of one pack" % path)
    unknown = sorted(set(raw) - _FIELDS)
    if unknown:
        raise EvaluationError("%s: unknown field %s" % (path, unknown[0]))
    return merge_objects(_read_extended(base, (*chain, path), os.path.dirname(path)), raw) if base else raw


def merge_objects(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects: nested objects are merged, null removes a key, any other value of `changes` replaces that of `base`."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merge_objects(inner if isinstance(inner, dict) else {}, value)
        else:
            result[key] = value
    return result


class _PackReader:
    """Reads the fields of one pack's JSON object; `where` in a method is the field that its errors name."""

    def __init__(self, raw: dict[str, Any], name: str) -> None:
        self.raw = raw
        self.name = name
        self.lists, self.macros = self.texts_by_name("lists"), self.texts_by_name("macros")
        self.gates = dict(self.entries("gates"))
        for gate, entry in self.gates.items():
            is_valid = (as_number(entry.get("wrong_in", 1)) or 0) > 0
            self.require(is_valid, "gates: " + gate, "wrong_in: expected a number of turns above 0")
        self.unless = {key: self.exception(key, entry) for key, entry in self.entries("unless")}
        self.evidence = {key: self.proof(key, entry) for key, entry in self.entries("evidence")}
        irregular, spellings = self.mapping("irregular"), self.mapping("spellings")
        forms = [*irregular.values(), *spellings.values()]
        are_texts = all(isinstance(form, str) for form in forms)
        self.require(are_texts, "irregular, spellings", "expected a text for each word")
        with self.naming("words"):
            self.lexicon = Lexicon(self.texts_by_name("words"), irregular, spellings)

    def require(self, condition: object, where: str, text: object) -> None:
        if not condition:
            raise EvaluationError("%s: %s: %s" % (self.name, where, text))

    @contextmanager
    def naming(self, where: str) -> Iterator[None]:
        try:
            yield
        except (ValueError, re.error, RecursionError, OverflowError) as error:
            raise EvaluationError("%s: %s: %s" % (self.name, where, error)) from None

    def pack(self) -> RulePack:
        self.require(isinstance(self.raw.get("id"), str), "id", "expected a text")
        disclosure = self.mapping("disclosure")
        every = disclosure.get("every", 1)
        is_valid = isinstance(every, int) and every > 0
        self.require(is_valid, "disclosure", "every: expected a whole number of at least 1")
        return RulePack(
            self.raw["id"],
            self.gates,
            tuple(self.rule(key, entry, "rules: " + key) for key, entry in self.entries("rules")),
            self.optional_pattern(self.raw.get("neutral"), "neutral"),
            self.optional_pattern(self.raw.get("contrast"), "contrast"),
            self.patterns("answers"),
            self.evidence,
            (every, self.pattern(disclosure.get("phrases", []), "disclosure")),
            self.texts_by_name("leaks"),
            self.lexicon,
            self.patterns("contradictions"),
        )

    def rule(self, key: str, entry: Mapping[str, Any], where: str) -> PackRule:
        entry = {**self.mapping("defaults"), **entry}
        names = ("unless", "frames", "hit", "miss", "any_of")
        lists = {name: self.texts(entry.get(name, []), "%s: %s" % (where, name)) for name in names}
        gate, needs = entry.get("gate", ""), entry.get("needs", "")
        speaker = entry.get("speaker", "assistant")
        for name in entry:
            self.require(name in _RULE_FIELDS, where, "unknown field %s" % name)
        for name in lists["unless"]:
            self.require(name in self.unless, where, "unless: unknown exception %s" % name)
        self.require(gate in self.gates, where, "unknown gate %s" % gate)
        reads = entry.get("reads", READS[0])
        self.require(reads in READS, where, "reads: expected one of " + ", ".join(READS))
        self.require(not needs or needs in self.evidence, where, "unknown evidence %s" % needs)
        self.require(speaker in _SPEAKERS, where, "speaker: expected one of " + ", ".join(_SPEAKERS))
        is_explained = lists["hit"] and lists["miss"] and isinstance(entry.get("reason"), str)
        self.require(is_explained, where, "expected a reason, at least one hit and at least one miss")
        hint = entry.get("hint")
        self.require(hint is None or type(hint) is int, where, "hint: expected a whole number")
        matches = lists["frames"] or entry.get("patterns") or hint is not None
        self.require(matches, where, "expected patterns, frames or a hint")
        pattern = self.optional_pattern(entry.get("patterns") or None, where + ": patterns")
        with self.naming(where + ": frames"):
            frames = tuple(compile_frame(source, self.macros, self.lexicon) for source in lists["frames"])
        unless = tuple(self.unless[name] for name in lists["unless"])
        examples = lists["hit"], lists["miss"], lists["any_of"]
        against = entry.get("against") is True
        matching = (pattern, frames, unless, needs, reads, against, hint)
        return PackRule(key, gate, speaker, entry["reason"], *matching, *examples)

    def exception(self, key: str, entry: Mapping[str, Any]) -> UnlessPattern:
        where, place = "unless: " + key, entry.get("where")
        self.require(place in _PLACES, where, "where: expected one of " + ", ".join(_PLACES))
        return UnlessPattern(key, str(place), self.pattern(entry.get("patterns"), where))

    def proof(self, key: str, entry: Mapping[str, Any]) -> ClaimEvidence:
        flags, where = ("note", "suffices", "attempts", "about", "each"), "evidence: " + key
        entry = {**self.mapping("shared"), **entry}
        self.require("call" in entry, where, "expected call")
        for name in entry:
            self.require(name in ClaimEvidence._fields, where, "unknown field %s" % name)
        return ClaimEvidence._make(
            entry.get(name) is True if name in flags else self.optional_pattern(entry.get(name), where)
            for name in ClaimEvidence._fields
        )

    def optional_pattern(self, texts: object, where: str) -> re.Pattern[str] | None:
        return None if texts is None else self.pattern(texts, where)

    def pattern(self, texts: object, where: str) -> re.Pattern[str]:
        """Compile several patterns as one, with `{name}` replaced by the alternatives of that list."""

        def alternatives(name: re.Match[str]) -> str:
            self.require(name[1] in self.lists, where, "unknown list {%s}" % name[1])
            return "(?:%s)" % "|".join(self.lists[name[1]])

        text = "|".join("(?:%s)" % pattern for pattern in self.texts(texts, where))
        for _ in range(_MAX_NESTING):
            text = _LIST.sub(alternatives, text)
        with self.naming(where):
            return re.compile(text, re.IGNORECASE)

    def patterns(self, field: str) -> dict[str, re.Pattern[str]]:
        return {key: self.pattern(texts, field) for key, texts in self.texts_by_name(field).items()}

    def mapping(self, field: str) -> dict[str, Any]:
        value = self.raw.get(field, {})
        self.require(isinstance(value, dict), field, "expected an object")
        return dict(value)

    def entries(self, field: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for key, entry in self.mapping(field).items():
            self.require(isinstance(entry, dict), "%s: %s" % (field, key), "expected an object")
            yield key, entry

    def texts_by_name(self, field: str) -> dict[str, list[str]]:
        return {key: self.texts(value, "%s: %s" % (field, key)) for key, value in self.mapping(field).items()}

    def texts(self, value: object, where: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise EvaluationError("%s: %s: expected a list of texts" % (self.name, where))
        return value


def check_pack(name: str) -> PackReport:
    """Check that a pack's gates exist, its patterns take bounded time, and its examples match as stated.

    Raises EvaluationError if it cannot be read.
    """
    pack = load_pack(name)
    faults = [
        "gates: %s: expected one of %s" % (gate, ", ".join(GATES)) for gate in pack.gates if gate not in GATES
    ]
    faults += [
        "%s: patterns: one takes too long on a sentence that repeats a character" % where
        for where, patterns in _patterns(pack)
        if _is_slow(patterns)
    ]
    for rule in [] if faults else pack.rules:  # an example could keep a slow pattern busy forever
        faults += [
            "%s: not found: %s" % (rule.id, text)
            for text in rule.hits
            if not find_matches(pack, [rule], text)
        ]
        faults += [
            "%s: a false alarm: %s" % (rule.id, text)
            for text in rule.misses
            if find_matches(pack, [rule], text)
        ]
    examples = sum(len(rule.hits) + len(rule.misses) for rule in pack.rules)
    return PackReport(pack.id, len(pack.rules), examples, faults)


def _patterns(pack: RulePack) -> Iterator[tuple[str, list[re.Pattern[str] | None]]]:
    """Yield the patterns of each part of a pack: the id of a rule, or the name of a field."""
    yield "disclosure", [pack.disclosure[1]]
    yield "neutral", [pack.neutral]
    yield "contrast", [pack.contrast]
    for field, patterns in (("answers", pack.answers), ("contradictions", pack.contradictions)):
        yield field, list(patterns.values())
    for name, evidence in pack.evidence.items():
        yield "evidence " + name, [part for part in evidence if isinstance(part, re.Pattern)]
    for rule in pack.rules:
        yield rule.id, [rule.pattern, *(unless.pattern for unless in rule.unless)]


def _is_slow(patterns: Iterable[re.Pattern[str] | None]) -> bool:
    """Return whether one of the patterns takes exponential time, as nested repetitions do.

    Always False on Windows, where no search can be ended.
    """
    try:
        with _time_limit(_MAX_SECONDS):
            for pattern in filter(None, patterns):
                for character in set(pattern.pattern):
                    pattern.search(character * (MAX_SENTENCE - 1) + "\0")
    except TimeoutError:
        return True
    return False


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """End what runs inside by a TimeoutError after some seconds of computing."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def chosen_packs(names: list[str]) -> list[RulePack]:
    """Return the packs to use. Raises EvaluationError for a pack with errors, or one without gates, which would pass everything."""
    packs = []
    for name in names:
        if name not in pack_names() and check_pack(name).faults:
            raise EvaluationError("%s has errors; see: memory evaluate rules check %s" % (name, name))
        packs.append(load_pack(name))
        if not packs[-1].gates:
            why = "it is only a base for other packs; see: memory evaluate rules list"
            raise EvaluationError("%s has no gates: %s" % (name, why))
    return packs
