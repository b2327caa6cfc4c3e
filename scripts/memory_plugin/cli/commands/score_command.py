"""`memory replies score`: score a text, the last reply, or many replies by rules; or one with a judge."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.data import load_data
from ...kernel.files import read_regular
from ...kernel.judge.errors import explain_failure
from ...kernel.text.clean import block
from ...replies.pipeline import ReplyScorer
from ...replies.query_types import AMBIGUOUS, QUERY_TYPES, load_query_classifier
from ..command_context import CommandError, UsageError
from ..options import add_flag, require_existing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ...replies.grading import DeepGrade
    from ...replies.pipeline import ReplyScore
    from ...replies.reply_signals import ReplySignals
    from ..command_context import CommandContext

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


class ScoreRequest(NamedTuple):
    """A text to score: its id, the message before it, the text, and the names of the tools called in between."""

    id: Any
    user: str
    response: str
    calls: Sequence[str] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a file with one reply; - reads it from standard input"
    )
    add_flag(parser, "--last", "the last scored reply of this project, read from the transcript")
    parser.add_argument("--user", default="", metavar="TEXT", help="the message that the reply answers")
    parser.add_argument(
        "--type",
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
    if arguments.jsonl:
        return _score_lines(arguments, context)
    if (arguments.file is None) != arguments.last:
        raise UsageError("expected one of FILE, - and --last; see `memory replies score --help`")
    request = _last_reply(context) if arguments.last else _named_reply(arguments)
    if request is None:
        raise CommandError(
            "no reply of this project can be read: none was scored yet, or its transcript was deleted"
        )
    score = _score(request, arguments.type, _load_scorer(context))
    if arguments.deep:
        return _show_deep(_grade_deeply(request, score, context), arguments, context)
    if arguments.json:
        context.console.json(as_record(request.id, request.response, score))
    else:
        _show(request.response, score, context)
    return DONE


def _named_reply(arguments: argparse.Namespace) -> ScoreRequest:
    """Return the text of a file, or of standard input for `-`. Raises UsageError for a missing file, OSError for an unreadable one."""
    if arguments.file == "-":
        data = sys.stdin.buffer.read(_MAX_BYTES)
    else:
        require_existing(arguments.file)
        data = read_regular(arguments.file, _MAX_BYTES, follow=True)[0]
    return ScoreRequest(None, arguments.user, data.decode("utf-8", "replace"))


def _last_reply(context: CommandContext) -> ScoreRequest | None:
    from ...replies.transcript_replies import reread_last_scored

    reply = reread_last_scored(context.paths)
    return None if reply is None else ScoreRequest(reply.id, reply.prompt, reply.text, reply.calls)


def _load_scorer(context: CommandContext) -> ReplyScorer:
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    if scorer.error:
        context.console.error(str(scorer.error))
    return scorer


def _score(request: ScoreRequest, kind: str | None, scorer: ReplyScorer) -> ReplyScore:
    by_rules, drafting = _classify(request)
    return scorer.score(request.response, kind or by_rules, drafting)


def _classify(request: ScoreRequest) -> tuple[str, bool]:
    return load_query_classifier().classify(request.user) if request.user else (AMBIGUOUS, False)


def _grade_deeply(request: ScoreRequest, score: ReplyScore, context: CommandContext) -> DeepGrade:
    from ...replies.grading import GradeMaterial, grade_deeply

    timed = context.within(context.settings.integer("scoring.judge.timeout_ms") / 1000)
    material = GradeMaterial(_classify(request)[0], request.user, request.calls, request.response)
    return grade_deeply(material, score.signals, timed, context.taint.why_off)


def _score_lines(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Score line by line; print an error with its number for an unusable line."""
    invalid = 0
    scorer = _load_scorer(context)
    for number, request in _lines():
        if request is None:
            invalid += 1
            context.console.error('line %d: expected an object with a text under "response"' % number)
            continue
        score = _score(request, arguments.type, scorer)
        context.console.verbatim(json.dumps(as_record(request.id, request.response, score)))
    return FAILED if invalid else DONE


def _lines() -> Iterator[tuple[int, ScoreRequest | None]]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
        request = None
        if isinstance(row, dict) and isinstance(row.get("response"), str):
            user = row.get("user")
            request = ScoreRequest(row.get("id"), user if isinstance(user, str) else "", row["response"])
        yield number, request


def as_record(request_id: object, text: str, score: ReplyScore) -> dict[str, Any]:
    """Return a score as JSON data; offsets count characters of the given text."""
    spans = [
        [match.start, match.end, text[match.start : match.end], match.rule.id]
        for match in score.signals.matches
    ]
    fields = score.fields()
    return {"id": request_id, "padding_count": fields.pop("padding_count"), "filler_spans": spans, **fields}


def _show(text: str, score: ReplyScore, context: CommandContext) -> None:
    console, signals = context.console, score.signals
    console.line(block(_marked(text, signals), _MAX_SHOWN))
    console.line()
    if signals.density is None:
        density = "not measured (%s)" % signals.unscored.replace("_", " ")
    else:
        density = "%.3f, threshold %.3f" % (signals.density, score.threshold / 1000)
    advice = "a judge should see it" if score.decision.escalate else "no judge needed"
    drift = " and ".join(score.drift.categories) + ", " + score.drift.severity if score.drift else "none"
    rows = [
        [
            "filler phrases",
            ", ".join([str(signals.padding), *(match.rule.id for match in signals.matches[:10])]),
        ],
        ["words before the answer", str(signals.preamble)],
        ["density", density],
        ["message", score.query_type],
        ["gate", "%s: %s" % (score.decision.row, advice)],
        ["drift", drift],
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


def _show_deep(grade: DeepGrade, arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the levels by dimension. The exit code is 1 if no judge answered."""
    if arguments.json:
        context.console.json(
            {
                "levels": grade.levels,
                "told_by": grade.source,
                "failure": grade.failure,
                "detail": grade.detail,
            }
        )
        return FAILED if grade.failure else DONE
    table = load_data("replies", "dimensions")
    rows = []
    for name in table["deep"]:
        dimension, level = table["dimensions"][name], grade.levels.get(name)
        cells = ["not judged", ""]
        if level is not None:
            cells = ["%d of %d" % (level, dimension["most"]), dimension["levels"][level]]
        rows.append([name, dimension["name"], *cells])
    context.console.table(["", "dimension", "level", "meaning"], rows)
    if grade.source == "judge":
        return DONE
    words = explain_failure(grade.failure, "scoring")
    context.console.line()
    context.console.line("Graded by rules alone. %s %s" % (words.says, words.do))
    return FAILED
