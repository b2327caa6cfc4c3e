"""The scan: anchors first, then the patterns of their rules, then checks and filters."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Optional

from .checks import CHECKS
from .disguises import HIDDEN, folded, joined
from .filters import FILTERS, PatternMatch, compiled, entropy, names_a_secret, whole_name
from .rules import Anchors, Rule, action, count_formed, places, ranks_by_start, rules

Span = tuple[int, int, int]  # start, end, and the rank of the rule
Kinds = Optional[Collection[str]]  # of findings that count; None for all
Packs = tuple[str, ...]  # in use, by their names

_MARKER = re.compile(r"\[redacted:([a-z0-9-]{1,60})\]")
_MAX_ROUNDS = 4  # a limit for hostile text
_TOUCH = 2  # characters between a finding and a hidden one that touches it: the filler begins with a bracket
# Values of up to 3,000 characters may begin every 14 characters, so filters could see each character 200 times. Above this limit a match
# counts as a finding without being filtered: only hostile text gets there, and redacting too much of it is the safe error.
_MAX_FILTERED_PER_CHARACTER = 8


class Finding(NamedTuple):
    """One secret or piece of personal data: `text[start:end]`, never the value itself.

    `kind` is one of the policy's, such as "secret", "url_credentials" or "email"; `rule` the stable id of the rule;
    `action` "allow", "redact" or "block".
    """

    kind: str
    rule: str
    start: int
    end: int
    action: str


class Redaction(NamedTuple):
    """A text with `[redacted:RULE]` in place of each finding that is not allowed, and all findings in the original."""

    text: str
    findings: list[Finding]


def scan(text: str, kinds: Kinds, place: str, packs: Packs, allowed: Collection[str]) -> list[Finding]:
    """Return the findings in order, without overlaps, each with the action for `place`; the `allowed` rules are allowed everywhere.

    Each round hides its findings and scans the rest again, until nothing new is found. This makes redaction idempotent: a marker in a
    redacted text looks like a hidden finding, and a match that touches either does not count.

    Raises ValueError for a place that the policy does not know.
    """
    if place not in places():
        raise ValueError("no such place: %r; the policy knows %s" % (place, ", ".join(places())))
    in_use = rules(packs)
    text = text.replace(HIDDEN, " ")
    hidden = _MARKER.sub(lambda marker: _hidden_marker(marker, in_use), text)
    anchors = Anchors(hidden)  # valid for all rounds: hiding a finding adds no anchor
    found: list[Span] = []
    filtered: dict[str, int] = {}
    for _ in range(_MAX_ROUNDS):
        plain, shadowed = _spans(hidden, anchors, kinds, filtered, packs), _disguised(hidden, kinds, packs)
        spans = _resolved([*plain, *shadowed], in_use)
        if not spans:
            break
        found += spans
        hidden = replaced(hidden, ((start, end, _filler(end - start)) for start, end, _ in spans))
    result = []
    for start, end, rank in sorted(found):
        rule = in_use[rank]
        what = "allow" if rule.id in allowed else action(place, rule.kind, rule.id)
        result.append(Finding(rule.kind, rule.id, start, end, what))
    return result


def _disguised(hidden: str, kinds: Kinds, packs: Packs) -> Iterator[Span]:
    """Yield the findings in the shadows of a text, at their places in the text; those that touch a hidden finding are skipped.

    Any two words may follow each other on two lines, so across joined lines only secrets with a recognizable form count.
    """
    for shadow, is_joined in ((folded(hidden), False), (joined(hidden), True)):
        found = _spans(shadow.text, Anchors(shadow.text), kinds, {}, packs) if shadow.text else ()
        for start, end, rank in found:
            first, last = shadow.original(start, end)
            counts = not is_joined or (rank < count_formed() and last - first > end - start)
            if counts and HIDDEN not in hidden[max(0, first - _TOUCH) : last + _TOUCH]:
                yield first, last, rank


def _hidden_marker(marker: re.Match[str], in_use: Sequence[Rule]) -> str:
    """Return the filler for a marker of a known rule; any other text of that form is kept, because it could be a secret."""
    is_known = any(rule.id == marker[1] for rule in in_use)
    return _filler(len(marker[0])) if is_known else marker[0]


def _filler(length: int) -> str:
    """Return a filler of that length, with the brackets of a marker at both ends."""
    return "[" + HIDDEN * (length - 2) + "]" if length > 2 else HIDDEN * length


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with another one in place of each span, given as start, end and the other text, in order."""
    pieces: list[str] = []
    position = 0
    for start, end, other in spans:
        pieces += (text[position:start], other)
        position = end
    return "".join([*pieces, text[position:]])


