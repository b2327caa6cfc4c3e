"""Recall for one prompt, from top to bottom: gate, index, ranking, judges, decision, block, record.

Two thresholds decide: from `inject_threshold` up a memory is injected in full, from `pointer_threshold` up Claude gets a line that points
to it. The judges, if switched on, decide about the matches in between.
"""

from __future__ import annotations

from ..kernel.files import os_error_text
from .gate import MAX_FOLLOWUP, MIN_LENGTH, SHORT, effective_length, last_turn, load_gate
from .history import RecallHistory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.settings import Settings
    from .decision import Choice
    from .gate import Prompt
    from .history import Answer
    from .judging import Judged
    from .lookup import Lookup
    from .ranking import Hit

# A refresh in progress is not a fault: recall uses what is already indexed. Nor is a rebuild after an update or a change of the rules.
EXPECTED_PROBLEMS = ("refreshing", "refreshed_elsewhere", "index_outdated")
_NEAR_MISSES = 5
_RANKING_SECONDS = 3.0  # the rest of the prompt's time is for the judges


def recall(
    answer: Answer, prompt: Prompt, room: int, context: Context, trial: RecallHistory | None = None
) -> Answer:
    """Fill in the answer to one prompt and return it; `room` is the number of characters left in the hook's output.

    The caller creates the answer, so that it can save the record even if this raises. Only a bug raises: problems with files, the index
    and the deadline are recorded in the answer. With `trial`, no judge is asked, and what is injected is added only to that history.
    """
    settings = context.settings
    if not settings.flag("retrieval.enabled"):
        return answer.withhold("disabled", "skipped")
    previous_turn, refusal = _check_gate(prompt, settings)
    if refusal:
        return answer.withhold(refusal, "skipped")
    history = trial or RecallHistory(context.paths, context.session)
    _fill_in(answer, prompt, previous_turn, room, history, context, ask_judges=trial is None)
    if trial is None:
        try:
            history.save()
        except OSError as error:  # a memory may be repeated, which is better than no answer
            answer.record["problem"] = answer.record["problem"] or "session: " + os_error_text(error)
    elif answer.block or history.turn > 1:
        history.turn += 1  # as in a session: a prompt counts as a turn only once something was injected
    return answer


def _fill_in(
    answer: Answer,
    prompt: Prompt,
    previous_turn: str,
    room: int,
    history: RecallHistory,
    context: Context,
    *,
    ask_judges: bool,
) -> None:
    """Look up a prompt, fill in the answer, and add the injected memories to `history`, without saving it."""
    from .lookup import Lookup  # loads SQLite, which a skipped prompt does without

    settings = context.settings
    lookup = Lookup(context.within(_RANKING_SECONDS))
    pool = settings.integer("retrieval.judge.candidate_pool_size")
    is_on = ask_judges and settings.is_judge_enabled("retrieval")
    sees_all = is_on and settings.text("retrieval.judge.when") == "always"
    whole_store = settings.integer("retrieval.judge.whole_store") if sees_all else 0
    hits = lookup.best(prompt.visible_text, previous_turn, pool, whole_store)
    answer.needs_refresh = lookup.needs_refresh
    if hits:
        from .decision import apply_feedback

        apply_feedback(hits, context)
    judged = None
    if hits and is_on and lookup.answered_by == "fts5":
        new = [hit for hit in hits if not history.was_injected(hit.key, hit.injection_text)]
        from .judging import AUTO, judge_candidates

        judged = judge_candidates(
            prompt.visible_text,
            new,
            AUTO,
            context,
            previous_turn=previous_turn or _turn_before(prompt, settings),
            judges_off=prompt.judges_off,
        )
        answer.record["judge"] = judged.record()
        answer.notice = judged.notice
    if judged is None or not judged.verdicts:
        hits = [hit for hit in hits if hit.score > 0]  # the others were there for the judges alone
    choice = _choose_and_render(answer, room, lookup, history, hits, judged, settings)
    if (
        choice is not None and "\nFiles: " in answer.block
    ):  # most memories name none, and then nothing is imported
        from .named_files import with_gone_files

        answer.block = with_gone_files(answer.block, choice.full, context.paths.project_root)
    _describe(answer, lookup, hits, choice, settings)


