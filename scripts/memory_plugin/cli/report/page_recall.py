"""Sections of the page about recall: what Claude was told, which memories help, which prompts found nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...recall.explain import reason_text
from .charts import buckets, columns, safe, share_bar
from .elements import about, code, count, empty, more, percent, section, table
from .recall_figures import OUTCOMES

if TYPE_CHECKING:
    from .figures import MissedRow, Report
    from .memory_rows import MemoryRow

__all__ = ["OUTCOME_LABELS", "memories_section", "missed_section", "recall_section"]

OUTCOME_LABELS = {
    "injected": ("told", "told"),
    "pointed": ("pointed", "pointed"),
    "silent": ("silent", "silent"),
    "skipped": ("skipped", "not looked up"),
    "failed": ("failed", "failed"),
}
_STACK = [OUTCOME_LABELS[name] for name in OUTCOMES]
_ROWS = 8


def recall_section(report: Report) -> str:
    """Return what happened on prompts: by day, and why Claude was told nothing."""
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        parts = empty(
            "No prompt was recorded in this period. The next prompt in Claude Code is the first one. To check the installation:",
            "memory doctor",
        )
        return section("told", "What Claude was told", "One column a day.", parts)
    days = buckets(dict(recalls.days), report.since, report.until, len(OUTCOMES))
    totals = [(*OUTCOME_LABELS[name], count(recalls.total(name))) for name in OUTCOMES if recalls.total(name)]
    counts = ", ".join("%s %s" % (number, label) for _, label, number in totals)
    legend = "".join(
        '<li class="%s">%s %s</li>' % (kind, safe(label), number) for kind, label, number in totals
    )
    guards = ", ".join("%s %s" % (count(number), name.replace("_", " ")) for name, number in recalls.guards)
    return section(
        "told",
        "What Claude was told",
        "Each prompt once: told a memory in full, pointed to one by its title, silent because nothing fit, or not looked up"
        " because it was a command or small talk.",
        '<ul class="legend">%s</ul>' % legend,
        columns(
            days,
            _STACK,
            "Prompts by day and outcome",
            "From %s to %s: %s." % (report.since[:10], report.until[:10], counts),
        ),
        '<div class="two"><div>%s</div><div>%s</div></div>' % (_reasons(report), _projects(report)),
        about("Guarded tool calls: %s." % guards) if guards else "",
    )


def _reasons(report: Report) -> str:
    reasons = [
        (reason_text(name) or "no reason noted", number) for name, number in report.ledgers.recalls.reasons
    ]
    if not reasons:
        return ""
    rows = [(text[:1].upper() + text[1:], number) for text, number in reasons[:_ROWS]]
    return "<h3>Why Claude was told nothing</h3>" + _prompt_table("Reason", "silent", rows)


def _projects(report: Report) -> str:
    projects = list(report.ledgers.recalls.projects)[:_ROWS]
    return "<h3>Projects</h3>" + _prompt_table("Project", "accent", projects) if len(projects) > 1 else ""


def _prompt_table(heading: str, kind: str, rows: list[tuple[str, int]]) -> str:
    """Return a table of texts with their numbers of prompts, as bars of a CSS class and as figures."""
    highest = max(number for _, number in rows)
    cells = [
        (safe(text), share_bar([(kind, number)], highest, "%d prompts" % number), count(number))
        for text, number in rows
    ]
    return table([(heading, "name"), ("", "barcell"), ("Prompts", "n")], cells)


def memories_section(report: Report) -> str:
    """Return the memories: those that help, those that were never used, and those that may be out of date."""
    memories = report.memories
    parts = ["<h3>Used most</h3>", _helping(report)]
    parts += ["<h3>Never used</h3>", _unused(report), "<h3>May be out of date</h3>", _stale(report)]
    counts = count(memories.stored), count(memories.recalled)
    text = "%s active here, %s of all projects recalled in this period." % counts
    if memories.pending:
        text += " %s pending: memory list --status pending" % count(memories.pending)
    return section("memories", "Memories", text, *parts)


def _title(row: MemoryRow) -> str:
    place = " \u00b7 ".join(filter(None, (row.name, row.project)))
    return "%s<small>%s</small>" % (safe(row.title), safe(place))


def _helping(report: Report) -> str:
    rows = report.memories.helping
    if not rows:
        return empty("No memory was recalled in this period.", "memory why")
    highest = max(row.use.told + row.use.pointed for row in rows) or 1
    cells = []
    for row in rows:
        use = row.use
        hint = "told %d, pointed %d times" % (use.told, use.pointed)
        bar = share_bar([("told", use.told), ("pointed", use.pointed)], highest, hint)
        counts = map(count, (use.told, use.pointed, use.used))
        cells.append((_title(row), bar, *counts, _ratings(row), safe(use.last[:10])))
    heads = [
        ("Memory", "name"),
        ("", "barcell"),
        ("Told", "n"),
        ("Pointed", "n"),
        ("Used by replies", "n"),
        ("You said", ""),
        ("Last", "n"),
    ]
    return table(heads, cells) + more(len(rows), report.memories.recalled, "memory report --json")


def _ratings(row: MemoryRow) -> str:
    ratings = [("useful", row.use.useful), ("wrong", row.use.wrong)]
    return safe(", ".join("%s %d\u00d7" % (rating, number) for rating, number in ratings if number))


def _unused(report: Report) -> str:
    rows = report.memories.unused
    if not rows:
        return about("Every active memory was recalled at least once, or none is stored here.")
    cells = [
        (
            _title(row),
            safe(row.updated),
            count(row.use.near) if row.use.near else "",
            code("memory edit %s --asked-as '...'" % row.name) if row.use.near else "",
        )
        for row in rows
    ]
    note = about(
        "One that came close was the best match on a prompt, below the threshold: a phrase in your words helps."
    )
    heads = [("Memory", "name"), ("Updated", "n"), ("Came close", "n"), ("To have it found", "")]
    return note + table(heads, cells) + more(len(rows), report.memories.unused_number, "memory report --json")


def _stale(report: Report) -> str:
    rows = report.memories.stale
    if not rows:
        return about("None: no related file is missing, and nothing is superseded or expired.")
    cells = [(_title(row), safe(row.stale), code(row.fix)) for row in rows]
    return table([("Memory", "name"), ("Why", ""), ("To settle it", "")], cells) + more(
        len(rows), report.memories.stale_number, "memory doctor"
    )


def missed_section(report: Report) -> str:
    """Return the prompts on which nothing fit; their answers may be worth a memory."""
    text = (
        "Prompts on which no stored memory was good enough. Most need none; the answer to a recurring question is worth saving."
        " The texts come from your own transcripts and are not kept in the ledgers."
    )
    if not report.missed:
        return section("missed", "Prompts that found nothing", text, empty("There was none in this period."))
    gone = sum(not row.text for row in report.missed)
    cells = [_missed(row) for row in report.missed if row.text]
    heads = [("Prompt", "name"), ("When", "n"), ("Nearest memory", ""), ("Sure", "n")]
    parts = [table(heads, cells)] if cells else []
    if gone:
        text_gone = "The transcripts of %d of the latest %d are gone, and with them the texts."
        parts.append(about(text_gone % (gone, len(report.missed))))
    share = percent(report.missed_number, report.ledgers.recalls.prompts)
    counts = "%s prompts, %s of all." % (count(report.missed_number), share)
    head = "<p>%s To keep an answer: %s</p>" % (counts, code('memory save "..."'))
    return section("missed", "Prompts that found nothing", text, head, *parts)


def _missed(row: MissedRow) -> tuple[str, ...]:
    times = " <small>%d times</small>" % row.times if row.times > 1 else ""
    sure = "%.0f%%" % (100 * min(1.0, row.confidence)) if row.nearest else ""
    return (
        safe(row.text) + times,
        safe(row.time[:10]),
        safe(row.nearest.rpartition("/")[2].replace("-", " ")),
        sure,
    )
