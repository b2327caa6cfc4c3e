"""Sections of the page about recall: what Claude was told, which memories help, which prompts found nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.explain import reason_text
from .charts import columns, day_label, fill_buckets, safe, share_bar
from .elements import code, count, empty, note, percent, remaining, section, side_by_side, table, times
from .recall_figures import OUTCOMES

if TYPE_CHECKING:
    from .figures import Report
    from .memory_rows import MemoryRow
    from .missed_prompts import MissedRow

# CSS class and label by outcome.
OUTCOME_LABELS = {
    "injected": ("told", "told in full"),
    "pointed": ("pointed", "pointed to"),
    "silent": ("silent", "silent"),
    "skipped": ("skipped", "not looked up"),
    "failed": ("failed", "failed"),
}
_MAX_ROWS = 8


def recall_section(report: Report) -> str:
    """Return the outcomes by day, the reasons for silence, and the projects."""
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        return section(
            "told",
            "What Claude was told",
            "The memories that reached Claude, and the reasons when none did.",
            empty(
                "No prompts were recorded in this period. Recording starts with your next prompt in Claude Code."
                " To check the installation:",
                "memory doctor",
            ),
        )
    totals = [(*OUTCOME_LABELS[name], count(recalls.total(name))) for name in OUTCOMES if recalls.total(name)]
    legend = "".join('<li class="%s">%s: %s</li>' % total for total in totals)
    summary = ", ".join("%s %s" % (number, label) for _, label, number in totals)
    guards = ", ".join("%s %s" % (count(number), name.replace("_", " ")) for name, number in recalls.guards)
    return section(
        "told",
        "What Claude was told",
        "Each prompt counts once. Claude was told a memory in full, was pointed to one by its title, or got nothing: silent"
        " if nothing new fit the prompt, not looked up if it was a command or small talk.",
        '<ul class="legend">%s</ul>' % legend,
        columns(
            fill_buckets(recalls.days, report.since, report.until, len(OUTCOMES)),
            [OUTCOME_LABELS[name] for name in OUTCOMES],
            "Prompts by day and outcome",
            "%s to %s: %s." % (day_label(report.since), day_label(report.until), summary),
        ),
        side_by_side(_reasons(report), _projects(report)),
        note("Guarded tool calls: %s." % guards) if guards else "",
    )


def _reasons(report: Report) -> str:
    reasons = [(reason_text(name) or "no reason recorded", n) for name, n in report.ledgers.recalls.reasons]
    return _prompts_table("Why Claude was told nothing", "Reason", "silent", reasons)


def _projects(report: Report) -> str:
    projects = list(report.ledgers.recalls.projects)
    return _prompts_table("Projects", "Project", "accent", projects) if len(projects) > 1 else ""


def _prompts_table(heading: str, name_head: str, kind: str, counts: list[tuple[str, int]]) -> str:
    """Return a table of names with a bar and a number of prompts; empty without rows."""
    counts = counts[:_MAX_ROWS]
    if not counts:
        return ""
    largest = max(number for _, number in counts)
    rows = [
        (
            safe(name[:1].upper() + name[1:] if name_head == "Reason" else name),
            share_bar([(kind, number)], largest, "%s prompts" % count(number)),
            count(number),
        )
        for name, number in counts
    ]
    heads = [(name_head, "name"), ("", "barcell"), ("Prompts", "n")]
    return "<h3>%s</h3>" % safe(heading) + table(heads, rows)


def recalled_sentence(report: Report) -> str:
    """Return how many memories the project has and how many were recalled, without a period."""
    stored, recalled = report.memories.stored, report.memories.recalled
    different = "1 memory" if recalled == 1 else "%s different memories" % count(recalled)
    return "%s active in this project; %s recalled in this period" % (count(stored), different)


def memories_section(report: Report) -> str:
    """Return the memories that help, those that were never recalled, and those that may be out of date."""
    memories = report.memories
    text = "%s, counting %s." % (recalled_sentence(report), report.scope)
    pending = (
        "<p>%s awaiting your approval: %s</p>" % (count(memories.pending), code("memory review"))
        if memories.pending
        else ""
    )
    return section(
        "memories",
        "Memories",
        text,
        pending,
        "<h3>Most used</h3>",
        _helping(report),
        "<h3>Never recalled</h3>",
        _unused(report),
        "<h3>May be out of date</h3>",
        _stale(report),
    )


def _title(row: MemoryRow) -> str:
    place = " \u00b7 ".join(filter(None, (row.name, row.project)))
    return "%s<small>%s</small>" % (safe(row.title), safe(place))


def _helping(report: Report) -> str:
    rows = report.memories.helping
    if not rows:
        text = "No memory was recalled in this period."
        return empty(text + " To see why:", "memory why") if report.ledgers.recalls.prompts else empty(text)
    largest = max(row.use.told + row.use.pointed for row in rows) or 1
    has_feedback = any(row.use.useful or row.use.wrong for row in rows)
    cells = [
        (
            _title(row),
            share_bar(
                [("told", row.use.told), ("pointed", row.use.pointed)],
                largest,
                "told %s, pointed to %s" % (times(row.use.told), times(row.use.pointed)),
            ),
            count(row.use.told),
            count(row.use.pointed),
            count(row.use.used),
            safe(day_label(row.use.last)),
            *([_feedback(row)] if has_feedback else []),
        )
        for row in rows
    ]
    heads = [
        ("Memory", "name"),
        ("", "barcell"),
        ("Told", "n"),
        ("Pointed to", "n"),
        ("Used in replies", "n"),
        ("Last recalled", "n"),
        *([("You said", "n")] if has_feedback else []),
    ]
    return table(heads, cells) + remaining(len(rows), report.memories.recalled, "memory report --json")


def _feedback(row: MemoryRow) -> str:
    words = [("useful", row.use.useful), ("wrong", row.use.wrong)]
    return safe(", ".join("%s %d\u00d7" % (word, number) for word, number in words if number)) or "\u2013"


def _unused(report: Report) -> str:
    rows = report.memories.unused
    if not rows:
        is_empty = not report.memories.stored
        return note(
            "No memory is stored here yet." if is_empty else "None: every active memory was recalled."
        )
    cells = [
        (
            _title(row),
            safe(day_label(row.updated)),
            count(row.use.near) if row.use.near else "\u2013",
            code("memory edit %s --asked-as '...'" % row.name) if row.use.near else "",
        )
        for row in rows
    ]
    explanation = note(
        "Close calls are prompts on which a memory was the best match but not a good enough one. To have it recalled on such"
        " prompts, add a phrase in your own words."
        if any(row.use.near for row in rows)
        else ""
    )
    heads = [("Memory", "name"), ("Updated", "n"), ("Close calls", "n"), ("What to do", "")]
    return (
        explanation
        + table(heads, cells)
        + remaining(len(rows), report.memories.unused_number, "memory report --json")
    )


def _stale(report: Report) -> str:
    rows = report.memories.stale
    if not rows:
        return note("None: no related files are missing, and nothing has expired or been superseded.")
    cells = [(_title(row), safe(row.stale), code(row.fix)) for row in rows]
    heads = [("Memory", "name"), ("Why", ""), ("What to do", "")]
    return table(heads, cells) + remaining(len(rows), report.memories.stale_number, "memory report --json")


def missed_section(report: Report) -> str:
    """Return the prompts without a good enough memory; a repeated question may be worth one."""
    text = (
        "Prompts for which no memory was a good enough match. Most need none, but a question that keeps coming up is worth"
        " saving. The texts come from your own transcripts; the ledgers do not hold them."
    )
    if not report.missed:
        return section("missed", "Prompts that found nothing", text, empty("There were none in this period."))
    cells = [_missed_cells(row) for row in report.missed if row.text]
    heads = [("Prompt", "name"), ("Last asked", "n"), ("Confidence", "n"), ("Nearest memory", "")]
    gone = sum(not row.text for row in report.missed)
    summary = "<p>%s, %s of all. To save an answer: %s</p>" % (
        "1 prompt" if report.missed_number == 1 else count(report.missed_number) + " prompts",
        percent(report.missed_number, report.ledgers.recalls.prompts),
        code('memory save "..."'),
    )
    return section(
        "missed",
        "Prompts that found nothing",
        text,
        summary,
        table(heads, cells) if cells else "",
        note("Prompts without a text because their transcripts are gone: %s." % count(gone)) if gone else "",
    )


def _missed_cells(row: MissedRow) -> tuple[str, ...]:
    repeats = "<small>%s</small>" % times(row.times) if row.times > 1 else ""
    confidence = "%.0f%%" % (100 * min(1.0, row.confidence)) if row.nearest else "\u2013"
    return (
        safe(row.text) + repeats,
        safe(day_label(row.time)),
        confidence,
        safe(row.nearest.rpartition("/")[2]),
    )
