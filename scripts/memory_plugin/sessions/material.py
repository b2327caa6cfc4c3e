"""Build the request to a scorer: shorten, redact and number a session's turns, split it, and ask a judge or fill a sub-agent's pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from json import dumps
from typing import NamedTuple

from ..kernel import fastjson
from ..kernel.judge.question import Question, Rubric, Values, data_block, excerpt, one_line, read_rubric
from ..kernel.paths import load_data
from ..kernel.settings import merged, shipped
from ..kernel.settings.load import user_block
from ..kernel.text import tokens_of
from ..kernel.transcript.turn import Call, Turn
from .detection import failure_cause, main_argument
from .rubric import read_grade
from .signals import SessionSignals, collect_signals

RUBRIC = "sessions/score"
AGENT_TOKENS = 60_000.0  # the most that a sub-agent is shown
# Estimated tokens: a longer session is split into parts of about the second number, which leave room for thinking within the cost cap.
_UNSPLIT_TOKENS, _PART_TOKENS = 70_000.0, 60_000.0
# A session with more tokens keeps this share of its turns at both ends, and its middle is thinned out: cost and memory stay bounded.
_MAX_TOKENS, _ENDS = 560_000.0, 0.2
# Characters of a text, split between its beginning and its end.
_TASK, _PROMPT, _REPLY, _ARGUMENT, _RESULT, _ERROR = 4000, 1500, 900, 240, 260, 500
_MAX_CALLS = 30  # of one turn
_PAGE = 24_000  # characters; the client cuts a tool's output at 30,000
_MAX_TURNS_NAMED = 20
_TOKEN_MARGIN = 1.3  # the reservation allows for an estimate that is too low


class Chunk(NamedTuple):
    """Some consecutive turns as a scorer sees them, with their estimated tokens."""

    turns: list[dict[str, object]]
    tokens: float


class TranscriptDigest:
    """Collects the turns of a session while they are read; above a limit it thins out the middle, so that memory stays bounded.

    `task` is the user's first request; `left_out` counts the turns that were dropped.
    """

    def __init__(self, max_tokens: float = _MAX_TOKENS) -> None:
        self._max_tokens = max_tokens
        self.task = ""
        self.shown: list[Chunk] = []  # one turn each
        self.tokens = 0.0
        self.left_out = 0

    def add(self, turn: Turn) -> None:
        """Add the next turn."""
        entry = _shown_turn(turn)
        if not self.task and entry.get("user"):
            requests = [text.text for text in turn.user_texts if text.kind in ("prompt", "command")]
            self.task = excerpt("\n".join(requests), _TASK)
        shown = Chunk([entry], tokens_of(fastjson.dumps(entry)))
        self.shown.append(shown)
        self.tokens += shown.tokens
        if self.tokens > self._max_tokens:
            self._thin()

    def _thin(self) -> None:
        """Drop every other turn of the middle."""
        end = int(len(self.shown) * _ENDS)
        middle = self.shown[end : len(self.shown) - end]
        dropped = middle[1::2]
        self.shown = self.shown[:end] + middle[::2] + self.shown[len(self.shown) - end :]
        self.left_out += len(dropped)
        self.tokens -= sum(shown.tokens for shown in dropped)


def _shown_turn(turn: Turn) -> dict[str, object]:
    entry: dict[str, object] = {"turn": turn.number}
    texts = [
        ("" if message.kind in ("prompt", "command") else "[%s] " % message.kind) + message.text
        for message in turn.user_texts
        if message.kind != "local"
    ]
    if texts:
        entry["user"] = excerpt("\n".join(texts), _PROMPT)
    if turn.texts:
        entry["reply"] = excerpt("\n".join(turn.texts), _REPLY)
    if turn.calls:
        entry["calls"] = [_shown_call(call, turn.version) for call in turn.calls[:_MAX_CALLS]]
    if len(turn.calls) > _MAX_CALLS:
        entry["more_calls"] = len(turn.calls) - _MAX_CALLS
    return entry


def _shown_call(call: Call, version: str) -> dict[str, object]:
    shown: dict[str, object] = {"tool": one_line(call.name, 80)}
    argument = main_argument(call)
    if argument:
        shown["input"] = excerpt(argument, _ARGUMENT)
    cause = failure_cause(call, version)
    if call.result is None:
        shown["result"] = None
    elif cause:
        shown["error"] = excerpt(call.result, _ERROR)
        shown["cause"] = cause
    else:
        shown["result"] = excerpt(call.result, _RESULT)
    return shown


def split_turns(shown: Sequence[Chunk], threshold: float, target: float) -> list[Chunk]:
    """Split turns into chunks of equal size near `target` tokens; up to `threshold` tokens they are one chunk."""
    total = sum(entry.tokens for entry in shown)
    size = total if total <= threshold else total / math.ceil(total / target)
    chunks: list[Chunk] = []
    turns: list[dict[str, object]] = []
    tokens = before = 0.0
    for entry in shown:
        if turns and before + entry.tokens / 2 > size * (len(chunks) + 1):
            chunks.append(Chunk(turns, tokens))
            turns, tokens = [], 0.0
        turns += entry.turns
        tokens += entry.tokens
        before += entry.tokens
    return [*chunks, Chunk(turns, tokens)]


class PreparedSession(NamedTuple):
    """A session that was read and is ready to be graded."""

    path: str
    signals: SessionSignals
    task: str
    parts: list[Chunk]
    left_out: int

    @property
    def tokens(self) -> float:
        """Return the estimated tokens of the material."""
        return sum(part.tokens for part in self.parts)

    def read_grade(self, answer: Values) -> Values | None:
        """Return the grade in an answer about the session or a part of it; None if there is none."""
        return read_grade(answer, self.signals.totals.turns)


def prepare(path: str, max_tokens: float | None = None) -> PreparedSession:
    """Read a transcript once; return its signals, and its turns as a scorer sees them.

    With `max_tokens`, the turns are thinned out to that number and are one part. Raises FileNotFoundError and Unreadable.
    """
    digest = TranscriptDigest(max_tokens or _MAX_TOKENS)
    signals = collect_signals(path, digest.add)
    parts = split_turns(digest.shown, max_tokens or _UNSPLIT_TOKENS, _PART_TOKENS)
    return PreparedSession(path, signals, digest.task, parts, digest.left_out)


def rubric_digest() -> str:
    """Return the version of the rubric and the weights; scores of different versions are not comparable.

    The shipped weights add nothing to it, so scores from before weights could be changed stay comparable.
    """
    version, weights = session_rubric().digest, user_block("sessions.weights")
    if weights == shipped("defaults.json")["sessions.weights"]:
        return version
    return fastjson.digest(("%s %s" % (version, dumps(list(weights.values())))).encode("ascii"), 6)


def session_rubric() -> Rubric:
    """Return the scorer's prompt, with the texts of the setting `sessions.prompt`."""
    shipped = load_data("judges", "rubrics", RUBRIC)
    return read_rubric(merged(shipped, user_block("sessions.prompt")), RUBRIC)


