"""`memory capture`: find what may be worth keeping in past sessions; list, reject or clear the candidates."""

from __future__ import annotations

import argparse

from ...capture.candidate import CandidateFile, CandidateSet
from ...capture.pipeline import Progress, capture_files, project_transcripts
from ...memories.hygiene import shown_line
from ..candidate_check import keep_other_candidates, may_use, section_watch
from ..command_context import Approval, CommandContext, CommandError, UsageError
from ..console import counted
from ..options import add_flag, require_existing

HELP = "find what may be worth keeping in past sessions; list, reject or clear the candidates"
EXAMPLES = """\
  memory capture --project                all sessions of this project; again after you decided: the next candidates
  memory capture --days 30                only those of the last 30 days
  memory capture session.jsonl other.jsonl
  memory capture list --json
  memory capture drop c-0123456789        never propose this one again
  memory capture clear                    delete all candidates and the record of rejected ones
"""
DONE, FAILED = 0, 1
_NOTE_DAYS = 30.0
_NO_SESSIONS = "No transcripts of such sessions were found (Claude Code deletes old ones). To read other files: memory capture FILE"
_LIST, _CLEAR, _DROP = "list", "clear", "drop"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="FILE",
        help="transcripts; or list, clear, drop ID...",
    )
    add_flag(parser, "--project", "the transcripts of this project's sessions")
    parser.add_argument(
        "--days", type=float, metavar="N", help="only the project's sessions of the last N days"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return which candidates to reject or delete; None for other actions."""
    if arguments.what[:1] in ([_CLEAR], [_DROP]):
        return Approval("change what was captured: " + " ".join(arguments.what))
    return None


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Look through past sessions, or list, reject or clear candidates."""
    action, rest = (arguments.what[0], arguments.what[1:]) if arguments.what else ("", [])
    reads_sessions = arguments.project or arguments.days is not None
    if action in (_LIST, _CLEAR, _DROP):
        if reads_sessions or (action in (_LIST, _CLEAR) and rest):
            raise UsageError("memory capture %s takes no files" % action)
        return _manage(action, rest, arguments, context)
    if not action and not reads_sessions:
        return _manage(_LIST, [], arguments, context)
    return _read_sessions(arguments, context)


def _manage(action: str, rest: list[str], arguments: argparse.Namespace, context: CommandContext) -> int:
    file = CandidateFile(context.paths)
    if action == _LIST:
        return _list(arguments, file, context)
    if action == _CLEAR:
        number = file.change(CandidateSet.clear)
        deleted = "deleted: %s" % counted(number, "candidate")
        context.console.result(arguments.json, {"forgotten": number}, deleted)
        return DONE
    if not rest:
        raise UsageError("name the candidates to reject")
    known = [candidate.id for candidate in file.load().open]
    unknown = [name for name in rest if name not in known]
    if unknown:
        advice = "to list them: memory capture list" if known else "there are none open"
        raise UsageError("%s: no such candidate; %s" % (unknown[0], advice))
    file.change(lambda candidates: candidates.close(rest))
    number = len(set(rest))
    context.console.result(arguments.json, {"dropped": number}, "rejected: %s" % counted(number, "candidate"))
    return DONE


def _read_sessions(arguments: argparse.Namespace, context: CommandContext) -> int:
    if context.settings.text("capture.mode") == "off":
        raise CommandError("capture.mode is off; to switch capture on: memory config set capture.mode review")
    require_existing(*arguments.what)
    paths = list(arguments.what)
    if arguments.project or arguments.days is not None:
        paths += project_transcripts(context, arguments.days)
    file = CandidateFile(context.paths)
    before = {candidate.id for candidate in file.load().open}
    progress, watch = Progress(0, 0, 0, 0), section_watch(context)
    for progress in capture_files(list(dict.fromkeys(paths)), may_use, context, watch):
        done = progress.read + progress.unreadable
        context.console.progress(
            "%d of %d files, %d MB, %d found" % (done, len(paths), progress.size >> 20, progress.found)
        )
    context.console.progress("")
    keep_other_candidates(context, _NOTE_DAYS, watch)
    candidates = file.load().open
    new = [candidate.id for candidate in candidates if candidate.id not in before]
    line = "read %s (%d MB)" % (counted(progress.read, "transcript"), progress.size >> 20)
    line += ", %d unreadable" % progress.unreadable if progress.unreadable else ""
    lines = [line] if progress.read or progress.unreadable else [line, _NO_SESSIONS]
    lines.append(
        "%s, %d open. Nothing is saved until you accept it."
        % (counted(len(new), "new candidate"), len(candidates))
    )
    if candidates:
        lines.append("to accept or reject them: memory review, or /memory:review in Claude Code")
    record = {**progress._asdict(), "new": new, "open": len(candidates)}
    context.console.result(arguments.json, record, *lines)
    return FAILED if progress.unreadable else DONE


def _list(arguments: argparse.Namespace, file: CandidateFile, context: CommandContext) -> int:
    candidates = file.load()
    if arguments.json:
        records = [candidate.to_json() for candidate in candidates.open]
        context.console.json({"candidates": records, "dropped": len(candidates.closed)})
        return DONE
    if not candidates.open:
        context.console.line("Nothing worth keeping was found.")
    for candidate in candidates.open:
        seen = ", seen in %d sessions" % len(candidate.sessions) if len(candidate.sessions) > 1 else ""
        context.console.line("%s  %s%s" % (candidate.id, candidate.kind.replace("_", " "), seen))
        context.console.paragraph(shown_line(candidate.quote), "  ", 2)
        if candidate.contradicts:
            context.console.line("  it contradicts " + shown_line(candidate.contradicts))
    if candidates.open:
        context.console.line("to accept or reject them: memory review")
    return DONE
