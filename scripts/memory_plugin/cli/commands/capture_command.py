"""`memory capture`: find what may be worth keeping in past sessions, or delete all suggestions."""

from __future__ import annotations

import argparse

from ...capture.candidate import CandidateFile, CandidateSet
from ...capture.pipeline import Progress, capture_files, project_transcripts
from ...kernel.text.clean import counted
from ...work.candidate_check import keep_other_candidates, may_use, section_watch
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, UsageError
from ..options import add_flag, require_existing

HELP = "find what may be worth keeping in past sessions"
EXAMPLES = """\
  memory capture --project                all sessions of this project; again after you decided: the next suggestions
  memory capture --days 30                only those of the last 30 days
  memory capture session.jsonl other.jsonl
  memory review                           shows what was found
  memory capture clear                    delete all suggestions and the record of rejected ones
"""
_NOTE_DAYS = 30.0
_NO_SESSIONS = "No past sessions of this project found (Claude Code deletes transcripts after 30 days). To read others: memory capture FILE"
_NOTHING = "name transcripts, or use --project or --days; to see what was found: memory review"
_OFF = "capture.mode is off; to turn it on: memory config set capture.mode review"
_CLEAR = "clear"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="transcripts; or clear, to delete all suggestions"
    )
    add_flag(parser, "--project", "the transcripts of this project's sessions")
    parser.add_argument(
        "--days", type=float, metavar="N", help="only the project's sessions of the last N days"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return that all candidates are deleted; None for reading sessions."""
    return Approval("delete all suggestions?") if arguments.files[:1] == [_CLEAR] else None


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Look through past sessions, or delete all suggestions."""
    reads_project = arguments.project or arguments.days is not None
    if arguments.files[:1] == [_CLEAR]:
        if reads_project or len(arguments.files) > 1:
            raise UsageError("memory capture clear takes no files")
        number = CandidateFile(context.paths).change(CandidateSet.clear)
        deleted = "deleted: %s" % counted(number, "suggestion")
        context.console.result(arguments.json, {"forgotten": number}, deleted)
        return DONE
    if not (arguments.files or reads_project):
        raise UsageError(_NOTHING)
    if context.settings.text("capture.mode") == "off":
        raise CommandError(_OFF)
    require_existing(*arguments.files)
    found = project_transcripts(context, arguments.days) if reads_project else []
    return _read_sessions(list(dict.fromkeys([*arguments.files, *found])), arguments, context)


def _read_sessions(paths: list[str], arguments: argparse.Namespace, context: CommandContext) -> int:
    """Save the candidates of transcripts, and print what was read and found."""
    file = CandidateFile(context.paths)
    before = {candidate.id for candidate in file.load().open}
    progress, watch = Progress(0, 0, 0, 0), section_watch(context)
    for progress in capture_files(paths, may_use, context, watch):
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
    lines = [line] if paths else [_NO_SESSIONS]
    if paths or candidates:
        lines.append("%s, %d open" % (counted(len(new), "new suggestion"), len(candidates)))
    if candidates:
        lines.append("to save or reject them: memory review, or /memory:review in Claude Code")
    record = {**progress._asdict(), "new": new, "open": len(candidates)}
    context.console.result(arguments.json, record, *lines)
    return FAILED if progress.unreadable else DONE
