"""Recall for one prompt that the gate admits, from top to bottom: index, ranking, judges, decision, block, record.

Two thresholds decide: from `inject_threshold` up a memory is injected in full, from `pointer_threshold` up Claude gets a line that points
to it. The judges, if switched on, decide about the matches in between.

Recall never waits for a refresh: if the stores changed, it uses what is indexed, and a background process brings the index up to date. Only
an index that is missing or damaged is created at once, from a few files. A change of trust takes effect at once.
"""

from __future__ import annotations

from ..kernel.files import Busy, error_text, os_error_text
from .gate import MAX_FOLLOWUP, Answer, Prompt, effective_length
from .history import RecallHistory
from .index_file import INDEX_ERRORS, changed_paths, discard, index_path, new_decisions, open_index
from .query import Corpus, Query, analyze
from .ranking import FTS5, Hit, Hits, candidate_backend, rank, unranked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.settings import Settings
    from ..kernel.sqlite import Connection
    from .decision import Choice
    from .judging import Judged

_NEAR_MISSES = 5
_RANKING_SECONDS = 3.0  # the rest of the prompt's time is for the judges
# The endings of watched files that decide what is trusted.
_TRUST = ("trusted.jsonl", "rejected.jsonl", "settings.json")


def recall(
    answer: Answer, prompt: Prompt, room: int, context: Context, trial: RecallHistory | None = None
) -> None:
    """Fill in the answer to one prompt; `room` is the number of characters left in the hook's output.

    The caller creates the answer, so that it can save the record even if this raises. Only a bug raises: problems with files, the index
    and the deadline are recorded in the answer. With `trial`, no judge is asked, and what is injected is added only to that history.
    """
    settings, history = context.settings, trial or RecallHistory(context.paths, context.session)
    is_on = trial is None and settings.is_judge_enabled("retrieval")
    sees_all = is_on and settings.text("retrieval.judge.when") == "always"
    whole_store = settings.integer("retrieval.judge.whole_store") if sees_all else 0
    lookup = Lookup(answer, context.within(_RANKING_SECONDS))
    pool = settings.integer("retrieval.judge.candidate_pool_size")
    hits = lookup.best(prompt.visible_text, prompt.followed, pool, whole_store)
    judged = None
    if hits and is_on and answer.record["answered_by"] == FTS5:
        judged = _judged(prompt, hits, history, context)
        answer.record["judge"] = judged.record()
        answer.notice = judged.notice
    if judged is None or not judged.verdicts:
        hits = [hit for hit in hits if hit.score > 0]  # the others were there for the judges alone
    reason = _why_nothing(answer, hits, judged, settings)
    choice = None if reason else _choose(answer, hits, judged, room, history, context)
    if reason:
        answer.withhold(reason)
    _describe(answer, hits, choice)
    if trial is None:
        try:
            history.save()
        except OSError as error:  # a memory may be repeated, which is better than no answer
            answer.record["problem"] = answer.record["problem"] or "session: " + os_error_text(error)
    elif answer.block or history.turn > 1:
        history.turn += 1  # as in a session: a prompt counts as a turn only once something was injected


def _judged(prompt: Prompt, hits: Hits, history: RecallHistory, context: Context) -> Judged:
    """Return the judges' answers about the hits that Claude does not have yet; a short prompt may be about the turn before in any words."""
    from .judging import AUTO, judge_candidates

    text = prompt.visible_text
    is_short = context.settings.flag("retrieval.followups") and effective_length(text) <= MAX_FOLLOWUP
    turn = prompt.followed or (prompt.turn_before() if is_short else "")
    new = [hit for hit in hits if not history.was_injected(hit.key, hit.injection_text)]
    return judge_candidates(text, new, AUTO, context, previous_turn=turn, judges_off=prompt.judges_off)


def _why_nothing(answer: Answer, hits: Hits, judged: Judged | None, settings: Settings) -> str:
    """Return why there is nothing to choose from; usually empty."""
    if not hits:
        return answer.record["problem"] or "no_match"
    if not settings.integer("retrieval.max_inject"):
        return "max_inject"
    return judged.silenced if judged else ""


def _choose(
    answer: Answer, hits: Hits, judged: Judged | None, room: int, history: RecallHistory, context: Context
) -> Choice:
    """Choose among the hits, fill in the answer, and add what is injected to `history`, without saving it."""
    from .decision import Limits, apply_feedback, choose, render_answer, with_gone_files

    apply_feedback(hits, context)
    limits = Limits(context.settings, room)
    if judged is not None:
        limits.max_inject = min(limits.max_inject, judged.max_inject)
    choice = choose(hits, judged.approvals if judged else {}, limits, history)
    answer.needs_refresh = answer.needs_refresh or "edited" in choice.withheld.values()
    if not choice.full and not choice.pointers:
        answer.withhold(choice.reason)
        return choice
    render_answer(answer, choice, history, context.settings.text("retrieval.receipt"))
    answer.block = with_gone_files(answer.block, choice.full, context.paths.project_root)
    return choice