def _facts(prepared: PreparedSession) -> dict[str, object]:
    """Return the user's first request, and totals and signals as evidence for a scorer: counts and turns, no text."""
    totals = prepared.signals.totals
    session: dict[str, object] = {
        "turns": totals.turns,
        "calls": sum(prepared.signals.tools.values()),
        "tokens_out": totals.usage["output_tokens"],
        "largest_context": totals.context,
        "signals": [
            {
                "dimension": signal.dimension,
                "signal": signal.label,
                "count": signal.count,
                "turns": sorted(signal.turns)[:_MAX_TURNS_NAMED],
            }
            for signal in prepared.signals.found
        ],
    }
    if prepared.left_out:
        session["turns_left_out"] = prepared.left_out
    return {"task": prepared.task, "session": session}


def questions(prepared: PreparedSession) -> list[Question]:
    """Return one question per part; each contains the user's first request and the signals of the whole session."""
    rubric = session_rubric()
    per_part = []
    for at, part in enumerate(prepared.parts):
        data = {**_facts(prepared), "turns": part.turns}
        if len(prepared.parts) > 1:
            data["part"] = {"number": at + 1, "of": len(prepared.parts)}
        tokens = int((part.tokens + 2000) * _TOKEN_MARGIN)
        per_part.append(Question(rubric, data, prepared.read_grade, tokens))
    return per_part


def pages(prepared: PreparedSession) -> list[str]:
    """Return the session as numbered pages.

    The rubric comes first, then task and signals, then the turns. All content of the session is JSON between tags that it cannot forge.
    """
    rubric = session_rubric()
    first = _facts(prepared)
    page_turns: list[list[dict[str, object]]] = [[]]
    page_size = len(rubric.system) + len(rubric.closing) + len(dumps(first))
    for turn in (turn for part in prepared.parts for turn in part.turns):
        size = len(dumps(turn, ensure_ascii=False)) + 2
        if page_turns[-1] and page_size + size > _PAGE:
            page_turns.append([])
            page_size = 0
        page_turns[-1].append(turn)
        page_size += size
    data = [{**(first if turns is page_turns[0] else {}), "turns": turns} for turns in page_turns]
    blocks = enumerate(map(data_block, data), 1)
    texts = ["Page %d of %d\n\n%s" % (at, len(page_turns), block) for at, block in blocks]
    texts[0] = "%s\n\n%s\n\n%s" % (rubric.system, rubric.closing, texts[0])
    return texts
