"""The gate of recall: decide in microseconds, without the index, whether a prompt needs memories at all, or opts out of them.

For a prompt such as "fix that", which says little by itself, the previous turn is read from the transcript.
"""

from __future__ import annotations

from ..kernel.paths import load_data
from ..kernel.settings import Settings
from ..kernel.text import without_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The reasons for a refusal, as in the ledger.
CONFIRMATION, COMMAND, EMPTY = "confirmation", "command", "empty"
NOT_TYPED, SHORT, OPTED_OUT, DISABLED = "not_typed", "short", "told_not_to", "disabled"
# Effective lengths: of the shortest prompt that recalls by itself, and of the longest one that is read with the previous turn.
MIN_LENGTH, MAX_FOLLOWUP = 10, 60
# Lengths in characters: of a confirmation, of the head and the tail that are searched, of the part of a prompt that is used, and of
# each half of the previous turn.
_MAX_CONFIRMATION = 80
_MAX_HEAD = 2000
_MAX_TAIL = 400
_MAX_TYPED = 200_000
_MAX_OF_TURN = 800
# The end of a transcript that is searched for the previous turn.
_TAIL_BYTES = 256 * 1024
_TAIL_LINES = 400
_WORD_MARKS = "'-"
_MIN_OF_TOPIC = 3  # words of a prompt that names its topic
_MIN_OF_VERB = 4  # letters of a verb without the pronoun at its end
_MAX_ASK, _MIN_ASK = 300, 2  # characters of a prompt that may ask about the past, and its least words
_MARKS = str.maketrans(dict.fromkeys(",.;:?!()-\"'\u00bf\u00a1\u2019", " "))
_loaded: list[Gate] = []


class Answer:
    """What recall answers at one place: a text for Claude, two lines for the user, and the record of the decision; all texts may be empty.

    `receipt` says what was injected, `notice` something about the judges. `needs_refresh` asks for a background process that brings the
    index up to date. Until a decision is recorded, the record says that a fault prevented it.
    """

    def __init__(self, place: str, **facts: object) -> None:
        """`facts` are added to the record."""
        self.block = ""
        self.notice = ""
        self.receipt = ""
        self.needs_refresh = False
        self.record: dict[str, Any] = {
            "place": place,
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "rules",
            "candidates": [],
            "injected": [],
            "pointed": [],
            **facts,
        }

    def withhold(self, reason: str, outcome: str = "silent") -> Answer:
        """Record that nothing is injected, and the reason; return this answer."""
        self.record.update(outcome=outcome, reason=reason)
        return self


class Prompt:
    """One prompt, read once for all features.

    `text` is what the host sent; `visible_text` is without private passages, so it may be used and, if the user allows it, recorded.
    `is_from_user` is False for a text that the client seems to have sent. `judges_off` means that the project may not use judges.
    `previous_turn` is the previous turn; if it is empty, it is read from the end of the transcript when needed. `followed` is
    the same if the prompt refers to it, else empty.
    """

    def __init__(
        self, text: str, identity: str, transcript: str, *, judges_off: bool = False, previous_turn: str = ""
    ) -> None:
        self.text = text
        self.visible_text = visible_text(text)
        self.is_from_user = load_gate().is_from_user(text)
        self.id = identity
        self.transcript = transcript
        self.judges_off = judges_off
        self.previous_turn = previous_turn
        self.followed = ""

    def turn_before(self) -> str:
        """Return the previous turn, read from the end of the transcript if it is not known; empty if there is none."""
        return self.previous_turn or (last_turn(self.transcript) if self.transcript else "")


def load_gate() -> Gate:
    """Return the gate of `config/recall/gate.json`, loaded once."""
    if not _loaded:
        _loaded.append(Gate())
    return _loaded[0]


