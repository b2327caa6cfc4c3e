"""Ask two judges about the candidates of a prompt or search: which are relevant, and which are useful.

On a prompt, a memory that both judges approve is injected, and one that only one approves becomes a pointer. A search shows the memories
that are approved. The judges see the whole store if it has at most `whole_store` memories, else the best `candidate_pool_size` candidates;
with `when: unsure` only those between `min_confidence` and the inject threshold: titles, categories and tags in random order. `path` names
the result:

    judged    both judges answered
    partial   one of them answered
    single    one combined question was answered
    fallback  none answered: the thresholds decide, at most `fallback_top_k` in full
    no_key    there is no key: as `fallback`
    disabled  judges are switched off here: as if they had never been on
    rules     no candidate was unsure, or sure ones fill every place: the thresholds decide
"""

from __future__ import annotations

from ..kernel.context import Context
from ..kernel.fastjson import digest
from ..kernel.judge.question import Question, Verdict, chosen_indices, excerpt, load_rubric, one_line
from ..kernel.settings import Settings
from .ranking import Hits

AUTO, SEARCH = "auto", "search"
_BLOCK = "retrieval.judge."
_MAX_PROMPT, _MAX_TITLE, _MAX_TAG = 500, 120, 40  # characters
_MAX_TAGS = 12  # of one memory
# (rubric, key of its answer)
_DUAL = (("relevance", "relevant"), ("usefulness", "useful"))
_SINGLE = (("combined", "keep"),)
_TAINTED = "the project's own settings set variables that decide where keys and texts go; see: memory doctor"


class Judged:
    """The judges' verdicts on the candidates, and how they were reached.

    approvals: key of each judged hit -> "both", "one" or "none" of the judges that answered
    max_inject: how many may be injected in full; silenced: why nothing at all may be injected, usually empty
    search_hits: the hits that a search shows, in the order of the ranking
    path, reasons: the result as in the table above, and what failed
    verdicts: key -> (relevant, useful), None for a judge that did not answer
    notice: a line for the user, usually empty
    costs: for the ledger, how many hits the judges were shown, what they answered, and what that cost
    """

    def __init__(self, path: str, max_inject: int, reasons: list[str]) -> None:
        self.path = path
        self.max_inject = max_inject
        self.reasons = reasons
        self.silenced = ""
        self.search_hits: Hits = []
        self.approvals: dict[str, str] = {}
        self.verdicts: dict[str, list[bool | None]] = {}
        self.notice = ""
        self.costs: dict[str, object] = {"asked": 0}

    def record(self) -> dict[str, object]:
        """Return the fields for the ledger."""
        return {"path": self.path, "reasons": self.reasons, **self.costs}


def judge_candidates(
    prompt: str, hits: Hits, mode: str, context: Context, *, judges_off: bool, previous_turn: str = ""
) -> Judged:
    """Return the judges' answers about the hits (best first) of a prompt (AUTO) or a search (SEARCH) within the context's deadline.

    `previous_turn` is that of a follow-up. `judges_off` means that the project may not use judges, because its settings decide where keys
    and texts go. The user's `apiKeyHelper` is run only for a search. Never raises.
    """
    settings = context.settings
    deadline = context.deadline.within(settings.number(_BLOCK + "timeout_per_call"))
    switched_on = settings.is_judge_enabled("retrieval")
    if judges_off or not switched_on:
        return _unjudged("disabled", hits, mode, settings, [_TAINTED] if judges_off and switched_on else [])
    from ..kernel.judge.asking import Judge

    judge = Judge("retrieval", context, waits=mode != SEARCH)
    problem = judge.unready()
    if problem is not None:
        path = "no_key" if problem.failure == "no_key" else "fallback"
        return _unjudged(path, hits, mode, settings, [problem.failure])
    pool = _candidates(hits, mode, settings)
    if not pool:
        return _unjudged("rules", hits, mode, settings, [])
    shown = _shuffled(pool, prompt)
    rubrics = _DUAL if settings.flag(_BLOCK + "dual_verification") else _SINGLE
    data = _data(prompt, previous_turn, shown)
    questions = [_question(name, key, data, len(shown)) for name, key in rubrics]
    verdicts = judge.ask_all(questions, deadline)
    judged = _judged(hits, shown, verdicts, mode, settings)
    judged.costs["asked"] = len(shown)
    judged.notice = judge.notice
    return judged


