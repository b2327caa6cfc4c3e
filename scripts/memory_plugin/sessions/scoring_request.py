"""Build the request to a scorer: read and prepare a session, as questions for a judge or as pages for a sub-agent."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import digest
from ..kernel.judge.question import Question, data_block, read_rubric
from ..kernel.overrides import load_or_shipped
from .dimensions import changed_weights
from .scorer_reply import read_scores
from .session_digest import TranscriptDigest, display_limits, signal_facts, split_turns
from .session_signals import collect_signals

if TYPE_CHECKING:
    from ..kernel.judge.question import Rubric
    from ..kernel.settings.load import Settings
    from .session_digest import Chunk
    from .session_signals import SessionSignals

RUBRIC = "sessions/score"
_TOKEN_MARGIN = 1.3  # the reservation allows for an estimate that is too low


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


def prepare(path: str, settings: Settings, max_tokens: float | None = None) -> PreparedSession:
    """Read a transcript once; return its signals, and its turns as a scorer sees them.

    With `max_tokens`, the turns are thinned out to that number and are one part. Raises FileNotFoundError and Unreadable.
    """
    digest = TranscriptDigest(max_tokens)
    signals = collect_signals(path, digest.add)
    threshold, target = (settings.integer("sessions.chunk_" + name) for name in ("above_tokens", "tokens"))
    parts = split_turns(digest.shown, max_tokens or threshold, max_tokens or min(target, threshold))
    return PreparedSession(path, signals, digest.task, parts, digest.left_out)


def rubric_digest() -> str:
    """Return the version of the rubric and the weights; scores of different versions are not comparable.

    The shipped weights add nothing to it, so scores from before weights could be changed stay comparable.
    """
    weights = changed_weights()
    version = session_rubric().digest
    return version if not weights else digest(("%s %s" % (version, dumps(weights))).encode("ascii"), 6)


def session_rubric() -> Rubric:
    """Return the scorer's prompt, with the user's overrides."""
    return read_rubric(load_or_shipped("sessions", "prompt"), RUBRIC, RUBRIC)


def questions(prepared: PreparedSession) -> list[Question]:
    """Return one question per part; each contains the user's first request and the signals of the whole session."""
    rubric = session_rubric()
    facts = signal_facts(prepared.signals)
    per_part = []
    for at, part in enumerate(prepared.parts):
        data: dict[str, Any] = {"task": prepared.task, "session": facts, "turns": part.turns}
        if len(prepared.parts) > 1:
            data["part"] = {"number": at + 1, "of": len(prepared.parts)}
        if prepared.left_out:
            data["turns_left_out_of_the_session"] = prepared.left_out
        per_part.append(Question(rubric, data, read_scores, int((part.tokens + 2000) * _TOKEN_MARGIN)))
    return per_part


def agent_tokens() -> float:
    """Return the maximum number of tokens that a sub-agent is shown."""
    return float(display_limits()["agent_tokens"])


def pages(prepared: PreparedSession) -> list[str]:
    """Return the session as numbered pages, because the client cuts a tool's output at 30,000 characters.

    The rubric comes first, then task and signals, then the turns. All content of the session is JSON between tags that it cannot forge.
    """
    rubric = session_rubric()
    max_characters = int(display_limits()["page_characters"])
    first: dict[str, Any] = {"task": prepared.task, "session": signal_facts(prepared.signals)}
    if prepared.left_out:
        first["turns_left_out"] = prepared.left_out
    page_turns: list[list[dict[str, Any]]] = [[]]
    page_size = len(rubric.system) + len(rubric.closing) + len(dumps(first))
    for part in prepared.parts:
        for turn in part.turns:
            size = len(dumps(turn, ensure_ascii=False)) + 2
            if page_turns[-1] and page_size + size > max_characters:
                page_turns.append([])
                page_size = 0
            page_turns[-1].append(turn)
            page_size += size
    data = [
        data_block({**first, "turns": page_turns[0]}),
        *(data_block({"turns": turns}) for turns in page_turns[1:]),
    ]
    texts = ["Page %d of %d\n\n%s" % (at + 1, len(data), text) for at, text in enumerate(data)]
    texts[0] = "%s\n\n%s\n\n%s" % (rubric.system, rubric.closing, texts[0])
    return texts
