"""`memory session calibrate`: let a person score a session, and compare with the scorer; `memory session langfuse`: exchange scores."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from ...kernel.judge.question import JudgeError, explain_failure, one_line
from ...kernel.stats import Estimate
from ...kernel.text.clean import counted, plain
from ...sessions import langfuse, rows
from ...sessions.langfuse_client import HOSTS, LangfuseClient, connect, keep_session, probe, read_session
from ...sessions.material import PreparedSession, prepare
from ...sessions.rubric import dimensions
from ...sessions.session_files import find_transcript, is_session_id
from ...sessions.signals import SessionSignals
from ...work.judges import ignored_sentences, session_scorer
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler
from ..console import Console
from ..options import add_actions, require_existing, run_action

_ENOUGH = 20  # sessions, to measure agreement
_MAX_TURNS = 24
_MAX_TEXT, _MAX_LAST = 400, 1500
_MAX_TURNS_NAMED = 8
_MAX_EXAMPLE = 80
_CALIBRATE_TEXT = """\
score sessions yourself and measure how well the scorer agrees with you
  memory session calibrate 0d1ec0de     in a terminal: shows the session and asks for six scores
  memory session calibrate              compares your scores so far with the scorer's
  memory session calibrate labels.csv   a header row (session and the dimensions), then one row per session
"""
_LANGFUSE_TEXT = """\
exchange scores and sessions with a Langfuse server: push, pull
  memory session langfuse push
  memory session langfuse pull SESSION  to grade the session: memory session score FILE
"""
# How to fix a failure; the general advice would name the judge's settings instead.
_HINTS = {"rate_limited": "nothing is lost; run it again later", "no_key": "", "disabled": "", "bad_url": ""}
_CHECK = "check LANGFUSE_HOST or sessions.langfuse.host, the two keys, and the connection; nothing is lost"
_YOUR_OWN = "the scores are your own: run it in a terminal, outside Claude Code"


def show_signals(console: Console, name: str, session: SessionSignals) -> None:
    """Print a summary of a session and its signals."""
    totals, usage = session.totals, session.totals.usage
    console.line(console.style("Session %s" % name, "bold"))
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    counts = (counted(totals.turns, "turn"), counted(sum(session.tools.values()), "call"))
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    console.line("%s%s, %s, %s" % (times, *counts, models))
    tokens = "tokens: {:,} in, {:,} from the cache, {:,} out; largest context {:,}"
    fresh = usage["input_tokens"] + usage["cache_creation_input_tokens"]
    cached, out = usage["cache_read_input_tokens"], usage["output_tokens"]
    console.line(tokens.format(fresh, cached, out, totals.context))
    if totals.bad:
        console.line("left out: " + counted(totals.bad, "unreadable row"))
    console.line()
    found = [
        [one.label, str(one.count), turns_text(sorted(one.turns)), one_line(one.last, _MAX_EXAMPLE)]
        for one in session.found
    ]
    empty = "no signals" if totals.turns else "no turn of Claude Code or Codex was found in the file"
    console.table(["signal", "count", "turns", "the last one"], found, empty)


def turns_text(turns: Sequence[int]) -> str:
    """Return turns as text for people, such as `T3 T7 +2`."""
    more = len(turns) - _MAX_TURNS_NAMED
    shown = " ".join("T%d" % turn for turn in turns[:_MAX_TURNS_NAMED])
    return "%s +%d" % (shown, more) if more > 0 else shown


def _configure_calibrate(parser: ArgumentParser) -> None:
    text = "a session to score, or a CSV file with a person's scores (default: your scores)"
    parser.add_argument("target", nargs="?", default="", metavar="ID|FILE", help=text)


def _calibrate(arguments: Namespace, context: CommandContext) -> None:
    """Ask a person for the scores of a session, or compare a person's scores with the scorer's. Raises UnreadableLabels."""
    target = arguments.target
    if target.endswith(".jsonl") or is_session_id(target):
        _label(target, context)
    elif target:
        require_existing(target)
        _show_agreement(rows.read_labels(target), context)
    else:
        _show_agreement(rows.latest_scores(context.paths, rows.LABEL), context)


def _label(target: str, context: CommandContext) -> None:
    """Ask for the scores of a session, and store them. The scorer's own are not shown, so that they cannot bias the person."""
    if context.inside_client:
        raise CommandError(_YOUR_OWN)
    if not is_session_id(target):
        require_existing(target)
    session = prepare(find_transcript(context.paths, target))
    scores = _ask_scores(context.console, session)
    if not scores:
        raise CommandError("nothing was stored: no score was given")
    row = rows.store_label(context.paths, session, scores)
    text = "%s stored for %s; to compare: memory session calibrate"
    context.console.result(row, text % (counted(len(scores), "score"), row["session"]))


def _ask_scores(console: Console, session: PreparedSession) -> dict[str, float]:
    """Show a session and ask for its scores. An empty line leaves a dimension out."""
    show_signals(console, rows.session_id(session), session.signals)
    _show_turns(console, session)
    scores: dict[str, float] = {}
    for name, scale in dimensions().items():
        console.line("%s (%s; empty line: not scored) " % (name, scale.text))
        while name not in scores and (word := sys.stdin.readline().strip().lower()):
            score = scale.read(word)
            if score is None:
                console.line("expected " + scale.text)
            else:
                scores[name] = score
    return scores