def _turn_before(prompt: Prompt, settings: Settings) -> str:
    """Return the previous turn for the judges of a short prompt, which may be about it in any words; else empty."""
    if not settings.flag("retrieval.followups") or effective_length(prompt.visible_text) > MAX_FOLLOWUP:
        return ""
    return prompt.previous_turn or (last_turn(prompt.transcript) if prompt.transcript else "")


def _check_gate(prompt: Prompt, settings: Settings) -> tuple[str, str]:
    """Return the previous turn, if the prompt refers to it, and the reason why the prompt gets no memories (usually empty)."""
    gate = load_gate()
    refusal = gate.refusal(prompt.visible_text)
    if refusal:
        return "", refusal
    previous_turn = ""
    if (
        settings.flag("retrieval.followups")
        and (prompt.previous_turn or prompt.transcript)
        and gate.is_followup(prompt.visible_text)
    ):
        previous_turn = prompt.previous_turn or last_turn(prompt.transcript)
    if not previous_turn and effective_length(prompt.visible_text) < MIN_LENGTH:
        refusal = SHORT
    return previous_turn, refusal


def _choose_and_render(
    answer: Answer,
    room: int,
    lookup: Lookup,
    history: RecallHistory,
    hits: list[Hit],
    judged: Judged | None,
    settings: Settings,
) -> Choice | None:
    """Choose among the hits and fill in the answer; return None if there is nothing to choose from."""
    from .decision import Limits, choose, render_answer
    from .ranking import Hit

    reason = judged.silenced if judged else ""
    if not settings.integer("retrieval.max_inject"):
        reason = "max_inject"
    if not hits:
        reason = lookup.problem or "no_match"
    if reason:
        answer.withhold(reason)
        return None
    limits = Limits(settings, room)
    if judged is not None:
        limits.max_inject = min(limits.max_inject, judged.max_inject)
    choice = choose(hits, judged.approvals if judged else {}, limits, history, Hit.is_current)
    answer.needs_refresh = answer.needs_refresh or "edited" in choice.withheld.values()
    if choice.full or choice.pointers:
        render_answer(answer, choice, history, settings.text("retrieval.receipt"))
    else:
        answer.withhold(choice.reason)
    return choice


def _describe(
    answer: Answer, lookup: Lookup, hits: list[Hit], choice: Choice | None, settings: Settings
) -> None:
    """Add the best few hits and all chosen ones to the record."""
    chosen = {hit.key for hit in choice.full + choice.pointers} if choice else set()
    withheld = choice.withheld if choice else {}
    answer.record.update(
        answered_by=lookup.answered_by,
        candidates=[
            {**candidate_row(hit), **_parts(hit, withheld.get(hit.key, ""))}
            for at, hit in enumerate(hits)
            if (at < _NEAR_MISSES and hit.score > 0) or hit.key in chosen
        ],
        found=sum(hit.score > 0 for hit in hits),
        inject_threshold=settings.number("retrieval.inject_threshold"),
        pointer_threshold=settings.number("retrieval.pointer_threshold"),
        unread=lookup.unread,
        problem=lookup.problem,
    )


def candidate_row(hit: Hit) -> dict[str, object]:
    """Return what the record of a decision says about a hit."""
    return {
        "key": hit.key,
        "confidence": round(hit.confidence, 4),
        "pointer_confidence": round(hit.pointer_confidence, 4),
        "score": round(hit.score, 3),
    }


def _parts(hit: Hit, withheld: str) -> dict[str, object]:
    row: dict[str, object] = {"shift": round(hit.shift, 3)} if hit.shift else {}
    if withheld:
        row["withheld"] = withheld
    # Numbers only: the matched words come from the prompt and must not reach the ledger.
    numbers = {name: part for name, part in hit.parts.items() if isinstance(part, (int, float))}
    row["parts"] = {name: round(part, 3) for name, part in numbers.items()}
    return row