class Gate:
    """The word lists of the gate."""

    def __init__(self) -> None:
        self._table = load_data("recall", "gate")

    def refusal(self, prompt: str) -> str:
        """Return why this prompt gets no memories; empty if it may get some.

        One of `command`, `empty`, `not_typed`, `told_not_to` and `confirmation`.
        """
        text = prompt.strip()
        if not text:
            return EMPTY
        if _is_command(text):
            return COMMAND
        if not self.is_from_user(text):
            return NOT_TYPED
        if self.opts_out(text):
            return OPTED_OUT
        return CONFIRMATION if len(text) <= _MAX_CONFIRMATION and self._is_filler(text) else ""

    def _is_filler(self, text: str) -> bool:
        languages = self._table["filler"]["words"].values()
        return {word for words in languages for word in words.split()}.issuperset(_words(_folded(text)))

    def is_from_user(self, prompt: str) -> bool:
        """Return whether a person seems to have typed this, rather than the client having sent a notice."""
        return not _folded(prompt.lstrip()[:_MAX_HEAD]).startswith(tuple(self._table["not_typed"]["starts"]))

    def is_followup(self, prompt: str, max_length: int = MAX_FOLLOWUP) -> bool:
        """Return whether a prompt refers to the previous turn, as "fix that" does; False if it is longer than `max_length`."""
        text = prompt.strip()
        if len(text) > max_length or effective_length(text) > max_length:
            return False
        table, words = self._table["followup"], _words(_folded(text))
        enclitics = tuple(table["enclitics"].split())
        return (
            text.startswith(tuple(table["starts"]))
            or not set(table["words"].split()).isdisjoint(words)
            or (len(words) < _MIN_OF_TOPIC and effective_length(text) == len(text))
            or not set(table["openers"].split()).isdisjoint(words[:1])
            or any(len(word) > _MIN_OF_VERB and word.endswith(enclitics) for word in words)
        )

    def may_ask_about_past(self, text: str) -> bool:
        """Return whether a prompt could ask about past sessions; for most prompts this is all that the question costs."""
        if len(text) > _MAX_ASK or text.startswith("/"):
            return False
        words = set(text.lower().translate(_MARKS).split())
        if len(words) < _MIN_ASK:
            return False
        table = self._table["past"]
        if not words.isdisjoint(table["alone"].split()):
            return True
        if "?" not in text and words.isdisjoint(table["asking"].split()):
            return False
        endings = tuple(table["endings"].split())
        return not words.isdisjoint(table["words"].split()) or any(word.endswith(endings) for word in words)

    def opts_out(self, text: str) -> bool:
        """Return whether a prompt asks for no memories: by a tag anywhere, or in words near its beginning or end."""
        lowered = text.lower()
        if not any(hint in lowered for hint in self._table["opt_out"]["hints"].split()):
            return False  # without a hint the rules are not even loaded
        from .opt_out import OptOut

        rules = OptOut()
        ends = [_folded(text)] + ([_folded(text[-_MAX_TAIL:])] if len(text) > _MAX_HEAD else [])
        return rules.has_tag(text) or any(rules.has_request(end, _words(end)) for end in ends)


def _folded(text: str) -> str:
    """Return the head of a text in lower case, with plain apostrophes."""
    return text[:_MAX_HEAD].lower().replace("\u2019", "'")


def _is_command(text: str) -> bool:
    """Return whether a text is a slash command, rather than a text that begins with a path."""
    if not text.startswith("/"):
        return False
    name = text.split(None, 1)[0][1:]
    return name[:1].isalpha() and all(c.isalnum() or c in ":_-." for c in name)


def _words(text: str) -> list[str]:
    """Return the words of a text; apostrophes and hyphens inside a word are kept."""
    spaced = "".join(c if c.isalnum() or c in _WORD_MARKS else " " for c in text)
    return [word.strip(_WORD_MARKS) for word in spaced.split() if word.strip(_WORD_MARKS)]


def effective_length(text: str) -> int:
    """Return the length of a text in Latin characters: a CJK character in its head counts as three; spaces at the ends do not count."""
    text = text.strip()
    if text.isascii():
        return len(text)
    return len(text) + sum(
        2
        for c in text[:_MAX_HEAD]
        if "\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" or c >= "\U00020000"
    )


def visible_text(prompt: str) -> str:
    """Return a prompt without private passages; only the head and the tail of a very long one.

    Where a private passage could extend from the omitted middle into the tail, the tail is omitted too.
    """
    if len(prompt) <= _MAX_TYPED:
        return without_private(prompt)
    head, tail = prompt[: _MAX_TYPED // 2], prompt[-_MAX_TYPED // 2 :]
    return without_private(head if "private" in prompt[len(head) :].lower() else head + "\n" + tail)


def last_turn(path: str) -> str:
    """Return the user's last prompt and the end of its reply, cut to 800 characters each; empty if there is no turn.

    Never raises: a transcript that is missing, is a pipe, or has only other records has no turn.
    """
    from ..kernel.transcript import records_backwards, reply_text_of, user_input_of

    question = reply = ""
    for record in records_backwards(path, _TAIL_BYTES, _TAIL_LINES):
        reply = reply or without_private(reply_text_of(record)).strip()
        question = without_private(user_input_of(record)[1]).strip()
        if question:
            break
    return turn_text(question, reply)


def turn_text(question: str, reply: str) -> str:
    """Return a turn as the context of a follow-up: the beginning of the prompt and the end of the reply, 800 characters each."""
    return (question[:_MAX_OF_TURN] + " \n" + reply[-_MAX_OF_TURN:]).strip()


def admit(answer: Answer, prompt: Prompt, settings: Settings) -> bool:
    """Return whether a prompt may get memories, and set `followed`; if it may not, the answer says why."""
    gate, text, prompt.followed = load_gate(), prompt.visible_text, ""
    refusal = gate.refusal(text) if settings.flag("retrieval.enabled") else DISABLED
    if not refusal and settings.flag("retrieval.followups") and gate.is_followup(text):
        prompt.followed = prompt.turn_before()
    if not refusal and not prompt.followed and effective_length(text) < MIN_LENGTH:
        refusal = SHORT
    if refusal:
        answer.withhold(refusal, "skipped")
    return not refusal