def _show_turns(console: Console, session: PreparedSession) -> None:
    """Print turns in the form in which a scorer sees them, without the middle of many, and the last one at more length."""
    turns: list[dict[str, Any]] = [turn for part in session.parts for turn in part.turns]
    half = _MAX_TURNS // 2
    for turn in turns[:half] + turns[half:][-half:]:
        limit = _MAX_LAST if turn is turns[-1] else _MAX_TEXT
        for key, who in (("user", "user"), ("reply", "Claude")):
            if turn.get(key):
                console.paragraph("%3d %s: %s" % (turn["turn"], who, plain(turn[key], limit)), hang=4)
    if len(turns) > _MAX_TURNS:
        console.line("(%s in the middle not shown)" % counted(len(turns) - _MAX_TURNS, "turn"))


def _show_agreement(labels: rows.Scores, context: CommandContext) -> None:
    ours = rows.latest_scores(context.paths, rows.SCORE)
    shared = len(ours.keys() & labels.keys())
    if not shared:
        text = "no session is both scored and labeled: %d scored (memory session score), %d labeled (memory session calibrate ID)"
        raise CommandError(text % (len(ours), len(labels)))
    agreements = rows.compare(ours, labels)
    records = [{"dimension": name, "n": n, **figures} for name, n, figures in agreements]
    context.console.result({"sessions": shared, "dimensions": records})
    context.console.line("%s scored by both" % counted(shared, "session"))
    if shared < _ENOUGH:
        context.console.line("Fewer than %d sessions are too few to draw conclusions." % _ENOUGH)
    each = ((name, n, *pair) for name, n, figures in agreements for pair in figures.items())
    lines = [[name, str(n), key, _figure(figure)] for name, n, key, figure in each]
    context.console.table(["dimension", "n", "figure", "value and 95% interval"], lines)


def _figure(figure: Estimate) -> str:
    if figure.value is None:
        return "not determined"
    if figure.low is None or figure.high is None:
        return "%.2f" % figure.value
    return "%.2f  [%.2f, %.2f]" % (figure.value, figure.low, figure.high)


def _configure_langfuse(parser: ArgumentParser) -> None:
    actions = add_actions(parser, _ACTIONS)
    actions["pull"].add_argument("session", metavar="SESSION", help="the id of the session in Langfuse")


def _langfuse_approval(arguments: Namespace, context: CommandContext) -> Approval:
    """Return what would be sent or read."""
    return Approval("Langfuse: %s?" % _ACTIONS[arguments.action].text)


def _connect(context: CommandContext) -> LangfuseClient:
    return connect(context.paths, context.settings, session_scorer(context).off)


def _langfuse(arguments: Namespace, context: CommandContext) -> int | None:
    """Run one action."""
    try:
        return run_action(arguments, context)
    except JudgeError as failed:
        hint = _HINTS.get(failed.name, _CHECK)
        detail = failed.detail or explain_failure(failed.name, "sessions").says.rstrip(".")
        context.console.error("%s (%s)%s" % (detail, failed.name, "; " + hint if hint else ""))
        for text in [] if failed.name == "disabled" else ignored_sentences(context, HOSTS):
            context.console.error(text)
        return FAILED


def _push(arguments: Namespace, context: CommandContext) -> int:
    pushed = langfuse.send_scores(context.paths, _connect(context), context.console.progress)
    context.console.progress("")
    counts = (pushed.confirmed, pushed.pending, len(pushed.refused))
    line = "%d arrived, %d pending, %d refused" % counts if any(counts) else "nothing to send"
    record = {"arrived": pushed.confirmed, "waiting": pushed.pending, "refused": pushed.refused}
    context.console.result(record, line)
    if pushed.pending:
        text = "%s not confirmed by the server yet. Nothing is lost; run it again later"
        context.console.error(text % counted(pushed.pending, "score"))
    return FAILED if pushed.pending or pushed.refused else DONE


def _pull(arguments: Namespace, context: CommandContext) -> None:
    client = _connect(context)
    server = langfuse.Outbox(context.paths, client.access).server or probe(client)
    traces = read_session(client, server, arguments.session)
    if not traces:
        raise CommandError("%s has no session %s" % (client.access.address.authority, arguments.session))
    path = keep_session(context.paths, arguments.session, traces)
    steps = sum(len(trace.steps) for trace in traces)
    counts = "%s, %s" % (counted(len(traces), "trace"), counted(steps, "observation"))
    record = {"file": path, "traces": len(traces), "observations": steps}
    context.console.result(record, "%s: %s; to grade it: memory session score FILE" % (counts, path))


_ACTIONS = {
    "push": Handler(
        "send scores that the server does not have, with their configs, and verify that they arrived", _push
    ),
    "pull": Handler("download a session and store it as a transcript that can be graded", _pull),
}
HANDLERS = {
    "session calibrate": Handler(_CALIBRATE_TEXT, _calibrate, _configure_calibrate),
    "session langfuse": Handler(_LANGFUSE_TEXT, _langfuse, _configure_langfuse, _langfuse_approval),
}
