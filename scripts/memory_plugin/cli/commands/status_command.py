"""`memory status`: what is stored and pending, and the last decisions of recall. `memory why`: explain one of them, or try a prompt."""

from __future__ import annotations

import argparse
from collections import Counter
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from ...host.events import MAX_CHARACTERS, MAX_SILENT, count_silent_calls
from ...kernel.settings.values import USER
from ...kernel.text.clean import plain
from ...memories.guard_file import GuardFile
from ...memories.hygiene import shown_line
from ...memories.nearby import unread_nearby
from ...memories.record import ACTIVE
from ...memories.survey import NEW, Survey, life_cycle_state, shortest_names
from ...recall import explain
from ...recall.gate import Prompt
from ...recall.history import Answer, RecallHistory
from ...recall.pipeline import recall
from ..command_context import CommandContext, CommandError
from ..console import counted
from ..installation_checks import FAIL, WARN
from ..memory_view import as_json, named_notes
from ..options import add_flag
from .doctor_command import examine

_LAST = 5
_MAX_PENDING = 5
_MAX_LINE, _MAX_WORD, _MAX_PROMPT = 1000, 100, 70
_ID_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz-_")
_MARK = max(map(len, explain.RESULTS)) + 2  # columns of the longest word before a memory, and two spaces
_TRIED = "Tried now, as the first prompt of a session."
_NO_JUDGES = " The judges were not asked."
_ADVICE = "Should one of these have matched? Add a search phrase with the prompt's words:"
_HINT = """\
No memories in this project yet. Ask Claude to remember something ("remember that we deploy on Tuesdays"), type
/memory:save, or run:  memory save --category decision --title "..." --body "..."
To store notes that you already have:  memory import CLAUDE.md docs --dry-run"""
_OFF = "Recall is off (retrieval.enabled in %s): Claude is shown nothing. To turn it on: memory config set retrieval.enabled true"


def _configure_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--last", type=int, default=_LAST, metavar="N", help="show the last N decisions (default: %d)" % _LAST
    )


def _configure_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt",
        nargs="?",
        default=explain.LAST,
        metavar="PROMPT",
        help="a text to try, or the id of a past prompt or its first characters (default: the last prompt)",
    )
    parser.add_argument(
        "--place",
        choices=explain.PLACES,
        default="",
        help="explain the last decision at this place instead of one on a prompt",
    )
    add_flag(parser, "--verbose", "also print the scores and their parts")


