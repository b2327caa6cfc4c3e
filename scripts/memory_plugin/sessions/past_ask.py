"""Tell from a prompt's form whether it asks about past work, what about, and when, without `re`, because a prompt waits.

Signs of the form, such as a question in the past tense, have weights that were fitted on asks by several authors; how well a past session
matches has weights, too. Words and weights are data in `config/sessions/past.json`; `benchmarks/past_train.py` fits them.
"""

from __future__ import annotations

from itertools import chain
from time import localtime, mktime

from ..kernel.paths import load_data
from ..kernel.text.words import fold, tokenize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
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
    best: float = forms_data()["weights"]["reach"]
    return len(text) <= _MAX_TEXT and Ask(text).odds + match * best > 0


def ask_of(text: str, now: float) -> Ask:
    """Return how a prompt asks about the past, what about, and when; `now` is the present time in seconds since 1970."""
    ask, subject = Ask(text), subject_of(text)
    ask.subject = [word for word in subject if not _is_participle(word)] or subject
    ask.window = window_of(ask.words, now)
    return ask


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


class Ask:
    """A prompt that may ask about the past: the clauses and signs of its form, and their log odds, without those of a match.

    `subject` are the words that say what it asks about, `window` is the time that it names, as (since, until), or None.
    """

    def __init__(self, text: str) -> None:
        self._data = forms_data()
        plain = _without_quotes(text).lower().replace("'", "").replace("\u2019", "")
        raw = map(self._clause, plain.translate(_CLAUSE_ENDS).replace(" - ", "\n").split("\n"))
        spelled = [words for words in raw if words] or [[""]]
        self.clauses = [_in_english(list(map(fold, words))) for words in spelled]
        self.words = [word for clause in self.clauses for word in clause]
        self.subject: list[str] = []
        self.window: tuple[float, float] | None = None
        self._verbs = [at for at, word in enumerate(chain.from_iterable(spelled)) if self._is_past(word, at)]
        phrases = self._phrases()
        self.signs = {name for name in self._data["anywhere"] if self._is_in(name, phrases)}
        self._add_signs(text)
        weights: dict[str, float] = self._data["weights"]["form"]
        self.odds = weights["bias"] + sum(weights.get(sign, 0.0) for sign in self.signs)

    @property
    def is_timed(self) -> bool:
        """Return whether the prompt names a time, such as "the other day"."""
        return self.window is not None or "times" in self.signs

    @property
    def kind(self) -> str:
        """Return what kind of answer the prompt wants."""
        if "stop" in self.signs or (not self.subject and "we_past" in self.signs):
            return STOP
        if "goes_on" in self.signs:
            return CONTINUE
        if "command" in self.signs:
            return COMMAND
        is_open = not self.signs.isdisjoint(("open", "remains")) and "we_past" not in self.signs
        return OPEN if is_open else ABOUT

    def _clause(self, text: str) -> list[str]:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
        while words and self._is_in("lead_ins", [fold(words[0])]):
            del words[0]
        return words

    def _phrases(self) -> list[str]:
        """Return the phrases of a few words in a row whose first word begins one in the lists."""
        return [
            " ".join(self.words[at : at + size])
            for at, word in enumerate(self.words)
            if "|" + word in self._data["all"]
            for size in range(1, min(len(self.words) - at, _LONGEST) + 1)
        ]

    def _is_in(self, name: str, phrases: Iterable[str]) -> bool:
        """Return whether a list holds one of these phrases."""
        known = self._data["words"][name]
        return any("|%s|" % phrase in known for phrase in phrases)

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
        return self._is_in(name, (" ".join(clause[:size]) for size in range(1, _LONGEST + 1)))

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
