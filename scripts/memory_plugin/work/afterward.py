"""What follows a reply or a session, in the background: one process runs the steps of STEPS in turn, and none may stop the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import sleep
from typing import NamedTuple

from ..capture.pipeline import Ask, Reading, SectionWatch, keep, session_candidates, turn_candidates
from ..host import PROBLEM, log_event
from ..kernel.context import Context
from ..kernel.fastjson import load_object
from ..kernel.files import bug_text, os_error_text
from ..kernel.judge.asking import Judge
from ..kernel.judge.vendors import HOST
from ..recall.history import USED, record_feedback
from ..recall.recall_rows import find_uses
from ..replies import ReplyState
from ..replies.judge import DISABLING_FAILURES, GradeMaterial, grade_reply, read_turn
from ..replies.rows import Score
from ..replies.score import may_request_grade, read_last_reply, score_reply
from .candidate_check import check_for, keep_with_others, may_use, section_watch
from .past_sessions import IN_BACKGROUND, update_index

_PROPOSE_SECONDS = 120.0
_JUDGE_SECONDS = 30.0
_PHRASES_SECONDS = 9.0  # the client listens for ten after a reply
_NOTE_DAYS = 1.0
_LAGS, _LAG = 20, 0.1  # how often, and for how many seconds, to wait for the transcript's row of a long reply


class Ended(NamedTuple):
    """What a hook hands over; `text` is empty if its `length` is more than a pipe holds, and `judges_off` if a project redirects them."""

    event: str
    session: str = ""
    transcript: str = ""
    prompt_id: str = ""
    text: str = ""
    length: int = 0
    judges_off: bool = True

    @classmethod
    def parse(cls, data: bytes) -> Ended:
        """Return the request of a hook. Raises ValueError for anything else."""
        request = load_object(data) or {}
        kinds = {"event": str, **{name: type(value) for name, value in cls._field_defaults.items()}}
        are_right = all(type(value) is kinds.get(name) for name, value in request.items())
        if not are_right or request.get("event") not in STEPS:
            raise ValueError("no request of a hook")
        return cls(**request)


class _Work:
    """The reply that ended, its score once it is scored, and what the steps need."""

    def __init__(self, ended: Ended, context: Context, why_off: str) -> None:
        self.ended = ended
        self.context = context
        self.why_off = why_off
        self.text = _text_of(ended)
        self.score: Score | None = None

    def log(self, text: str, kind: str = PROBLEM) -> None:
        """Append a problem to the events ledger."""
        log_event(self.context.paths, self.context.session, self.ended.event, kind, text)


def _text_of(ended: Ended) -> str:
    """Return the reply's text, from the transcript, which may lag behind, if it was too long to be handed over."""
    for _ in range(_LAGS if ended.length and not ended.text else 0):
        text = read_last_reply(ended.transcript).text
        if len(text) == ended.length:
            return text
        sleep(_LAG)
    return ended.text


def run_steps(ended: Ended, context: Context, why_off: str) -> int:
    """Run the steps after an event and return how many failed. `why_off` says why no judge may be asked; empty if one may."""
    unlimited = Context(context.paths, context.settings, context.deadline, ended.session)
    work = _Work(ended, unlimited, why_off)
    failed = 0
    for step in STEPS[ended.event]:
        try:
            step(work)
        except OSError as error:
            failed += 1
            work.log(str(error) if error.errno is None else os_error_text(error))
        except Exception as error:  # a bug in one step must not stop the others
            failed += 1
            work.log(bug_text(error), "error")
    return failed


def _score(work: _Work) -> None:
    """Score the reply, and save a correction for the next prompt."""
    if work.context.settings.text("scoring.mode") == "off":
        return
    ended = work.ended
    work.score, work.text, errors = score_reply(work.text, work.context, ended.prompt_id, ended.transcript)
    for error in errors:
        work.log(str(error))


