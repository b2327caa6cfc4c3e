"""`memory session calibrate`: let a person score sessions, and compare with the scorer; `memory session langfuse`: exchange scores."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from ...kernel.judge.question import JudgeError, explain_failure, one_line
from ...kernel.stats import Estimate
from ...kernel.text.clean import counted, plain
from ...sessions import langfuse, rows
from ...sessions.langfuse_client import (
    HOSTS,
    LangfuseClient,
    connect,
    keep_session,
    probe,
    read_session,
    server_route,
)
from ...sessions.material import PreparedSession, prepare
from ...sessions.rubric import dimensions
from ...sessions.session_files import current_transcript, find_transcript, is_session_id, project_transcripts
from ...sessions.signals import SessionSignals
from ...work.judges import address_sentences, ignored_sentences, session_scorer
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler, UsageError
from ..console import Console
from ..options import add_actions, add_flag, require_existing

_SERIES = 20  # sessions, enough to measure agreement
_MAX_TURNS = 24
_MIN_TURNS = 2
_NONE_LABELED = "no session was labeled; a session needs at least %d turns"
_MAX_TEXT, _MAX_LAST = 400, 1500
_MAX_TURNS_NAMED = 8
_MAX_EXAMPLE = 80
_CALIBRATE_TEXT = """\
score 20 sessions yourself and measure how well the scorer agrees with you
  memory session calibrate              in a terminal: shows each session and asks for six scores; q quits, and the next run resumes
  memory session calibrate 0d1ec0de     one session; scores entered one at a time add up
  memory session calibrate 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
  memory session calibrate --report     only compare, using the labels so far
  memory session calibrate labels.csv   a header row (session and the dimensions), then one row per session
"""
_LANGFUSE_TEXT = """\
exchange scores and sessions with a Langfuse server: check, setup, push, pull
  memory session langfuse setup         run it once
  memory session langfuse push
  memory session langfuse pull SESSION  to grade the session: memory session score FILE
"""
_LANGFUSE_ACTIONS = {
    "check": "show the server, its version and missing score configs",
    "setup": "create the missing score configs",
    "push": "send the scores that the server does not have yet, and verify that they arrived",
    "pull": "download a session and store it as a transcript that can be graded",
}
_SET = "--set %s: expected DIMENSION=SCORE, such as goal_achievement=complete or tool_efficiency=0.8"


def named_transcript(arguments: Namespace, context: CommandContext) -> str:
    """Return the transcript named by `target` or `--current`.

    Raises UsageError for a missing file or anything but one of them, and TranscriptNotFound.
    """
    if bool(arguments.target) == arguments.current or getattr(arguments, "project", False):
        raise UsageError("name a session: a file, an id, or --current")
    if arguments.current:
        return current_transcript(context.paths, context.session)
    if not is_session_id(arguments.target):
        require_existing(arguments.target)
    return find_transcript(context.paths, arguments.target)


def show_signals(console: Console, name: str, session: SessionSignals) -> None:
    """Print a summary of a session and its signals."""
    totals, usage = session.totals, session.totals.usage
    console.line(console.style("Session %s" % name, "bold"))
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    counts = (counted(totals.turns, "turn"), counted(sum(session.tools.values()), "call"))
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    console.line("%s%s, %s, %s" % (times, *counts, models))
    tokens = "tokens: {:,} in, {:,} from the cache, {:,} out; largest context {:,}, text alone about {:,}"
    fresh = usage["input_tokens"] + usage["cache_creation_input_tokens"]
    cached, out = usage["cache_read_input_tokens"], usage["output_tokens"]
    console.line(tokens.format(fresh, cached, out, totals.context, round(totals.estimated)))
    anomalies = {
        "provider error": totals.api_errors,
        "unreadable row": totals.bad,
        "repeated row": totals.repeated,
        "unanswered call": totals.unresolved,
    }
    unusual = ", ".join(counted(number, noun) for noun, number in anomalies.items() if number)
    console.lines(*([unusual] if unusual else []), "")
    found = [
        [
            signal.label,
            str(signal.count),
            "" if signal.tone == "plain" else signal.tone,
            turns_text(sorted(signal.turns)),
            one_line(signal.last, _MAX_EXAMPLE),
        ]
        for signal in session.found
    ]
    if found:
        console.table(["signal", "count", "", "turns", "the last one"], found)
    else:
        console.line("no signals")


def turns_text(turns: Sequence[int]) -> str:
    """Return turns as text for people, such as `T3 T7 +2`."""
    more = len(turns) - _MAX_TURNS_NAMED
    shown = " ".join("T%d" % turn for turn in turns[:_MAX_TURNS_NAMED])
    return "%s +%d" % (shown, more) if more > 0 else shown


def _configure_calibrate(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    help_text = "a session to score, or a person's scores as CSV (default: your labels)"
    parser.add_argument("target", nargs="?", metavar="ID|FILE", help=help_text)
    add_flag(parser, "--current", "score the current session; outside one, the project's newest")
    add_flag(parser, "--report", "compare without asking for scores")
    add_flag(parser, "--ask", "ask even without a terminal, reading answers from standard input")
    help_text = "a score of the session to store without asking; can be repeated"
    parser.add_argument("--set", action="append", default=[], metavar="DIMENSION=SCORE", help=help_text)


def _names_session(arguments: Namespace) -> bool:
    name = arguments.target or ""
    return arguments.current or bool(arguments.set) or name.endswith(".jsonl") or is_session_id(name)


def _calibrate_approval(arguments: Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return that scores are stored as the user's own; None for comparing them."""
    stores = arguments.ask or _names_session(arguments)
    return Approval("store scores of sessions as your own?") if stores else None


