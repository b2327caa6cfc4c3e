"""Whether a prompt may hold a lasting statement, told by substrings: the end of every turn asks this, so nothing here uses `re`.

It may say no to a sentence that the rules would find: the end of a session looks at all prompts without asking here.
"""

from __future__ import annotations

from ..kernel.data import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = [
    "ENOUGH_POINTS",
    "HOLDS_NOTHING",
    "LONG_PROMPT",
    "SHORTEST_SENTENCE",
    "holds",
    "may_hold_statement",
]

HOLDS_NOTHING = 12  # characters below which no prompt says anything lasting
LONG_PROMPT = (
    2000  # characters from which only the first and the last paragraph count: the rest is mostly pasted
)
SHORTEST_SENTENCE = 8
ENOUGH_POINTS = 4  # the sum of the weights of cues from which a sentence is proposed
_ASKING = (
    " what ", " which ", " who ", " where ", " when ", " is ", " are ", " was ", " does ", " did ", " do ", " has ", " have ", " should ",
)  # fmt: skip
_END = 600  # characters at either end of a long prompt: the longest paragraph of one that counts, and some


def may_hold_statement(prompt: str) -> bool:
    """Return whether a rule of `config/capture/statements.json` or enough cues of `cues.json` could apply to a sentence."""
    if len(prompt) < HOLDS_NOTHING:
        return False
    text = _ends(prompt).lower().replace("\u2019", "'")
    pieces = _pieces(text)
    if not pieces or (len(pieces) == 1 and pieces[0].startswith(_ASKING) and pieces[0].endswith("? ")):
        return False
    table = load_data("capture", "hints")
    text = "".join(pieces)
    rules = [hint for hints in table["rules"].values() for hint in hints if holds(hint, text)]
    if any(holds(hint, piece) for piece in pieces for hint in rules):
        return True
    cues = [(cue[0], [hint for hint in cue[1:] if hint in text]) for cue in table["cues"].values()]
    return any(_points(piece, cues) >= ENOUGH_POINTS for piece in pieces if not _asks_or_orders(piece, table))


def _ends(prompt: str) -> str:
    """Return a prompt; of a long one its ends, since nothing else of it counts."""
    return prompt if len(prompt) <= LONG_PROMPT else "%s\n%s" % (prompt[:_END], prompt[-_END:])


def _pieces(text: str) -> list[str]:
    """Return the parts of a text between stops and line ends."""
    for stop in ".!?":
        text = text.replace(stop + " ", stop + "\n")
    return [" %s " % " ".join(line.split()) for line in text.split("\n") if len(line) >= SHORTEST_SENTENCE]


def _asks_or_orders(piece: str, table: dict[str, Any]) -> bool:
    """Return whether a sentence is a question or an order for the work at hand; "can you never ..." is neither."""
    is_brief = piece.endswith("? ") or piece.split(None, 1)[0].strip(",:") in table["orders"]
    return is_brief and not any(word in piece for word in table["lasting"])


def _points(piece: str, cues: Iterable[tuple[int, list[str]]]) -> int:
    return sum(weight for weight, hints in cues if any(hint in piece for hint in hints))


def holds(hint: str, text: str) -> bool:
    """Return whether a text in lower case holds all parts of a hint, which `+` separates."""
    return hint in text if "+" not in hint else all(part in text for part in hint.split("+"))
