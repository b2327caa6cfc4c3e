"""`memory replies score`: score a text, the last reply, or many replies by rules, or one with a judge."""

from __future__ import annotations

import argparse
import json
import sys

from ...host.events import path_field
from ...kernel.files import read_regular
from ...kernel.judge.asking import Judge
from ...kernel.judge.question import explain_failure
from ...kernel.paths import load_data
from ...kernel.text.clean import block
from ...replies.judge import GradeMaterial, deep_question, read_turn
from ...replies.rows import Score, read_scores
from ...replies.score import ReplyScorer, read_last_reply
from ..command_context import CommandContext, CommandError, UsageError
from ..options import add_flag, require_existing

HELP = "score a reply: filler phrases, words before the answer, density, and whether a judge is needed"
EXAMPLES = """\
  memory replies score reply.md
  pbpaste | memory replies score - --user "Why does the build hang?"
  memory replies score --last                  the last reply of this project
  memory replies score --last --deep           with a judge, on all eight dimensions
  memory replies score --jsonl < replies.jsonl > scores.jsonl
"""

DONE, FAILED = 0, 1
_MAX_BYTES = 32 << 20
_MAX_SHOWN = 20_000
_FIGURES = Score._fields[1:9]  # from the number of filler phrases to the drift


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a file with one reply; - reads it from standard input"
    )
    add_flag(parser, "--last", "the last reply of this project, read from the transcript")
    parser.add_argument("--user", default="", metavar="TEXT", help="the message that the reply answers")
    add_flag(parser, "--jsonl", 'read lines {"id", "user", "response"} and print a line of scores for each')
    add_flag(parser, "--deep", "ask the judge to grade all eight dimensions")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Score and print. The exit code is 1 if the reply cannot be read, or if a requested judge did not answer."""
    if not arguments.jsonl and (arguments.file is None) != arguments.last:
        raise UsageError("expected one of FILE, - and --last; see `memory replies score --help`")
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    if scorer.error:
        context.console.error(str(scorer.error))
    if arguments.jsonl:
        return _score_lines(scorer, context)
    text, prompt, calls = (
        _last_reply(context) if arguments.last else (_read(arguments.file), arguments.user, [])
    )
    score = scorer.score(text, prompt)
    if arguments.deep:
        return _grade(score, GradeMaterial(score.query_type, prompt, calls, text), arguments, context)
    if arguments.json:
        context.console.json(_as_record(None, text, score))
    else:
        _show_score(text, score, context)
    return DONE


def _last_reply(context: CommandContext) -> tuple[str, str, list[str]]:
    """Return the project's last reply in a transcript that still exists, with its prompt and the tool calls of its turn."""
    scores, _ = read_scores(context.paths, project=context.paths.project_key)
    transcripts = [path_field(score.transcript) for score in scores]
    for path in dict.fromkeys(reversed(transcripts)):
        reply = read_last_reply(path)
        if reply.text:
            return reply.text, reply.prompt, read_turn(path)[1]
    raise CommandError(
        "no reply of this project can be read: none was scored yet, or its transcript was deleted"
    )


def _read(file: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises UsageError for a missing file, OSError for an unreadable one."""
    if file == "-":
        return sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace")
    require_existing(file)
    return read_regular(file, _MAX_BYTES, follow=True)[0].decode("utf-8", "replace")


def _score_lines(scorer: ReplyScorer, context: CommandContext) -> int:
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
        score = scorer.score(text, user if isinstance(user, str) else "")
        context.console.verbatim(json.dumps(_as_record(row.get("id"), text, score)))
    return code


def _as_record(request_id: object, text: str, score: Score) -> dict[str, object]:
    """Return a score as JSON data; offsets count characters of the given text."""
    spans = [[start, end, text[start:end], rule] for start, end, rule in score.matches]
    return {"id": request_id, "filler_spans": spans, **{name: getattr(score, name) for name in _FIGURES}}


def _show_score(text: str, score: Score, context: CommandContext) -> None:
    """Print the text with each filler phrase in brackets, followed by its rule; then the measures."""
    parts, done = [], 0
    for start, end, rule in score.matches:
        parts += [text[done:start], "[[%s]]" % text[start:end], "{%s}" % rule]
        done = end
    context.console.line(block("".join([*parts, text[done:]]), _MAX_SHOWN))
    context.console.line()
    density = "not measured (%s)" % score.gate.replace("_", " ")
    if score.density is not None:
        density = "%.3f, threshold %.3f" % (score.density, score.threshold)
    advice = "a judge should see it" if score.escalate else "no judge needed"
    rules = [rule for _, _, rule in score.matches]
    rows = [
        ["filler phrases", ", ".join([str(score.padding_count), *rules[:10]])],
        ["words before the answer", str(score.preamble_words)],
        ["density", density],
        ["kind of message", score.query_type],
        ["judge", "%s: %s" % (score.gate, advice)],
        ["wordy", " and ".join(score.drift) + ", " + score.severity if score.drift else "no"],
    ]
    context.console.table(["measure", "value"], rows)


def _grade(
    score: Score, material: GradeMaterial, arguments: argparse.Namespace, context: CommandContext
) -> int:
    """Print the judge's levels by dimension, or the score by rules if no judge answered; then the exit code is 1."""
    timed = context.within(context.settings.integer("scoring.judge.timeout_ms") / 1000)
    judge = Judge("scoring", timed, off=context.taint.why_off)
    verdict = judge.ask(deep_question(material), timed.deadline, retry=True)
    levels = verdict.values["levels"] if verdict.values else {}
    code = FAILED if verdict.failure else DONE
    if arguments.json:
        record = {"levels": levels, "failure": verdict.failure, "detail": verdict.detail}
        context.console.json({**record, "score": _as_record(None, material.reply, score)})
        return code
    if verdict.failure:
        _show_score(material.reply, score, context)
        words = explain_failure(verdict.failure, "scoring")
        raise CommandError("scored by rules alone: %s %s" % (words.says, words.do))
    scales = load_data("replies", "dimensions")["dimensions"]
    rows = [
        [
            name,
            scales[name]["name"],
            "%d of %d" % (level, scales[name]["most"]),
            scales[name]["levels"][level],
        ]
        for name, level in levels.items()
    ]
    context.console.table(["", "dimension", "level", "meaning"], rows)
    return code
