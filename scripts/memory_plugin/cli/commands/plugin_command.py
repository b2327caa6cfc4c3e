"""Commands that the plugin itself runs: what follows a reply or a session, a refresh of the index, and what the user decides about.

Each imports what it needs when it runs: hooks start them, and the user waits for `describe`.
"""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from io import StringIO

from ...kernel.fastjson import as_objects, as_text, as_texts, dumps, load_object
from ...kernel.text.clean import counted
from ...memories.grants import record_saves
from ...memories.hygiene import shown_line
from ...work.background import MAX_INPUT
from ..command_context import DONE, FAILED, CommandContext, CommandError, Handler, UsageError
from ..command_line import carry_out, handler_of, parse_arguments
from ..console import Console

_BACKGROUND_TEXT = """\
run what follows a reply or a session (used by the plugin itself)
  memory background < request.json
"""


def _background(arguments: Namespace, context: CommandContext) -> int:
    """Run the steps; what fails is in the events ledger."""
    from ...work.afterward import Ended, run_steps

    try:
        ended = Ended.parse(sys.stdin.buffer.read(MAX_INPUT + 1))
    except ValueError:
        raise UsageError("expected a request of a hook on standard input") from None
    return FAILED if run_steps(ended, context, context.taint.why_off) else DONE


_MAX_LINES, _MAX_LINE = 6, 400  # of the output, the last ones
_SETTLE_TEXT = """\
carry out what the user allowed in Claude Code's dialog
  memory settle
"""


def _settle(arguments: Namespace, context: CommandContext) -> int:
    """Carry out the commands that a hook passes, and leave what they print for the user.

    Where Claude runs this, as before each of its commands, all is done already.
    """
    if context.inside_client:
        return 0
    request = load_object(sys.stdin.buffer.read(MAX_INPUT + 1)) or {}
    session, commands = as_text(request.get("session")), as_objects(request.get("commands"))
    if not session or not commands:
        raise UsageError("expected commands from a hook on standard input")
    said = StringIO()
    for command in commands:  # a person reads the output
        command["words"] = [word for word in as_texts(command.get("words")) if word != "--json"]
    code = carry_out(commands, context.caller, Console(said, said))
    lines = ["  " + shown_line(line, _MAX_LINE) for line in said.getvalue().splitlines() if line.strip()]
    record_saves(context.paths, session, lines[-_MAX_LINES:])
    return code


_REFRESH_TEXT = """\
refresh the index, and delete memories that were forgotten long ago
  memory refresh
"""


def _refresh(arguments: Namespace, context: CommandContext) -> int:
    """Refresh the index, delete memories that were retired long ago, and prune old session state."""
    from ...recall.index_file import INDEX_ERRORS
    from ...recall.index_refresh import refresh_index
    from ...work.past_sessions import update_index
    from ...work.refresh import prepare_counts, prune_state, tidy_stores

    try:
        report = refresh_index(context.paths, context.settings)
    except INDEX_ERRORS as error:
        raise CommandError("the index could not be refreshed: %s; try again later" % error) from None
    deleted, problems = tidy_stores(context)
    problems += update_index(context)
    pruned = prune_state(context.paths)
    prepare_counts(context)
    read, unreadable = counted(report.read, "memory"), counted(report.unreadable, "unreadable file")
    lines = ["%s read, %d removed, %s" % (read, report.dropped, unreadable)]
    if report.remaining:
        lines.append("%s left; run it again to continue" % counted(report.remaining, "file"))
    if deleted:
        lines.append("deleted, because they were forgotten long ago: " + ", ".join(deleted))
    record = {**vars(report), "deleted": deleted, "pruned": pruned}
    context.console.result(record, *lines)
    for problem in problems:
        context.console.error(problem)
    return FAILED if problems else DONE


_DESCRIBE_TEXT = """\
print what a command needs the user's approval for
  memory describe accept --all
"""


def _configure_describe(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs=REMAINDER, metavar="WORD", help="the command")


def _describe(arguments: Namespace, context: CommandContext) -> None:
    """Print the question, the digests of its texts, and the project; an empty object if no approval is needed."""
    described = parse_arguments(arguments.words)
    handler = handler_of(described.command)
    approval = handler.approval and handler.approval(described, context)
    record: dict[str, object] = {}
    if approval is not None:
        project = context.paths.project_key
        record = {"question": approval.question, "texts": sorted(approval.texts), "project": project}
    context.console.verbatim(dumps(record))


HANDLERS = {
    "background": Handler(_BACKGROUND_TEXT, _background),
    "settle": Handler(_SETTLE_TEXT, _settle),
    "refresh": Handler(_REFRESH_TEXT, _refresh),
    "describe": Handler(_DESCRIBE_TEXT, _describe, _configure_describe),
}
