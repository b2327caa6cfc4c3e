"""The report: the ledgers of a folder, summed in one pass over the records of each, and the figures of the report by section.

`memory report --json` prints the sections; `config/report/sections.json` says how they are shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..kernel.judge.asking import CALLS
from ..kernel.paths import Paths, load_data
from ..kernel.records import Records
from ..kernel.stats import quantile
from ..kernel.text.clean import counted, plain
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE
from ..memories.repository import GoneFile, gone_files
from ..memories.survey import EXPIRED, SUPERSEDED, Item, Survey, life_cycle_state, shortest_names
from ..memories.trust import TRUSTED
from ..recall.explain import STARTS, prompt_texts
from ..recall.recall_rows import FEEDBACK, RECALLS
from ..replies.rows import DRIFT, SCORES, DriftLog, ScoreJoin, count_patterns, group_by_day, group_scores
from ..sessions.rows import SCORE, SESSIONS, grade_figures
from .installation import EVENTS, OK, Check

Values = dict[str, Any]  # the figures of a section by name: numbers, texts, values by day, and rows of tables

OUTCOMES = ("injected", "pointed", "silent", "skipped", "failed")
MISS_REASONS = ("no_match", "below_threshold", "declined")
_RECALLED = ("injected", "pointed")
_MAX_MISSED = 400  # the latest, whose texts are looked up in transcripts
_MAX_EVENT = 160
_DAY = 10  # characters of a date
_MAX_NAME = 120
_MAX_EXAMPLE = 80
_SHOWN = ("told", "pointed", "used")
_COUNTS = (*_SHOWN, "useful", "wrong")


class RecallFigures:
    """What was recalled, from the ledgers `recalls` and `feedback`.

    `uses` counts by project and key of a memory how often it was shown in full (`told`) or by title (`pointed`), used in a reply, called
    useful or wrong, and near: the best match, but too weak. `started` counts the session starts at which a rule was shown.
    """

    def __init__(self) -> None:
        self.days: dict[str, Counter[str]] = defaultdict(Counter)  # prompts by outcome
        self.reasons: Counter[str] = Counter()
        self.uses: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.last: dict[tuple[str, str], str] = defaultdict(str)  # when a memory was last shown
        self.sessions: set[str] = set()
        self.waits: list[float] = []  # milliseconds
        self.prompts = self.tokens = self.past = 0
        self.missed: deque[dict[str, Any]] = deque(maxlen=_MAX_MISSED)

    def add(self, row: dict[str, Any]) -> None:
        """Count one decision."""
        outcome, place = row.get("outcome", ""), row.get("place", "prompt")
        if place == "guard":
            return
        self.past += place == "past"
        counted = ("started", "started") if place in STARTS else ("told", "pointed")
        for outcomes, name in zip(_RECALLED, counted):
            for key in row.get(outcomes, ()):
                memory = memory_of(key, row.get("project", ""))
                self.uses[memory][name] += 1
                self.last[memory] = max(self.last[memory], row["time"])
        self.tokens += row.get("tokens", 0)
        if place == "prompt" and outcome in OUTCOMES:
            self._add_prompt(row, outcome)

    def _add_prompt(self, row: dict[str, Any], outcome: str) -> None:
        project, reason = row.get("project", ""), row.get("reason", "")
        self.days[row["time"][:_DAY]][outcome] += 1
        self.prompts += 1
        self.sessions.add(row.get("session", ""))
        if row.get("ms") is not None:
            self.waits.append(row["ms"])
        if outcome in _RECALLED:
            return
        self.reasons[reason] += 1
        if reason in MISS_REASONS:
            for best in row.get("candidates", ())[:1]:
                self.uses[memory_of(best["key"], project)]["near"] += 1
            self.missed.append(row)

    def add_feedback(self, row: dict[str, Any]) -> None:
        """Count one rating, or one reply that used memories."""
        kind = row.get("kind", "")
        for key in row.get("memories", ()) if kind in ("used", "useful", "wrong") else ():
            self.uses[memory_of(key, row.get("project", ""))][kind] += 1


def memory_of(key: str, project: str) -> tuple[str, str]:
    """Return what a memory is counted under. The user's own memories are the same in every project."""
    return "" if key.startswith("user:") else project, key


