"""Load and check rule packs: the gates to run and their rules. Each is a JSON file; `extends` names a base pack.

Objects are merged key by key, null removes a key, and lists are replaced. `config/evaluation/README.md` explains every field. Every error
names file and field.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import process_time
from types import FrameType
from typing import Any, NamedTuple

from . import EvaluationError, file_path, read_object, shipped_names
from .evaluation_gates import GATES
from .frames import Frame, Lexicon, compile_frame
from .rule_matching import (
    MAX_SENTENCE,
    ClaimEvidence,
    PackRule,
    RulePack,
    UnlessPattern,
    find_matches,
)

_LIST = re.compile(r"\{([a-z][a-z-]{1,40})\}")
_MAX_NESTING = 6  # lists within lists
_FIELDS = {
    "id", "reason", "gates", "rules", "lists", "unless", "neutral", "contrast", "answers", "evidence", "disclosure", "leaks", "words",
    "irregular", "spellings", "macros",
}  # fmt: skip
_RULE_FIELDS = {
    "gate", "speaker", "reason", "patterns", "frames", "unless", "needs", "quotes", "any_of", "hit", "miss",
}  # fmt: skip
_SPEAKERS = ("assistant", "user", "both")
_MAX_MS = 50.0  # for one pattern on the worst sentence, which has at most 600 characters
_GIVE_UP_SECONDS = 2.0
_HOSTILE = (
    "a", "0", " ", "a ", "you have ", "not ", "your mother ", "!", "(", '"', "-", "'", "ab1 ", "i have been ", "the the ",
    "stop taking ", "very ", "all tests ", "x" * 9 + " ", "\u00e9", "kill myself ", "want to ", "aA0_-. ",
)  # fmt: skip


class PackReport(NamedTuple):
    """The result of a check; a pack with faults must not be used."""

    pack: str
    rules: int
    examples: int
    slowest: str
    slowest_ms: float
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
        self.lists = self.lists_of_texts("lists")

    def error(self, where: str, text: object) -> EvaluationError:
        return EvaluationError("%s: %s: %s" % (self.name, where, text))

    def pack(self) -> RulePack:
        if not isinstance(self.raw.get("id"), str):
            raise self.error("id", "expected a text")
        gates, disclosure = dict(self.entries("gates")), self.mapping("disclosure")
        every = disclosure.get("every", 1)
        if not isinstance(every, int) or every < 1:
            raise self.error("disclosure", "every: expected a whole number of at least 1")
        evidence = {key: self.evidence(entry, "evidence: " + key) for key, entry in self.entries("evidence")}
        unless = {key: self.unless(key, entry) for key, entry in self.entries("unless")}
        lexicon, macros = self.lexicon(), self.lists_of_texts("macros")
        rules = []
        for key, entry in self.entries("rules"):
            rules.append(self.rule(key, entry, unless, self.frames(key, entry, macros, lexicon)))
            if rules[-1].gate not in gates:
                raise self.error("rules: " + key, "unknown gate %s" % rules[-1].gate)
            if rules[-1].needs and rules[-1].needs not in evidence:
                raise self.error("rules: " + key, "unknown evidence %s" % rules[-1].needs)
        return RulePack(
            self.raw["id"],
            gates,
            tuple(rules),
            self.optional_pattern(self.raw.get("neutral"), "neutral"),
            self.optional_pattern(self.raw.get("contrast"), "contrast"),
            {key: self.pattern(texts, "answers") for key, texts in self.lists_of_texts("answers").items()},
            evidence,
            (every, self.pattern(disclosure.get("phrases", []), "disclosure")),
            self.lists_of_texts("leaks"),
            lexicon,
        )

    def lexicon(self) -> Lexicon:
        words, irregular, spellings = (
            self.lists_of_texts("words"),
            self.mapping("irregular"),
            self.mapping("spellings"),
        )
        if not all(isinstance(value, str) for value in (*irregular.values(), *spellings.values())):
            raise self.error("irregular, spellings", "expected a text for each word")
        try:
            return Lexicon(words, irregular, spellings)
        except KeyError as error:
            raise self.error("words", "unknown class %s" % error) from None
        except ValueError as error:
            raise self.error("words", error) from None

    def rule(
        self,
        key: str,
        entry: Mapping[str, Any],
        unless: Mapping[str, UnlessPattern],
        frames: tuple[Frame, ...],
    ) -> PackRule:
        where = "rules: " + key
        unknown = sorted(set(entry) - _RULE_FIELDS)
        if unknown:
            raise self.error(where, "unknown field %s" % unknown[0])
        exceptions, hits, misses, any_of = (
            self.texts(entry.get(field, []), "%s: %s" % (where, field))
            for field in ("unless", "hit", "miss", "any_of")
        )
        missing = [name for name in exceptions if name not in unless]
        if missing:
            raise self.error(where, "unless: unknown exception %s" % missing[0])
        speaker = entry.get("speaker", "assistant")
        if speaker not in _SPEAKERS:
            raise self.error(where, "speaker: expected one of %s" % ", ".join(_SPEAKERS))
        if not hits or not misses or not isinstance(entry.get("reason"), str):
            raise self.error(where, "expected a reason, at least one hit and at least one miss")
        pattern = self.optional_pattern(entry.get("patterns") or None, where + ": patterns")
        if not frames and pattern is None:
            raise self.error(where, "expected patterns or frames")
        gate, needs, quotes = (
            str(entry.get("gate", "")),
            str(entry.get("needs", "")),
            entry.get("quotes") is True,
        )
        excused = tuple(unless[name] for name in exceptions)
        return PackRule(
            key, gate, speaker, entry["reason"], pattern, frames, excused, needs, quotes, hits, misses, any_of
        )

    def frames(
        self, key: str, entry: Mapping[str, Any], macros: Mapping[str, Sequence[str]], lexicon: Lexicon
    ) -> tuple[Frame, ...]:
        sources = self.texts(entry.get("frames", []), "rules: %s: frames" % key)
        try:
            return tuple(compile_frame(source, macros, lexicon) for source in sources)
        except ValueError as error:
            raise self.error("rules: %s: frames" % key, error) from None

    def unless(self, key: str, entry: Mapping[str, Any]) -> UnlessPattern:
        if entry.get("where") not in ("before", "after", "sentence"):
            raise self.error("unless: " + key, "where: expected before, after or sentence")
        return UnlessPattern(key, entry["where"], self.pattern(entry.get("patterns"), "unless: " + key))

    def evidence(self, entry: Mapping[str, Any], where: str) -> ClaimEvidence:
        others = (self.optional_pattern(entry.get(field), where) for field in ClaimEvidence._fields[1:])
        return ClaimEvidence(self.pattern(entry.get("call"), where), *others)

    def optional_pattern(self, texts: object, where: str) -> re.Pattern[str] | None:
        return None if texts is None else self.pattern(texts, where)

    def pattern(self, texts: object, where: str) -> re.Pattern[str]:
        """Compile several patterns as one, with `{name}` replaced by the alternatives of that list."""

        def alternatives(name: re.Match[str]) -> str:
            if name[1] not in self.lists:
                raise self.error(where, "unknown list {%s}" % name[1])
            return "(?:%s)" % "|".join(self.lists[name[1]])

        text = "|".join("(?:%s)" % pattern for pattern in self.texts(texts, where))
        for _ in range(_MAX_NESTING):
            text = _LIST.sub(alternatives, text)
        try:
            return re.compile(text, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise self.error(where, error) from None

    def mapping(self, field: str) -> dict[str, Any]:
        value = self.raw.get(field, {})
        if not isinstance(value, dict):
            raise self.error(field, "expected an object")
        return value

    def entries(self, field: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for key, entry in self.mapping(field).items():
            if not isinstance(entry, dict):
                raise self.error("%s: %s" % (field, key), "expected an object")
            yield key, entry

    def lists_of_texts(self, field: str) -> dict[str, list[str]]:
        return {key: self.texts(value, "%s: %s" % (field, key)) for key, value in self.mapping(field).items()}

    def texts(self, value: object, where: str) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(where, "expected a list of texts")
        return value


def check_pack(name: str) -> PackReport:
    """Check that a pack's examples match as stated and its patterns take bounded time. Raises EvaluationError if it cannot be read."""
    pack = load_pack(name)
    faults = [
        "gates: %s: expected one of %s" % (gate, ", ".join(GATES)) for gate in pack.gates if gate not in GATES
    ]
    slowest, slowest_ms = "", 0.0
    for where, ms in _times(pack):
        if ms > slowest_ms:
            slowest, slowest_ms = where, ms
        if ms > _MAX_MS:
            faults.append("%s: %.0f ms on %d characters, at most %.0f" % (where, ms, MAX_SENTENCE, _MAX_MS))
    for rule in [] if faults else pack.rules:  # an example could keep a slow pattern busy forever
        hits = {text: bool(find_matches(pack, [rule], text)) for text in (*rule.hits, *rule.misses)}
        faults += ["%s: not found: %s" % (rule.id, text) for text in rule.hits if not hits[text]]
        faults += ["%s: a false alarm: %s" % (rule.id, text) for text in rule.misses if hits[text]]
    examples = sum(len(rule.hits) + len(rule.misses) for rule in pack.rules)
    return PackReport(pack.id, len(pack.rules), examples, slowest, round(slowest_ms, 2), faults)