def _status(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print what is stored and pending, the last decisions, and the doctor's problems."""
    console, survey = context.console, context.overview()
    has_state, has_guards = context.paths.state_dir is not None, context.settings.flag("guards.enabled")
    last = max(0, arguments.last) if has_state else 0
    rows = explain.decisions(context.paths, last=last) if last else []
    problems = [check for check in examine(context, survey) if check.status in (WARN, FAIL)]
    facts: dict[str, Any] = {
        "recall": context.settings.flag("retrieval.enabled"),
        "notes": len(named_notes(context)),
        "guards": len(GuardFile(context.paths).guards) if has_state and has_guards else 0,
        "catalog": _catalog(context) if has_state else None,
        "silent_calls": count_silent_calls(context.paths) if has_state else 0,
    }
    stored = _stored(survey)
    if arguments.json:
        kinds = ("scope", "category", "trust", "memories")
        facts["stored"] = [dict(zip(kinds, row)) for row in stored]
        facts["waiting"] = [as_json(item) for item in survey.items if item.waits]
        facts["decisions"] = [{**row, "says": explain.sentence(row)} for row in rows]
        console.json({**facts, "doctor": [check._asdict() for check in problems]})
        return
    _print_off(context)
    if stored:
        table = [[*kind, str(number)] for *kind, number in stored]
        console.table(("SCOPE", "CATEGORY", "TRUST", "MEMORIES"), table)
    else:
        console.line(_HINT)
        for text in (*survey.left_alone, *unread_nearby(context.paths)):
            console.paragraph(text)
    labels = _labels(survey)
    _print_waiting(survey, labels, context)
    _print_facts(facts, context)
    _print_decisions(rows, labels, context)
    names = ", ".join(check.name for check in problems)
    console.line()
    console.line(
        "doctor: %s; %s: memory doctor"
        % (names or "no problems in the quick check", "details" if names else "full check")
    )


def _print_off(context: CommandContext) -> None:
    if not context.settings.flag("retrieval.enabled"):
        is_own = context.settings.origin("retrieval.enabled") == USER
        context.console.paragraph(_OFF % ("your settings" if is_own else "the project's settings"))


def _stored(survey: Survey) -> list[tuple[str, str, str, int]]:
    """Return how many active memories there are of each scope, category and trust."""
    items = [item for item in survey.items if life_cycle_state(item) == ACTIVE]
    kinds = Counter((item.stored.store.scope, item.stored.memory.category, item.trust) for item in items)
    return [(*kind, number) for kind, number in sorted(kinds.items())]


def _print_waiting(survey: Survey, labels: dict[str, str], context: CommandContext) -> None:
    items = [item for item in survey.items if item.waits]
    if items:
        context.console.line()
        number = counted(len(items), "memory")
        context.console.line("%s awaiting your approval (to decide: memory review):" % number)
    for item in items[:_MAX_PENDING]:
        reason = "" if item.reason == NEW else ", " + item.reason
        context.console.line("  %s%s" % (labels[item.stored.key], reason))
    if len(items) > _MAX_PENDING:
        context.console.line("  and %d more; to see them: memory review" % (len(items) - _MAX_PENDING))


def _catalog(context: CommandContext) -> dict[str, int] | None:
    """Return the size of the last session catalog in this project; None if there was none, or catalogs are off."""
    if not context.settings.integer("retrieval.catalog.max_tokens"):
        return None
    row = explain.find_decision(context.paths, explain.LAST, place="catalog")
    if row is None or row.get("outcome") == "silent":
        return None
    told = len(row.get("injected", ()))
    numbers = {name: row.get(name, 0) for name in ("listed", "unlisted", "tokens")}
    return {"rules": told, "all_rules": row.get("rules", told), **numbers}


def _print_facts(facts: dict[str, Any], context: CommandContext) -> None:
    """Print the numbers of notes, guards, catalog entries and silent tool calls; zeros are left out."""
    catalog = facts["catalog"]
    if facts["notes"]:
        text = "%s in Claude Code's own memory; to list them: memory list --notes"
        context.console.line(text % counted(facts["notes"], "note"))
    if facts["guards"]:
        context.console.line("%s in force; to list them: memory guards" % counted(facts["guards"], "guard"))
    if catalog is not None:
        told, rules = catalog["rules"], catalog["all_rules"]
        of = "%d of " % told if told < rules else ""
        text = "Last session start: %s%s, %s, %d tokens (details: memory why --place catalog)"
        numbers = counted(rules, "standing rule"), counted(catalog["listed"], "title"), catalog["tokens"]
        context.console.paragraph(text % (of, *numbers))
        if of:
            context.console.line("All rules: memory list --rules")
    if facts["silent_calls"]:
        calls = counted(facts["silent_calls"], "tool call")
        least = "at least " if facts["silent_calls"] >= MAX_SILENT else ""
        context.console.line("No memory applied to %s%s." % (least, calls))


def _print_decisions(rows: list[dict[str, Any]], labels: dict[str, str], context: CommandContext) -> None:
    """Print the last decisions, each with the prompt and the memories that Claude was told or pointed to."""
    console, texts = context.console, explain.prompt_texts(rows, context.paths)
    if rows:
        console.line()
        console.line("Recent activity, newest first (reasons: memory why):")
    for row in rows:
        prompt, says = _prompt(row, texts, _MAX_PROMPT), plain(explain.sentence(row), _MAX_LINE)
        console.paragraph("%s  %s" % (_local(row), prompt or says), "", 2)
        told = [] if row.get("place") in explain.STARTS else _told(row)
        if prompt and not told:
            console.line("  " + says)
        for word, key in told:
            _print_memory(word, labels.get(key, key), context)


def _print_memory(word: str, text: str, context: CommandContext) -> None:
    lead = "  " + word.ljust(_MARK)
    context.console.paragraph(plain(text, _MAX_LINE), lead, len(lead))


def _told(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what Claude saw of memories, as pairs of one of RESULTS and a key."""
    names = zip(("injected", "pointed"), explain.RESULTS)
    return [(word, key) for name, word in names for key in row.get(name, ())]


def _labels(result: Survey) -> dict[str, str]:
    """Return a memory's title and the name that commands take, by key."""
    names = shortest_names(result.items)
    return {
        item.stored.key: "%s (%s)" % (shown_line(item.stored.memory.title), names[item.stored.key])
        for item in result.items
    }


def _local(row: dict[str, Any]) -> str:
    """Return a row's time in the local time zone."""
    time = row.get("time", "")
    try:
        return datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return plain(time, _MAX_WORD)


def _prompt(row: dict[str, Any], texts: dict[str, str], limit: int) -> str:
    """Return the beginning of the prompt that a decision is about, or its id; empty for a decision at another place."""
    if row.get("place", "prompt") != "prompt":
        return ""
    text = texts.get(row.get("prompt_id", ""), "")
    if text:
        return '"%s"' % explain.shown_prompt(text, limit)
    return "prompt " + plain(row.get("prompt_id") or "without an id", _MAX_WORD)


def _why(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Explain one decision, or try a prompt."""
    row, tried = explain.find_decision(context.paths, arguments.prompt, place=arguments.place), False
    if row is None and not arguments.place and not _may_be_id(arguments.prompt):
        prompt, history = Prompt(arguments.prompt, "", ""), RecallHistory(context.paths, "")
        row, tried = recall(Answer("prompt"), prompt, MAX_CHARACTERS, context, history).record, True
    if row is None:
        raise CommandError(_nothing_found(arguments.prompt, arguments.place))
    also = explain.same_turn(context.paths, row)
    if arguments.json:
        context.console.json({"pointed": [], **row, "also": also})
        return
    _print_off(context)
    if tried:
        judged = context.settings.is_judge_enabled("retrieval")
        context.console.paragraph(_TRIED + (_NO_JUDGES if judged else ""))
    else:
        named = _prompt(row, explain.prompt_texts([row], context.paths), _MAX_LINE)
        context.console.paragraph(", ".join(filter(None, (_local(row), named))))
    _explain(row, context)
    for other in also:
        context.console.paragraph(plain("Also in this turn: %s." % explain.sentence(other), _MAX_LINE))
    if arguments.verbose:
        _print_scores(row, context)


def _may_be_id(text: str) -> bool:
    """Return whether a text may be the beginning of a prompt's id rather than a prompt: one word with a digit, or `last`."""
    is_id = set(text.lower()) <= _ID_CHARACTERS and any(character.isdigit() for character in text)
    return is_id or text == explain.LAST


def _nothing_found(prompt: str, place: str) -> str:
    if place and place != "prompt":
        return "nothing is recorded %s in this project" % explain.PLACE_TEXTS[place]
    if prompt == explain.LAST:
        return "no decision is recorded in this project; recording starts with the first prompt"
    text = "no prompt with the id %s is recorded in this project; to list prompts: %s"
    return text % (prompt, "memory status --last 20 --json")


def _explain(row: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    summary = plain(explain.sentence(row), _MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    if explain.problem(row):
        console.paragraph(plain("problem: " + explain.problem(row), _MAX_LINE))
    lines = [(one.result, one.key, ": " + one.reason) for one in explain.outcomes(row)]
    lines = lines or [(*pair, "") for pair in _told(row)]
    labels = _labels(context.overview()) if lines else {}
    if lines:
        console.line()
    for word, key, reason in lines:
        _print_memory(word, labels.get(key, key) + reason, context)
    if row.get("candidates") and explain.would_phrases_help(row):
        console.line()
        console.paragraph(_ADVICE)
        console.line('  memory edit ID --asked-as "..."')
    elif not lines and explain.remedy(row):
        console.paragraph("Try: " + explain.remedy(row))


def _print_scores(row: dict[str, Any], context: CommandContext) -> None:
    """Print the thresholds and the scores behind a decision, as far as they are recorded; `--json` has their parts."""
    console, number = context.console, "{:.2f}".format
    console.line()
    if row.get("inject_threshold") is None:
        console.line("No memory was looked up.")
        return
    thresholds = (number(row.get(name) or 0) for name in ("inject_threshold", "pointer_threshold"))
    console.line("thresholds: %s for the full text, %s for a pointer" % tuple(thresholds))
    names, found = ("confidence", "pointer_confidence", "score"), row.get("candidates", ())
    if found:
        rows = [[*(number(one.get(name) or 0) for name in names), one["key"]] for one in found]
        console.table(["confidence", "pointer", "score", "memory"], rows)


PARTS = {
    "status": SimpleNamespace(
        HELP="show what is stored and pending, and the last decisions of recall",
        EXAMPLES="""\
  memory status
  memory status --last 20 --json
""",
        configure=_configure_status,
        run=_status,
    ),
    "why": SimpleNamespace(
        HELP="explain why a prompt did or did not bring up memories, or test one",
        EXAMPLES="""\
  memory why
  memory why "how do we reset staging"               tries a prompt: what would Claude be told?
  memory why a2fc9ec1 --json                         a prompt by the beginning of its id
  memory why --verbose                               includes the scores
  memory why --place catalog                         what Claude saw at the start of the session
""",
        configure=_configure_why,
        run=_why,
    ),
}
