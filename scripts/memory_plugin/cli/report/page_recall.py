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
_NEVER = "not in this period"


def recall_section(report: Report) -> str:
    """Return what happened on prompts: by day, and why Claude was told nothing."""
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        parts = empty(
            "No prompt was recorded in this period. The next prompt in Claude Code is the first one. To check the installation:",
            "memory doctor",
        )
        return section("told", "What Claude was told", "One column a day.", parts)
    shown = buckets(dict(recalls.days), report.since, report.until, len(OUTCOMES))
    totals = [(OUTCOME_LABELS[name][1], recalls.total(name)) for name in OUTCOMES]
    said = ", ".join("%s %s" % (count(number), label) for label, number in totals if number)
    legend = "".join(
        '<li class="%s">%s %s</li>'
        % (OUTCOME_LABELS[name][0], safe(OUTCOME_LABELS[name][1]), count(recalls.total(name)))
        for name in OUTCOMES
        if recalls.total(name)
    )
    guards = ", ".join("%s %s" % (count(number), name.replace("_", " ")) for name, number in recalls.guards)
    return section(
        "told",
        "What Claude was told",
        "Each prompt once: told a memory in full, pointed to one by its title, silent because nothing fit, or not looked up"
        " because it was a command or small talk.",
        '<ul class="legend">%s</ul>' % legend,
        columns(
            shown,
            _STACK,
            "Prompts by day and outcome",
            "From %s to %s: %s." % (report.since[:10], report.until[:10], said),
        ),
        '<div class="two"><div>%s</div><div>%s</div></div>' % (_reasons(report), _projects(report)),
        about("Guarded tool calls: %s." % guards) if guards else "",
    )


def _reasons(report: Report) -> str:
    reasons = [
        (reason_text(name) or "no reason noted", number) for name, number in report.ledgers.recalls.reasons
    ][:8]
    if not reasons:
        return ""
    most = max(number for _, number in reasons)
    rows = [
        (
            safe(text[:1].upper() + text[1:]),
            share_bar([("silent", number)], most, "%d prompts" % number),
            count(number),
        )
        for text, number in reasons
    ]
    return "<h3>Why Claude was told nothing</h3>" + table(
        [("Reason", "name"), ("", "barcell"), ("Prompts", "n")], rows
    )


def _projects(report: Report) -> str:
    projects = list(report.ledgers.recalls.projects)[:8]
    if len(projects) < 2:
        return ""
    most = projects[0][1]
    rows = [
        (safe(name), share_bar([("accent", number)], most, "%d prompts" % number), count(number))
        for name, number in projects
    ]
    return "<h3>Projects</h3>" + table([("Project", "name"), ("", "barcell"), ("Prompts", "n")], rows)


def memories_section(report: Report) -> str:
    """Return the memories: those that help, those that were never used, and those that may be out of date."""
    found = report.memories
    parts = ["<h3>Used most</h3>", _helping(report)]
    parts += ["<h3>Never used</h3>", _unused(report), "<h3>May be out of date</h3>", _stale(report)]
    said = "%s active here, %s of all projects recalled in this period." % (
        count(found.stored),
        count(found.recalled),
    )
    if found.pending:
        said += " %s pending: memory list --status pending" % count(found.pending)
    return section("memories", "Memories", said, *parts)


def _title(row: MemoryRow) -> str:
    place = " \u00b7 ".join(filter(None, (row.name, row.project)))
    return "%s<small>%s</small>" % (safe(row.title), safe(place))


def _helping(report: Report) -> str:
    rows = report.memories.helping
    if not rows:
        return empty("No memory was recalled in this period.", "memory why")
    most = max(row.use.told + row.use.pointed for row in rows) or 1
    cells = [
        (
            _title(row),
            share_bar(
                [("told", row.use.told), ("pointed", row.use.pointed)],
                most,
                "told %d, pointed %d times" % (row.use.told, row.use.pointed),
            ),
            count(row.use.told),
            count(row.use.pointed),
            count(row.use.used),
            _opinion(row),
            safe(row.use.last[:10]),
        )
        for row in rows
    ]
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


def _opinion(row: MemoryRow) -> str:
    said = [("useful", row.use.useful), ("wrong", row.use.wrong)]
    return safe(", ".join("%s %d\u00d7" % (word, number) for word, number in said if number))


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
    """Return the prompts on which nothing fit: what one of them asks may be worth a memory."""
    text = (
        "Prompts on which no stored memory was good enough. Most need none; a question that comes again is worth saving."
        " The texts come from your own transcripts and are not kept in the ledgers."
    )
    if not report.missed:
        return section("missed", "Prompts that found nothing", text, empty("There was none in this period."))
    gone = sum(not row.text for row in report.missed)
    cells = [_missed(row) for row in report.missed if row.text]
    heads = [("Prompt", "name"), ("When", "n"), ("Nearest memory", ""), ("Sure", "n")]
    parts = [table(heads, cells)] if cells else []
    if gone:
        parts.append(
            about(
                "The transcripts of %d of the latest %d are gone, and with them the texts."
                % (gone, len(report.missed))
            )
        )
    share = percent(report.missed_number, report.ledgers.recalls.prompts)
    head = "<p>%s prompts, %s of all. To keep an answer: %s</p>" % (
        count(report.missed_number),
        share,
        code('memory save "..."'),
    )
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
