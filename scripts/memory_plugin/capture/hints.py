"""Whether a prompt may hold a lasting statement, told by substrings: the end of every turn asks this, so nothing here uses `re`.

It may say no to a sentence that the rules would find: the end of a session looks at all prompts without asking here.
"""

from __future__ import annotations

from .worth import all_hints, least_worth, most_worth

__all__ = [
    "HOLDS_NOTHING",
    "LONG_PROMPT",
    "RULED",
    "SHORTEST_SENTENCE",
    "holds",
    "may_hold_statement",
]

HOLDS_NOTHING = 12  # characters below which no prompt says anything lasting
LONG_PROMPT = (
    2000  # characters from which only the first and the last paragraph count: the rest is mostly pasted
)
SHORTEST_SENTENCE = 8
RULED = -1.0  # the worth from which a rule is heard
_ASKING = (
    " what ", " which ", " who ", " where ", " when ", " is ", " are ", " was ", " does ", " did ", " do ", " has ", " have ", " should ",
)  # fmt: skip
_END = 600  # characters at either end of a long prompt: the longest paragraph of one that counts, and some


def may_hold_statement(prompt: str) -> bool:
    """Return whether a sentence could be found by a rule of `config/capture/statements.json`, or be worth enough without one."""
    if len(prompt) < HOLDS_NOTHING:
        return False
    pieces = _pieces(_ends(prompt).replace("\u2019", "'"))
    if not pieces or (len(pieces) == 1 and pieces[0].startswith(_ASKING) and pieces[0].endswith("? ")):
        return False
    table = all_hints()
    text = "".join(pieces)
    rules = [hint for hints in table["rules"].values() for hint in hints if holds(hint, text)]
    least = least_worth(len(pieces))
    for piece in pieces:
        is_ruled = any(holds(hint, piece) for hint in rules)
        if most_worth(piece, is_ruled=is_ruled) >= (RULED if is_ruled else least):
            return True
    return False


def _ends(prompt: str) -> str:
    """Return a prompt; of a long one its ends, since nothing else of it counts."""
    return prompt if len(prompt) <= LONG_PROMPT else "%s\n%s" % (prompt[:_END], prompt[-_END:])


def _pieces(text: str) -> list[str]:
    """Return the parts of a text between stops and line ends, in lower case."""
    text = text.lower()
    for stop in ".!?":
        text = text.replace(stop + " ", stop + "\n")
    return [" %s " % " ".join(line.split()) for line in text.split("\n") if len(line) >= SHORTEST_SENTENCE]


def holds(hint: str, text: str) -> bool:
    """Return whether a text in lower case holds all parts of a hint, which `+` separates."""
    return hint in text if "+" not in hint else all(part in text for part in hint.split("+"))
