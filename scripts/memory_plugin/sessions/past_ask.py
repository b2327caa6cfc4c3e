"""Tell from a prompt's form whether it asks about past work, what about, and when, without `re`, because a prompt waits.

A question or request that has a past tense about us ("did we"), or a time in the past, asks plainly. Weaker signs need a past session that
matches. Words are data in `config/sessions/past.json`.
"""

from __future__ import annotations

from time import localtime, mktime

from ..kernel.paths import load_data
from ..kernel.text.words import fold, tokenize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO, CUE, LIKELY, PLAIN = range(4)
ABOUT, STOP, OPEN, CONTINUE, COMMAND = "about", "stop", "open", "continue", "command"
_MAX_TEXT = 300  # characters: a longer prompt is work that is described, not a question about the past
_CLAUSE_ENDS = str.maketrans(dict.fromkeys(',.;:?!()\n\u00bf\u00a1\u2013\u2014"', "\n"))
_MAX_BETWEEN = 6  # words between an auxiliary and its participle
_SHORT = 7  # words of a question without a verb
_COMMON = ("noise", "past", "perfect", "questions", "subjects", "ours", "command", "open")
_COMMON_PHRASES = ("times", "last_time", "recall", "stop", "continue")
_DAY = 86400.0
_NEAR = 2  # days
_AMBIGUOUS, _BEFORE_MONTH = ("may", "march", "mars", "mai", "marco"), (["in"], ["of"], ["im"], ["en"])
_EARLY, _LATE = 12, 18  # days of a month
_DID, _US = {"did", "didnt"}, {"us", "uns"}
_ENGLISH_AFTER_WAS = (["it"], ["that"], ["this"], ["the"], ["there"], ["i"], ["we"])
_loaded: list[dict[str, Any]] = []


class Ask:
    """How plainly a prompt asks (`level`), what kind of answer it wants, its subject, and a time as (since, until) or None."""

    __slots__ = ("kind", "level", "subject", "window")

    def __init__(self, level: int, kind: str, subject: list[str], window: tuple[float, float] | None) -> None:
        self.level = level
        self.kind = kind
        self.subject = subject
        self.window = window


def words_data() -> dict[str, Any]:
    """Return `config/sessions/past.json` with lists of words as sets and phrases between spaces, loaded once."""
    if not _loaded:
        data = load_data("sessions", "past")
        dates = data["dates"]
        table: dict[str, Any] = {"dates": dates, "opt_out": load_data("recall", "opt_out")["tags"]}
        for name, value in data.items():
            if isinstance(value, str):
                table[name] = set(value.split())
            elif isinstance(value, list):
                table[name] = [" %s " % phrase for phrase in value]
        for name in ("weekdays", "months"):
            dates[name] = {word: at for at, group in enumerate(dates[name]) for word in group.split()}
        for name in ("last", "ago", "early", "late"):
            dates[name] = set(dates[name].split())
        phrases = (phrase for name in _COMMON_PHRASES for phrase in table[name])
        table["common"] = {word for phrase in phrases for word in phrase.split()}
        table["participles"] = tuple(table["participles"])
        stopwords = load_data("recall", "stopwords")["entries"].values()
        table["common"].update(word for entry in stopwords for word in entry["value"].split())
        table["common"].update(*(table[name] for name in _COMMON))
        _loaded.append(table)
    return _loaded[0]


def ask_of(text: str, now: float) -> Ask:
    """Return how a prompt asks about the past; `now` is the present time in seconds since 1970."""
    data = words_data()
    if len(text) > _MAX_TEXT:
        return Ask(NO, ABOUT, [], None)
    form = _Form(text, data)
    window = window_of(form.words, now)
    subject = subject_of(text)
    subject = [word for word in subject if not _is_participle(word)] or subject
    kind = form.kind(subject)
    return Ask(form.level(window is not None, kind), kind, subject, window)


def _is_participle(word: str) -> bool:
    """Return whether a word has the form of a German past participle."""
    return len(word) > 5 and word.endswith(("t", "en")) and word.startswith(words_data()["participles"])


def _without_quotes(text: str) -> str:
    """Return a text without what stands in double quotes or backticks, because the user does not say that."""
    for mark in ('"', "`"):
        parts = text.split(mark)
        text = " ".join(parts[::2]) if len(parts) % 2 else text
    return text


def subject_of(text: str) -> list[str]:
    """Return the words that say what a prompt is about: without those that every such prompt has."""
    data = words_data()
    dates = data["dates"]
    common = data["common"].union(dates["weekdays"], dates["months"], dates["days"])
    words = [word for word in tokenize(text) if word.isalnum() and len(word) > 1 and word not in common]
    return list(dict.fromkeys(words))