def _calibrate(arguments: Namespace, context: CommandContext) -> None:
    """Label one session or what is missing, or compare the scores and print the figures. Raises UnreadableLabels."""
    if _names_session(arguments):
        _label(arguments, context)
        return
    only_compares = arguments.target or arguments.report or arguments.json
    if arguments.ask or (context.console.can_prompt() and not only_compares):
        labeled = _label_series(context)
        if not labeled:
            raise CommandError(_NONE_LABELED % _MIN_TURNS)
        text = "%s labeled; to go on: memory session calibrate"
        context.console.line(text % counted(labeled, "session"))
    if arguments.target:
        require_existing(arguments.target)
        labels = rows.read_labels(arguments.target)
    else:
        labels = rows.latest_scores(context.paths, rows.LABEL)
    _show_agreement(labels, arguments, context)


def _label(arguments: Namespace, context: CommandContext) -> None:
    """Store the scores that a person gives one session, by --set or when asked."""
    scores: dict[str, float] = {}
    for word in arguments.set:
        name, _, text = word.partition("=")
        score = dimensions()[name].read(text) if name in dimensions() else None
        if score is None:
            raise UsageError(_SET % word[:100])
        scores[name] = score
    session = prepare(named_transcript(arguments, context))
    scores = scores or _ask_scores(context.console, session)[0]
    if not scores:
        raise CommandError("nothing was stored: no score was given")
    row = rows.store_label(context.paths, session, scores)
    text = "%s stored for %s; to compare: memory session calibrate --report"
    context.console.result(arguments.json, row, text % (counted(len(scores), "score"), row["session"]))


def _ask_scores(console: Console, session: PreparedSession) -> tuple[dict[str, float], bool]:
    """Show a session and ask for its scores; return them, and whether the person quit.

    An empty line leaves a dimension out, `s` skips the session, `q` stops.
    """
    show_signals(console, rows.session_id(session), session.signals)
    _show_turns(console, session)
    scores: dict[str, float] = {}
    for name, scale in dimensions().items():
        while name not in scores:
            console.line("%s (%s; empty line: not scored) " % (name, scale.text))
            line = sys.stdin.readline()
            word = line.strip().lower()
            if not line or word in ("s", "q"):
                return {} if line else scores, word != "s"
            if not word:
                break
            score = scale.read(word)
            if score is None:
                console.line("expected %s, s to skip the session, or q to stop" % scale.text)
            else:
                scores[name] = score
    return scores, False


