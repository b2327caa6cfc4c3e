"""The words and figures of claims and outputs: their stems, the numbers in them, and whether a figure follows from others."""

from __future__ import annotations

import re
from itertools import groupby, zip_longest

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
    r"\b(?:about|around|roughly|approximately|almost|nearly|over|under|circa|ca|etwa|rund|knapp|gut)\b|~|\u2248",
    re.IGNORECASE,
)
_MINUTES = re.compile(r"(\d{1,3}) ?min(?:ute)?s? (?:and )?(\d+(?:\.\d+)?)(?= ?s(?:ec|\b))")
_LINE_NUMBER = re.compile(r"^ *\d+[\t\u2192]", re.MULTILINE)
_MAX_PAIRED = 60  # numbers; among the differences of more than these, any number is supported
_SCALES = {
    "s": (1000, 0.001, 0.000001, 60, 1 / 60),
    "m": (1000, 0.001, 60, 1 / 60),
    "b": (1000, 1024, 1e-3, 1e-6, 1e-9, 2**-10, 2**-20, 2**-30),
    "%": (100,),
}
_ENGLISH = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_GERMAN = "ein zwei drei vier funf sechs sieben acht neun zehn elf zwolf"
NUMBER_WORDS = {word: value for words in (_ENGLISH, _GERMAN) for value, word in enumerate(words.split(), 1)}
NUMBER_WORDS.update(once=1, twice=2, twenty=20, zwanzig=20, thirty=30, fifty=50, hundred=100, hundert=100)


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


def numbers_in(text: str) -> set[float]:
    """Return the numbers in an output, without those of lines."""
    text = _MINUTES.sub(lambda time: str(60 * int(time[1]) + float(time[2])), _LINE_NUMBER.sub("", text))
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
    scales = (1.0, *_SCALES.get(unit, ()))
    is_rough = _ABOUT.search(match.string, max(match.start() - 20, 0), match.start()) is not None
    if is_rough or any(abs(number * scale - value) <= tolerance for number in shown for scale in scales):
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
