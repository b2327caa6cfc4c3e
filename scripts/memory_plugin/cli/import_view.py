"""Print an import as a table that fits the terminal, followed by remarks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .console import counted
from .import_plan import LEFT_OUT, REPEATED, SKIPPED, WOULD_STORE, shown_source

if TYPE_CHECKING:
    from .command_context import CommandContext

_MIN_WIDE = 120  # columns, from which files and tags are shown
_SOURCE_SHARE = 4
_MAX_LIST = 24
_SHORT_OUTCOMES = {"would be stored": "new", "same": "stored", "created": "stored now"}


def print_results(results: list[dict[str, Any]], offered: dict[str, str], context: CommandContext) -> None:
    """Print the results as a table, then what was left out, repeated, redacted, similar or skipped."""
    listed = [result for result in results if result["outcome"] not in (SKIPPED, LEFT_OUT, REPEATED)]
    if listed:
        _print_table(listed, context)
    _print_offered(offered, context)
    _print_left_out(results, context)
    for result in results:
        _print_remarks(result, context)


def _print_table(listed: list[dict[str, Any]], context: CommandContext) -> None:
    width = context.console.width
    headers, rows = ["OUTCOME", "CATEGORY", "FROM"], []
    wide = width >= _MIN_WIDE and any("tags" in result for result in listed)
    for result in listed:
        source = _cut_left(_source(result, context), max(16, width // _SOURCE_SHARE))
        outcome = "archived"
        if result.get("status", "active") == "active":
            outcome = _SHORT_OUTCOMES.get(result["outcome"], result["outcome"])
        row = [outcome, result["category"], source]
        if wide:
            row += [_cut(", ".join(result.get(name, ()))) for name in ("files", "tags")]
        rows.append([*row, result["title"]])
    if all(result["outcome"] == WOULD_STORE and result.get("status") == "active" for result in listed):
        headers, rows = headers[1:], [row[1:] for row in rows]
    context.console.table([*headers, *(("FILES", "TAGS") if wide else ()), "TITLE"], rows)


def _source(result: dict[str, Any], context: CommandContext) -> str:
    return shown_source(result["source"], context.paths.project_root)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LIST else text[: _MAX_LIST - 1] + "\u2026"


def _cut_left(text: str, width: int) -> str:
    return text if len(text) <= width else "\u2026" + text[len(text) - width + 1 :]


def _print_offered(offered: dict[str, str], context: CommandContext) -> None:
    for path, why in offered.items():
        context.console.paragraph(
            "%s: Claude reads it in every session anyway; its rules are offered because it %s."
            " Remove from it what you import."
            % (shown_source(path, context.paths.project_root), "has " + why if why[0].isdigit() else why)
        )


def _print_left_out(results: list[dict[str, Any]], context: CommandContext) -> None:
    reasons = Counter(result["reason"] for result in results if result["outcome"] == LEFT_OUT)
    for reason, number in reasons.items():
        context.console.paragraph(
            "%s left out: %s; --all imports them too" % (counted(number, "rule"), reason)
        )
    for result in results:
        if result["outcome"] == REPEATED:
            context.console.line("%s: left out: %s" % (_source(result, context), result["reason"]))


def _print_remarks(result: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    if result["outcome"] == SKIPPED:
        console.error("%s: skipped: %s" % (result["source"], result["reason"]))
    for redaction in result.get("redacted", ()):
        console.line("redacted in %s, %s: %s" % (result["source"], redaction["field"], redaction["rule"]))
    for memory in result.get("similar", ()):
        similar = "%s: %s  %s" % (memory["why"], memory["id"], memory["title"])
        console.line("%s, from %s: %s" % (result["title"], result["source"], similar))
        if memory["command"]:
            console.line("  if the new one replaces it: " + memory["command"])
