"""Tell from a prompt's form whether it asks about past work, what about, and when, without `re`, because a prompt waits.

Signs of the form, such as a question in the past tense, have weights that were fitted on asks by several authors; how well a past session
matches has weights, too. Words and weights are data in `config/sessions/past.json`; `benchmarks/past_train.py` fits them.
"""

from __future__ import annotations

from time import localtime, mktime

from ..kernel.paths import load_data
from ..kernel.text.words import fold, tokenize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from time import struct_time
    from typing import Any

ABOUT, STOP, OPEN, CONTINUE, COMMAND = "about", "stop", "open", "continue", "command"
_MAX_TEXT = 300  # characters: a longer prompt is work that is described, not a question about the past
_CLAUSE_ENDS = str.maketrans(dict.fromkeys(',.;:?!()\n\u00bf\u00a1\u2013\u2014"', "\n"))
_LONGEST = 4  # words of a phrase
_MAX_BETWEEN = 6  # words between "is" and a participle of the present passive
_BEFORE_WE, _AFTER_WE = 2, 3  # words from a subject to its verb
_REMINDERS = ("recall", "like", "told", "remains", "goes_on")
_GERMAN_WAS = ("und", "oder", "aber", "mit", "fur", "an", "auf", "von", "um", "bei")
_ENGLISH_AFTER_WAS = ("it", "that", "this", "the", "there", "i", "we")
_DAY = 86400.0
_NEAR = 2  # days
_AMBIGUOUS, _BEFORE_MONTH = ("may", "march", "mars", "mai", "marco"), (["in"], ["of"], ["im"], ["en"])
_forms: dict[str, Any] = {}
_words: dict[str, Any] = {}


class Ask:
    """What a prompt asks about the past.

    `odds` are the log odds of its form, without those of a match; `window` is a time as (since, until), or None; `is_timed` means that
    the prompt names one, such as "the other day".
    """

    __slots__ = ("is_timed", "kind", "odds", "subject", "window")

    def __init__(
        self,
        odds: float,
        kind: str,
        subject: list[str],
        window: tuple[float, float] | None,
        *,
        is_timed: bool,
    ) -> None:
        self.odds = odds
        self.is_timed = is_timed
        self.kind = kind
        self.subject = subject
        self.window = window


def forms_data() -> dict[str, Any]:
    """Return `config/sessions/past.json`, loaded once, with bars around each list: to search a text costs less than to make sets of it."""
    if not _forms:
        _forms.update(load_data("sessions", "past"))
        _forms["words"] = {name: "|%s|" % text for name, text in _forms["words"].items()}
        for name in ("endings", "participles", "code"):
            _forms[name] = tuple(_forms[name].split())
        _forms["all"] = "".join(map(_forms["words"].__getitem__, _forms["anywhere"]))
    return _forms


def words_data() -> dict[str, Any]:
    """Return `config/sessions/past_words.json` with lists of words as sets, loaded once."""
    if not _words:
        _words.update(load_data("sessions", "past_words"))
        dates = _words["dates"]
        for table in (_words, dates):
            table.update({name: set(text.split()) for name, text in table.items() if isinstance(text, str)})
        for name in ("weekdays", "months"):
            dates[name] = {word: at for at, group in enumerate(dates[name]) for word in group.split()}
        stopwords = load_data("recall", "stopwords")["entries"].values()
        named = (dates["weekdays"], dates["months"], dates["days"])
        _words["common"] = _words["noise"].union(*named, *(entry["value"].split() for entry in stopwords))
        _words["opt_out"] = load_data("recall", "opt_out")["tags"]
    return _words


def may_ask(text: str, match: float = 1.0) -> bool:
    """Return whether a prompt's form is such that it asks about the past if a session matches; `match` 1 is as well as possible."""
    if len(text) > _MAX_TEXT:
        return False
    best: float = forms_data()["weights"]["reach"]
    return Form(text).odds() + match * best > 0


def ask_of(text: str, now: float) -> Ask:
    """Return how a prompt asks about the past; `now` is the present time in seconds since 1970."""
    form = Form(text)
    subject = subject_of(text)
    subject = [word for word in subject if not _is_participle(word)] or subject
    window = window_of(form.words, now)
    is_timed = window is not None or "times" in form.signs
    return Ask(form.odds(), form.kind(subject), subject, window, is_timed=is_timed)


def _is_participle(word: str) -> bool:
    """Return whether a word has the form of a German past participle."""
    return len(word) > 5 and word.endswith(("t", "en")) and word.startswith(forms_data()["participles"])


def _without_quotes(text: str) -> str:
    """Return a text without what is in double quotes or backticks, because the user does not say that."""
    for mark in ('"', "`"):
        parts = text.split(mark)
        text = " ".join(parts[::2]) if len(parts) % 2 else text
    return text


