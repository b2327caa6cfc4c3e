"""Two opinions on candidates: which are relevant, which are useful; strict for a prompt, lenient for a search.

The rules decide what they are sure of.  What lies between the floors goes to the judges, shuffled, as titles,
categories and tags; where they do not answer, a named rung of the cascade does:

    judged    both answered            single    one combined question was answered
    partial   one answered             fallback  none did: the best `fallback_top_k` above the high floor
    no_key    there is no key: same    disabled  no judge is wanted here: the best `max_inject` above the high floor
    rules     nothing was unsure, or the sure ones take every place
"""

from __future__ import annotations

from ..kernel.native import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.clock import Deadline
    from ..kernel.judge.judge import Judge
    from ..kernel.judge.question import Question, Verdict
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .ranking import Hit

__all__ = ["AUTO", "SEARCH", "Candidates", "Judged", "judge_candidates"]

AUTO, SEARCH = "auto", "search"
_BLOCK = "retrieval.judge."
_SEARCH_POOL = 20
_PROMPT, _TITLE, _TAG, _TAGS = 500, 120, 40, 12  # characters, and tags of one memory
_DUAL = (("relevance", "relevant"), ("usefulness", "useful"))
_SINGLE = (("combined", "keep"),)
_TAINTED = "the project's own settings set variables that decide where keys and texts go; see: memory doctor"


class Candidates:
    """What there is to judge: the prompt as typed, the turn before where it is a follow-up, the hits, best first."""

    __slots__ = ("before", "hits", "prompt")

    def __init__(self, prompt: str, hits: list[Hit], before: str = "") -> None:
        self.prompt = prompt
        self.hits = hits
        self.before = before


class Judged:
    """What is kept, in the order of the ranking, and how that came.

    `path` is the rung of the cascade, `reasons` name what failed, `verdicts` maps a hit's key to what the judges
    said of it, (relevant, useful), None where one did not answer; `notice` is a line for the user, mostly empty.
    """

    __slots__ = ("asked", "dropped", "kept", "notice", "path", "reasons", "spent", "verdicts")

    def __init__(self, kept: list[Hit], path: str) -> None:
        self.kept = kept
        self.path = path
        self.reasons: list[str] = []
        self.verdicts: dict[str, tuple[bool | None, bool | None]] = {}
        self.asked = 0
        self.dropped = 0
        self.notice = ""
        self.spent: dict[str, object] = {}

    def record(self) -> dict[str, object]:
        """What the ledger keeps of it."""
        record: dict[str, object] = {"path": self.path, "reasons": self.reasons, "asked": self.asked}
        if self.verdicts:
            verdicts = {key: list(pair) for key, pair in self.verdicts.items()}
            record.update(verdicts=verdicts, dropped=self.dropped, **self.spent)
        return record


def judge_candidates(
    candidates: Candidates,
    mode: str,
    places: Places,
    settings: Settings,
    session: str,
    deadline: Deadline,
    taint_off: bool = False,
) -> Judged:
    """The hits to inject (AUTO) or to show (SEARCH); always an answer, by the deadline, whatever the judges do.

    `taint_off` says that the project may not use judges (security: its settings reach for keys or addresses).  Only
    in a search the user's `apiKeyHelper` may be run.
    """
    deadline = deadline.within(settings.number(_BLOCK + "timeout_per_call"))
    hits = candidates.hits
    if taint_off or not settings.judge_asked_for("retrieval"):
        judged = Judged(_without_judge(hits, mode, settings, "disabled"), "disabled")
        judged.reasons = [_TAINTED] if taint_off and settings.judge_asked_for("retrieval") else []
        return judged
    from ..kernel.judge.judge import Judge

    model = settings.text(_BLOCK + "model")
    judge = Judge("retrieval", model, places, settings, session, helper=mode == SEARCH)
    trouble = judge.unready()
    if trouble is not None:
        path = "no_key" if trouble.failure == "no_key" else "fallback"
        judged = Judged(_without_judge(hits, mode, settings, path), path)
        judged.reasons = [trouble.failure]
        return judged
    unsure = _unsure(hits, mode, settings)
    if not unsure or len(_settled(hits, mode, settings)) >= _most(mode, settings):
        return Judged(_without_judge(hits, mode, settings, "rules"), "rules")
    return _ask(judge, candidates, unsure, mode, settings, deadline)


def _without_judge(hits: list[Hit], mode: str, settings: Settings, path: str) -> list[Hit]:
    """What is kept when no judge spoke."""
    if mode == SEARCH:
        return hits[: settings.integer(_BLOCK + "modes.search.max_output")]
    most = settings.integer("retrieval.max_inject")
    if path in ("fallback", "no_key"):
        most = min(most, settings.integer(_BLOCK + "fallback_top_k"))
    elif path == "rules":
        most = _most(mode, settings)
    return _sure(hits, settings)[:most]


def _most(mode: str, settings: Settings) -> int:
    most = settings.integer(_BLOCK + "modes.%s.max_output" % mode)
    return most if mode == SEARCH else min(most, settings.integer("retrieval.max_inject"))


def _sure(hits: list[Hit], settings: Settings) -> list[Hit]:
    floor = settings.number("retrieval.high_floor")
    return [hit for hit in hits if hit.confidence >= floor]


