"""Compare the figures of a last reply with those that the calls before it show: counts, measurements, and which of two runs was better."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .conversations import ConversationTurn
from .last_reply import Found, LastReply, by_name, numbers_in, numbers_told, stems, unshown, value_of

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
_WORD = re.compile(r"[a-z]+|\d+")
_MIN_CHANGE = 0.08  # of a figure; a smaller one is noise
_PRECISE = 3  # decimals that nobody makes up
_MAX_ANSWER = 3  # numbers; a line with more is of a table, which answers more than one question


def _unseen_value(last: LastReply) -> Found:
    """Find a status, a score or a setting that a look is said to have shown and that occurs in nothing before the reply."""
    for sentence in last.saying("observes"):
        for match in last.words["observed-value"].finditer(sentence):
            value = match[match.lastindex or 0]
            shown = "\n".join(turn.content for turn in last.before)
            is_there = re.search(r"(?<![\w.])%s(?![\w.]*\w)" % re.escape(value), shown, re.IGNORECASE)
            if not (is_there or ("." in value and value[-1].isdigit() and not any(unshown(last, [match])))):
                yield sentence, "No output shows %s." % value


def _unmeasured(last: LastReply) -> Found:
    """Find a time, a size, a share or a rate that nothing shows."""
    sentences = [one for one in last.saying("measuring") if last.calls and not last.has("configured", one)]
    for match in unshown(last, last.figures("measurement", sentences)):
        yield match.string, "No output shows %s." % match[0].strip()


def _other_figure(last: LastReply) -> Found:
    """Find a number that nothing shows, where an output shows another one of the same and the reply does not tell that.

    A precise one needs no output about the same if one shows a number as precise.
    """
    figures = last.figures("figure", last.sentences if last.calls else ())
    outputs = {1.0}.union(*(numbers_in(turn.output) for turn in last.calls))
    lines = {turn.output.count("\n") + 1.0 for turn in last.before}
    text = "\n".join(turn.content for turn in last.before)
    for match in unshown(last, figures, outputs, lines):
        for turn in last.calls if not re.search(r"(?<!\d)%s(?!\d)" % match[1], text) else ():
            if _answers(last, turn, match):
                yield match.string, "Turn %d shows another number." % turn.number


def _answers(last: LastReply, turn: ConversationTurn, match: re.Match[str]) -> bool:
    """Return whether an output gives another number for what a number in a reply is about."""
    told, said = numbers_told(last.text), stems(match.string)
    answer = last.words["row-count"].sub("", turn.output)
    decimals = len(match[1].partition(".")[2])
    is_precise = any(len(number.partition(".")[2]) == decimals for number in _NUMBER.findall(answer))
    noun = stems(" ".join(match.string[match.end() :].split()[:1]))
    if noun & _counts(last, answer).keys() or (decimals >= _PRECISE and is_precise):
        return True
    topics = last.topics(turn.call)
    if len(numbers_in(answer)) == 1 and said & (topics | stems(answer)):
        return told.isdisjoint(numbers_in(answer))
    rows = [(stems(line) & said, numbers_in(line)) for line in answer.splitlines()]
    labeled = (row for label, row in rows if label and len(label | topics & said) > 1)
    return any(told.isdisjoint(row) for row in labeled if 0 < len(row) <= _MAX_ANSWER)


def _counts(last: LastReply, output: str) -> dict[str, float]:
    """Return what an output counts, by the stems of nouns."""
    found = (filter(None, match.groups()) for match in last.words["noun-counted"].finditer(output))
    pairs = (sorted(groups, key=lambda group: group[0].isdigit()) for groups in found)
    return {stem: float(number) for noun, number in pairs for stem in stems(noun)}


def _denied_count(last: LastReply) -> Found:
    """Find a noun of which a reply says that there is none, and of which the last output that counts it counts some."""
    denied = [match for one in last.sentences for match in last.words["none-of"].finditer(one)]
    runs = [turn for turn in last.calls if denied and not last.words["harmless-call"].match(turn.call)]
    counts = enumerate(_counts(last, turn.output) for turn in runs)
    counted = {noun: (at, number) for at, nouns in counts for noun, number in nouns.items()}
    topics = set().union(*(last.topics(turn.call) for turn in runs))
    for match in denied:
        for noun in stems(match[match.lastindex or 0]) & counted.keys():
            at, number = counted[noun]
            is_repeated = any(last.is_repeated(runs[at].call, later.call) for later in runs[at + 1 :])
            is_of_other = not topics & stems(match.string) <= last.topics(runs[at].call)
            if not (number in {0.0, *numbers_told(last.text)} or is_repeated or is_of_other):
                yield match.string, "Turn %d counts %g." % (runs[at].number, number)


def _turned_around(last: LastReply) -> Found:
    """Find a comparison of two runs that their figures turn around."""
    claims = [match for one in last.sentences for match in last.words["better"].finditer(one)]
    for match in claims if not last.has("worse", last.text) else ():
        for first, second in _compared_runs(last, match[0]):
            kinds = ("cost", "rate") if match.lastgroup == "both" else (match.lastgroup,)
            ways = {way for way in _ways(last, first, second) if way[0] in kinds}
            if ways and ways <= {("cost", "up"), ("size", "up"), ("rate", "down")}:
                yield match.string, "Turn %d shows the opposite." % second.number


def _compared_runs(last: LastReply, said: str) -> Iterator[tuple[ConversationTurn, ConversationTurn]]:
    """Yield two runs of which words say that the second is better: by what only its call names, or as the one after an edit."""
    words = set(_WORD.findall(said.lower()))
    calls = [turn for turn in last.calls if last.has("metric", turn.output)]
    for first, second in ((a, b) for a in calls for b in calls if a is not b):
        own, other = (set(_WORD.findall(turn.call.lower())) & words for turn in (second, first))
        between = [turn.call for turn in last.calls if first.number < turn.number <= second.number]
        is_edited = any(last.has("rewrite-call", call) for call in between)
        is_after = not (last.has("former", said) or any(last.has("undoing", call) for call in between))
        if (is_edited and is_after) or (not is_edited and own - other and not other - own):
            yield first, second


def _ways(last: LastReply, first: ConversationTurn, second: ConversationTurn) -> set[tuple[str, str]]:
    """Return which kinds of figures went up or down between two outputs of one form."""
    names = set(_WORD.findall(first.call.lower())) ^ set(_WORD.findall(second.call.lower()))
    lines = [(_form(line, names), line) for line in first.output.splitlines()]
    ways = set()
    for line in second.output.splitlines():
        other = next((pair for pair in lines if pair[0] == _form(line, names)), None)
        if other is not None:
            lines.remove(other)
            for old, new in zip(*map(last.words["metric"].finditer, (other[1], line))):
                a, b = value_of(old), value_of(new)
                if abs(b - a) > _MIN_CHANGE * max(a, b):
                    ways.add(((old.lastgroup or "").rstrip("2"), "up" if b > a else "down"))
    return ways


def _form(line: str, names: set[str]) -> list[str]:
    """Return the words of a line without its figures and the names of what was measured."""
    return [word for word in _WORD.findall(line.lower()) if not (word.isdigit() or word in names)]


CHECKS = by_name(_unseen_value, _unmeasured, _other_figure, _denied_count, _turned_around)
