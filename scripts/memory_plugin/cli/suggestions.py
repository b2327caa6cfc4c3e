"""Suggest the closest command or option for one that does not exist."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHOICE = re.compile(r"argument COMMAND: invalid choice: '([^']*)'")
_OPTIONS = re.compile(r"unrecognized arguments: (.*)")
_CUTOFF = 0.6


def explain_unknown(message: str, commands: Iterable[str], options: Iterable[str]) -> str:
    """Shorten argparse's message about an unknown command or option and add the closest known one; return others unchanged."""
    choice = _CHOICE.match(message)
    if choice:
        return "unknown command '%s'%s" % (choice[1], _nearest(choice[1], commands))
    unknown = _OPTIONS.match(message)
    if unknown:
        word = unknown[1].split()[0].partition("=")[0]
        if word.startswith("-"):
            return "unknown option '%s'%s" % (word, _nearest(word, options))
        return "unexpected word '%s'; put a text of several words in quotes" % word
    return message


def _nearest(word: str, known: Iterable[str]) -> str:
    found = get_close_matches(word, list(known), 1, _CUTOFF)
    return "; did you mean %s?" % found[0] if found else ""