def _describe(answer: Answer, hits: Hits, choice: Choice | None) -> None:
    """Add the best few hits and all chosen ones to the record."""
    chosen = {hit.key for hit in choice.full + choice.pointers} if choice else set()
    near = [hit for at, hit in enumerate(hits) if (at < _NEAR_MISSES and hit.score > 0) or hit.key in chosen]
    withheld = choice.withheld if choice else {}
    answer.record["candidates"] = [candidate_row(hit, withheld.get(hit.key, "")) for hit in near]


def candidate_row(hit: Hit, withheld: str = "") -> dict[str, object]:
    """Return what the record of a decision says about a hit: the way in which it names a file, or how well it matches.

    The matching words (`hit.terms`) come from the prompt and must not reach the ledger.
    """
    if hit.way:
        return {"key": hit.key, "way": hit.way}
    row: dict[str, object] = {
        "key": hit.key,
        "confidence": round(hit.confidence, 4),
        "pointer_confidence": round(hit.pointer_confidence, 4),
        "score": round(hit.score, 3),
    }
    if hit.shift:
        row["shift"] = round(hit.shift, 3)
    if withheld:
        row["withheld"] = withheld
    return row


class Lookup:
    """One query to the index, within the deadline of its context.

    The record of its answer gets the thresholds, `answered_by` (fts5, keyword or none), and `problem`: why the index could not answer or
    is not up to date. The answer says whether a background process must bring the index up to date.
    """

    def __init__(self, answer: Answer, context: Context) -> None:
        self._answer, self._context = answer, context
        names = ("inject_threshold", "pointer_threshold")
        thresholds = {name: context.settings.number("retrieval." + name) for name in names}
        answer.record.update(thresholds, answered_by="none", problem="")

    def best(self, text: str, previous_turn: str, pool: int, whole_store: int = 0) -> Hits:
        """Return at most `pool` injectable memories for a text, best first.

        A missing index is created from a few files, or what another process has committed is used; a damaged one is rebuilt once a day.
        The others of a store of at most `whole_store` follow. `previous_turn` has less weight.
        """
        path, query = index_path(self._context.paths), analyze(text, previous_turn)
        record = self._answer.record
        for is_last in (False, True):
            connection = None
            try:
                connection = open_index(path)
                return self._ranked(connection, query, pool, whole_store)
            except TimeoutError:
                record["problem"] = "timeout"
                break
            except INDEX_ERRORS as error:
                reason, is_gone = discard(path, error)
                record["problem"] = reason or record["problem"]
                self._answer.needs_refresh = is_gone is not None
                if not is_gone:
                    break
            finally:
                if connection is not None:
                    connection.close()
            if not is_last:
                record["problem"] = refresh_some(self._context) or record["problem"]
        return []

    def _ranked(self, connection: Connection, query: Query, pool: int, whole_store: int) -> Hits:
        connection.execute("BEGIN")  # else each statement locks the file, with eight system calls
        record, changed = self._answer.record, changed_paths(connection)
        if changed != set():
            record["problem"] = record["problem"] or "refreshing"
            self._answer.needs_refresh = True
        strategy, deadline = self._context.settings.text("retrieval.match_strategy"), self._context.deadline
        record["answered_by"] = backend = candidate_backend(connection, strategy)
        hits = rank(Corpus(connection, only_injectable=True), query, pool, deadline, backend)
        if whole_store:
            hits += unranked(connection, hits, whole_store)
        if hits and (changed is None or any(path.endswith(_TRUST) for path in changed)):
            return self._without_doubt(connection, hits)
        return hits

    def _without_doubt(self, connection: Connection, hits: Hits) -> Hits:
        """Return the hits without those about which the user decided since they were indexed."""
        from ..memories.trust_file import DecisionFile, decision_paths

        trusted, rejected = map(DecisionFile, decision_paths(self._context.paths))
        accept_from = self._context.settings.texts("trust.accept_from")
        try:
            trusted.load()
            rejected.load()
            decided, _ = new_decisions(connection, trusted, rejected, accept_from)
        except OSError as error:
            self._answer.record["problem"] = "not_refreshed: %s" % os_error_text(error)
            return hits
        if decided is None:
            return []
        query = "SELECT full_digest, text_digest, new_phrases FROM documents WHERE key = ?"
        texts = {hit.key: connection.execute(query, (hit.key,)).fetchone() or () for hit in hits}
        return [hit for hit in hits if decided.isdisjoint(texts[hit.key])]


def refresh_some(context: Context, wait: float = 0.0) -> str:
    """Bring the index up to date with a few files, unless another process does so for `wait` seconds; return what went wrong, or ""."""
    from .index_refresh import refresh_index
    from .store_refresh import hook_read_budget

    try:
        refresh_index(context.paths, context.settings, 1, budget=hook_read_budget(), wait=wait)
    except Busy:
        return "refreshed_elsewhere"
    except (*INDEX_ERRORS, OSError) as error:
        return "no_index: %s" % error_text(error)
    return ""