def subject_of(text: str) -> list[str]:
    """Return the words that say what a prompt is about: without those that every such prompt has."""
    common = words_data()["common"]
    text = text.replace("\u2019", "'").replace("'s ", " ")
    words = [word for word in tokenize(text) if word.isalnum() and len(word) > 1 and word not in common]
    return list(dict.fromkeys(words))


def _phrases(words: list[str], known: str) -> list[str]:
    """Return the phrases of a few words in a row, between bars, whose first word begins one in these lists."""
    return [
        "|%s|" % " ".join(words[at : at + size])
        for at, word in enumerate(words)
        if "|" + word in known
        for size in range(1, min(len(words) - at, _LONGEST) + 1)
    ]


class Form:
    """A prompt's clauses and words, and the signs in them."""

    def __init__(self, text: str) -> None:
        self._data = forms_data()
        self._lists = self._data["words"]
        plain = _without_quotes(text).lower().replace("'", "").replace("\u2019", "")
        raw = [self._clause(part) for part in plain.translate(_CLAUSE_ENDS).replace(" - ", "\n").split("\n")]
        raw = [words for words in raw if words] or [[""]]
        self.clauses = [_in_english(list(map(fold, words))) for words in raw]
        self.words = [word for clause in self.clauses for word in clause]
        spelled = [word for words in raw for word in words]
        self._verbs = [at for at in range(len(spelled)) if self._is_past(spelled[at], at)]
        phrases = _phrases(self.words, self._data["all"])
        self.signs = {name for name in self._data["anywhere"] if self._has(name, phrases)}
        self._add_signs(text)

    def odds(self) -> float:
        """Return the log odds that the prompt asks about the past, without those of a match."""
        weights: dict[str, float] = self._data["weights"]["form"]
        return weights["bias"] + sum(weights.get(sign, 0.0) for sign in self.signs)

    def _clause(self, text: str) -> list[str]:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
        while words and self._has("lead_ins", ["|%s|" % fold(words[0])]):
            del words[0]
        return words

    def _has(self, name: str, phrases: list[str]) -> bool:
        """Return whether a list holds one of these phrases."""
        return any(map(self._lists[name].__contains__, phrases))

    def _is_in(self, name: str, words: list[str]) -> bool:
        return self._has(name, ["|%s|" % word for word in words])

    def _add_signs(self, text: str) -> None:
        """Replace the signs of lists by those that depend on a place: which clause asks or orders, and whose past it is."""
        clauses, signs = self.clauses, self.signs
        asking = [at for at, clause in enumerate(clauses) if self._asks(clause)]
        ends = [sum(map(len, clauses[: at + 1])) for at in range(len(clauses))]
        spans = [range(ends[at] - len(clauses[at]), ends[at]) for at in asking]
        if "?" in text and not asking:
            spans = [range(len(self.words))]
        last = clauses[asking[-1]] if asking else []
        is_present = self._is_in("present", last) and not self._is_in("past", last)
        is_ours, goes_on = self._is_ours(), self._starts(clauses[0], "goes_on")
        found = {
            "question": bool(spans),
            "q_past": any(at in span for span in spans for at in self._verbs),
            "asks_now": is_present and signs.isdisjoint(("remains", "recall")),
            "asks_you": "recall" not in signs and any(self._is_in("you", clauses[at][1:3]) for at in asking),
            "goes_on": goes_on,
            "orders": any(map(self._orders, clauses)) and not goes_on,
            "we_past": is_ours,
            "now": "now" in signs and not is_ours,
            "code": any(map(text.__contains__, self._data["code"])),
        }
        signs.difference_update(found)
        signs.update(name for name, is_so in found.items() if is_so)
        asks = any(not self._is_request(clauses[at]) for at in asking) or bool(spans and not asking)
        if not asks and signs.isdisjoint(_REMINDERS) and not any(map(self._wants_words, clauses)):
            signs.discard("we_past")  # what we did is only reported

    def _starts(self, clause: list[str], name: str) -> bool:
        return self._is_in(name, [" ".join(clause[:size]) for size in range(1, _LONGEST + 1)])

    def _orders(self, clause: list[str]) -> bool:
        """Return whether a clause orders work; "tell me" asks for words."""
        return self._is_in("orders", clause[:1]) and clause[1:2] != ["me"]

    def _wants_words(self, clause: list[str]) -> bool:
        """Return whether a clause orders an answer: "tell me"."""
        return any(self._is_in("orders", [word]) and after == "me" for word, after in zip(clause, clause[1:]))

    def _is_request(self, clause: list[str]) -> bool:
        """Return whether a question asks for work, not for an answer: "can you check it", but not "can you list" or "do you know why"."""
        is_answer = self._is_in("answers", clause[2:4]) or self._is_in("questions", clause[2:])
        return self._is_in("you", clause[1:3]) and not is_answer

    def _asks(self, clause: list[str]) -> bool:
        """Return whether a clause is a question by its first words; also "for what", "mit welchem"."""
        first, second = clause[:1], clause[1:2]
        if self._starts(clause, "questions"):
            return True
        if self._is_in("questions", second) and second != ["was"] and not self._is_in("orders", first):
            return True  # but not in "I was"; a German "was" is "what" here
        return self._is_in("inversions", first) and any(not self._is_past_form(each, each) for each in second)

    def _is_ours(self) -> bool:
        """Return whether we are the subject of a past tense."""
        if "we_past" in self.signs:
            return True
        ours = [at for at, word in enumerate(self.words) if self._is_in("we", [word])]
        return any(-_BEFORE_WE <= verb - at <= _AFTER_WE for at in ours for verb in self._verbs if verb != at)

    def _is_past(self, spelled: str, at: int) -> bool:
        """Return whether a word is a verb of the past, other than a participle of the present passive."""
        before = self.words[max(0, at - _MAX_BETWEEN) : at]
        return self._is_past_form(self.words[at], spelled) and not self._is_in("be", before)

    def _is_past_form(self, word: str, spelled: str) -> bool:
        for name, is_past in (("past", True), ("not_past", False)):
            if self._is_in(name, [word]):
                return is_past
        return (len(word) > 4 and spelled.endswith(self._data["endings"])) or _is_participle(word)

    def kind(self, subject: list[str]) -> str:
        """Return what kind of answer the prompt wants."""
        if "stop" in self.signs or (not subject and "we_past" in self.signs):
            return STOP
        if "goes_on" in self.signs:
            return CONTINUE
        if "command" in self.signs:
            return COMMAND
        is_open = not self.signs.isdisjoint(("open", "remains")) and "we_past" not in self.signs
        return OPEN if is_open else ABOUT


