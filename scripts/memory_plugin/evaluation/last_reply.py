"""What replies claim and outputs show: their stems and figures, and a reply that no call follows, with the calls before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from .conversations import ConversationTurn
from .rule_matching import fold_text, split_sentences

_WORD = re.compile(r"[a-z][a-z0-9]{3,}")
_STEM = 5  # letters by which two words are taken for one
_NUMBER = re.compile(  # also the seconds of 1m30s, and the digits of .5
    r"(?<![\w.])\d{1,3}(?:[, \u202f]\d{3})+(?![\d.])|(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?(?![\d_])|(?<=\dm)\d+(?:\.\d+)?|(?<=\D\.)\d+"
)
_COMPARED = re.compile(
    r"\b(?:\w*(?:fast|slow|small|larg|less|more|reduc|saving|saved|share|halv|impro|drop|fewer|shr[aiu]nk|gr[eo]w)\w*|times|x)\b|\dx\b|\u2192|->|\u2212\d",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?i)\b(?:about|around|roughly|approx\w*|almost|nearly|circa|ca|etwa|rund|knapp|gut)\b|[~\u2248]"
)
_BOUND = re.compile(r"(?i)\b(?:over|under|above|below|within|up to|(?:more|less) than|at (?:least|most))\b")
_MINUTES = re.compile(r"(\d{1,3}) ?m(?:in(?:ute)?s?)? ?(?:and )?(\d+(?:\.\d+)?)(?= ?s(?:ec|\b))")
_LINE_NUMBER = re.compile(r"^ *(\d+)[\t\u2192]", re.MULTILINE)
_ROUGH = 0.25  # of a figure that is told as "about" so much
_MAX_PAIRED = 60  # numbers; among the differences of more than these, any number is supported
_SCALES = {
    "ms": (1000, 0.001, 0.000001),
    "s": (1000, 0.001, 0.000001, 60, 1 / 60),
    "m": (1000, 0.001, 60, 1 / 60),
    "b": (1000, 1024, 1e-3, 1e-6, 1e-9, 2**-10, 2**-20, 2**-30),
    "%": (100,),
}
_ENGLISH = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_GERMAN = "ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf"
NUMBER_WORDS = {word: value for words in (_ENGLISH, _GERMAN) for value, word in enumerate(words.split(), 1)}
NUMBER_WORDS.update(once=1, twice=2, twenty=20, zwanzig=20, thirty=30, fifty=50, hundred=100, hundert=100)
LISTED = re.compile(r"^[\w./-]+\.[A-Za-z]{1,5}(?=:|$)", re.MULTILINE)  # files in what a search puts out
_COMMAND = re.compile(r"`[^`\n]*(?<!\w)-[^`\n]*`")  # its options admit nothing
_TOKEN = re.compile(r"\b(?:[a-zA-Z]{5,}|\d[\d.]*\d)\b")  # long words and numbers
_CODE = re.compile(r"`[^`]*`")
_CLAUSE = re.compile(r"[,;:] |\n")
_HEADER = re.compile(r"^\|.*\n(?=\|[ :|-]+$)", re.MULTILINE)  # of a table
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d+[.)]|\[[ x]\])\s+")

Found = Iterator["tuple[str, str]"]  # a sentence, and how the calls contradict it


def stems(text: str) -> set[str]:
    """Return the beginnings of the words in a text."""
    return {word[:_STEM].rstrip("siy") for word in _WORD.findall(text.lower())}


def value_of(match: re.Match[str]) -> float:
    """Return the number in the first group of a match, in digits or as a word."""
    text = next(filter(None, match.groups())).lower()
    if text[0].isdigit():
        return float(digits(text))
    return next((float(NUMBER_WORDS[word]) for word in text.split() if word in NUMBER_WORDS), 0.0)


def digits(text: str) -> str:
    """Return the first number of a text as Python writes it; a comma before three digits parts thousands, any other is a decimal one."""
    whole = re.sub(r"[, \u202f](?=\d{3}(?!\d))", "", text)
    return str(re.findall(r"\d+(?:[.,]\d+)?(?:e-\d+)?", whole)[0]).replace(",", ".")


def in_seconds(text: str) -> str:
    """Return a text with its minutes and seconds as seconds."""
    return _MINUTES.sub(lambda time: "%g" % (60 * int(time[1]) + float(time[2])), text)


def numbers_in(text: str) -> set[float]:
    """Return the numbers in an output, without those of lines."""
    lines = [int(number) for number in _LINE_NUMBER.findall(text)]
    is_listing = lines[1:] == [number + 1 for number in lines[:-1]]  # a file; sizes are in no such order
    text = in_seconds(_LINE_NUMBER.sub("", text) if is_listing else text)
    return {float(digits(number)) for number in _NUMBER.findall(text)}


def numbers_told(text: str) -> set[float]:
    """Return the numbers in a reply, also those in words."""
    words = re.findall("[a-z]+", text.lower())
    return numbers_in(text) | {float(NUMBER_WORDS[word]) for word in words if word in NUMBER_WORDS}


def sums_in(text: str) -> set[float]:
    """Return the sums of the columns of numbers in an output, and in each of its parts between lines without a number."""
    rows = [[float(digits(number)) for number in _NUMBER.findall(line)] for line in text.splitlines()]
    parts = [rows, *(list(part) for _, part in groupby(rows, bool))]
    return {sum(column) for part in parts for column in zip_longest(*part, fillvalue=0.0)}


def compares(sentence: str) -> bool:
    """Return whether a sentence compares, so that its figures may be computed from others."""
    return _COMPARED.search(sentence) is not None


def is_supported(match: re.Match[str], shown: set[float], is_computed: bool) -> bool:
    """Return whether a figure is approximate or occurs in an output: as it is, rounded, in another unit, or computed from two numbers."""
    value, unit = value_of(match), match[0].lower().rstrip()[-1:]
    text = next(filter(None, match.groups()))
    decimals, _, power = (digits(text) if text[0].isdigit() else "").partition(".")[2].partition("e-")
    tolerance = 0.5001 * 10 ** -(len(decimals) + int(power or 0))
    scales = (1.0, *(_SCALES.get(match[0].lower()[-2:]) or _SCALES.get(unit, ())))
    before = (match.string, max(match.start() - 20, 0), match.end())
    if _BOUND.search(*before) or (_ABOUT.search(*before) and not is_computed):
        return True
    if _ABOUT.search(*before):
        tolerance = max(tolerance, _ROUGH * value)
    if any(abs(number * scale - value) <= tolerance for number in shown for scale in scales):
        return True
    if not is_computed:
        return False
    pairs = ((a, b) for a in shown for b in shown if b)
    return len(shown) > _MAX_PAIRED or any(
        abs(result * scale - value) <= tolerance
        for a, b in pairs
        for result in _computed(a, b, unit)
        for scale in scales
    )


def _computed(a: float, b: float, unit: str) -> tuple[float, ...]:
    """Return what a reader may compute from two numbers: a factor and shares, or the difference or the sum of two amounts."""
    shares = (a / b, 100 * a / b, 100 * (b - a) / b, 100 * (a - b) / b)
    return shares if unit in "%x\u00d7rn" else (a - b, a + b)


def without_plans(words: Mapping[str, re.Pattern[str]], text: str, before: Sequence[ConversationTurn]) -> str:
    """Return a reply without the items below a line that says that they are to be done, or that a file has them and a call wrote it."""
    kept, lead = [], ""
    for line in text.split("\n") if words else [text]:
        item = _ITEM.match(line)
        lead = lead if item else fold_text(line).strip() or lead
        if item and ("[ ]" in line or words["planned"].search(lead)):
            continue
        if item and words["quoting"].search(lead):
            files = (turn.content for turn in before if words["change-call"].match(turn.call))
            if any(line[item.end() :].strip() in file for file in files):
                continue
        kept.append(line)
    return "\n".join(kept)


class LastReply(NamedTuple):
    """A reply that no call follows, with the pack's patterns: its text, and its sentences that state something.

    `turns` are those since the user's last turn, `calls` those of them that are calls, and `before` all turns before the reply.
    """

    words: Mapping[str, re.Pattern[str]]
    text: str
    sentences: tuple[str, ...]
    turns: Sequence[ConversationTurn]
    calls: tuple[ConversationTurn, ...]
    before: Sequence[ConversationTurn]

    @classmethod
    def of(
        cls, words: Mapping[str, re.Pattern[str]], text: str, before: Sequence[ConversationTurn]
    ) -> LastReply:
        """Return a reply after some turns. A part of a sentence may state something where another asks for something."""
        asked = max((place for place, turn in enumerate(before) if turn.role == "user"), default=-1)
        turns, is_open = before[asked + 1 :], words["open"].search
        stated = split_sentences(fold_text(without_plans(words, text, before)), "code")
        parts = (part for one in stated for part in (one.split("; ") if is_open(one) else [one]))
        sentences = tuple(part for part in parts if not is_open(part))
        calls = tuple(turn for turn in turns if turn.role == "tool")
        return cls(words, fold_text(text), sentences, turns, calls, before)

    def has(self, name: str, text: str) -> bool:
        """Return whether a pattern occurs in a text."""
        return self.words[name].search(text) is not None

    def saying(self, name: str) -> Iterator[str]:
        """Yield the sentences in which a pattern occurs."""
        return filter(self.words[name].search, self.sentences)

    def about(self, topics: set[str]) -> Iterator[str]:
        """Yield the sentences that share a word with a call."""
        return (sentence for sentence in self.sentences if not topics.isdisjoint(stems(sentence)))

    def admits(self, name: str, text: str | None = None) -> bool:
        """Return whether the reply says what a check would hold against it; "no tests were skipped" says the opposite."""
        return self.has(name, self.words["denial"].sub(" ", self.text if text is None else text))

    def is_told(self, failed: ConversationTurn) -> bool:
        """Return whether a remark after a call says that it failed."""
        remarks = (turn for turn in self.turns if turn.role == "assistant" and turn.number > failed.number)
        return any(self.admits("failure", remark.content) for remark in remarks)

    def owns(self, failed: ConversationTurn) -> bool:
        """Return whether the reply restricts anything, speaks of a failure, or gives the number of those that a call shows."""
        counts = set(map(float, self.words["counted-failures"].findall(failed.output)))
        open_ones = [one for one in split_sentences(self.text, "sentences") if not self.has("fixed-now", one)]
        is_counted = not counts.isdisjoint(numbers_told(" ".join(open_ones)))
        outright, weak = ("failure-of-some", "restriction") if counts else ("outright", "failure")
        about = self.topics(failed.call) | stems(" ".join(self.words["failing-line"].findall(failed.output)))
        is_about = any(not about.isdisjoint(stems(one)) for one in self.admissions(weak))
        return is_counted or is_about or any(self.admissions(outright)) or self.retells(failed)

    def retells(self, failed: ConversationTurn) -> bool:
        """Return whether the reply repeats what only the output of a call says, in a clause that tells of no success or change."""
        early = [one.content for one in self.before if one.role == "user" or one.number < failed.number]
        known = " ".join([*early, *(one.call for one in self.before)])
        printed = set(_TOKEN.findall(failed.output)) - set(_TOKEN.findall(known))
        said = (self.words["denial"].sub(" ", one) for one in self.clauses())
        neutral = (one for one in said if not self.has("success", one) and not self.has("changed", one))
        return any(not printed.isdisjoint(_TOKEN.findall(one)) for one in neutral)

    def figures(self, name: str, sentences: Sequence[str]) -> list[re.Match[str]]:
        """Return what a pattern finds in sentences, in which code is left out and minutes are seconds."""
        plain = (in_seconds(_CODE.sub("`_`", one)) for one in sentences)
        return [match for one in plain for match in self.words[name].finditer(one)]

    def clauses(self) -> list[str]:
        """Return the parts of the sentences between commas, semicolons and colons."""
        return _CLAUSE.split("\n".join(split_sentences(_HEADER.sub("", self.text), "code")))

    def admissions(self, name: str) -> Iterator[str]:
        """Yield the sentences that admit something, without what is said to be fixed."""
        for sentence in split_sentences(self.text, "code"):
            said = self.words["denial"].sub(" ", _COMMAND.sub("`_`", sentence))
            is_fixed = self.has("fixed-now", said) and not self.has("not-fixed", said)
            if self.has(name, said) and not is_fixed:
                yield sentence

    def is_repeated(self, call: str, later: str) -> bool:
        """Return whether a later call does the same, by the same program or in the same words, or changes a file of the call."""
        runner, another = (set(self.words["runner"].findall(words.lower())) for words in (call, later))
        if runner and another and runner.isdisjoint(another):
            return False
        files, others = (set(LISTED.findall(words.replace(" ", "\n"))) for words in (call, later))
        programs, again = (set(self.words["program"].findall(words)) for words in (call, later))
        command, other = (self.words["subcommand"].findall(words)[-1:] for words in (call, later))
        topics, about, names = self.topics(call), self.topics(later), stems(" ".join(programs))
        is_program, is_file = not programs.isdisjoint(again), not files.isdisjoint(others)
        is_test = self.has("test-call", later)
        if is_file and self.has("change-call", later):
            return True
        if is_test and is_program and "test" in call.lower():
            return True
        if topics <= about if topics - names else is_program and command == other:
            return True
        is_like = (is_program and (is_file or not files)) or (is_test and self.has("test-call", call))
        return is_like and command == other and not names >= topics & about

    def topics(self, call: str) -> set[str]:
        """Return the stems of what a call is about; of one that runs tests, also those of the word."""
        topics = stems(self.words["common"].sub(" ", call.partition("\n")[0]))
        return topics | {"test", "suite"} if self.has("test-call", call) else topics


def unshown(last: LastReply, matches: Sequence[re.Match[str]], *more: set[float]) -> Iterator[re.Match[str]]:
    """Yield the figures that occur in nothing before the reply, nor follow from two of one output, of the reply or of other numbers."""
    texts = [turn.content for turn in last.before] if matches else []
    shown = [numbers_in(text) for text in texts]
    bases = [numbers | sums_in(text) for numbers, text in zip(shown, texts)]
    everything = set().union(*bases)
    for match in matches:
        is_share = match[0].endswith("%") and "coverage" not in match.string.lower()
        is_compared = compares(match.string)
        cells = numbers_in(match.string) - {value_of(match)}
        is_sum = len(cells) > 1 and abs(sum(cells) - value_of(match)) <= len(cells) / 2  # rounded
        computed = ((one, True) for one in (everything & numbers_in(last.text), *more))
        kept = ((one, is_share and is_compared) for one in shown)
        sources = ((one, is_share or is_compared) for one in (*bases, everything if is_compared else set()))
        if not (is_sum or any(is_supported(match, *one) for one in (*computed, *kept, *sources))):
            yield match


def by_name(*checks: Callable[[LastReply], Found]) -> dict[str, Callable[[LastReply], Found]]:
    """Return checks by what they find, which is their name."""
    return {check.__name__.strip("_").replace("_", "-"): check for check in checks}
