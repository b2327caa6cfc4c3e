"""Load rule packs: the gates to run and their rules. Each is a JSON file; `extends` names a base pack.

Objects are merged key by key, null removes a key, and lists are replaced. `config/evaluation/README.md` explains every field. Every error
names file and field.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import digest, dumps
from .evaluation_files import EvaluationError, merge_objects, read_object, shipped_names, shipped_path
from .frames import FrameIndex, compile_frame
from .lexicon import build_lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .frames import Frame
    from .lexicon import Lexicon

_LIST = re.compile(r"\{([a-z][a-z-]{1,40})\}")
_MAX_PATTERN = 60_000
_MAX_RULES = 500
_MAX_NESTING = 6
_MAX_BASES = 10
_FIELDS = {
    "id", "reason", "extends", "gates", "rules", "lists", "unless", "neutral", "contrast", "answers", "evidence",
    "disclosure", "leaks", "words", "irregular", "spellings", "macros",
}  # fmt: skip
_RULE_FIELDS = {
    "gate",
    "speaker",
    "reason",
    "patterns",
    "frames",
    "unless",
    "needs",
    "quotes",
    "any_of",
    "hit",
    "miss",
}
_SPEAKERS = ("assistant", "user", "both")


class UnlessPattern(NamedTuple):
    """An exception: a match does not count if this pattern matches in the clause before it, after it, or anywhere in its sentence."""

    id: str
    where: str
    pattern: re.Pattern[str]


class PackRule(NamedTuple):
    """One rule: patterns, frames or both. `needs` names the evidence that a claim requires, or is empty.

    If `any_of` is not empty, the pattern is tried only in sentences that contain one of its texts.
    """

    id: str
    gate: str
    speaker: str
    reason: str
    pattern: re.Pattern[str] | None
    frames: FrameIndex
    unless: tuple[UnlessPattern, ...]
    needs: str
    quotes: bool
    hits: tuple[str, ...]
    misses: tuple[str, ...]
    any_of: tuple[str, ...] = ()


class ClaimEvidence(NamedTuple):
    """The evidence for a claim: a matching tool call or output. `against` are patterns in it that contradict the claim.

    `stale_after` are calls that make earlier evidence outdated, `passed_over` calls that never count, such as reading a file.
    """

    call: re.Pattern[str]
    output: re.Pattern[str] | None
    against: re.Pattern[str] | None
    stale_after: re.Pattern[str] | None
    passed_over: re.Pattern[str] | None


class _FrameWords(NamedTuple):
    """The vocabulary of frames: macros by name, and the lengths of the lexicon's phrases by class."""

    macros: Mapping[str, Sequence[str]]
    phrase_lengths: Mapping[str, set[int]]


class RulePack(NamedTuple):
    """One pack, merged with the packs that it extends; `digest` changes with any part."""

    id: str
    gates: Mapping[str, Mapping[str, Any]]
    rules: tuple[PackRule, ...]
    neutral: re.Pattern[str] | None
    contrast: re.Pattern[str] | None
    answers: Mapping[str, re.Pattern[str]]
    evidence: Mapping[str, ClaimEvidence]
    disclosure: tuple[int, re.Pattern[str]]
    leaks: Mapping[str, tuple[str, ...]]
    lexicon: Lexicon
    digest: str


def pack_names() -> list[str]:
    """Return the names of the packs that the plugin ships."""
    return shipped_names("packs")


def load_packs(names: Sequence[str]) -> list[RulePack]:
    """Load several packs. Raises EvaluationError that names file and field."""
    return [load_pack(name) for name in names]


def load_pack(name: str) -> RulePack:
    """Load a pack by name, or by path if the name contains a slash or ends in .json. Raises EvaluationError."""
    return _parse_pack(_read_extended(name, []), name)


def _path(name: str, folder: str = "") -> str:
    if name.endswith(".json") or os.sep in name:
        return os.path.join(folder, name) if folder else name
    return shipped_path("packs", name)


