"""`memory status`: what is stored and pending, and the last decisions of recall; `memory doctor`: problems, and how to fix them."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from datetime import datetime

from ...host.environment import OFF, switched_off
from ...kernel.fastjson import as_text
from ...kernel.settings import USER
from ...kernel.text.clean import counted, plain
from ...memories.guard_file import GuardFile
from ...memories.nearby import unread_nearby
from ...memories.record import ACTIVE
from ...memories.survey import NEW, Item, life_cycle_state
from ...recall import explain
from ...work.doctor import examine
from ...work.installation import FAIL, NOTE, OK, WARN
from ...work.memory_facts import as_json, named_notes, titles_and_names
from ..command_context import DONE, FAILED, CommandContext, Handler
from ..console import Console

_STATUS_TEXT = """\
show what is stored, what is pending, and recent activity
  memory status
  memory status --json                    with the last 20 decisions
"""

_LAST = 20
_SHOWN = 5
_MAX_PENDING = 5
MAX_LINE, _MAX_WORD, _MAX_PROMPT = 1000, 100, 70
_MARK = max(map(len, explain.RESULTS)) + 2  # columns of the longest word before a memory, and two spaces
_NO_PROBLEMS = "no problems in the quick check"
_HINT = """\
No memories in this project yet. To save one: memory save "...", /memory:save, or ask Claude to "remember that we deploy on Tuesdays".
To import notes that you already have: memory import FILE --dry-run"""
_OFF = "Recall is off (%s): Claude is shown nothing. To turn it on: %s"


def _status(arguments: Namespace, context: CommandContext) -> None:
    """Print what is stored and pending, the last decisions, and the doctor's problems."""
    console, survey = context.console, context.overview()
    has_state = context.paths.state_dir is not None
    rows = explain.decisions(context.paths, last=_LAST) if has_state else []
    problems = [check for check in examine(context, survey) if check.status in (WARN, FAIL)]
    stored, pending = _stored_counts(survey.items), [item for item in survey.items if item.is_pending]
    notes = len(named_notes(context))
    has_guards = has_state and context.settings.flag("guards.enabled")
    guards = len(GuardFile(context.paths).guards) if has_guards else 0
    record = {
        "recall": context.settings.flag("retrieval.enabled"),
        "notes": notes,
        "guards": guards,
        "stored": [dict(zip(("scope", "category", "trust", "memories"), row)) for row in stored],
        "waiting": [as_json(item) for item in pending],
        "decisions": [{**row, "says": explain.sentence(row)} for row in rows],
        "doctor": problems,
    }
    console.result(record)
    print_off(context)
    if stored:
        console.table(("SCOPE", "CATEGORY", "TRUST", "MEMORIES"), [list(map(str, row)) for row in stored])
    else:
        console.line(_HINT)
        for text in (*survey.left_alone, *unread_nearby(context.paths)):
            console.paragraph(text)
    labels = titles_and_names(survey.items)
    _print_pending(pending, labels, console)
    if notes:
        text = "%s in Claude Code's own memory; to list them: memory list --notes"
        console.line(text % counted(notes, "note"))
    if guards:
        console.line("%s in force; to list them: memory guards" % counted(guards, "guard"))
    _print_decisions(rows[:_SHOWN], labels, context)
    names = "problems with " + ", ".join(check.name for check in problems) if problems else _NO_PROBLEMS
    console.lines("", "doctor: %s; %s: memory doctor" % (names, "details" if problems else "full check"))


def _stored_counts(items: list[Item]) -> list[tuple[str, str, str, int]]:
    """Return how many active memories there are of each scope, category and trust."""
    active = [item for item in items if life_cycle_state(item) == ACTIVE]
    kinds = Counter((item.stored.store.scope, item.stored.memory.category, item.trust) for item in active)
    return [(*kind, number) for kind, number in sorted(kinds.items())]