def _settled(hits: list[Hit], mode: str, settings: Settings) -> list[Hit]:
    """What is kept without asking when the judges do answer."""
    return [] if mode == SEARCH or _asks_always(settings) else _sure(hits, settings)


def _asks_always(settings: Settings) -> bool:
    return settings.text(_BLOCK + "when") == "always"


def _unsure(hits: list[Hit], mode: str, settings: Settings) -> list[Hit]:
    """What the judges are asked about.

    The band ends at the user's own threshold: a project that raises it lets less through, and must not have more judged.
    """
    if mode == SEARCH:
        return hits[:_SEARCH_POOL]
    low = settings.number("retrieval.low_floor")
    high = min(settings.number("retrieval.high_floor"), settings.own_number("retrieval.high_floor"))
    every = _asks_always(settings)
    pool = hits[: settings.integer(_BLOCK + "candidate_pool_size")]
    return [hit for hit in pool if hit.confidence >= low and (every or hit.confidence < high)]


def _ask(
    judge: Judge, candidates: Candidates, unsure: list[Hit], mode: str, settings: Settings, deadline: Deadline
) -> Judged:
    shown = _shuffled(unsure, candidates.prompt)
    forms = _DUAL if settings.flag(_BLOCK + "dual_verification") else _SINGLE
    data = _data(candidates, shown)
    verdicts = judge.ask_all([_question(name, key, data, len(shown)) for name, key in forms], deadline)
    answers = [_chosen(verdict, shown) for verdict in verdicts]
    heard = [answer for answer in answers if answer is not None]
    judged = Judged([], _path(len(forms), len(heard)))
    if heard:
        approved = _approved(heard, settings.text(_BLOCK + "modes.%s.verification" % mode) == "strict")
        passed = approved.union(hit.key for hit in _settled(candidates.hits, mode, settings))
        judged.kept = [hit for hit in candidates.hits if hit.key in passed][: _most(mode, settings)]
        judged.verdicts = _pairs(answers, shown)
    else:
        judged.kept = _without_judge(candidates.hits, mode, settings, "fallback")
    judged.reasons = [
        "%s: %s" % (form[0], verdict.failure) for form, verdict in zip(forms, verdicts) if verdict.failure
    ]
    judged.asked = len(shown)
    judged.dropped = sum(verdict.values["dropped"] for verdict in verdicts if verdict.values is not None)
    judged.spent = _spent(verdicts)
    judged.notice = judge.notice
    return judged


def _shuffled(hits: list[Hit], prompt: str) -> list[Hit]:
    """The hits in an order that depends on the prompt alone, so that their rank tells the judges nothing."""
    seed = digest(prompt.encode("utf-8", "replace"))
    return sorted(hits, key=lambda hit: digest((seed + hit.key).encode("utf-8", "replace")))


def _data(candidates: Candidates, shown: list[Hit]) -> dict[str, Any]:
    from ..kernel.judge.material import excerpt, line

    request = excerpt(candidates.prompt, _PROMPT)
    data: dict[str, Any] = {"request": request}
    room = _PROMPT - len(request)
    if candidates.before and room > _TAG:
        data["said_before"] = excerpt(candidates.before, room)
    data["notes"] = [
        {
            "index": at,
            "category": hit.category.lower(),
            "title": line(hit.title, _TITLE),
            "tags": [line(tag, _TAG) for tag in hit.tags[:_TAGS]],
        }
        for at, hit in enumerate(shown)
    ]
    return data


def _question(name: str, key: str, data: dict[str, Any], offered: int) -> Question:
    from ..kernel.judge.question import Question
    from ..kernel.judge.reply import selected
    from ..kernel.judge.rubric import load_rubric

    return Question(load_rubric(name), data, lambda value: selected(value, key, offered))


def _chosen(verdict: Verdict, shown: list[Hit]) -> set[str] | None:
    """The keys of the hits that a judge chose; None when it did not answer."""
    if verdict.values is None:
        return None
    return {shown[at].key for at in verdict.values["chosen"] if 0 <= at < len(shown)}


def _path(asked: int, heard: int) -> str:
    if heard == 0:
        return "fallback"
    if asked == 1:
        return "single"
    return "judged" if heard == asked else "partial"


def _approved(heard: list[set[str]], strict: bool) -> set[str]:
    """What the judges that answered agree on, or, not strict, what one of them wants."""
    return set.intersection(*heard) if strict else set.union(*heard)


def _pairs(answers: list[set[str] | None], shown: list[Hit]) -> dict[str, tuple[bool | None, bool | None]]:
    """What was said of each hit; one combined answer counts for both."""
    both = answers * 2 if len(answers) == 1 else answers
    said = [[None if answer is None else hit.key in answer for hit in shown] for answer in both]
    return {hit.key: (relevant, useful) for hit, relevant, useful in zip(shown, *said)}


def _spent(verdicts: list[Verdict]) -> dict[str, object]:
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    cost = round(sum(costs), 8) if len(costs) == len(verdicts) else None
    cached = sum(verdict.cached for verdict in verdicts)
    return {"judge_ms": max(verdict.ms for verdict in verdicts), "cost_usd": cost, "cached": cached}