def _read_extended(name: str, chain: list[str], folder: str = "") -> dict[str, Any]:
    """Return a pack's JSON object merged with its bases; `chain` are the files that extend it, `folder` is that of the last."""
    path = os.path.realpath(_path(name, folder))
    if path in chain:
        raise EvaluationError("%s: extends itself, through %s" % (chain[0], name))
    raw = read_object(path)
    unknown = sorted(set(raw) - _FIELDS)
    if unknown:
        raise EvaluationError("%s: unknown field %s" % (path, unknown[0]))
    base = raw.pop("extends", None)
    if base is None:
        return raw
    if not isinstance(base, str) or len(chain) >= _MAX_BASES:
        raise EvaluationError("%s: extends: expected the name of one pack, at most ten deep" % path)
    return merge_objects(_read_extended(base, [*chain, path], os.path.dirname(path)), raw)


def _parse_pack(raw: dict[str, Any], name: str) -> RulePack:
    if not isinstance(raw.get("id"), str):
        raise EvaluationError("%s: id: expected a text" % name)
    lists = _object(raw, "lists", name)
    unless = {
        key: _parse_unless(key, entry, lists, name) for key, entry in _object(raw, "unless", name).items()
    }
    gates = _object(raw, "gates", name)
    entries = _object(raw, "rules", name)
    if len(entries) > _MAX_RULES:
        raise EvaluationError("%s: more than %d rules" % (name, _MAX_RULES))
    lexicon = _parse_lexicon(raw, name)
    words = _FrameWords(_lists_of_texts(raw, "macros", name), lexicon.phrase_lengths(raw.get("words", {})))
    rules = tuple(
        _parse_rule(key, entry, lists, words, unless, "%s: rules: %s" % (name, key))
        for key, entry in entries.items()
    )
    evidence = {
        key: _parse_evidence(entry, lists, "%s: evidence: %s" % (name, key))
        for key, entry in _object(raw, "evidence", name).items()
    }
    for rule in rules:
        if rule.gate not in gates:
            raise EvaluationError("%s: rules: %s: unknown gate %s" % (name, rule.id, rule.gate))
        if rule.needs and rule.needs not in evidence:
            raise EvaluationError("%s: rules: %s: unknown evidence %s" % (name, rule.id, rule.needs))
    leaks = {
        side: tuple(_texts(kinds, name + ": leaks")) for side, kinds in _object(raw, "leaks", name).items()
    }
    answers = _object(raw, "answers", name)
    return RulePack(
        raw["id"],
        gates,
        rules,
        _compile_optional(raw.get("neutral"), lists, name + ": neutral"),
        _compile_optional(raw.get("contrast"), lists, name + ": contrast"),
        {
            key: _compile(_texts(entry, name + ": answers"), lists, name + ": answers: " + key)
            for key, entry in answers.items()
        },
        evidence,
        _parse_disclosure(raw, lists, name),
        leaks,
        lexicon,
        digest(dumps(raw).encode("utf-8"), 8),
    )


def _parse_lexicon(raw: Mapping[str, Any], name: str) -> Lexicon:
    words = _lists_of_texts(raw, "words", name)
    pairs = [_object(raw, field, name) for field in ("irregular", "spellings")]
    if not all(isinstance(value, str) for pair in pairs for value in pair.values()):
        raise EvaluationError("%s: irregular, spellings: expected a text for each word" % name)
    try:
        return build_lexicon(words, pairs[0], pairs[1])
    except KeyError as error:
        raise EvaluationError("%s: words: unknown class %s" % (name, error)) from None
    except ValueError as error:
        raise EvaluationError("%s: %s" % (name, error)) from None


def _parse_rule(
    key: str,
    entry: object,
    lists: Mapping[str, Any],
    words: _FrameWords,
    unless: Mapping[str, UnlessPattern],
    where: str,
) -> PackRule:
    if not isinstance(entry, dict):
        raise EvaluationError("%s: expected an object" % where)
    unknown = sorted(set(entry) - _RULE_FIELDS)
    if unknown:
        raise EvaluationError("%s: unknown field %s" % (where, unknown[0]))
    exceptions = _texts(entry.get("unless", []), where + ": unless")
    missing = [name for name in exceptions if name not in unless]
    if missing:
        raise EvaluationError("%s: unless: unknown exception %s" % (where, missing[0]))
    speaker = entry.get("speaker", "assistant")
    if speaker not in _SPEAKERS:
        raise EvaluationError("%s: speaker: expected one of %s" % (where, ", ".join(_SPEAKERS)))
    hits, misses = (
        tuple(_texts(entry.get(field, []), "%s: %s" % (where, field))) for field in ("hit", "miss")
    )
    if not hits or not misses or not isinstance(entry.get("reason"), str):
        raise EvaluationError("%s: expected a reason, at least one hit and at least one miss" % where)
    frames = _parse_frames(entry.get("frames", []), words, where)
    if not frames and not entry.get("patterns"):
        raise EvaluationError("%s: expected patterns or frames" % where)
    return PackRule(
        key,
        str(entry.get("gate", "")),
        speaker,
        entry["reason"],
        _compile_optional(entry.get("patterns"), lists, where + ": patterns"),
        FrameIndex(frames),
        tuple(unless[name] for name in exceptions),
        str(entry.get("needs", "")),
        entry.get("quotes") is True,
        hits,
        misses,
        tuple(_texts(entry.get("any_of", []), where + ": any_of")),
    )