def _times(pack: RulePack) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of each pattern on its worst hostile sentence, and of each frame on its rule's examples, repeated."""
    for where, pattern in _patterns(pack):
        words = re.findall(r"[a-z']{2,}", pattern.pattern)[:60]
        seeds = {
            *_HOSTILE,
            *pattern.pattern,
            *(" ".join(words[at : at + 3]) + " " for at in range(0, len(words), 3)),
        }
        yield where, max(_milliseconds(pattern.search, _repeated(seed)) for seed in seeds)
    for rule in pack.rules:
        tagged = [pack.lexicon.tag(_repeated(example.strip(".!?") + " ")) for example in rule.hits]
        for frame in rule.frames:
            yield (
                "%s: %s" % (rule.id, frame.source),
                max(_milliseconds(frame.find, sentence) for sentence in tagged),
            )


def _patterns(pack: RulePack) -> Iterator[tuple[str, re.Pattern[str]]]:
    patterns = [(rule.id, rule.pattern) for rule in pack.rules]
    patterns += [
        ("unless " + unless.id, unless.pattern) for unless in {u for rule in pack.rules for u in rule.unless}
    ]
    patterns += [("answers " + name, pattern) for name, pattern in pack.answers.items()]
    patterns += [("disclosure", pack.disclosure[1]), ("neutral", pack.neutral), ("contrast", pack.contrast)]
    patterns += [("evidence " + name, part) for name, evidence in pack.evidence.items() for part in evidence]
    return ((where, pattern) for where, pattern in patterns if pattern is not None)


def _repeated(seed: str) -> str:
    return (seed * (MAX_SENTENCE // len(seed) + 1))[: MAX_SENTENCE - 1] + "\x00"


class _TooSlow(Exception):
    """A search did not end in time."""


def _milliseconds(search: Callable[[Any], object], text: object) -> float:
    """Return the milliseconds of a search, 2,000 if it does not end; the best of three for a slow one.

    The first search of a frame compiles it, and garbage collection can disturb any.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    seconds = _GIVE_UP_SECONDS
    has_alarm = hasattr(signal, "setitimer")  # not on Windows
    before = signal.signal(signal.SIGVTALRM, stop) if has_alarm else None
    try:
        for _ in range(3):
            started = process_time()
            if has_alarm:
                signal.setitimer(signal.ITIMER_VIRTUAL, _GIVE_UP_SECONDS)
            search(text)
            seconds = min(seconds, process_time() - started)
            if seconds * 1000 <= _MAX_MS:
                break
    except _TooSlow:
        seconds = _GIVE_UP_SECONDS
    finally:
        if has_alarm:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
    return seconds * 1000
