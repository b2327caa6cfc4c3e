"""What the user asked Claude for: requests to save, and grants.

After the user asked for it in a prompt, Claude may save a few memories that need no review: a grant. A pasted page, mail or file can ask
to be remembered. Therefore only the first line counts, and there only a sentence that begins with the request: the first one, or a later
one of a short prompt of one line that speaks of no text. In doubt there is no request. Every prompt looks for one, so this module does
not import `re` before there is a hint.

A page that Claude reads can ask it to remember something. Therefore a memory that Claude stores unasked is pending. Only a prompt that the
user typed issues a grant, for at most three saves and until the next prompt, and each save is shown to the user. Who wrote the prompt is
looked up in the transcript when the grant is used: prompts of schedules, agents and programs look the same to a hook. This is a safeguard,
not a guarantee, because Claude runs with the user's permissions.
"""

from __future__ import annotations

import os

from ..kernel.context import now
from ..kernel.fastjson import as_texts
from ..kernel.paths import Paths, StateChange, load_data, read_state, session_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    from ..kernel.paths import State

SECONDS = 600.0  # for which a grant is valid
MAX_SAVES = 3
PART = "grant"
_UNSHOWN = "unshown"
_OF_GRANT = ("until", "left", "prompt", "transcript")

COMMAND = "/memory:save"
_MAX_LINE = 1000  # characters
_MAX_SHORT = 300
_MAX_FIRST_WORDS = 16
_NOT_OWN = ("    ", "\t", ">", "<", "```", "~~~", "#", "|", "//", "- ", "* ", "+ ", "\u2022", "[", "{")
_SENTENCE_END = r"(?<=[.!?])(?=\s|\Z)|(?<=[\u3002\uff01\uff1f])"
_UNSPACED = ("zh", "ja", "ko")
_GAPS = (r"(?:\s*[,:!.;-]\s*|\s+)", "[,:\u3001\uff0c]?\\s*")  # between introductory words and the request
_loaded: list[list[Pattern[str]]] = []


def asks_to_save(prompt: str) -> bool:
    """Return whether a typed prompt asks for something to be saved: by `/memory:save`, or by a sentence."""
    text = prompt.strip("\r\n")
    if text.lstrip().split(None, 1)[:1] == [COMMAND]:
        return True
    line = text.partition("\n")[0][:_MAX_LINE].lower().replace("\u2019", "'").rstrip()
    # Every prompt reads them, so they are a file of their own.
    hints = load_data("memories", "save_hints")["hints"]
    if not any(hint in line for hint in hints) or line.startswith(_NOT_OWN):
        return False
    first, *later = _sentences(line)
    if _is_request(first):
        return True
    is_short = "\n" not in text and len(line) <= _MAX_SHORT and len(first.split()) <= _MAX_FIRST_WORDS
    return is_short and not _speaks_of_text(first) and any(_is_request(text) for text in later)


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line; a stop inside a word, such as in a version or a file's name, ends none."""
    import re

    return list(filter(None, map(str.strip, re.split(_SENTENCE_END, line)))) or [""]


def _is_request(sentence: str) -> bool:
    if not _loaded:
        _loaded.append(_patterns())
    found = (pattern.match(sentence) for pattern in _loaded[0])
    asked = next((match for match in found if match), None)
    # A question is a request only in a form such as "can you remember that ...?"
    return asked is not None and (sentence[-1] not in "?\uff1f" or " you " in asked.group(1) + " ")


def _patterns() -> list[Pattern[str]]:
    import re

    table = load_data("memories", "save_requests")
    patterns = []
    for language, forms in table["sentences"].items():
        leads = "((?:(?:%s)%s){0,4})" % (table["leads"][language], _GAPS[language in _UNSPACED])
        patterns += [re.compile(leads + "(?:%s)" % form) for form in forms]
    return patterns


def _speaks_of_text(sentence: str) -> bool:
    """Return whether a sentence is a question or speaks of someone's text, which may follow it."""
    words = load_data("memories", "save_requests")["about_text"]["words"].split()
    spoken = set("".join(c if c.isalnum() or c in "-'" else " " for c in sentence).split())
    is_unspaced = (word in sentence for word in words if word[0] > "\u2fff")
    return sentence[-1:] in ("?", "\uff1f", ":") or not spoken.isdisjoint(words) or any(is_unspaced)


def grant(paths: Paths, session: str, prompt: str, transcript: str) -> None:
    """Issue a grant for a session and its project, for a prompt with this id. Raises OSError."""
    with _change(paths, session) as state:
        _drop_others(state, paths)
        state.update(until=now() + SECONDS, left=MAX_SAVES, prompt=prompt, transcript=transcript)


def revoke(paths: Paths, session: str) -> None:
    """Revoke the grant of a session, if there is one; lines that were not shown yet stay. Raises OSError."""
    if not os.path.lexists(session_file(paths, session, PART)):
        return
    with _change(paths, session) as state:
        for name in [*state] if not state.get(_UNSHOWN) else _OF_GRANT:
            state.pop(name, None)


def use_saves(paths: Paths, session: str, number: int) -> bool:
    """Use the grant for a number of saves, all or none; return whether it covers them. Raises OSError."""
    from ..kernel.transcript import was_typed

    if not os.path.lexists(session_file(paths, session, PART)):
        return False
    with _change(paths, session) as state:
        remaining = _remaining(state, paths)
        if remaining < number or not was_typed(str(state.get("transcript")), str(state.get("prompt"))):
            return False
        state["left"] = remaining - number
    return True


def record_saves(paths: Paths, session: str, lines: list[str]) -> None:
    """Store lines about what Claude saved until `take_unshown_saves` returns them, also without a grant. Raises OSError."""
    with _change(paths, session) as state:
        _drop_others(state, paths)
        state[_UNSHOWN] = [*as_texts(state.get(_UNSHOWN)), *lines]


def take_unshown_saves(paths: Paths, session: str) -> list[str]:
    """Return the lines about saves that were not shown yet, and mark them as shown. Raises OSError."""
    if not _is_own(read_state(session_file(paths, session, PART)), paths):
        return []
    with _change(paths, session) as state:
        return as_texts(state.pop(_UNSHOWN, None)) if _is_own(state, paths) else []


def _change(paths: Paths, session: str) -> StateChange:
    return StateChange(session_file(paths, session, PART))


def _is_own(state: State, paths: Paths) -> bool:
    return state.get("project") == paths.project_key


def _drop_others(state: State, paths: Paths) -> None:
    """Empty the state if it is of another project, and make it one of this project."""
    if not _is_own(state, paths):
        state.clear()
        state["project"] = paths.project_key


def _remaining(state: State, paths: Paths) -> int:
    """Return how many saves a grant still covers; 0 if it is damaged, expired, or of another project."""
    until, left = state.get("until"), state.get("left")
    is_valid = _is_own(state, paths) and isinstance(until, float) and now() <= until <= now() + SECONDS
    return left if is_valid and isinstance(left, int) and 0 < left <= MAX_SAVES else 0
