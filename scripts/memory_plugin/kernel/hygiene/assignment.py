"""Find values that are assigned to a name: `name = "value"`, `name: value`, `"name": "value"`, `<name>value`, `name("value")`."""

from __future__ import annotations

import re
from functools import cache

from .tables import words

_CLOSE = r"""\\*["'`)\]}*]{0,3}[ \t]{0,8}"""
_TYPE = r"""(?:: ?[A-Za-z][\w.\[\]<>|? ]{0,24}?(?= ?=))?"""
_OPERATOR = r"""(?:=>|->(?=[ \t])|[\u2192\u21d2]|:=|\?=|\|\|=|={1,3}|!==?|:{1,3}|>|(?<=["'`]),|\((?=\\*["'`])|(?<=` )(?=`))"""
_INNER = (
    r"""(?:["']?(?i:value|values|secret|default|current|plain|plaintext|data)["']?[ \t]{0,3}[:=][ \t]{0,3})"""
)
# A list or an object begins, or the value is on the next line, alone or as the field `value`.
_NESTED = r"""(?:[\[{][ \t]{0,8}(?:\r?\n[ \t]{0,40})?%s?){0,2}""" % _INNER
_NEXT_LINE = (
    r"""(?:[|>][+-]?)?[ \t]{0,4}\r?\n[ \t]{0,20}(?:- )?"""
    r"""(?:(?<=[ \t])%s|(?=\S{5,400}[ \t]{0,8}(?:\r?\n|\Z))(?!\S{0,400}:[ \t]{0,8}(?:\r?\n|\Z)))"""
) % _INNER
_OPEN = r"""[ \t]{0,8}(?:%s|%s)(?:[bfruBFRU@$]{1,2}(?=\\*["'`]))?\\*["'`({*]{0,3}""" % (_NEXT_LINE, _NESTED)
_TAIL = r"[\w.\-]{0,25}(?![\w.\-])"
_NAME = re.compile(r"[\w.\-]{1,60}\Z")
_LOOK_BACK = 60
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def assignment_pattern(names: str, value: str) -> str:
    """Return the pattern of a value of the form `value` that is assigned to a name containing one of `names`.

    Group `name` is the name from that part on, group `value` the value without quotes.
    """
    return r"(?P<name>(?i:%s)%s)%s%s%s%s(?P<value>%s)" % (
        names,
        _TAIL,
        _CLOSE,
        _TYPE,
        _OPERATOR,
        _OPEN,
        value,
    )


def whole_name(text: str, start: int, end: int) -> str:
    """Return the identifier that contains `start` and ends at `end`; it may begin before `start`."""
    match = _NAME.search(text, max(0, start - _LOOK_BACK), end)
    return match[0] if match else text[start:end]


@cache
def _list(name: str) -> frozenset[str]:
    return frozenset(words(name))


def names_a_secret(name: str) -> bool:
    """Return whether an identifier names a secret: its last noun is in a list, or is `key` after a word such as `api`.

    Numbers and words such as `prod`, `value` or `base64` may follow the noun.
    """
    pieces = [piece.lower() for piece in _PIECE.findall(name.rpartition("env.")[2])]  # process.env.API_KEY
    while pieces and (pieces[-1].isdigit() or pieces[-1] in _list("name_suffixes")):
        pieces.pop()
    if not pieces or not _list("name_never").isdisjoint(pieces):
        return False
    last, before = pieces[-1], pieces[:-1]
    if last in ("key", "keys"):
        return not _list("key_qualifiers").isdisjoint(before)
    compound = bool(before) and last in _list("nouns_in_compounds")
    return compound or last in _list("secret_nouns") or last.endswith(words("secret_endings"))
