"""Show a recall decision: why Claude was told what it was told, as `memory why` explains it and `memory status` lists it."""

from __future__ import annotations

from typing import Any

from ..kernel.text.clean import plain
from ..memories.hygiene import shown_line
from ..memories.survey import shortest_names
from ..recall.explain import RESULTS, Outcome, outcomes, problem, remedy, sentence, thresholds
from .command_context import CommandContext

MAX_LINE = 1000
_MAX_WORD = 100
_MAX_WHY = 300
_INDENT = "  "
_MARK = max(map(len, RESULTS)) + 2  # columns of the longest word before a memory, and two spaces


def decision_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return one decision as JSON data, with safe texts."""
    injected, pointed = (
        [plain(key, _MAX_WORD) for key in row.get(name, ())] for name in ("injected", "pointed")
    )
    reasons = {outcome.key: plain(outcome.reason, _MAX_WHY) for outcome in outcomes(row)}
    near = [
        {
            "key": plain(candidate["key"], _MAX_WORD),
            "confidence": candidate.get("confidence"),
            "why": reasons[candidate["key"]],
        }
        for candidate in row.get("candidates", ())
        if candidate["key"] not in injected + pointed
    ]
    inject, pointer = thresholds(row)
    names = ("time", "prompt_id", "outcome", "reason")
    return {
        **{name: plain(row.get(name, ""), _MAX_WORD) for name in names},
        "inject_threshold": inject,
        "pointer_threshold": pointer,
        "ms": row.get("ms"),
        "says": plain(sentence(row), _MAX_WHY),
        "injected": injected,
        "pointed": pointed,
        "near_misses": near,
    }


def print_decision(decision: dict[str, Any], context: CommandContext) -> None:
    """Print one decision of `decision_json` in a few lines."""
    console = context.console
    console.line()
    duration = "" if decision["ms"] is None else ", %.0f ms" % decision["ms"]
    console.line("%s  %s%s" % (_shown_time(decision["time"]), decision["says"], duration))
    for field, label in (("injected", "told"), ("pointed", "pointed to")):
        for key in decision[field]:
            console.line("  %-10s %s" % (label, plain(key, max(20, console.width - 13))))
    for entry in decision["near_misses"]:
        console.paragraph("%s: %s" % (entry["key"], entry["why"]), "  near miss  ", 13)


def explain_decision(row: dict[str, Any], context: CommandContext) -> None:
    """Explain one decision."""
    console = context.console
    time = _shown_time(plain(row.get("time", ""), MAX_LINE))
    prompt = plain(row.get("prompt_id") or "without an id", MAX_LINE)
    event = "start of a session" if row.get("place") == "catalog" else "prompt " + prompt
    console.paragraph("%s, %s" % (time, event))
    summary = plain(sentence(row), MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    if problem(row):
        console.paragraph(plain("problem: " + problem(row), MAX_LINE))
    compared = outcomes(row)
    if compared:
        _explain_candidates(compared, context)
    elif row.get("injected") or row.get("pointed"):
        _show_injected(row, context)
    elif remedy(row):
        console.paragraph("Try: " + remedy(row))


def _shown_time(time: str) -> str:
    """Return a ledger's time as people write it: `2026-11-22 08:59:17 UTC`."""
    return time.replace("T", " ").replace("Z", " UTC")


def _show_injected(row: dict[str, Any], context: CommandContext) -> None:
    """List the memories that Claude saw at a place that does not compare candidates."""
    for name, label in zip(("injected", "pointed"), RESULTS):
        lead = _INDENT + label.ljust(_MARK)
        for key in row.get(name, ()):
            context.console.paragraph(plain(key, MAX_LINE), lead, len(lead))


def _explain_candidates(compared: list[Outcome], context: CommandContext) -> None:
    console = context.console
    items = context.overview().items
    names = shortest_names(items)
    titles = {item.stored.key: shown_line(item.stored.memory.title) for item in items}
    console.line()
    for outcome in compared:
        label = outcome.key
        if label in titles:
            label = "%s (%s)" % (titles[label], names[label])
        lead = _INDENT + outcome.result.ljust(_MARK)
        console.paragraph(plain("%s: %s" % (label, outcome.reason), MAX_LINE), lead, len(lead))
    without_words = [outcome.key for outcome in compared if outcome.lacks_words and outcome.key in names]
    if without_words:
        console.line()
        key = without_words[0]
        text = 'To recall "%s" on such prompts, add a phrase that uses the prompt\'s words:'
        console.paragraph(plain(text % titles[key], MAX_LINE))
        console.line("%smemory edit %s --asked-as '...'" % (_INDENT, names[key]))


def show_scores(row: dict[str, Any], context: CommandContext) -> None:
    """Print the scores behind a decision and their parts."""
    console, judge = context.console, row.get("judge")
    console.line()
    console.paragraph(plain(_lookup(row), MAX_LINE))
    if judge is not None:
        console.paragraph(plain("judges: %s %s" % (judge.get("path"), judge.get("reasons") or ""), MAX_LINE))
    candidates = row.get("candidates")
    if not candidates:
        return
    digits = {"confidence": 3, "pointer_confidence": 3, "score": 2}
    rows = [[_digits(item.get(name), digits[name]) for name in digits] + [item["key"]] for item in candidates]
    console.table(["confidence", "pointer", "score", "memory"], rows)
    for item in candidates:
        parts = " ".join("%s=%s" % pair for pair in item.get("parts", {}).items())
        console.paragraph(plain("%s: %s" % (item["key"], parts), MAX_LINE), "", 2)


def _lookup(row: dict[str, Any]) -> str:
    """Return the backend, the time, the matches and the thresholds of one decision, as far as they are recorded."""
    backend, (inject, pointer) = row.get("answered_by"), thresholds(row)
    if inject is None and backend in (None, "none"):
        return "No memory was looked up; %s ms." % row.get("ms")
    parts = ["Backend: %s" % backend, "%s ms" % row.get("ms")]
    if row.get("found") is not None:
        parts.append("matches: %s" % row["found"])
    if inject is not None:
        for_pointer = "" if pointer is None else ", %.2f for a pointer" % pointer
        parts.append("thresholds: %.2f for the full text%s" % (inject, for_pointer))
    return "; ".join(parts)


def _digits(number: float | None, digits: int) -> str:
    return "?" if number is None else "%.*f" % (digits, number)