class LedgerFigures:
    """The sums over all ledgers of a folder in a period; `lines` were read, `skipped` of them hold no record."""

    def __init__(self, folder: str, since: str, until: str, project: str) -> None:
        """Read the ledgers; `project` is the only one to count, or empty for all."""
        self.recalls = RecallFigures()
        self.grades: dict[str, dict[str, Any]] = {}  # the latest of each session
        self.calls: dict[str, Counter[str]] = defaultdict(Counter)  # of judges, by feature; see `_add_call`
        self.usd: dict[str, float] = defaultdict(float)  # by feature, as far as the price is known
        self.usd_by_day: dict[str, float] = defaultdict(float)
        self.events: Counter[str] = Counter()
        self.lines = self.skipped = 0
        scores, drifts = ScoreJoin(), DriftLog()
        readers = {
            RECALLS: self.recalls.add,
            FEEDBACK: self.recalls.add_feedback,
            DRIFT: drifts.add,
            SCORES: scores.add,
            SESSIONS: self._add_grade,
            CALLS: self._add_call,
            EVENTS: self._add_event,
        }
        for form, add in readers.items():
            records = Records(folder, form, since, until, project)
            for row in records:
                add(row)
            self.lines += records.lines
            self.skipped += records.skipped
        self.replies = scores.scores()
        self.effect = drifts.effect(self.replies)

    def _add_grade(self, row: dict[str, Any]) -> None:
        """Add one grade; it replaces an earlier grade of the same session."""
        if row.get("kind") == SCORE and "session" in row and "dimensions" in row:
            self.grades[row["session"]] = row

    def _add_call(self, row: dict[str, Any]) -> None:
        """Count one call of a judge: whether it was cached, failed or has no known price, its tokens and its cost."""
        cost, cached = row.get("cost_usd"), row.get("cached") is True
        failed = row.get("outcome", "") != "ok" and not cached
        feature = row.get("feature") or "unknown"
        counts = self.calls[feature]
        counts["calls"] += 1
        counts["cached"] += cached
        counts["failed"] += failed
        counts["unpriced"] += cost is None and not (failed or cached)
        if not cached:
            counts["tokens"] += row.get("tokens_in", 0) + row.get("tokens_out", 0)
            if cost:
                self.usd[feature] += cost
                self.usd_by_day[row["time"][:_DAY]] += cost

    def _add_event(self, row: dict[str, Any]) -> None:
        self.events[plain("%s: %s" % (row.get("event"), row.get("what")), _MAX_EVENT)] += 1


def ranked(counts: Mapping[str, int], name: str, number: str) -> list[dict[str, object]]:
    """Return rows of the counts above zero, with these names of their fields, the most frequent first, ties by name."""
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{name: counted, number: times} for counted, times in pairs if times]


class Report(NamedTuple):
    """A report: what it is about, its first and last time in UTC, a summary, and the figures of each section."""

    scope: str
    since: str
    until: str
    lead: str
    sections: dict[str, Values]


def section_figures(
    ledgers: LedgerFigures, survey: Survey, checks: list[Check], paths: Paths
) -> dict[str, Values]:
    """Return the figures of each section."""
    return {
        "recall": _recall(ledgers.recalls),
        "memories": _memories(survey, ledgers.recalls, paths),
        "missed": _missed(ledgers.recalls, paths),
        "replies": _replies(ledgers),
        "sessions": grade_figures(list(ledgers.grades.values())),
        "spend": _spend(ledgers),
        "health": _health(ledgers, checks),
    }


def lead(sections: dict[str, Values]) -> str:
    """Return a summary of the report in two or three sentences."""
    recall, memories = sections["recall"], sections["memories"]
    if not recall["prompts"]:
        return "Nothing was recorded in this period."
    text = "Claude saw a memory on %d of %s, and only titles on %d."
    text %= (recall["injected"], counted(recall["prompts"], "prompt"), recall["pointed"])
    used = sum(row["used"] for row in memories["helping"])
    text += " Replies used one at least %s." % counted(used, "time") if used else ""
    numbers = len(memories["unused"]), memories["active"]
    return text + (" Never shown: %d of %d memories in this project." % numbers if numbers[0] else "")


def _recall(recalls: RecallFigures) -> Values:
    days = {day: {name: counts[name] for name in OUTCOMES} for day, counts in sorted(recalls.days.items())}
    return {
        "prompts": recalls.prompts,
        **{name: sum(day[name] for day in days.values()) for name in OUTCOMES},
        "sessions": len(recalls.sessions),
        "past": recalls.past,
        "ms_median": quantile(recalls.waits, 0.5),
        "days": days,
        "reasons": ranked(recalls.reasons, "reason", "prompts"),
    }


def _memories(survey: Survey, recalls: RecallFigures, paths: Paths) -> Values:
    """Return this project's and the user's memories, and those of other projects that occur in the ledgers."""
    names, others, active = shortest_names(survey.items), dict(recalls.uses), 0
    gone = {file.stored.key: file for file in reversed(gone_files([item.stored for item in survey.items]))}
    rows, unused, stale = [], [], []
    for item in survey.items:
        key, memory = item.stored.key, item.stored.memory
        place = memory_of(key, paths.project_key)
        use = others.pop(place, Counter())
        head = {"title": shown_line(memory.title), "id": names[key]}
        rows.append(_use_row(head, "", use, recalls.last[place]))
        if life_cycle_state(item) == ACTIVE and item.trust == TRUSTED:
            active += 1
            if not any(use[name] for name in (*_SHOWN, "started")):
                fix = "memory edit %s --asked-as '...'" % names[key] if use["near"] else ""
                updated = shown_line(memory.updated_at)[:10]
                unused.append({**head, "updated": updated, "near": use["near"], "fix": fix})
        why, fix = _staleness(item, use, names[key], gone.get(key))
        stale += [{**head, "why": why, "fix": fix}] if why else []
    for (project, key), use in others.items():
        # Titled by their ids, because the stores of other projects are not read.
        name = plain(key, _MAX_NAME)
        head = {"title": name.rpartition("/")[2].replace("-", " "), "id": name}
        rows.append(_use_row(head, plain(project, _MAX_NAME), use, recalls.last[project, key]))
    helping = [row for row in rows if any(row[name] for name in _SHOWN)]
    helping.sort(key=lambda row: (-row["used"] - row["useful"], -row["told"], -row["pointed"], row["id"]))
    return {
        "active": active,
        "shown": len(helping),
        "pending": sum(item.is_pending for item in survey.items),
        "helping": helping,
        "unused": sorted(unused, key=lambda row: (-row["near"], row["updated"])),
        "stale": stale,
    }


