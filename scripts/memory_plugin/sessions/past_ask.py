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
    from collections.abc import Iterable
    from time import struct_time
    from typing import Any

ABOUT, STOP, OPEN, CONTINUE, COMMAND = "about", "stop", "open", "continue", "command"
_MAX_TEXT = 300  # characters: a longer prompt is work that is described, not a question about the past
_CLAUSE_ENDS = str.maketrans(dict.fromkeys(',.;:?!()\n\u00bf\u00a1\u2013\u2014"', "\n"))
_LONGEST = 4  # words of a phrase
_MAX_BETWEEN = 6  # words between "is" and a participle of the present passive
_BEFORE_WE, _AFTER_WE = 2, 3  # words from a subject to its verb
_GERMAN_WAS = ("und", "oder", "aber", "mit", "fur", "an", "auf", "von", "um", "bei")
_ENGLISH_AFTER_WAS = ("it", "that", "this", "the", "there", "i", "we")
_REMINDERS = ("recall", "like", "told", "remains", "stop")  # what we did is not only reported
_DAY = 86400.0
_NEAR = 2  # days
_AMBIGUOUS, _BEFORE_MONTH = ("may", "march", "mars", "mai", "marco"), (["in"], ["of"], ["im"], ["en"])
_forms: dict[str, Any] = {}
_words: dict[str, Any] = {}


def forms_data() -> dict[str, Any]:
    """Return `config/sessions/past.json`, loaded once, with bars around each list: to search a text costs less than to make sets of it."""
    if not _forms:
        _forms.update(load_data("sessions", "past"))
        _forms["words"] = {name: "|%s|" % "|".join(words) for name, words in _forms["words"].items()}
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
        quoted = text.replace("`", '"').split('"')  # what is in quotes, the user does not say
        said = " ".join(quoted[::2]) if len(quoted) % 2 else text
        plain = said.lower().replace("'", "").replace("\u2019", "").replace(" - ", "\n")
        parts = "".join(c if c.isalnum() or c in "_\n" else " " for c in plain.translate(_CLAUSE_ENDS))
        split = list(map(self._without_lead_in, parts.split("\n")))
        spelled = [words for words in split if words] or [[""]]
        self.clauses = [_in_english(list(map(fold, words))) for words in spelled]
        self.words = [word for clause in self.clauses for word in clause]
        self.subject: list[str] = []
        self.window: tuple[float, float] | None = None
        self._verbs = list(map(self._past_verbs, self.clauses, spelled))
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

    def _without_lead_in(self, clause: str) -> list[str]:
        words = clause.split()
        while self._is_in("lead_ins", map(fold, words[:1])):
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
        asking = [clause for clause in clauses if self._asks(clause)]
        asked = asking or (clauses if "?" in text else [])
        is_ours = "we_past" in signs or any(map(self._is_ours, clauses, self._verbs))
        ordered = [part for part in clauses if self._is_in("orders", part[:1]) and "me" not in part[:2]]
        goes_on = self._starts(clauses[0], "goes_on")
        found = {
            "question": bool(asked),
            "q_past": any(verbs for clause, verbs in zip(clauses, self._verbs) if clause in asked),
            "asks_you": "recall" not in signs and any(self._is_in("you", clause[1:3]) for clause in clauses),
            "orders": bool(ordered) and not goes_on,
            "goes_on": goes_on,
            "we_past": is_ours and bool(asked or "me" in self.words or signs.intersection(_REMINDERS)),
            "now": "now" in signs and not is_ours,
            "code": any(map(text.__contains__, self._data["code"])),
        }
        signs.difference_update(found)
        signs.update(name for name, is_so in found.items() if is_so)

    def _starts(self, clause: list[str], name: str) -> bool:
        return self._is_in(name, (" ".join(clause[:size]) for size in range(1, _LONGEST + 1)))

    def _asks(self, clause: list[str]) -> bool:
        """Return whether a clause is a question by its first words; also "for what", "mit welchem"."""
        first, second = clause[:1], clause[1:2]
        if self._starts(clause, "questions"):
            return True
        if self._is_in("questions", second) and second != ["was"] and not self._is_in("orders", first):
            return True  # but not in "I was"; a German "was" is "what" here
        if self._is_in("you", second) and not self._is_in("answers", clause[2:4]):
            return self._is_in("questions", clause[2:])  # "do you know why", but not "can you check it"
        return self._is_in("inversions", first) and any(not self._is_past(each, each) for each in second)

    def _is_ours(self, clause: list[str], verbs: list[int]) -> bool:
        """Return whether we are the subject of a past tense."""
        ours = [at for at, word in enumerate(clause) if self._is_in("we", [word])]
        return any(-_BEFORE_WE <= verb - at <= _AFTER_WE for at in ours for verb in verbs if verb != at)

    def _past_verbs(self, clause: list[str], spelled: list[str]) -> list[int]:
        """Return where a clause has verbs of the past, other than participles of the present passive."""
        pasts = [at for at, word in enumerate(clause) if self._is_past(word, spelled[at])]
        return [at for at in pasts if not self._is_in("be", clause[max(0, at - _MAX_BETWEEN) : at])]

    def _is_past(self, word: str, spelled: str) -> bool:
        has_ending = _is_participle(word) or (len(word) > 4 and spelled.endswith(self._data["endings"]))
        return self._is_in("past", [word]) or (has_ending and not self._is_in("not_past", [word]))


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
