"""The figures of the report by section, as `memory report --json` prints them; `config/report/sections.json` says how they are shown."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean
from typing import Any, NamedTuple

from ..kernel.paths import Paths, load_data
from ..kernel.text.clean import counted, plain
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE
from ..memories.repository import GoneFile, gone_files
from ..memories.survey import EXPIRED, SUPERSEDED, Item, Survey, life_cycle_state, shortest_names
from ..memories.trust import TRUSTED
from ..recall.explain import prompt_texts
from ..replies.rows import count_patterns, group_by_day, group_scores
from ..sessions.rubric import OVERALL, dimensions, valid_scores
from .installation import OK, Check
from .report_figures import MISS_REASONS, OUTCOMES, LedgerFigures, RecallFigures, memory_of, quantile, ranked

Values = dict[str, Any]  # the figures of a section by name: numbers, texts, values by day, and rows of tables

_MAX_NAME = 120
_MAX_EXAMPLE = 80
_SHOWN = ("told", "pointed", "used")
_COUNTS = (*_SHOWN, "useful", "wrong")


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
        "sessions": _sessions(ledgers.grades),
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
    projects = recalls.projects if len(recalls.projects) > 1 else {}
    return {
        "prompts": sum(recalls.projects.values()),
        **{name: sum(day[name] for day in days.values()) for name in OUTCOMES},
        "sessions": len(recalls.sessions),
        "past": recalls.past,
        "ms_median": quantile(recalls.waits, 0.5),
        "days": days,
        "reasons": ranked(recalls.reasons, "reason", "prompts"),
        "projects": ranked(projects, "project", "prompts"),
        "guards": ranked(recalls.guards, "outcome", "calls"),
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
                unused.append(_unused_row(head, item, use["near"]))
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


def _unused_row(head: dict[str, str], item: Item, near: int) -> Values:
    fix = "memory edit %s --asked-as '...'" % head["id"] if near else ""
    return {**head, "updated": shown_line(item.stored.memory.updated_at)[:10], "near": near, "fix": fix}


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
        "all_prompts": sum(recalls.projects.values()),
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


def _sessions(grades: dict[str, Values]) -> Values:
    scores: dict[str, list[float]] = defaultdict(list)
    for row in grades.values():
        for name, score in valid_scores(row["dimensions"]).items():
            scores[name].append(score)
    overall = [row[OVERALL] for row in grades.values() if row.get(OVERALL) is not None]
    return {
        "graded": len(grades),
        "quality": fmean(overall) if overall else None,
        "scores": [
            {"dimension": name, "mean": fmean(scores[name]), "highest": one.highest, "sessions": len(scores[name])}
            for name, one in dimensions().items()
            if scores[name]
        ],
    }  # fmt: skip


def _spend(ledgers: LedgerFigures) -> Values:
    recalls, names = ledgers.recalls, ("calls", "cached", "failed", "unpriced", "tokens")
    return {
        "usd": sum(ledgers.usd.values()),
        "memory_tokens": recalls.tokens,
        "tokens_per_prompt": round(recalls.tokens / max(1, sum(recalls.projects.values()))),
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