def _label_series(context: CommandContext) -> int:
    """Go through the project's sessions until 20 are labeled, and return how many are. Sessions labeled before are skipped.

    The scorer's own scores are not shown, so that they cannot bias the person.
    """
    done, has_quit = set(rows.latest_rows(context.paths, rows.LABEL)), False
    for path in project_transcripts(context.paths):
        if has_quit or len(done) >= _SERIES:
            break
        try:
            session = prepare(path)
        except OSError:
            continue
        if session.signals.totals.turns < _MIN_TURNS or rows.session_id(session) in done:
            continue
        progress = "session %d of %d" % (len(done) + 1, _SERIES)
        context.console.lines("", context.console.style(progress, "bold"))
        scores, has_quit = _ask_scores(context.console, session)
        if scores:
            rows.store_label(context.paths, session, scores)
            done.add(rows.session_id(session))
    return len(done)


def _show_turns(console: Console, session: PreparedSession) -> None:
    """Print turns in the form in which a scorer sees them, without the middle of many, and the last one at more length."""
    turns: list[dict[str, Any]] = [turn for part in session.parts for turn in part.turns]
    half = _MAX_TURNS // 2
    for turn in turns[:half] + turns[half:][-half:]:
        limit = _MAX_LAST if turn is turns[-1] else _MAX_TEXT
        for key, who in (("user", "user"), ("reply", "Claude")):
            if turn.get(key):
                text = "%3d %s: %s" % (turn["turn"], who, plain(turn[key], limit))
                console.paragraph(text, hang=4)
        calls = turn.get("calls", [])
        if calls:
            names = ", ".join("%s %s" % (call["tool"], call.get("input", "")[:40]) for call in calls[:4])
            failed = sum("error" in call for call in calls)
            number = counted(len(calls) + turn.get("more_calls", 0), "call")
            console.paragraph("    %s, %d failed: %s" % (number, failed, plain(names, _MAX_TEXT)), hang=4)
    if len(turns) > _MAX_TURNS:
        console.line("(%s in the middle not shown)" % counted(len(turns) - _MAX_TURNS, "turn"))


def _show_agreement(labels: rows.Scores, arguments: Namespace, context: CommandContext) -> None:
    ours = rows.latest_scores(context.paths, rows.SCORE)
    shared = len(ours.keys() & labels.keys())
    if not shared:
        text = "no session is both scored and labeled: %d scored (memory session score), %d labeled (memory session calibrate ID)"
        raise CommandError(text % (len(ours), len(labels)))
    agreements = rows.compare(ours, labels)
    if arguments.json:
        records = [{"dimension": name, "n": n, **figures} for name, n, figures in agreements]
        context.console.json({"sessions": shared, "dimensions": records})
        return
    context.console.line("%s scored by both" % counted(shared, "session"))
    if shared < _SERIES:
        context.console.line("Fewer than %d sessions are too few to draw conclusions." % _SERIES)
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
    """Declare the actions."""
    actions = add_actions(parser, _LANGFUSE_ACTIONS)
    actions["pull"].add_argument("session", metavar="SESSION", help="the id of the session in Langfuse")