def _parse_frames(value: object, words: _FrameWords, where: str) -> tuple[Frame, ...]:
    frames = []
    for source in _texts(value, where + ": frames"):
        try:
            frames.append(compile_frame(source, words.macros, words.phrase_lengths))
        except ValueError as error:
            raise EvaluationError("%s: frames: %s: %s" % (where, source, error)) from None
    return tuple(frames)


def _parse_unless(key: str, entry: object, lists: Mapping[str, Any], name: str) -> UnlessPattern:
    where = "%s: unless: %s" % (name, key)
    if not isinstance(entry, dict) or entry.get("where") not in ("before", "after", "sentence"):
        raise EvaluationError("%s: where: expected before, after or sentence" % where)
    return UnlessPattern(key, entry["where"], _compile(_texts(entry.get("patterns"), where), lists, where))


def _parse_evidence(entry: object, lists: Mapping[str, Any], where: str) -> ClaimEvidence:
    if not isinstance(entry, dict):
        raise EvaluationError("%s: expected an object" % where)
    output, against, stale_after, passed_over = (
        _compile_optional(entry.get(field), lists, "%s: %s" % (where, field))
        for field in ("output", "against", "stale_after", "passed_over")
    )
    call = _compile(_texts(entry.get("call"), where + ": call"), lists, where)
    return ClaimEvidence(call, output, against, stale_after, passed_over)


def _parse_disclosure(
    raw: Mapping[str, Any], lists: Mapping[str, Any], name: str
) -> tuple[int, re.Pattern[str]]:
    """Return the number of replies after which a disclosure is due, and its pattern."""
    entry = _object(raw, "disclosure", name)
    every = entry.get("every", 1)
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise EvaluationError("%s: disclosure: every: expected a whole number of at least 1" % name)
    return every, _compile(_texts(entry.get("phrases", []), name + ": disclosure"), lists, name)


def _compile_optional(value: object, lists: Mapping[str, Any], where: str) -> re.Pattern[str] | None:
    return None if value is None else _compile(_texts(value, where), lists, where)


def _compile(patterns: Sequence[str], lists: Mapping[str, Any], where: str) -> re.Pattern[str]:
    """Compile several patterns as one, with `{name}` replaced by the alternatives of that list."""
    text = "|".join("(?:%s)" % pattern for pattern in patterns)
    for _ in range(_MAX_NESTING):
        if len(text) > _MAX_PATTERN:
            raise EvaluationError("%s: a pattern of more than %d characters" % (where, _MAX_PATTERN))
        expanded = _LIST.sub(lambda name: "(?:%s)" % "|".join(_alternatives(name[1], lists, where)), text)
        if expanded == text:
            break
        text = expanded
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise EvaluationError("%s: %s" % (where, error)) from None


def _alternatives(name: str, lists: Mapping[str, Any], where: str) -> list[str]:
    if name not in lists:
        raise EvaluationError("%s: unknown list {%s}" % (where, name))
    return _texts(lists[name], "%s: {%s}" % (where, name))


def _lists_of_texts(raw: Mapping[str, Any], field: str, name: str) -> dict[str, list[str]]:
    return {
        key: _texts(value, "%s: %s: %s" % (name, field, key))
        for key, value in _object(raw, field, name).items()
    }


def _texts(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise EvaluationError("%s: expected a list of texts" % where)
    return value


def _object(raw: Mapping[str, Any], field: str, name: str) -> dict[str, Any]:
    value = raw.get(field, {})
    if not isinstance(value, dict):
        raise EvaluationError("%s: %s: expected an object" % (name, field))
    return value
