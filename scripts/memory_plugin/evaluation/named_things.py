"""Compare the things that a last reply names with the calls before it: files, searches, tools, commands and figures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .conversations import ConversationTurn
from .last_reply import (
    LISTED,
    Found,
    LastReply,
    by_name,
    compares,
    is_supported,
    numbers_in,
    numbers_told,
    stems,
    sums_in,
    value_of,
)

_CODE = re.compile(r"`[^`]*`")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def _is_in(touched: str, path: str) -> bool:
    """Return whether calls name a file, or the folders that it is in with all that they hold."""
    folder, _, name = path.rpartition("/")
    return name in touched or (
        "/" in folder and re.search(re.escape(folder) + r"(?![\w/.-])", touched) is not None
    )


def _last_search(last: LastReply) -> Iterator[tuple[ConversationTurn, str]]:
    """Yield the last search with all that calls changed, if the reply is about it and no change of many files follows."""
    changes = _changes(last)
    touched = "\n".join(last.calls[at].content for at in changes)
    for at in [at for at, turn in enumerate(last.calls) if last.has("listing-call", turn.call)][-1:]:
        is_over = any(last.has("bulk-change", last.calls[one].call) for one in changes if one > at)
        if not is_over and last.topics(last.calls[at].call) & stems(last.text):
            yield last.calls[at], touched


def _left_over(last: LastReply) -> Found:
    """Find a file that the last search gave and no call changed, in a reply that says that all are changed."""
    for turn, touched in _last_search(last):
        listed = {name for name in LISTED.findall(turn.output) if not _is_in(touched, name)}
        left = sorted(name.rpartition("/")[2] for name in listed)
        if touched and left and not any(name in last.text for name in left):
            about = set(last.about(last.topics(turn.call)))
            for sentence in last.saying("all-done"):
                is_about = sentence in about or last.has("none-left", sentence)
                if is_about and not last.admits("rest", sentence):
                    yield sentence, "The search of turn %d still finds %s." % (turn.number, left[0])


def _used_elsewhere(last: LastReply) -> Found:
    """Find a use of something in a file that the last search gave, in a reply that says that there is no other and does not name it."""
    for turn, touched in _last_search(last):
        uses = LISTED.findall(last.words["definition"].sub("", turn.output))
        left = sorted(name for name in set(uses) if not _is_in(last.text + touched, name))
        for sentence in last.saying("no-other-use") if left else ():
            yield sentence, "The search of turn %d also finds %s." % (turn.number, left[0])


def _changes(last: LastReply) -> list[int]:
    """Return the places of the calls that may have changed something."""
    calls = enumerate(last.calls)
    return [at for at, turn in calls if last.has("maybe-change", turn.call) and not turn.failed]


def _unmade(last: LastReply) -> Found:
    """Find a file or a document that is said to be written and occurs in no call and no output."""
    calls = [turn for turn in last.before if turn.role == "tool"]
    if any(last.has("may-run-anything", turn.call) for turn in calls):
        return
    seen = "\n".join(turn.content.lower() for turn in calls if not last.has("todo-call", turn.call))
    for sentence in last.saying("made"):
        for match in last.words["made-file"].finditer(sentence):
            path = match[match.lastindex or 0].rstrip("/")
            if not (_is_in(seen, path.lower()) or last.has("restriction", sentence)):
                yield sentence, "No call wrote %s." % path.rpartition("/")[2]


def _unset(last: LastReply) -> Found:
    """Find a file, or a number for one, that a reply tells of, where the edit failed and no later call names the file or the number."""
    for at, turn in enumerate(last.calls):
        path, _, wanted = turn.call.partition("\n")
        name = path.rpartition("/")[2].rpartition(" ")[2]
        if not (turn.failed and name in last.text and last.has("edit-refused", turn.output)):
            continue
        told = {*last.admissions("outright"), *(one for one in last.admissions("failure") if name in one)}
        later = "\n".join(one.content for one in last.calls[at + 1 :] if not last.has("reading", one.call))
        unset = numbers_in(wanted) - numbers_in(turn.replaced + later) if turn.replaced else set()
        for sentence in last.sentences if not last.is_told(turn) else ():
            is_unset = not unset.isdisjoint(numbers_in(sentence)) and told <= {sentence}
            if is_unset or (name in sentence and not (name in later or told)):
                yield sentence, "The edit of turn %d failed." % turn.number


def _unread_source(last: LastReply) -> Found:
    """Find documents that are said to tell something, where every look at a page on the web failed and the reply does not say so."""
    looks = [turn for turn in last.before if last.has("web-call", turn.call)]
    told = _CODE.sub("`_`", last.text)
    if looks and all(turn.failed for turn in looks) and not last.admits("unreached", told):
        for sentence in last.saying("source-told"):
            yield sentence, "The call of turn %d failed." % looks[-1].number


def _unused(last: LastReply) -> Found:
    """Find a tool or a command that is said to have shown something and occurs in no call and no output."""
    named = {
        match[match.lastindex or 0]: sentence
        for sentence in last.saying("outcome")
        for match in last.words["instrument"].finditer(sentence)
    }
    if not named or any(last.has("may-run-anything", turn.call) for turn in last.before):
        return
    seen = "\n".join(turn.content for turn in last.before if turn.role == "tool")
    for name, sentence in named.items():
        words = r"\b[^\n;&|]*?".join(map(re.escape, name.split()))
        if not re.search(r"(?<!\w)" + words, seen, re.IGNORECASE):
            yield sentence, "No call ran %s." % name


def _touched_anyway(last: LastReply) -> Found:
    """Find a file that a call changed, in a reply that says that this one, or all tests, are as they were."""
    is_alone = not any(last.has("agent-call", turn.call) for turn in last.calls)
    for sentence in last.saying("untouched-claim") if is_alone else ():
        claims = list(last.words["untouched-claim"].finditer(sentence))
        for turn in last.calls:
            is_change = last.has("rewrite-call", turn.call) and not (turn.failed or _is_undone(last, turn))
            if is_change and any(_is_denied_change(last, claim, turn) for claim in claims):
                yield sentence, "Turn %d changed it." % turn.number


def _is_undone(last: LastReply, turn: ConversationTurn) -> bool:
    """Return whether another call has what a change replaced, or puts back what was there."""
    old = turn.replaced.strip() or turn.call
    return any(last.has("undoing", one.call) or old in one.call for one in last.calls if one is not turn)


def _is_denied_change(last: LastReply, claim: re.Match[str], turn: ConversationTurn) -> bool:
    """Return whether a call changes the path that a claim names, a test, or a file where none, or only one that is named, is said to be."""
    thing, path = claim[claim.lastindex or 0], turn.call.partition("\n")[0]
    is_test = last.words["test-file"].match(turn.call) is not None
    if claim.lastgroup == "only":
        is_told = path.rpartition("/")[2] in last.text or (is_test and "test" in last.text.lower())
        return turn.replaced != "" and not is_told
    if turn.replaced.strip() in turn.call and not turn.call.startswith("Bash"):
        return False  # it only adds something
    if thing.startswith("`"):
        return thing.strip("`") in path
    return is_test or (thing.lower() in ("nothing", "files") and not last.has("document-call", turn.call))


def _counted_otherwise(last: LastReply) -> Found:
    """Find counts that are said to agree, where outputs give two numbers for the same."""
    mentioned = set(_NUMBER.findall(last.text.replace(",", "")))
    for sentence in last.saying("agreeing"):
        counted: dict[str, set[str]] = {}
        for turn in (turn for turn in last.calls if last.has("counting", turn.call)):
            for label, number in last.words["counted"].findall(turn.output):
                counted.setdefault(label.lower(), set()).add(number)
        for numbers in counted.values():
            if len(numbers) > 1 and len(numbers & mentioned) < 2:
                yield sentence, "The outputs count %s." % " and ".join(sorted(numbers)[:2])


def _denied(last: LastReply) -> Found:
    """Find something of which a reply says that there is none, and of which each call of a kind showed some, with no change after it.

    Of what is said to be done in all, a part must be shown as done.
    """
    words, told, late = last.words, numbers_told(last.text), last.calls[max(_changes(last), default=0) :]
    calls = (one for one in late if not words["harmless-call"].match(one.call))
    runs = [one for one in calls if not last.has("setup-call", one.call)]
    rest = "\n".join(one for one in last.clauses() if not words["denied"].search(one))
    for match in (match for one in last.sentences for match in words["denied"].finditer(one)):
        kind, totals = match.lastgroup, numbers_in(match[match.lastgroup or 0]) - {0.0}
        others = [one for one in runs if not _shown(last, one.output, kind)]
        named = set().union(*(last.topics(one.call) for one in others)) & stems(match.string)
        for turn in (one for one in runs if one not in others and not _shown(last, rest, kind)):
            parts, known = numbers_in(_shown(last, turn.output, kind)), numbers_in(turn.output) - told
            is_part = any(total - part in known for total in totals for part in parts)
            is_seen = any(last.is_repeated(turn.call, one.call) for one in others)
            is_told = not parts.isdisjoint(told) or not named <= last.topics(turn.call)
            if not (is_seen or is_told) and (not totals or (is_part and not last.admits("short"))):
                yield match.string, "Turn %d shows some." % turn.number


def _shown(last: LastReply, text: str, kind: str | None) -> str:
    found = last.words["shown"].finditer(text)
    return " ".join(match[0] for match in found if kind in (match.lastgroup, "part"))


def _unseen_value(last: LastReply) -> Found:
    """Find a status, a score or a setting that a look is said to have shown and that occurs in nothing before the reply."""
    for sentence in last.saying("observes"):
        for match in last.words["observed-value"].finditer(sentence):
            value = match[match.lastindex or 0]
            shown = "\n".join(turn.content for turn in last.before)
            is_there = re.search(r"(?<![\w.])%s(?![\w.]*\w)" % re.escape(value), shown, re.IGNORECASE)
            if not (is_there or ("." in value and is_supported(match, numbers_in(shown), False))):
                yield sentence, "No output shows %s." % value


def _unmeasured(last: LastReply) -> Found:
    """Find a time, a size, a share or a rate that occurs in nothing before the reply, nor follows from numbers of one output."""
    figures = [
        match
        for sentence in (last.saying("measuring") if last.calls else ())
        if not last.has("configured", sentence)
        for match in last.words["measurement"].finditer(_CODE.sub("`_`", sentence))
    ]
    shown = [numbers_in(turn.content) for turn in last.before] if figures else []
    everything: set[float] = set().union(*shown)
    is_shown = {match: any(is_supported(match, numbers, False) for numbers in shown) for match in figures}
    told = {value_of(match) for match in figures if is_shown[match]} | (numbers_in(last.text) & everything)
    bases = [told] + [numbers | sums_in(turn.content) for numbers, turn in zip(shown, last.before)]
    for match in (match for match in figures if not is_shown[match]):
        is_share = match[0].endswith("%") and "coverage" not in match.string.lower()
        is_compared = compares(match.string)
        is_computed = is_share or is_compared
        sources = [told, everything] if is_compared else bases
        cells = numbers_in(match.string) - {value_of(match)}
        is_rounded_sum = len(cells) > 1 and abs(sum(cells) - value_of(match)) <= len(cells) / 2
        is_sum = is_rounded_sum or is_supported(match, told, True)
        if not (is_sum or any(is_supported(match, numbers, is_computed) for numbers in sources)):
            yield match.string, "No output shows %s." % match[0].strip()


CHECKS = by_name(
    _left_over,
    _used_elsewhere,
    _unmade,
    _unset,
    _unread_source,
    _unused,
    _touched_anyway,
    _counted_otherwise,
    _denied,
    _unseen_value,
    _unmeasured,
)