class _Form:
    """A prompt's words and clauses, and the signs in them."""

    __slots__ = ("asks", "clauses", "data", "is_marked", "is_ours", "joined", "later_asks", "set", "words")

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        plain = fold(_without_quotes(text)).lower().replace("'", "").replace("\u2019", "")
        self.data = data
        clauses = map(self._clause, plain.translate(_CLAUSE_ENDS).replace(" - ", "\n").split("\n"))
        self.clauses = [words for words in clauses if words] or [[""]]
        first = self.clauses[0]
        if first[0] == "was" and first[1:2] not in _ENGLISH_AFTER_WAS:
            first[0] = "what"  # German
        self.words = [word for clause in self.clauses for word in clause]
        self.set = set(self.words)
        self.joined = " %s " % " ".join(self.words)
        self.is_marked = "?" in text or self.has("tags")
        self.asks = self._asks(first)
        self.later_asks = any(map(self._asks, self.clauses[1:]))
        self.is_ours = self._has_we_past()

    def _clause(self, text: str) -> list[str]:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
        while words and words[0] in self.data["lead_ins"]:
            del words[0]
        return words

    def has(self, name: str) -> bool:
        """Return whether a phrase or word of this list is in the prompt."""
        words = self.data[name]
        return (
            not words.isdisjoint(self.set)
            if isinstance(words, set)
            else any(map(self.joined.__contains__, words))
        )

    def level(self, has_date: bool, kind: str) -> int:
        """Return how plainly the prompt asks."""
        if self.has("veto"):
            return NO
        is_order = self.clauses[0][0] in self.data["imperatives"]
        is_question = (self.is_marked or self.asks or self.later_asks) and (
            not is_order or self.later_asks or self.is_ours
        )
        if self.has("last_time") or self.has("recall") or (kind == STOP and (is_question or self.is_ours)):
            return PLAIN
        is_wish = self.has("should") and not self.is_marked
        if not self.is_ours and (is_wish or self._orders_later() or self._asks_now()):
            return NO
        if kind == CONTINUE or self.has("told"):
            return LIKELY
        in_past = self.has("times") or (has_date and (self.has("past") or self._has_past_verb()))
        if is_question:
            return self._question_level(in_past)
        is_ordered = any(clause[0] in self.data["imperatives"] for clause in self.clauses)
        return NO if is_ordered or self.has("you") else self._cue(in_past or self.is_ours)

    def _orders_later(self) -> bool:
        """Return whether work follows a question, as in "did the run finish? check it"; "tell me" asks for words."""
        return any(
            clause[0] in self.data["imperatives"] and "me" not in clause[1:2] for clause in self.clauses[1:]
        )

    def _asks_now(self) -> bool:
        """Return whether all clauses that ask are in the present: "it said no lock, where does it set that?"."""
        present, past = self.data["present"], self.data["past"]
        asking = [set(clause) for clause in self.clauses if self._asks(clause)]
        last = asking[-1:]
        return (
            bool(last)
            and len(self.clauses) > 1
            and all(not present.isdisjoint(clause) and past.isdisjoint(clause) for clause in last)
        )

    def _question_level(self, in_past: bool) -> int:
        """Return the level of a question."""
        has_verb = self._has_past_verb()
        has_past = has_verb or self.has("past")
        if self.is_ours or (has_past and (self.has("ours") or not _US.isdisjoint(self.set))):
            return PLAIN
        if self.has("you") and not in_past:
            return NO
        if in_past and has_past:
            return PLAIN
        has_past = has_verb or not (self.set - _DID).isdisjoint(self.data["past"])
        if has_past or in_past or self.has("soft_times") or self.has("open"):
            return LIKELY
        first = self.clauses[0]
        is_topic = self.later_asks and not self.asks and len(first) <= _SHORT
        is_bare = not self.asks and not self.later_asks and len(self.words) <= _SHORT
        is_verbless = (is_topic or is_bare) and self.data["present"].isdisjoint(first)
        return self._cue(is_verbless or not _DID.isdisjoint(self.set))

    def _cue(self, has_cue: bool) -> int:
        has_cue = has_cue or self.has("demonstratives") or self.has("soft_times")
        return CUE if has_cue or self.words[-1] in self.data["again"] else NO

    def _asks(self, clause: list[str]) -> bool:
        """Return whether a clause is a question by its first words."""
        data, first, second = self.data, clause[0], clause[1] if len(clause) > 1 else ""
        if first in data["conditions"]:
            return False
        if first in data["questions"] or (first not in data["imperatives"] and second in data["questions"]):
            return True  # also "for what", "mit welchem"
        return first in data["inversions"] and bool(second) and not self._is_past_verb(second)

    def _has_we_past(self) -> bool:
        """Return whether we are the subject of a past tense."""
        data, words = self.data, self.words
        if self.has("we_past_phrases") or self.has("we_past"):
            return True
        for at, word in enumerate(words):
            if word not in data["subjects"]:
                continue
            for near in (*words[max(0, at - 1) : at], *words[at + 1 : at + 3]):
                is_perfect = near in data["perfect"] and not near.startswith("hatte")
                if is_perfect and any(map(self._is_past_verb, words[at + 1 : at + 2 + 2 * _MAX_BETWEEN])):
                    return True
                if not is_perfect and (near in data["past"] or self._is_past_verb(near)):
                    return True
        return any(word.endswith(("amos", "imos")) and len(word) > 6 for word in words)

    def _has_past_verb(self) -> bool:
        """Return whether a verb of the prompt is in the past tense or a participle that is not of the present passive."""
        is_german_past = self.has("perfect")
        for at, word in enumerate(self.words):
            before = self.words[max(0, at - _MAX_BETWEEN) : at]
            is_other = not self.data["articles"].isdisjoint(before[-1:]) or not self.data[
                "present_be"
            ].isdisjoint(before)
            is_past = word.endswith("ed") or word in self.data["past"] or is_german_past
            if is_past and not is_other and self._is_past_verb(word):
                return True
        return False

    def _is_past_verb(self, word: str) -> bool:
        if word in self.data["past"]:
            return word not in self.data["auxiliaries"]
        is_form = (len(word) > 4 and word.endswith("ed")) or _is_participle(word)
        return is_form and word not in self.data["not_past"]

    def kind(self, subject: list[str]) -> str:
        """Return what kind of answer the prompt wants."""
        if self.has("stop") or (not subject and self.is_ours):
            return STOP
        head = " %s " % " ".join(self.words[:5])
        if any(phrase in head for phrase in self.data["continue"]):
            return CONTINUE
        if self.has("command"):
            return COMMAND
        return OPEN if self.has("open") and not self.is_ours else ABOUT