def _spans(
    text: str, anchors: Anchors, kinds: Kinds, filtered: dict[str, int], packs: Packs
) -> Iterator[Span]:
    """Yield the findings of every rule, which may overlap; `filtered` counts the characters that each rule's filters have seen."""
    limit = 20_000 + _MAX_FILTERED_PER_CHARACTER * len(text)
    in_use = rules(packs)
    for rank in anchors.possible(*ranks_by_start(packs)):
        rule = in_use[rank]
        if kinds is None or rule.kind in kinds:
            for match in _matches(rule, text, anchors):
                filtered[rule.id] = filtered.get(rule.id, 0) + match.end() - match.start()
                end = _end(rule, match, text, is_filtered=filtered[rule.id] <= limit)
                if end:
                    yield match.start(_group(match)), end, rank


def _matches(rule: Rule, text: str, anchors: Anchors) -> Iterator[re.Match[str]]:
    regions: list[tuple[int, int]] = []
    if rule.prefilter:
        regions = anchors.regions(rule.prefilter)
    elif rule.window:
        regions = anchors.around(rule.keywords, *rule.window)
    else:
        places = [place for keyword in rule.keywords for place in anchors.places(keyword)]
        if places:
            match = compiled(rule.pattern).match
            yield from filter(None, (match(text, place) for place in places))
    for start, end in regions:
        yield from compiled(rule.pattern).finditer(text, start, end)


def _group(match: re.Match[str]) -> str | int:
    return "value" if "value" in match.re.groupindex else 0


def _end(rule: Rule, match: re.Match[str], text: str, *, is_filtered: bool) -> int:
    """Return the end offset of a match, or 0 if it is empty, touches a hidden finding, or does not pass the check and the filters."""
    start, end = match.span(_group(match))
    if is_filtered and rule.check:
        end = start + CHECKS[rule.check](text[start:end])
    if start == end or HIDDEN in text[max(0, start - _TOUCH) : end + _TOUCH]:
        return 0
    candidate = PatternMatch(text, start, end, text[start:end])
    return end if not is_filtered or _passes(rule, match, candidate) else 0


def _passes(rule: Rule, match: re.Match[str], candidate: PatternMatch) -> bool:
    """Return whether a candidate passes the rule's entropy, names, filters and context."""
    if rule.entropy and entropy(candidate.value) < rule.entropy:
        return False
    if rule.name_filter and not names_a_secret(whole_name(candidate.text, *match.span("name"))):
        return False
    if any(FILTERS[name](candidate) for name in rule.filters):
        return False
    return not rule.context or _in_context(rule, candidate)


def _in_context(rule: Rule, candidate: PatternMatch) -> bool:
    """Return whether the rule's context is near, with no hidden finding in between."""
    text, start, end, _ = candidate
    before = text[max(0, start - rule.reach) : start].rpartition(HIDDEN)[2]
    after = text[end : end + 24].partition(HIDDEN)[0]
    pattern = compiled(rule.context)
    return pattern.search(before) is not None or pattern.search(after) is not None


def _resolved(spans: list[Span], in_use: Sequence[Rule]) -> list[Span]:
    """Return the spans by position without overlaps: the better rank wins, and overlapping spans of one kind are merged."""
    resolved: list[Span] = []
    for start, end, rank in sorted(spans):
        if not resolved or start >= resolved[-1][1]:
            resolved.append((start, end, rank))
            continue
        last = resolved[-1]
        if in_use[last[2]].kind == in_use[rank].kind:
            resolved[-1] = last[0], max(last[1], end), min(last[2], rank)
        elif rank < last[2]:
            resolved[-1] = start, end, rank
    return resolved