def _judged(hits: Hits, shown: Hits, verdicts: list[Verdict], mode: str, settings: Settings) -> Judged:
    """Combine the verdicts: of two judges (relevance and usefulness), or of one that was asked about both."""
    chosen = [None if one.values is None else one.values["chosen"] for one in verdicts]
    answers = [None if places is None else {shown[at].key for at in places} for places in chosen]
    answered = [answer for answer in answers if answer is not None]
    rubrics = _DUAL if len(verdicts) > 1 else _SINGLE
    failures = ["%s: %s" % (name, one.failure) for (name, _), one in zip(rubrics, verdicts) if one.failure]
    if not answered:
        return _unjudged("fallback", hits, mode, settings, failures)
    path = "single" if len(verdicts) == 1 else "judged" if len(answered) == len(verdicts) else "partial"
    judged = Judged(path, _max_output(mode, settings), failures)
    pair = answers if len(answers) > 1 else answers * 2  # one combined answer counts for both
    keys = [hit.key for hit in shown]
    judged.verdicts = {key: [None if one is None else key in one for one in pair] for key in keys}
    judged.approvals = _approvals(answered, shown, settings.text(_BLOCK + "modes.%s.verification" % mode))
    judged.search_hits = [hit for hit in hits if judged.approvals.get(hit.key) == "both"]
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    cost = round(sum(costs), 8) if len(costs) == len(verdicts) else None
    slowest = max(verdict.ms for verdict in verdicts)
    judged.costs.update(verdicts=judged.verdicts, judge_ms=slowest, cost_usd=cost)
    return judged


def _unjudged(path: str, hits: Hits, mode: str, settings: Settings, reasons: list[str]) -> Judged:
    """Return the result without judges: on a prompt the thresholds decide, a search shows all its hits."""
    max_inject = settings.integer("retrieval.max_inject")
    if path in ("fallback", "no_key"):
        max_inject = min(max_inject, settings.integer(_BLOCK + "fallback_top_k"))
    elif path == "rules":
        max_inject = _max_output(AUTO, settings)
    judged = Judged(path, max_inject, reasons)
    if max_inject == 0:
        judged.silenced = "no_fallback" if path in ("fallback", "no_key") else "max_inject"
    if mode == SEARCH:
        judged.search_hits = hits
    return judged


def _max_output(mode: str, settings: Settings) -> int:
    max_output = settings.integer(_BLOCK + "modes.%s.max_output" % mode)
    return max_output if mode == SEARCH else min(max_output, settings.integer("retrieval.max_inject"))


def _candidates(hits: Hits, mode: str, settings: Settings) -> Hits:
    """Return the hits that the judges are asked about; with `when: unsure` none if sure ones fill every place.

    The upper bound is the user's own threshold: a project that raises it to recall less must not cause more to be sent.
    """
    if mode == SEARCH:
        return hits
    pool = hits[: max(settings.integer(_BLOCK + name) for name in ("candidate_pool_size", "whole_store"))]
    if settings.text(_BLOCK + "when") == "always":
        return pool
    sure = [hit for hit in hits if hit.confidence >= settings.number("retrieval.inject_threshold")]
    if len(sure) >= _max_output(mode, settings):
        return []
    low = settings.number(_BLOCK + "min_confidence")
    high = settings.user_number("retrieval.inject_threshold")
    return [hit for hit in pool if low <= hit.confidence < high]


def _shuffled(hits: Hits, prompt: str) -> Hits:
    """Return the hits in an order that depends only on the prompt, so that it does not show the judges their rank."""
    seed = digest(prompt.encode("utf-8", "replace"))
    return sorted(hits, key=lambda hit: digest((seed + hit.key).encode("utf-8", "replace")))


def _data(prompt: str, previous_turn: str, shown: Hits) -> dict[str, object]:
    request = excerpt(prompt, _MAX_PROMPT)
    data: dict[str, object] = {"request": request}
    room = _MAX_PROMPT - len(request)
    if previous_turn and room > _MAX_TAG:
        data["said_before"] = excerpt(previous_turn, room)
    data["notes"] = [
        {
            "index": at,
            "category": hit.category.lower(),
            "title": one_line(hit.title, _MAX_TITLE),
            "tags": [one_line(tag, _MAX_TAG) for tag in hit.tags[:_MAX_TAGS]],
        }
        for at, hit in enumerate(shown)
    ]
    return data


def _question(name: str, key: str, data: dict[str, object], offered: int) -> Question:
    return Question(load_rubric(name), data, lambda value: chosen_indices(value, key, offered))


def _approvals(answered: list[set[str]], shown: Hits, verification: str) -> dict[str, str]:
    """Return "both", "one" or "none" for each shown hit, by the judges that answered; unless strict, one counts as both."""
    needed = len(answered) if verification == "strict" else 1
    votes = {hit.key: sum(hit.key in answer for answer in answered) for hit in shown}
    return {key: "both" if count >= needed else "one" if count else "none" for key, count in votes.items()}
