"""`memory report`: show what the plugin did over weeks, and what recall would do on past prompts under other settings."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from subprocess import DEVNULL, Popen

from ...kernel.context import Context, days_ago, iso, now
from ...kernel.records import ledger_names
from ...kernel.settings import Settings
from ...kernel.settings.load import load
from ...kernel.settings.user_file import problem_sentence
from ...kernel.text.clean import counted
from ...memories.survey import shortest_names
from ...recall.explain import shown_prompt, told
from ...sessions.session_files import project_transcripts
from ...work.doctor import examine
from ...work.report import LedgerFigures, Report, lead, section_figures
from ...work.trial import NAMES, Replayed, replay, totals_of
from ..command_context import CommandContext, CommandError, Handler, UsageError
from ..options import add_days_option, add_flag, reports_folder, require_existing, write_output
from ..report_forms import HTML_HEAD, html, print_report

_REPORT_TEXT = """\
write a report: what Claude was shown, which memories help, replies, sessions, costs
  memory report --open                     write an HTML file and show it in your browser
  memory report --days 90 --project --out team.html
  memory report --text                     print the report instead
  memory report --ledgers archive/2026 --json
"""
_DAY = 86400
_DAYS = 30
_FILE = "report.html"
_NOTHING = "Nothing is recorded yet. Recording starts with your first prompt in Claude Code."


def _configure_report(parser: ArgumentParser) -> None:
    add_days_option(parser, _DAYS)
    add_flag(parser, "--project", "this project only (default: all projects)")
    text = "where to write the HTML file (default: reports/%s in the state folder)" % _FILE
    parser.add_argument("--out", metavar="FILE", help=text)
    add_flag(parser, "--open", "show the HTML file in the browser")
    text = "read the ledgers in this folder, such as an archive"
    parser.add_argument("--ledgers", metavar="DIR", help=text)
    add_flag(parser, "--text", "print the report instead of writing a file")


def _report(arguments: Namespace, context: CommandContext) -> None:
    """Read the ledgers and show the report in one of its three forms."""
    if (arguments.text or arguments.json) and (arguments.out or arguments.open):
        raise UsageError("--out and --open are for the HTML file; leave out --text and --json")
    with context.console.working("report"):
        report = _read(arguments, context)
    if arguments.json:
        head = {"scope": report.scope, "days": arguments.days, "since": report.since, "until": report.until}
        context.console.result({**head, **report.sections})
    elif arguments.text:
        print_report(report, context.console)
    else:
        _write(report, arguments, context)


def _read(arguments: Namespace, context: CommandContext) -> Report:
    since, until = days_ago(arguments.days), now()
    project = context.paths.project_key if arguments.project else ""
    ledgers = LedgerFigures(_folder(arguments, context), since, iso(until + _DAY), project)
    sections = section_figures(ledgers, context.survey(), examine(context), context.paths)
    scope = "this project" if arguments.project else "all projects"
    return Report(scope, since, iso(until), lead(sections), sections)


def _folder(arguments: Namespace, context: CommandContext) -> str:
    """Return the folder of the ledgers. Raises UsageError and CommandError if it holds none."""
    path = os.path.abspath(arguments.ledgers) if arguments.ledgers else context.paths.state()
    if os.path.isdir(path) and ledger_names(path):
        return path
    if arguments.ledgers:
        raise UsageError("%s: no ledger (NAME.jsonl) in this folder" % path)
    raise CommandError(_NOTHING)


def _write(report: Report, arguments: Namespace, context: CommandContext) -> None:
    path = os.path.abspath(arguments.out) if arguments.out else os.path.join(reports_folder(context), _FILE)
    if os.path.isdir(path):
        raise UsageError("--out: %s is a folder; name a file" % path)
    write_output(path, html(report).encode("utf-8", "replace"), HTML_HEAD, context)
    context.console.paragraph(report.lead)
    context.console.line("written: %s" % path)
    if not arguments.open:
        return
    command = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    try:
        Popen([command, path], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)
    except OSError:
        context.console.error("no browser could be started; open the file yourself")


_REPLAY_TEXT = """\
show what recall would do on your past prompts, under current or other settings
  memory report replay                                   the last 30 days, with the current settings
  memory report replay --days 7 --config trial.json      also what another settings file would change

  trial.json is a settings file, for example
  {"memory": {"retrieval": {"pointer_threshold": 0.6}}}
