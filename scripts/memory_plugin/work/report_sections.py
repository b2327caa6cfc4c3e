"""The report as a list of sections, from which the page, the text and the JSON data are made."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, NamedTuple

from ..kernel.paths import Paths, load_data
from ..kernel.text.clean import counted, inflected, plain
from ..memories.hygiene import shown_line
from ..memories.record import ACTIVE
from ..memories.survey import EXPIRED, SUPERSEDED, Item, Survey, life_cycle_state, shortest_names
from ..memories.trust import TRUSTED
from ..recall.explain import prompt_texts
from ..replies.rows import count_patterns, group_by_day, group_scores
from ..sessions.rubric import dimensions
from .installation import Check
from .report_elements import Chart, Figures, Note, Part, Section, Table, day_label
from .report_figures import MISS_REASONS, LedgerFigures, MemoryUse, RecallFigures, quantile, ranked

_SERIES = (
    ("injected", "told", "shown in full"),
    ("pointed", "pointed", "by title"),
    ("silent", "silent", "silent"),
    ("skipped", "skipped", "not looked up"),
    ("failed", "failed", "failed"),
)
_TITLE = (("title", "Memory", "name"), ("id", "Id", "small"))
_FIX = ("fix", "What to do", "command")
_MAX_NAME = 120
_MAX_EXAMPLE = 80


class MemoryRow(NamedTuple):
    """A memory; `stale` says why it may be out of date, and `fix` is the command to run."""

    name: str
    title: str
    project: str
    use: MemoryUse
    updated: str = ""
    active: bool = False
    stale: str = ""
    fix: str = ""


class Report(NamedTuple):
    """What the sections are made of; `since` and `until` are UTC times as in ledgers."""

    scope: str
    since: str
    until: str
    ledgers: LedgerFigures
    rows: list[MemoryRow]
    pending: int
    checks: list[Check]
    paths: Paths


def sections(report: Report) -> list[Section]:
    """Return the sections in the order in which they are shown."""
    makers = (_recall, _memories, _missed, _replies, _sessions, _spend, _health)
    return [make(report) for make in makers]


def lead(report: Report) -> str:
    """Return a summary of the report in two or three sentences."""
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        return "Nothing was recorded in this period."
    text = "Claude saw a memory on %d of %s, and only titles on %d."
    text %= (recalls.total("injected"), counted(recalls.prompts, "prompt"), recalls.total("pointed"))
    used = sum(use.used for use in recalls.memories.values())
    unused, stored = sum(map(_is_unused, report.rows)), sum(row.active for row in report.rows)
    text += " Replies used one at least %s." % counted(used, "time") if used else ""
    return text + (" Never shown: %d of %d memories in this project." % (unused, stored) if unused else "")


def _ranking(
    name: str, heading: str, head: tuple[str, str], counts: Counter[str], unit: str = "Prompts", bar: str = ""
) -> Table:
    """Return a table of names with their numbers; `head` is the heading of the names and their kind."""
    columns = [(head[0].lower(), *head), (unit.lower(), unit, "count")]
    return Table(name, heading, columns, ranked(counts), bar=bar)


def _recall(report: Report) -> Section:
    recalls = report.ledgers.recalls
    about = (
        "Each prompt counts once. Claude saw a memory in full, or a title, or nothing: silent"
        " if nothing new fit the prompt, not looked up if it was a command or small talk."
    )
    if not recalls.prompts:
        nothing = (
            "No prompts were recorded in this period. Recording starts with your next prompt in Claude Code."
            " To check the installation:"
        )
        return Section("recall", "What Claude was shown", about, [Note(nothing, "memory doctor", "empty")])
    summary = ", ".join("%d %s" % (recalls.total(name), label) for name, _, label in _SERIES)
    projects = recalls.projects if len(recalls.projects) > 1 else Counter()
    parts: list[Part] = [
        Figures(
            ("prompts", "prompts", "count", recalls.prompts),
            *((name, label, "count", recalls.total(name)) for name, _, label in _SERIES[:2]),
            ("sessions", "sessions", "count", len(recalls.sessions)),
            ("ms_median", "median hook time", "ms", quantile(recalls.waits, 0.5)),
        ),
        Chart(
            "Prompts by day",
            {day: [counts[name] for name, _, _ in _SERIES] for day, counts in recalls.days.items()},
            _SERIES,
            "%s to %s: %s." % (day_label(report.since), day_label(report.until), summary),
        ),
        _ranking(
            "reasons", "Why Claude was shown nothing", ("Reason", "term"), recalls.reasons, bar="silent"
        ),
        _ranking("projects", "Projects", ("Project", "name"), projects, bar="accent"),
        _ranking("guards", "Guarded tool calls", ("Outcome", "term"), recalls.guards, "Calls"),
    ]
    return Section("recall", "What Claude was shown", about, parts)


def memory_rows(survey: Survey, recalls: RecallFigures, paths: Paths) -> list[MemoryRow]:
    """Return this project's and the user's memories, and those of other projects that occur in the ledgers."""
    names, rows, uses = shortest_names(survey.items), [], dict(recalls.memories)
    for item in survey.items:
        memory, key = item.stored.memory, item.stored.key
        # RecallFigures counts the user's own memories under no project.
        use = uses.pop(("" if key.startswith("user:") else paths.project_key, key), MemoryUse())
        stale, fix = _staleness(item, use, paths)
        texts = shown_line(memory.updated_at)[:10], life_cycle_state(item) == ACTIVE and item.trust == TRUSTED
        fix = fix % names[key] if fix else ""
        rows.append(MemoryRow(names[key], shown_line(memory.title), "", use, *texts, stale, fix))
    for (project, key), use in uses.items():  # titled by their ids: the stores of other projects are not read
        name = plain(key, _MAX_NAME)
        rows.append(
            MemoryRow(name, name.rpartition("/")[2].replace("-", " "), plain(project, _MAX_NAME), use)
        )
    return rows


def _is_unused(row: MemoryRow) -> bool:
    return row.active and not (row.use.told or row.use.pointed or row.use.used or row.use.started)


def _staleness(item: Item, use: MemoryUse, paths: Paths) -> tuple[str, str]:
    """Return why a memory may be out of date, and the command that fixes it; two empty strings if it is current."""
    memory, state = item.stored.memory, life_cycle_state(item)
    if state == SUPERSEDED:
        successor = shown_line(item.superseded_by.rpartition("/")[2])
        return "superseded by %s" % successor, "memory forget %s --keep"
    if state == EXPIRED:
        return "expired on %s" % shown_line(memory.expires_at)[:10], "memory forget %s --keep"
    missing = [] if item.stored.store.worktree is None else _missing_files(memory.files, paths.project_root)
    if state != ACTIVE or not (use.wrong > use.useful or missing):
        return "", ""
    if use.wrong > use.useful:
        return "you called it wrong %s" % counted(use.wrong, "time"), "memory edit %s"
    others = " and %d more no longer exist" % (len(missing) - 1)
    return shown_line(missing[0]) + (others if len(missing) > 1 else " no longer exists"), "memory edit %s"


def _missing_files(files: tuple[str, ...], root: str) -> list[str]:
    """Return the related files that are missing from the project; patterns and paths outside it are skipped."""
    return [
        name
        for name in files
        if not (set("*?[\0") & set(name) or os.path.isabs(name) or ".." in name.split("/"))
        and not os.path.lexists(os.path.join(root, name))
    ]


def _memories(report: Report) -> Section:
    rows = report.rows
    helping = [row for row in rows if row.use.told or row.use.pointed or row.use.used]
    helping.sort(key=lambda row: (-row.use.used - row.use.useful, -row.use.told, -row.use.pointed, row.name))
    unused = sorted(filter(_is_unused, rows), key=lambda row: (-row.use.near, row.updated))
    about = "%s active in this project; %s shown in this period, counting %s. Standing rules do not count."
    numbers = sum(row.active for row in rows), inflected(len(helping), "memory", "different memories")
    parts: list[Part] = [
        *([Note("%d pending:" % report.pending, "memory review")] if report.pending else []),
        Table(
            "helping",
            "Most used",
            [*_TITLE, ("project", "Project", "small"), ("told", "Shown", "count"), ("pointed", "By title", "count"),
             ("used", "Used", "count"), ("useful", "Useful", "count"), ("wrong", "Wrong", "count"), ("last", "Last shown", "date")],
            [
                [row.title, row.name, row.project, row.use.told, row.use.pointed,
                 row.use.used, row.use.useful, row.use.wrong, row.use.last]
                for row in helping
            ],
            empty="No memory was shown in this period. To see why: memory why",
            bar="told",
        ),
        Table(
            "unused",
            "Never shown",
            [*_TITLE, ("updated", "Updated", "date"), ("near", "Close calls", "count"), _FIX],
            [
                [row.title, row.name, row.updated, row.use.near, "memory edit %s --asked-as '...'" % row.name if row.use.near else ""]
                for row in unused
            ],
            "Close call: a prompt that a memory nearly matched. To have it recalled on such"
            " prompts, add a phrase in your own words.",
            "None." if numbers[0] else "No memory is stored here yet.",
        ),
        Table(
            "stale",
            "May be out of date",
            [*_TITLE, ("why", "Why", "text"), _FIX],
            [[row.title, row.name, row.stale, row.fix] for row in rows if row.stale],
            empty="None: no related files are missing, and nothing has expired or been replaced.",
        ),
    ]  # fmt: skip
    return Section("memories", "Memories", about % (*numbers, report.scope), parts)


def _missed(report: Report) -> Section:
    """Return the prompts without a good enough memory; a repeated question may be worth one."""
    recalls = report.ledgers.recalls
    texts = prompt_texts(recalls.missed, report.paths)
    rows: dict[str, list[Any]] = {}
    for row in reversed(recalls.missed):
        text = texts.get(row.get("prompt_id", ""), "")
        if text:  # the transcript still exists
            best: dict[str, Any] = next(iter(row.get("candidates", ())), {})
            nearest = plain(best.get("key", ""), _MAX_NAME).rpartition("/")[2]
            rows.setdefault(text.casefold(), [text, 0, row["time"], nearest])[1] += 1
    ordered = sorted(rows.values(), key=lambda row: (row[1], row[2]), reverse=True)
    number = sum(recalls.reasons[reason] for reason in MISS_REASONS)
    columns = [
        ("text", "Prompt", "name"),
        ("times", "Times", "count"),
        ("time", "Last asked", "date"),
        ("nearest", "Nearest memory", "text"),
    ]
    about = (
        "Prompts for which no memory was a good enough match. Most need none, but a question that keeps coming up is worth"
        " saving. The texts come from your own transcripts; the ledgers do not hold them."
    )
    parts: list[Part] = [
        Figures(("prompts", "prompts", "count", number), ("all_prompts", "of all", "count", recalls.prompts)),
        Table("latest", "Latest", columns, ordered),
        Note("To save an answer:", 'memory save "..."', "soft"),
    ]
    nothing = Note("There were none in this period.", kind="empty")
    return Section("missed", "Prompts that found nothing", about, parts if number else [nothing])


def _replies(report: Report) -> Section:
    replies = report.ledgers.replies
    about = "How much filler Claude's replies contain, counted by rules. A reply without filler is not necessarily a good one."
    if not replies:
        nothing = Note("No replies were scored in this period.", kind="empty")
        return Section("replies", "Replies", about, [nothing])
    (every,) = group_scores(replies, lambda _: "all")
    data = load_data("replies", "filler")["rules"]
    hits = {rule["id"]: rule["hit"][0].split("\n")[0][:_MAX_EXAMPLE] for rule in data if rule.get("hit")}
    rules = [
        [name, "\u201c%s\u201d" % hits[name] if name in hits else "", number]
        for name, number in ranked(dict(count_patterns(replies)))
    ]
    parts: list[Part] = [
        Figures(
            ("replies", "replies scored", "count", every.replies),
            ("padded", "with filler", "count", every.padded.k),
            ("drifted", "drifted", "count", every.drifted.k),
            ("density", "mean density, 0 to 1", "score", every.density),
        ),
        Chart(
            "Replies by day",
            {day.name: (day.padded.k, day.replies - day.padded.k) for day in group_by_day(replies)},
            [("padded", "pointed", "with filler"), ("clean", "silent", "without filler")],
            "%d of %d replies contain filler." % (every.padded.k, every.replies),
        ),
        Table(
            "patterns",
            "Most common filler",
            [("rule", "Rule", "name"), ("example", "Example", "small"), ("matches", "Matches", "count")],
            rules,
            bar="pointed",
        ),
        _effect(report),
    ]
    return Section("replies", "Replies", about, parts)


def _effect(report: Report) -> Table:
    """Return whether corrections help, with the difference to the control group in percentage points."""
    effect = report.ledgers.effect
    groups = (("corrected", effect.corrected), ("control_group", effect.control))
    text = "Too few wordy replies for a conclusion: each group needs at least 10."
    if effect.gap is not None and effect.is_conclusive:
        verdict = "help" if effect.gap[1] > 0 else "hurt" if effect.gap[2] < 0 else "have no clear effect"
        points = tuple(("%+.0f" % (100 * part)).replace("-", "\u2212") for part in effect.gap)
        text = "Corrections %s: %s percentage points (95%% interval %s to %s)." % (verdict, *points)
    return Table(
        "effect",
        "Do corrections help?",
        [("group", "Group", "term"), ("back_in_line", "Back in line", "share")],
        [[name, group] for name, group in groups if group.n],
        "The share of wordy replies whose next reply was not wordy. " + text,
        "No wordy reply was followed by another one that could be measured.",
    )


def _sessions(report: Report) -> Section:
    ledgers, about = report.ledgers, "The latest grade of each session, on six dimensions."
    if not ledgers.sessions:
        nothing = "No sessions were graded in this period. To grade one, type in Claude Code:"
        empty: list[Part] = [Note(nothing, "/memory:grade-session", "empty")]
        return Section("sessions", "Sessions", about, [*_past(ledgers), *empty])
    rows = ledgers.sessions.values()
    overall = [row["overall_quality"] for row in rows if row.get("overall_quality") is not None]
    quality = sum(overall) / len(overall) if overall else None
    best = {name: dimension.highest for name, dimension in dimensions().items()}
    columns = [
        ("dimension", "Dimension", "term"),
        ("mean", "Mean", "score"),
        ("highest", "Of", "count"),
        ("sessions", "Sessions", "count"),
    ]
    grades = [
        [name, mean, best.get(name, 1), number] for name, (mean, number) in ledgers.mean_grades().items()
    ]
    parts: list[Part] = [
        Figures(
            ("graded", "sessions graded", "count", len(rows)),
            ("quality", "mean quality, 0 to 1", "score", quality),
        ),
        Table("scores", "Mean grades", columns, grades),
    ]
    return Section("sessions", "Sessions", about, [*_past(ledgers), *parts])


def _past(ledgers: LedgerFigures) -> list[Part]:
    """Return how often Claude was shown past sessions; empty if it never was."""
    number = ledgers.recalls.past
    return [Figures(("past", "prompts answered from past sessions", "count", number))] if number else []


def _spend(report: Report) -> Section:
    ledgers, recalls = report.ledgers, report.ledgers.recalls
    names = ("calls", "cached", "failed", "unpriced", "tokens")
    counts_columns = [(name, name.capitalize(), "count") for name in names]
    columns = [("feature", "Feature", "name"), *counts_columns, ("usd", "Cost", "money")]
    rows = [
        [feature, *(counts[name] for name in names), ledgers.usd[feature]]
        for feature, counts in sorted(ledgers.calls.items())
    ]
    total, average = sum(ledgers.usd.values()), round(recalls.tokens / max(1, recalls.prompts))
    text = "$%.4f in total." % total
    days = {date: (usd,) for date, usd in ledgers.usd_by_day.items()}
    parts: list[Part] = [
        Figures(
            ("usd", "spent on judges", "money", total),
            ("memory_tokens", "tokens added by memories", "count", recalls.tokens),
            ("tokens_per_prompt", "tokens per prompt, on average", "count", average),
        ),
        *([Chart("Costs by day", days, [("usd", "accent", "US dollars")], text)] if days else []),
        Table("features", "Features", columns, rows),
        *([] if rows else [Note("No judge calls, no cost.", kind="empty")]),
    ]
    about = (
        "What the judges cost, estimated from their token usage, without calls whose price is unknown (unpriced); and the tokens"
        " that memories added to your prompts."
    )
    return Section("spend", "Spending", about, parts)


def _health(report: Report) -> Section:
    ledgers = report.ledgers
    found = [check for check in report.checks if check.status != "ok"]
    rows = [[check.name, check.status, check.text, check.fix] for check in found]
    columns = [("name", "Check", "name"), ("status", "Status", "mark"), ("text", "Finding", "text"), _FIX]
    parts: list[Part] = [
        Figures(
            ("passed", "checks passed", "count", len(report.checks) - len(found)),
            ("remarks", "checks with a remark", "count", len(found)),
            ("ms_p95", "95th percentile", "ms", quantile(ledgers.recalls.waits, 0.95)),
            ("lines", "ledger lines read", "count", ledgers.lines),
            ("lines_skipped", "unreadable lines", "count", ledgers.skipped),
        ),
        Table("checks", "Remarks", columns, rows),
        _ranking("events", "Problems in hooks", ("Event", "name"), ledgers.events, "Times"),
    ]
    about = "What memory doctor finds now, and the problems that hooks reported in this period."
    return Section("health", "Health", about, parts)