def _langfuse_approval(arguments: Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what would be sent or read; None for a check."""
    action = arguments.action
    return None if action == "check" else Approval("Langfuse: %s?" % _LANGFUSE_ACTIONS[action])


def _langfuse(arguments: Namespace, context: CommandContext) -> int:
    """Run one action."""
    actions = {"check": _check, "setup": _setup, "push": _push, "pull": _pull}
    try:
        client = connect(context.paths, context.settings, session_scorer(context).off)
        return actions[arguments.action](arguments, context, client)
    except JudgeError as failed:
        hint = _hint(failed.name)
        detail = failed.detail or explain_failure(failed.name, "sessions").says.rstrip(".")
        if arguments.json:
            context.console.json({"ok": False, "failure": failed.name, "detail": detail, "do": hint})
            return FAILED
        context.console.error("%s (%s)%s" % (detail, failed.name, "; " + hint if hint else ""))
        for text in [] if failed.name == "disabled" else ignored_sentences(context, HOSTS):
            context.console.error(text)
        return FAILED


def _hint(failure: str) -> str:
    """Return how to fix a failure; the general advice would name the judge's settings instead."""
    if failure in ("no_key", "disabled", "bad_url"):
        return ""
    if failure == "rate_limited":
        return "nothing is lost; run it again later"
    return "check LANGFUSE_HOST or sessions.langfuse.host, the two keys, and the connection; nothing is lost"


def _check(arguments: Namespace, context: CommandContext, client: LangfuseClient) -> int:
    server, host = probe(client), client.access.address.authority
    missing = sorted(langfuse.score_configs().keys() - langfuse.existing_configs(client))
    address = address_sentences(context, server_route(context.paths, context.settings), HOSTS)
    reads = {"reads_" + name: version for name, version in server.items()}
    record = {"host": host, **reads, "missing_configs": missing, "address": address}
    configs = "all score configs exist"
    if missing:
        configs = "missing score configs: %s (memory session langfuse setup)" % ", ".join(missing)
    read = "sessions are read as %s, scores as %s" % (server["sessions"], server["scores"])
    context.console.result(arguments.json, record, "%s answers; %s; %s" % (host, read, configs))
    for text in () if arguments.json else address:
        context.console.paragraph(text)
    return DONE


def _setup(arguments: Namespace, context: CommandContext, client: LangfuseClient) -> int:
    configs, created = langfuse.set_up(context.paths, client)
    text = "%s, %d of them new" % (counted(len(configs), "score config"), len(created))
    context.console.result(arguments.json, {"configs": configs, "created": created}, text)
    return DONE


def _push(arguments: Namespace, context: CommandContext, client: LangfuseClient) -> int:
    pushed = langfuse.send_scores(context.paths, client, context.console.progress)
    context.console.progress("")
    counts = (pushed.confirmed, pushed.pending, len(pushed.refused))
    line = "%d arrived, %d pending, %d refused" % counts if any(counts) else "nothing to send"
    record = {"arrived": pushed.confirmed, "waiting": pushed.pending, "refused": pushed.refused}
    context.console.result(arguments.json, record, line)
    if pushed.pending:
        text = "%s not confirmed by the server yet. Nothing is lost; run it again later"
        context.console.error(text % counted(pushed.pending, "score"))
    return FAILED if pushed.pending or pushed.refused else DONE


def _pull(arguments: Namespace, context: CommandContext, client: LangfuseClient) -> int:
    server = langfuse.Outbox(context.paths, client.access).server or probe(client)
    traces = read_session(client, server, arguments.session)
    if not traces:
        raise CommandError("%s has no session %s" % (client.access.address.authority, arguments.session))
    path = keep_session(context.paths, arguments.session, traces)
    steps = sum(len(trace.steps) for trace in traces)
    counts = "%s, %s" % (counted(len(traces), "trace"), counted(steps, "observation"))
    record = {"file": path, "traces": len(traces), "observations": steps}
    text = "%s: %s; to grade it: memory session score FILE" % (counts, path)
    context.console.result(arguments.json, record, text)
    return DONE


HANDLERS = {
    "session calibrate": Handler(_CALIBRATE_TEXT, _calibrate, _configure_calibrate, _calibrate_approval),
    "session langfuse": Handler(_LANGFUSE_TEXT, _langfuse, _configure_langfuse, _langfuse_approval),
}
