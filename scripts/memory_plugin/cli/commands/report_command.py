"""`memory report`: show what the plugin did over weeks, as an HTML file, as text or as JSON."""

from __future__ import annotations

import argparse
import os
import sys
from subprocess import DEVNULL, Popen

from ...kernel.context import days_ago, iso, now
from ...kernel.records import ledger_names
from ...work.doctor import examine
from ...work.report_elements import Page, as_json
from ...work.report_figures import LedgerFigures
from ...work.report_sections import Report, lead, memory_rows, sections
from ..command_context import CommandContext, CommandError, UsageError
from ..options import add_days_option, add_flag, reports_folder, require_days, write_output
from ..report.elements import print_page

HELP = "write a report: what Claude was shown, which memories help, replies, sessions, costs"
EXAMPLES = """\
  memory report --open                     write an HTML file and show it in your browser
  memory report --days 90 --project --out team.html
  memory report --text                     print the report instead
  memory report --ledgers archive/2026 --json
"""
_DAY = 86400
_DAYS = 30
_FILE = "report.html"
_NOTHING = "Nothing is recorded yet. Recording starts with your first prompt in Claude Code."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_days_option(parser, _DAYS)
    add_flag(parser, "--project", "this project only (default: all projects)")
    text = "where to write the HTML file (default: reports/%s in the state folder)" % _FILE
    parser.add_argument("--out", metavar="FILE", help=text)
    add_flag(parser, "--open", "show the HTML file in the browser")
    text = "read the ledgers in this folder, such as an archive"
    parser.add_argument("--ledgers", metavar="DIR", help=text)
    add_flag(parser, "--text", "print the report instead of writing a file")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Read the ledgers and show the report in one of its three forms."""
    require_days(arguments.days)
    if (arguments.text or arguments.json) and (arguments.out or arguments.open):
        raise UsageError("--out and --open are for the HTML file; leave out --text and --json")
    with context.console.working("report"):
        page = _page(arguments, context)
    if arguments.json:
        head = {"scope": page.scope, "days": arguments.days, "since": page.since, "until": page.until}
        context.console.json({**head, **as_json(page.sections)})
    elif arguments.text:
        print_page(page, context.console)
    else:
        _write(page, arguments, context)


def _page(arguments: argparse.Namespace, context: CommandContext) -> Page:
    paths, until = context.paths, now()
    since = days_ago(arguments.days)
    project = paths.project_key if arguments.project else ""
    ledgers = LedgerFigures(_folder(arguments, context), since, iso(until + _DAY), project)
    scope = "this project" if arguments.project else "all projects"
    survey = context.survey()
    rows, pending = memory_rows(survey, ledgers.recalls, paths), sum(item.waits for item in survey.items)
    report = Report(scope, since, iso(until), ledgers, rows, pending, examine(context), paths)
    return Page(scope, since, report.until, lead(report), sections(report))


def _folder(arguments: argparse.Namespace, context: CommandContext) -> str:
    """Return the folder of the ledgers. Raises UsageError and CommandError if it holds none."""
    path = os.path.abspath(arguments.ledgers) if arguments.ledgers else context.paths.state()
    if os.path.isdir(path) and ledger_names(path):
        return path
    if arguments.ledgers:
        raise UsageError("%s: no ledger (NAME.jsonl) in this folder" % path)
    raise CommandError(_NOTHING)


def _write(page: Page, arguments: argparse.Namespace, context: CommandContext) -> None:
    from ..report.html_form import MARK, html

    path = os.path.abspath(arguments.out) if arguments.out else os.path.join(reports_folder(context), _FILE)
    if os.path.isdir(path):
        raise UsageError("--out: %s is a folder; name a file" % path)
    write_output(path, html(page).encode("utf-8", "replace"), MARK, context)
    context.console.paragraph(page.lead)
    context.console.line("written: %s" % path)
    if arguments.open:
        _open(path, context)


def _open(path: str, context: CommandContext) -> None:
    """Show a file in the browser, or print that none could be started."""
    command = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    try:
        Popen([command, path], stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)
    except OSError:
        context.console.error("no browser could be started; open the file yourself")