def window_of(words: list[str], now: float) -> tuple[float, float] | None:
    """Return the time in the past that a prompt names, as (since, until) in seconds since 1970; None without one."""
    dates = words_data()["dates"]
    places = list(enumerate(words))
    spans = (_span(words, at, dates, now) for at, word in places if word in dates["units"])
    span = next(filter(None, spans), None)
    if span:
        return span
    days = [
        _weekday(words[at - 1 : at], word, dates, now) for at, word in places if word in dates["weekdays"]
    ]
    if days:
        return (days[0], max(days) + _DAY)
    for at, word in places:
        if dates["days"].get(word):
            return _days(now, dates["days"][word], 1)
        before, after = words[max(0, at - 2) : at], words[at + 1 : at + 3]
        if word in dates["months"] and (word not in _AMBIGUOUS or before[-1:] in _BEFORE_MONTH):
            return _month(dates["months"][word], before, after, dates, now)
        numbers = [_number(each) for each in (word, *after)]
        if len(numbers) == 3 and 2000 < numbers[0] < 2100 and 0 < numbers[1] < 13 and 0 < numbers[2] < 32:
            start = _start(*numbers)
            return (start, start + _DAY)
    return None


def _number(word: str) -> int:
    """Return a number of at most four digits, else 0."""
    return int(word) if word.isdecimal() and len(word) < 5 else 0


def _start(year: int, month: int, day: int) -> float:
    """Return when a day begins in local time; a day beyond the month's end or start belongs to another month."""
    return mktime((year, month, day, 0, 0, 0, 0, 0, -1))


def _weekday(before: list[str], word: str, dates: dict[str, Any], now: float) -> float:
    """Return when the named weekday began; with "last" not one of the last two days, which people call otherwise."""
    back = (localtime(now).tm_wday - dates["weekdays"][word]) % 7 or 7
    return _days(now, back + 7 * (back <= _NEAR and not dates["last"].isdisjoint(before)), 1)[0]


def _span(words: list[str], at: int, dates: dict[str, Any], now: float) -> tuple[float, float] | None:
    """Return the time of "last week" or "two weeks ago", with a weekday beside it that day."""
    size, today = dates["units"][words[at]], localtime(now)
    near, before = words[max(0, at - 3) : at + 3], "".join(words[at - 1 : at])
    number = dates["numbers"].get(before, _number(before) % 1000)
    days = [
        today.tm_wday - dates["weekdays"][word] for word in words if word in dates["weekdays"] and size == 7
    ]
    if number and not dates["ago"].isdisjoint(near):
        slack = 0 if size == 1 or days else size // 2
        return _days(now, (days[0] if days else 0) + number * size + slack, 1 + 2 * slack)
    if dates["last"].isdisjoint(near) or size == 1:
        return None
    if size == 7:
        return _days(now, days[0] + 7, 1) if days else _days(now, today.tm_wday + 7, 7)
    return (_start(today.tm_year, today.tm_mon - 1, 1), _start(today.tm_year, today.tm_mon, 1))


def _days(now: float, back: int, length: int) -> tuple[float, float]:
    """Return `length` days that begin `back` days before today."""
    today = localtime(now)
    start = _start(today.tm_year, today.tm_mon, today.tm_mday - back)
    return (start, start + length * _DAY)


def _month(
    month: int, before: list[str], after: list[str], dates: dict[str, Any], now: float
) -> tuple[float, float]:
    """Return the last such month, a day of it, or its beginning or end."""
    today = localtime(now)
    day = next((number for number in map(_number, (*before[-1:], *after)) if 0 < number < 32), 0)
    first, length = (day, 1) if day else (1, 31)
    if not day and not dates["early"].isdisjoint(before):
        length = _EARLY
    elif not day and not dates["late"].isdisjoint(before):
        first, length = _LATE, 15
    start = _start(today.tm_year - (month + 1 > today.tm_mon), month + 1, first)
    return (start, start + length * _DAY)