def print_off(context: CommandContext) -> None:
    """Say that recall is off, if it is."""
    if switched_off():
        context.console.paragraph(_OFF % (OFF, "unset " + OFF))
    elif not context.settings.flag("retrieval.enabled"):
        owner = "your" if context.settings.origin("retrieval.enabled") == USER else "the project's"
        how = context.settings.to_set("retrieval.enabled", "true")
        context.console.paragraph(_OFF % ("retrieval.enabled in %s settings" % owner, how))


def _print_pending(items: list[Item], labels: dict[str, str], console: Console) -> None:
    if items:
        console.lines("", "%s pending; to decide: memory review" % counted(len(items), "memory"))
    for item in items[:_MAX_PENDING]:
        console.line("  " + labels[item.stored.key] + ("" if item.reason == NEW else ", " + item.reason))
    console.more(len(items) - _MAX_PENDING, "  ", "; to see them: memory review")


def _print_decisions(rows: list[dict[str, object]], labels: dict[str, str], context: CommandContext) -> None:
    """Print the last decisions, each with the prompt and the memories that Claude was shown in full or by title."""
    console, texts = context.console, explain.prompt_texts(rows, context.paths)
    if rows:
        console.lines("", "Recent activity, newest first (reasons: memory why):")
    for row in rows:
        prompt, says = shown_prompt(row, texts, _MAX_PROMPT), plain(explain.sentence(row), MAX_LINE)
        console.paragraph("%s  %s" % (local_time(row), prompt or says), "", 2)
        told = [] if row.get("place") in explain.STARTS else explain.told(row)
        if prompt and not told:
            console.line("  " + says)
        for word, key in told:
            print_memory(word, named(key, labels), context)


def named(key: str, labels: dict[str, str]) -> str:
    """Return a memory's title and name, or the id of one that was deleted; of a note, its file."""
    identity = key.rpartition("/")[2]
    return labels.get(key) or (identity.partition("#")[0] if "#" in key else identity + " (deleted)")


def print_memory(word: str, text: str, context: CommandContext) -> None:
    """Print what became of a memory, and the memory."""
    lead = "  " + word.ljust(_MARK)
    context.console.paragraph(plain(text, MAX_LINE), lead, len(lead))


def local_time(row: dict[str, object]) -> str:
    """Return a row's time in the local time zone."""
    time = as_text(row.get("time"))
    try:
        return datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return plain(time, _MAX_WORD)


def shown_prompt(row: dict[str, object], texts: dict[str, str], limit: int) -> str:
    """Return the beginning of the prompt that a decision is about, or its id; empty for a decision at another place."""
    if row.get("place", "prompt") != "prompt":
        return ""
    prompt_id = as_text(row.get("prompt_id"))
    text = texts.get(prompt_id, "")
    if text:
        return '"%s"' % explain.shown_prompt(text, limit)
    return "prompt " + plain(prompt_id or "without an id", _MAX_WORD)


_DOCTOR_TEXT = """\
find problems and explain how to fix them
  memory doctor
"""

_COLORS = {OK: "green", NOTE: "cyan", WARN: "yellow", FAIL: "red"}
_MAX_DETAILS = 20


def _doctor(arguments: Namespace, context: CommandContext) -> int:
    """Print every check. The exit code is 1 if any check warns or fails."""
    console, checks = context.console, examine(context)
    is_healthy = all(check.status in (OK, NOTE) for check in checks)
    console.result({"ok": is_healthy, "checks": checks})
    for check in checks:
        label = console.style("%-4s" % check.status, _COLORS[check.status])
        console.paragraph("%s: %s" % (check.name, plain(check.text, MAX_LINE)), label + "  ", 6)
        for detail in check.details[:_MAX_DETAILS]:
            console.paragraph(plain(detail, MAX_LINE), "        ", 8)
        console.more(len(check.details) - _MAX_DETAILS, "        ")
        if check.fix:
            console.paragraph(plain(check.fix, MAX_LINE), "      > ", 8)
    return DONE if is_healthy else FAILED


HANDLERS = {"status": Handler(_STATUS_TEXT, _status), "doctor": Handler(_DOCTOR_TEXT, _doctor)}