def _use_row(head: dict[str, str], project: str, use: Counter[str], last: str) -> Values:
    return {**head, "project": project, **{name: use[name] for name in _COUNTS}, "last": last}


def _staleness(item: Item, use: Counter[str], name: str, gone: GoneFile | None) -> tuple[str, str]:
    """Return why a memory may be out of date, and the command that fixes it; two empty strings if it is current."""
    state, keep = life_cycle_state(item), "memory forget %s --keep" % name
    if state == SUPERSEDED:
        return "replaced by %s" % shown_line(item.superseded_by.rpartition("/")[2]), keep
    if state == EXPIRED:
        return "expired on %s" % shown_line(item.stored.memory.expires_at)[:10], keep
    if state == ACTIVE and use["wrong"] > use["useful"]:
        return "you called it wrong %s" % counted(use["wrong"], "time"), "memory edit %s" % name
    return (shown_line(gone.change), shown_line(gone.edit)) if gone else ("", "")


def _missed(recalls: RecallFigures, paths: Paths) -> Values:
    """Return the prompts without a good enough memory, by their texts as far as the transcripts still exist."""
    texts = prompt_texts(recalls.missed, paths)
    rows: dict[str, Values] = {}
    for row in reversed(recalls.missed):
        text = texts.get(row.get("prompt_id", ""), "")
        if text:
            best: Values = next(iter(row.get("candidates", ())), {})
            nearest = plain(best.get("key", ""), _MAX_NAME).rpartition("/")[2]
            first = {"text": text, "times": 0, "time": row["time"], "nearest": nearest}
            rows.setdefault(text.casefold(), first)["times"] += 1
    return {
        "prompts": sum(recalls.reasons[reason] for reason in MISS_REASONS),
        "all_prompts": recalls.prompts,
        "latest": sorted(rows.values(), key=lambda row: (row["times"], row["time"]), reverse=True),
    }


def _replies(ledgers: LedgerFigures) -> Values:
    if not ledgers.replies:
        return {"replies": 0}
    (every,) = group_scores(ledgers.replies, lambda _: "all")
    hits = {rule["id"]: rule.get("hit") for rule in load_data("replies", "filler")["rules"]}
    patterns = ranked(dict(count_patterns(ledgers.replies)), "rule", "matches")
    for row in patterns:
        hit = hits.get(str(row["rule"]))
        row["example"] = "\u201c%s\u201d" % hit[0].split("\n")[0][:_MAX_EXAMPLE] if hit else ""
    groups = (("corrected", ledgers.effect.corrected), ("control_group", ledgers.effect.control))
    return {
        "replies": every.replies,
        "padded": every.padded.k,
        "drifted": every.drifted.k,
        "density": every.density,
        "days": {
            day.name: {"padded": day.padded.k, "clean": day.replies - day.padded.k}
            for day in group_by_day(ledgers.replies)
        },
        "patterns": patterns,
        "effect": [{"group": name, "back_in_line": group} for name, group in groups if group.n],
        "verdict": ledgers.effect.verdict,
    }


def _spend(ledgers: LedgerFigures) -> Values:
    recalls, names = ledgers.recalls, ("calls", "cached", "failed", "unpriced", "tokens")
    return {
        "usd": sum(ledgers.usd.values()),
        "memory_tokens": recalls.tokens,
        "tokens_per_prompt": round(recalls.tokens / max(1, recalls.prompts)),
        "days": {day: {"usd": usd} for day, usd in sorted(ledgers.usd_by_day.items())},
        "features": [
            {"feature": feature, **{name: counts[name] for name in names}, "usd": ledgers.usd[feature]}
            for feature, counts in sorted(ledgers.calls.items())
        ],
    }


def _health(ledgers: LedgerFigures, checks: list[Check]) -> Values:
    remarks = [check for check in checks if check.status != OK]
    return {
        "passed": len(checks) - len(remarks),
        "remarks": len(remarks),
        "ms_p95": quantile(ledgers.recalls.waits, 0.95),
        "lines": ledgers.lines,
        "lines_skipped": ledgers.skipped,
        "checks": [_remark(check) for check in remarks],
        "events": ranked(ledgers.events, "event", "times"),
    }


def _remark(check: Check) -> Values:
    """Return a row about a check; the doctor lists the cases."""
    fix = check.fix or ("memory doctor" if check.details else "")
    return {"name": check.name, "status": check.status, "text": check.text, "fix": fix}
