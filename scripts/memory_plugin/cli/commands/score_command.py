"""`memory replies score`: score a text, the last reply, or many replies by rules; or one with a judge."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ...kernel.data import load_data
from ...kernel.files import read_regular
from ...kernel.judge.question import explain_failure
from ...kernel.text.clean import block
from ...replies.phrases import QUERY_TYPES
from ...replies.pipeline import ReplyScore, ReplyScorer
from ...replies.reply_signals import ReplySignals
from ...replies.score_history import RereadReply, reread_last_scored
from ..command_context import CommandContext, CommandError, UsageError
from ..options import add_flag, require_existing

DONE, FAILED = 0, 1

HELP = "score a reply: filler phrases, words before the answer, density, and whether a judge is needed"
EXAMPLES = """\
  memory replies score reply.md
  pbpaste | memory replies score - --user "Why does the build hang?"
  memory replies score --last                  the last reply of this project
  memory replies score --last --deep           with a judge, on all eight dimensions
  memory replies score --jsonl < replies.jsonl > scores.jsonl
"""
_MAX_BYTES = 32 << 20
_MAX_SHOWN = 20_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a file with one reply; - reads it from standard input"
    )
    add_flag(parser, "--last", "the last scored reply of this project, read from the transcript")
    parser.add_argument("--user", default="", metavar="TEXT", help="the message that the reply answers")
    parser.add_argument(
        "--type",
        default="",
        choices=QUERY_TYPES,
        metavar="TYPE",
        help="the kind of message: %s (default: derived from --user)" % ", ".join(QUERY_TYPES),
    )
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='read lines {"id", "user", "response"} and print a line of scores for each',
    )
    add_flag(parser, "--deep", "ask the judge to grade all eight dimensions")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Score and print. The exit code is 1 if the reply cannot be read, or if a requested judge did not answer."""
    if not arguments.jsonl and (arguments.file is None) != arguments.last:
        raise UsageError("expected one of FILE, - and --last; see `memory replies score --help`")
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    if scorer.error:
        context.console.error(str(scorer.error))
    if arguments.jsonl:
        return _score_lines(arguments.type, scorer, context)
    reply = reread_last_scored(context.paths) if arguments.last else _named_reply(arguments)
    if reply is None:
        raise CommandError(
            "no reply of this project can be read: none was scored yet, or its transcript was deleted"
        )
    score = scorer.score(reply.text, reply.prompt, arguments.type)
    if arguments.deep:
        return _grade_deeply(reply, score, arguments, context)
    if arguments.json:
        context.console.json(as_record(reply.id or None, reply.text, score))
    else:
        _show(reply.text, score, context)
    return DONE


def _named_reply(arguments: argparse.Namespace) -> RereadReply:
    """Return the text of a file, or of standard input for `-`. Raises UsageError for a missing file, OSError for an unreadable one."""
    if arguments.file == "-":
        data = sys.stdin.buffer.read(_MAX_BYTES)
    else:
        require_existing(arguments.file)
        data = read_regular(arguments.file, _MAX_BYTES, follow=True)[0]
    return RereadReply("", arguments.user, data.decode("utf-8", "replace"), [])


def _score_lines(kind: str, scorer: ReplyScorer, context: CommandContext) -> int:
    """Score line by line; print an error with its number for an unusable line."""
    code = DONE
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not isinstance(row.get("response"), str):
            context.console.error('line %d: expected an object with a text under "response"' % number)
            code = FAILED
            continue
        text, user = row["response"], row.get("user")
        score = scorer.score(text, user if isinstance(user, str) else "", kind)
        context.console.verbatim(json.dumps(as_record(row.get("id"), text, score)))
    return code


def as_record(request_id: object, text: str, score: ReplyScore) -> dict[str, Any]:
    """Return a score as JSON data; offsets count characters of the given text."""
    matches = score.signals.matches
    spans = [[match.start, match.end, text[match.start : match.end], match.rule.id] for match in matches]
    return {"id": request_id, "filler_spans": spans, **score.fields()}


def _show(text: str, score: ReplyScore, context: CommandContext) -> None:
    console, signals = context.console, score.signals
    console.line(block(_marked(text, signals), _MAX_SHOWN))
    console.line()
    density = "not measured (%s)" % signals.unscored.replace("_", " ")
    if signals.density is not None:
        density = "%.3f, threshold %.3f" % (signals.density, score.threshold)
    advice = "a judge should see it" if score.escalates else "no judge needed"
    phrases = [str(signals.padding), *(match.rule.id for match in signals.matches[:10])]
    rows = [
        ["filler phrases", ", ".join(phrases)],
        ["words before the answer", str(signals.preamble)],
        ["density", density],
        ["message", score.query_type],
        ["gate", "%s: %s" % (score.row, advice)],
        [
            "drift",
            " and ".join(score.drift.categories) + ", " + score.drift.severity if score.drift else "none",
        ],
    ]
    if signals.cut:
        rows.append(["cut", "only the first 300,000 characters were read"])
    console.table(["measure", "value"], rows)


def _marked(text: str, signals: ReplySignals) -> str:
    """Return the text with each filler phrase in brackets, followed by its rule."""
    parts: list[str] = []
    end = 0
    for match in signals.matches:
        phrase = text[match.start : match.end]
        parts += [text[end : match.start], "[[%s]]" % phrase, "{%s}" % match.rule.id]
        end = match.end
    return "".join([*parts, text[end:]])


def _grade_deeply(
    reply: RereadReply, score: ReplyScore, arguments: argparse.Namespace, context: CommandContext
) -> int:
    """Print the judge's levels by dimension. The exit code is 1 if no judge answered."""
    from ...replies.grading import GradeMaterial, grade_deeply

    timed = context.within(context.settings.integer("scoring.judge.timeout_ms") / 1000)
    material = GradeMaterial(score.query_type, reply.prompt, reply.calls, reply.text)
    levels, verdict = grade_deeply(material, score.signals, timed, context.taint.why_off)
    failure, console = verdict.failure, context.console
    if arguments.json:
        source = "rules" if failure else "judge"
        console.json({"levels": levels, "told_by": source, "failure": failure, "detail": verdict.detail})
        return FAILED if failure else DONE
    table = load_data("replies", "dimensions")
    rows = []
    for name in table["deep"]:
        dimension, level = table["dimensions"][name], levels.get(name)
        cells = ["not judged", ""]
        if level is not None:
            cells = ["%d of %d" % (level, dimension["most"]), dimension["levels"][level]]
        rows.append([name, dimension["name"], *cells])
    console.table(["", "dimension", "level", "meaning"], rows)
    if failure:
        words = explain_failure(failure, "scoring")
        console.line()
        console.line("Graded by rules alone. %s %s" % (words.says, words.do))
    return FAILED if failure else DONE