"""
_SHOWN = 10
_MAX_PROMPT = 70


def _configure_replay(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="a settings file to try on top of your own")
    add_days_option(parser, _DAYS)


def _show_replay(arguments: Namespace, context: CommandContext) -> None:
    """Replay the prompts of this project's transcripts. Nothing is written or sent, and no judge is asked."""
    contexts: dict[str, Context] = {"now": context}
    if arguments.config is not None:
        settings = _trial_settings(arguments.config, context)
        contexts["trial"] = Context(context.paths, settings, context.deadline, context.session)
    paths = project_transcripts(context.paths)
    if not paths:
        raise CommandError("this project has no transcripts; by default Claude Code keeps them for 30 days")

    def report(progress: str, problem: str) -> None:
        if problem:
            context.console.error(problem)
        else:
            context.console.progress(progress)

    replayed = list(replay(paths, now() - arguments.days * _DAY, contexts, report))
    context.console.progress("")
    totals = {name: totals_of([one.decisions[name] for one in replayed]) for name in contexts}
    context.console.result({**totals, "differences": [_as_json(one) for one in replayed if one.differs]})
    if not replayed:
        context.console.line("No prompts in the last %s." % counted(arguments.days, "day"))
    else:
        _show(replayed, totals, context)


def _trial_settings(path: str, context: CommandContext) -> Settings:
    """Return the settings with a trial file on top. Raises UsageError for a file with problems."""
    require_existing(path)
    path = os.path.abspath(path)
    settings = load(context.paths.config_dir, context.paths.project_root, path)
    problems = [problem for problem in settings.problems if problem.file == path]
    if problems:
        raise UsageError(problem_sentence(problems[0]))
    return settings


def _as_json(one: Replayed) -> dict[str, object]:
    prompt = shown_prompt(one.prompt.text, _MAX_PROMPT)
    return {"prompt": prompt, "prompt_id": one.prompt.id, "time": one.time, **one.decisions}


def _show(replayed: list[Replayed], totals: dict[str, dict[str, int]], context: CommandContext) -> None:
    console, rows = context.console, []
    for name, total in totals.items():
        counts = [str(total[column]) for column in ("prompts", *NAMES)]
        rows.append([name, *counts, "%.0f" % (total["tokens"] / len(replayed))])
    console.table(["SETTINGS", "PROMPTS", "SHOWN", "BY TITLE", "NOTHING", "TOKENS PER PROMPT"], rows)
    if "trial" not in totals:
        return
    differing = [one for one in replayed if one.differs]
    console.lines("", "%d of %d prompts differ%s" % (len(differing), len(replayed), ":" if differing else ""))
    names = shortest_names(context.overview().items)
    for one in differing[:_SHOWN]:
        console.paragraph('"%s"' % shown_prompt(one.prompt.text, _MAX_PROMPT), "  ", 2)
        for name, decision in one.decisions.items():
            shown = ["%s %s" % (word, names.get(key, key)) for word, key in told(decision)]
            console.paragraph("%-6s %s" % (name + ":", "; ".join(shown) or "nothing shown"), "    ", 11)
    console.more(len(differing) - _SHOWN, "  ", "; to see all: --json")


HANDLERS = {
    "report": Handler(_REPORT_TEXT, _report, _configure_report),
    "report replay": Handler(_REPLAY_TEXT, _show_replay, _configure_replay),
}
