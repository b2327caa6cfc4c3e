"""Filters: named reasons to reject a candidate as a false alarm; and the form and the names of values that are assigned.

Each filter takes the candidate and returns whether it is a false alarm. A rule lists the filters that apply to it. An assignment is
`name = "value"`, `name: value`, `"name": "value"`, `<name>value` or `name("value")`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from math import log2
from typing import Any, NamedTuple

from ..paths import load_data

# The lookahead saves eleven attempts at most characters.
_MASKED = (
    r"(?=[xX.*_\-#?\u2026\u2022])(?:[xX]{4}|\*{3}|\.{3}|\u2026|\u2022{2}|#{4}|_{4}|-{4,}$|\?{3}|[xX.*_-]{8})"
)
_REPEATED = r"(.)\1{7}"
_TEMPLATE = r"^\$|\$[{(]|\{\{|\}\}|<[A-Za-z_%/]|%[sdr(]|%\w+%(?![0-9A-Fa-f]{2})|^[<{\[(`]|^[@&][\w.-]+$|#\{|^%|^![A-Za-z]+$"
_HEX = r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)"
_PATH = r"[~.]{0,2}/[\w@.-]*(?:/[\w@.-]*)+|[A-Za-z]:\\.*|[\w@.-]+(?:/[\w@.-]+)*\.[A-Za-z]{1,5}|[a-z]+://.*"
_DOTTED = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+"
_SLUG = r"(?:[A-Za-z]{1,20}\d{0,4}|v?\d{1,10})(?:[-_./:+ @](?:[A-Za-z]{1,20}\d{0,4}|v?\d{1,10}))*"
_SECRETS_NAME = (
    r"(?:[a-z0-9]{1,12}[-/]){2,6}(?:secret|password|token|key|credentials?)(?:-(?:id|name|arn|ref))?"
)
_REACH_OF_SEAL = 4000  # characters
_FRAGMENT = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
_DATE = r"(?<!\d)(?:19|20)\d\d[-/. ](?:19|20)?\d\d?|\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d"
_VERSION = (
    r"(?i)(?:(?:version|release|build|firmware|section|chapter|\u00a7|(?:up|down)grad(?:ed?|ing))(?: (?:number|no\.?|is|was|from|to)){0,2}"
    r"|grad(?:ed?|ing) from \d[\d.]{2,8} to|ver\.?|[a-z]/|\bv|[=<>~^]=?|@)[\"': ]{0,3}$"
)
_TIME_UUID = r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[167][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
_MIN_WORD = 4
_MARKS = frozenset("!$%&*+^#~=?@")  # which passwords contain, and names seldom

_CLOSE = r"""\\*["'`)\]}*]{0,3}[ \t]{0,8}"""
_TYPE = r"""(?:: ?[A-Za-z][\w.\[\]<>|? ]{0,24}?(?= ?=))?"""
_CELL = r"""\|(?=[ \t]{1,8}[`*]{0,3}[^\s|]{4,200}[ \t]{1,8}\|)"""  # the value is the whole next cell of a row
_OPERATOR = (
    r"""(?:=>|->(?=[ \t])|[\u2192\u21d2]|:=|\?=|\|\|=|={1,3}|!==?|:{1,3}|>|(?<=["'`]),|\((?=\\*["'`])|(?<=` )(?=`)|%s)"""
    % _CELL
)
_INNER = r"""(?:["']?(?i:value|values|key|secret|default|current|plain|plaintext|data)["']?[ \t]{0,3}[:=][ \t]{0,3})"""
# A list or an object begins, or the value is on the next line, alone or as the field `value`.
_NESTED = r"""(?:[\[{][ \t]{0,8}(?:\r?\n[ \t]{0,40})?%s?){0,2}""" % _INNER
_NEXT_LINE = (
    r"""(?:[|>][+-]?)?[ \t]{0,4}\r?\n[ \t]{0,20}(?:- )?"""
    r"""(?:(?<=[ \t])%s|(?=\S{5,400}[ \t]{0,8}(?:\r?\n|\Z))(?!\S{0,400}:[ \t]{0,8}(?:\r?\n|\Z)|[A-Za-z_][\w.]{0,60}=[^=\s]))"""
) % _INNER
# The last part is the first line of a string of several lines.
_OPEN = (
    r"""[ \t]{0,8}(?:%s|%s)(?:[bfruBFRUNL@$]{1,2}(?=\\*["'`]))?\\*["'`({*]{0,3}(?:(?<=\"{3}|'{3})\\?\r?\n[ \t]{0,40})?"""
) % (_NEXT_LINE, _NESTED)
_TAIL = r"[\w.\-]{0,25}(?![\w.\-])"
_NAME = re.compile(r"[\w.\-]{1,60}\Z")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Most scans need few of the patterns, and the cache of `re` is too small for all.
compiled = cache(re.compile)


@cache
def words(name: str) -> tuple[str, ...]:
    """Return the word list of that name in `config/hygiene/words.json`."""
    return tuple(_word_lists()[name])


@cache
def _word_lists() -> dict[str, Any]:
    return load_data("hygiene", "words")


@cache
def _word_set(name: str) -> frozenset[str]:
    return frozenset(words(name))


def assignment_pattern(names: str, value: str) -> str:
    """Return the pattern of a value of the form `value` that is assigned to a name containing one of `names`.

    Group `name` is the name from that part on, group `value` the value without quotes.
    """
    form = r"(?P<name>(?i:%s)%s)%s%s%s%s(?P<value>%s)"
    return form % (names, _TAIL, _CLOSE, _TYPE, _OPERATOR, _OPEN, value)


def whole_name(text: str, start: int, end: int) -> str:
    """Return the identifier that contains `start` and ends at `end`; it may begin before `start`."""
    match = _NAME.search(text, max(0, start - 60), end)
    return match[0] if match else text[start:end]


def names_a_secret(name: str) -> bool:
    """Return whether an identifier names a secret: its last noun is in a list, or is `key` after a word such as `api`.

    Numbers and words such as `prod`, `value` or `base64` may follow the noun.
    """
    pieces = [piece.lower() for piece in _PIECE.findall(name.rpartition("env.")[2])]  # process.env.API_KEY
    while pieces and (pieces[-1].isdigit() or pieces[-1] in _word_set("name_suffixes")):
        pieces.pop()
    if not pieces or not _word_set("name_never").isdisjoint(pieces):
        return False
    last, before = pieces[-1], pieces[:-1]
    if last in ("key", "keys"):
        return not _word_set("key_qualifiers").isdisjoint(before)
    compound = bool(before) and last in _word_set("nouns_in_compounds")
    return compound or last in _word_set("secret_nouns") or last.endswith(words("secret_endings"))


class PatternMatch(NamedTuple):
    """A match of a rule's pattern: `value` is `text[start:end]`."""

    text: str
    start: int
    end: int
    value: str


def entropy(value: str) -> float:
    """Return Shannon's entropy of the characters, in bits per character; 0 for ""."""
    shares = [value.count(character) / len(value) for character in set(value)]
    return -sum(share * log2(share) for share in shares)


def _is_whole(pattern: str, value: str) -> bool:
    return compiled(pattern).fullmatch(value) is not None


def _long_runs(value: str) -> list[str]:
    """Return the runs of letters that are long enough to be judged as words, in lower case."""
    return [run.lower() for run in compiled(_FRAGMENT).findall(value) if len(run) >= _MIN_WORD]


def _containing(pattern: str) -> Callable[[PatternMatch], bool]:
    """Return the filter that rejects a value in which a pattern matches."""
    return lambda candidate: compiled(pattern).search(candidate.value) is not None


def _stand_in(candidate: PatternMatch) -> bool:
    """Reject a value made only of digits and of words such as `test`, `user` and `password`: `password123`, `test_user_1`."""
    parts = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", candidate.value).lower())
    return all(part in _word_set("plain") for part in parts)


def _code(candidate: PatternMatch) -> bool:
    """Reject an expression: `config.api.key`, `self->token`, a call, or an index."""
    follows = candidate.text[candidate.end : candidate.end + 1]
    return follows in ("(", "[") or (_is_whole(_DOTTED, candidate.value) and _wordy(candidate))


def _slug(candidate: PatternMatch) -> bool:
    """Reject words and short numbers with separators, and names of secrets: `us-east-1`, `orders-api.rc0.15`, `shop-db2-password`."""
    value = candidate.value
    is_words = _is_whole(_SLUG, value) and all(map(_is_word, _long_runs(value)))
    return is_words or _is_whole(_SECRETS_NAME, value)


def _sealed(candidate: PatternMatch) -> bool:
    """Reject what only a cluster can decrypt: the data of a SealedSecret."""
    before = candidate.text[max(0, candidate.start - _REACH_OF_SEAL) : candidate.start]
    return candidate.value.startswith("Ag") and "encryptedData" in before


def _wordy(candidate: PatternMatch) -> bool:
    """Reject a value whose letters are mostly in runs that look like words: identifiers, file names, prose."""
    letters = sum(map(str.isalpha, candidate.value))
    return sum(map(len, filter(_is_word, _long_runs(candidate.value)))) >= 0.6 * letters


@cache
def _common_pairs() -> frozenset[str]:
    return frozenset(" ".join(words("common_pairs")).split())


def _is_word(run: str) -> bool:
    """Return whether two thirds of the letter pairs are among the most common ones in English words.

    This holds for 95% of words of five letters or more, and for about 5% of random letters.
    """
    pairs = [run[at : at + 2] in _common_pairs() for at in range(len(run) - 1)]
    return 3 * sum(pairs) >= 2 * len(pairs)


def _prose(candidate: PatternMatch) -> bool:
    """Reject what `wordy` rejects, unless a mark and a digit make a password of the words: `Blue!Heron44`."""
    value = candidate.value
    marked = not _MARKS.isdisjoint(value) and any(map(str.isdigit, value)) and "@" not in value
    return not marked and _wordy(candidate)


def _few_kinds(candidate: PatternMatch) -> bool:
    """Reject a value that does not mix a digit with both cases, or with letters and a mark."""
    value = candidate.value
    cases = [any(map(str.islower, value)), any(map(str.isupper, value))]
    return _no_digit(candidate) or not (all(cases) or (any(cases) and not _MARKS.isdisjoint(value)))


def _no_digit(candidate: PatternMatch) -> bool:
    return not any(map(str.isdigit, candidate.value))


def _url_stand_in(candidate: PatternMatch) -> bool:
    """Reject `user:password@host` as documentation writes it, and the hosts that RFC 2606 reserves for documentation."""
    after = candidate.text[candidate.end + 1 : candidate.end + 65]
    host = re.split(r"[/:?#\s\"'`)]", after, maxsplit=1)[0].lower()
    is_stand_in = candidate.value.lower() in words("url_stand_ins") and host in words("stand_in_hosts")
    return is_stand_in or _within(host, words("documentation_hosts"))


def _within(domain: str, names: tuple[str, ...]) -> bool:
    return any(domain == name or domain.endswith("." + name) for name in names)


def _not_mail(candidate: PatternMatch) -> bool:
    """Reject `git@host:path`, a package with its version, and file names such as `icon@2x.png`."""
    name, _, domain = candidate.value.rpartition("@")
    follows = candidate.text[candidate.end : candidate.end + 2]
    remote = follows[:1] == ":" and follows[1:2] not in ("", " ", "\n") and not follows[1:2].isdigit()
    return name == "git" or remote or domain.rpartition(".")[2].lower() in words("file_endings")


def _version(candidate: PatternMatch) -> bool:
    """Reject a version of four numbers, after a program's name or a word such as "release"."""
    before = candidate.text[max(0, candidate.start - 24) : candidate.start]
    return compiled(_VERSION).search(before) is not None


FILTERS: Mapping[str, Callable[[PatternMatch], bool]] = {
    "code": _code,
    "date": _containing(_DATE),  # or a span of years
    "example": _containing("EXAMPLE|example"),  # vendors write it into the keys of their documentation
    # The domains that RFC 2606 and RFC 6761 reserve for examples.
    "example-host": lambda one: _within(one.value.rpartition("@")[2].lower(), words("example_hosts")),
    "few-kinds": _few_kinds,
    # A hexadecimal digest: MD5, SHA-1, SHA-2 and git's names have these lengths.
    "hash": lambda one: len(one.value) in (32, 40, 56, 64, 96, 128) and _is_whole(_HEX, one.value),
    # Letters and separators only: a word, a name, a sentence.
    "letters": lambda one: not any(c.isdigit() or c in "!$%&*+^#~=?|" for c in one.value.rstrip("!?=*+")),
    "masked": _containing(_MASKED),
    "no-digit": _no_digit,
    "not-mail": _not_mail,
    "path": lambda one: _is_whole(_PATH, one.value) and entropy(one.value) < 4.5,
    # A text that says it is a placeholder: `your-token-here`, `changeme`, `insert_key`.
    "placeholder": lambda one: bool(compiled("|".join(words("placeholders"))).search(one.value.lower())),
    "prose": _prose,
    "repeated": _containing(_REPEATED),
    "sealed": _sealed,
    # Words of which one is a word of grammar or of forms: a passphrase is made of words drawn by lot.
    "sentence": lambda one: not _word_set("function_words").isdisjoint(one.value.lower().split()),
    # A home folder that identifies no person: `user`, `runner`, `ubuntu`.
    "shared-home": lambda one: one.value.lower() in words("shared_homes"),
    "slug": _slug,
    "stand-in": _stand_in,
    "template": _containing(_TEMPLATE),  # filled in later: `${X}`, `{{ x }}`, `<x>`, `%s`, `$1`
    # A UUID made from the time (RFC 9562, versions 1, 6 and 7) can be guessed and usually names a record.
    "time-uuid": _containing(r"\A%s\Z" % _TIME_UUID),
    "url-stand-in": _url_stand_in,
    "version": _version,
    "wordy": _wordy,
}