def _grade(work: _Work) -> None:
    """Ask the judge about a reply on which the rules are unsure, or that is in the audit sample; a failure may disable it."""
    context, score = work.context, work.score
    judges_off = work.ended.judges_off or bool(work.why_off)
    if score is None or not (score.escalate or score.audit):
        return
    if not may_request_grade(context, judges_off=judges_off):
        return
    timed = context.within(context.settings.integer("scoring.judge.timeout_ms") / 1000)
    material = GradeMaterial(score.query_type, *read_turn(work.ended.transcript), work.text)
    failure = grade_reply(score, material, Judge("scoring", timed), timed)
    # Two replies in a row may be graded at the same time.
    if failure in DISABLING_FAILURES and ReplyState(context.paths, context.session).disable_judge(failure):
        text = "replies of this session are no longer judged: %s; see: memory judge check" % failure
        work.log(text, "judge")


def _record_uses(work: _Work) -> None:
    """Record which of the memories injected in this session the reply used."""
    context, ended = work.context, work.ended
    if not context.settings.flag("retrieval.feedback") or not context.session:
        return
    used = find_uses(work.text, ended.transcript, ended.prompt_id, context)
    if used:
        record_feedback(context.paths, used, USED)
        context.append("feedback", {"kind": USED, "memories": used, "prompt_id": ended.prompt_id})


def _capture_judge(work: _Work) -> Ask | None:
    """Return how to ask the judge about statements; None if it is off. When a session ends, only its earlier answers count."""
    if not work.context.settings.is_judge_enabled("capture"):
        return None
    timed = work.context.within(_JUDGE_SECONDS)
    judge = Judge("capture", timed, off=work.why_off)
    if work.ended.event != "Stop" or work.ended.judges_off:
        return judge.cached
    return lambda question: judge.ask(question, timed.deadline).values


def _propose(work: _Work) -> None:
    """Keep what the turn, or the whole session, says that may be worth remembering."""
    context, transcript = work.context.within(_PROPOSE_SECONDS), work.ended.transcript
    if context.settings.text("capture.mode") == "off":
        return
    ask = _capture_judge(work)
    if work.ended.event == "Stop":
        found = turn_candidates(transcript, Reading(may_use, SectionWatch([]), ask), context.session)
        if found:
            keep(found, check_for(context), context)
        return
    reading = Reading(may_use, section_watch(context), ask)
    found = session_candidates(transcript, reading, context) if os.path.isfile(transcript) else []
    keep_with_others(found, reading.watch, _NOTE_DAYS, context)


def _write_phrases(work: _Work) -> None:
    """Let the client's model write phrases for memories that have none, and tell the user with the next reply."""
    context, settings = work.context, work.context.settings
    is_on = settings.is_judge_enabled("retrieval") and settings.flag("retrieval.judge.phrases")
    if not is_on or settings.text("judge.backend") != HOST or work.ended.judges_off or work.why_off:
        return
    from .search_phrases import tell_written, write_phrases  # most sessions have no such judge

    tell_written(write_phrases(context.within(_PHRASES_SECONDS)), context)


def _index_past(work: _Work) -> None:
    """Index what the session adds to the past sessions of this project."""
    for problem in update_index(work.context, IN_BACKGROUND):
        work.log(problem)


def _grade_session(work: _Work) -> None:
    """Grade the session, if the user's settings say so."""
    settings = work.context.settings
    if settings.text("sessions.judge.when") != "ended" or work.ended.judges_off or work.why_off:
        return
    from ..sessions.grade import SessionScorer, grade_ended  # most sessions are not graded

    problem = grade_ended(work.ended.transcript, SessionScorer(work.context.paths, settings))
    if problem:
        work.log(problem)


# Event -> what follows it, in this order.
STEPS: dict[str, tuple[Callable[[_Work], None], ...]] = {
    "Stop": (_score, _record_uses, _grade, _propose, _write_phrases, _index_past),
    "PreCompact": (_propose,),
    "SessionEnd": (_propose, _index_past, _grade_session),
}