def _in_english(clause: list[str]) -> list[str]:
    """Return a clause whose German "was" is "what"."""
    at = 1 if clause[0] in _GERMAN_WAS else 0
    if clause[at : at + 1] == ["was"] and "".join(clause[at + 1 : at + 2]) not in _ENGLISH_AFTER_WAS:
        clause[at] = "what"
    return clause


def window_of(words: list[str], now: float) -> tuple[float, float] | None:
    """Return the time in the past that a prompt names, as (since, until) in seconds since 1970; None without one."""
    dates, today = words_data()["dates"], localtime(now)
    weekdays = [today.tm_wday - dates["weekdays"][word] for word in words if word in dates["weekdays"]]
    for at, word in enumerate(words):
        size, near = dates["units"].get(word, 0), words[max(0, at - 3) : at + 3]
        before = words[at - 1] if at else ""
        number = dates["numbers"].get(before, int(before[:3]) if before.isdecimal() else 0)
        in_week = weekdays[:1] if size == 7 else []
        if size and number and not dates["ago"].isdisjoint(near):
            slack = 0 if in_week else size // 2
            return _days(today, sum(in_week) + number * size + slack, 1 + 2 * slack)
        if size == 7 and not dates["last"].isdisjoint(near):
            return _days(today, sum(in_week or [today.tm_wday]) + 7, 1 if in_week else 7)
        if size > 7 and not dates["last"].isdisjoint(near):
            return _since(today.tm_year, today.tm_mon - 1, 1), _since(today.tm_year, today.tm_mon, 1)
    if weekdays:  # "last Wednesday" is not one of the last two days, which people call otherwise
        is_last = not dates["last"].isdisjoint(words)
        back = [(each % 7 or 7) + 7 * (is_last and (each % 7 or 7) <= _NEAR) for each in weekdays]
        return _days(today, max(back), max(back) - min(back) + 1)
    return _date(words, today)


def _date(words: list[str], today: struct_time) -> tuple[float, float] | None:
    """Return the day or month that a prompt names: "yesterday", "on November 3", "in March", "2026-03-09"."""
    dates = words_data()["dates"]
    for at, word in enumerate(words):
        if dates["days"].get(word):
            return _days(today, dates["days"][word], 1)
        around = [int(each) for each in words[max(0, at - 1) : at + 3] if each.isdecimal() and len(each) < 5]
        if word in dates["months"] and (word not in _AMBIGUOUS or words[at - 1 : at] in _BEFORE_MONTH):
            month = dates["months"][word] + 1
            day = next((number for number in around if 0 < number < 32), 0)
            start = _since(today.tm_year - (month > today.tm_mon), month, day or 1)
            return start, start + (1 if day else 31) * _DAY
        if len(around) >= 3 and 2000 < around[-3] < 2100 and 0 < around[-2] < 13 and 0 < around[-1] < 32:
            start = _since(*around[-3:])
            return start, start + _DAY
    return None


def _days(today: struct_time, back: int, length: int) -> tuple[float, float]:
    """Return `length` days that begin `back` days before today."""
    start = _since(today.tm_year, today.tm_mon, today.tm_mday - back)
    return start, start + length * _DAY


def _since(year: int, month: int, day: int) -> float:
    """Return when a day begins in local time; a day beyond the month's end or start belongs to another month."""
    return mktime((year, month, day, 0, 0, 0, 0, 0, -1))
