"""`memory replies`: score texts and replies; show the scores over time; propose changes to the user's rule pack, and apply them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial

from ...host import path_field
from ...kernel.context import days_ago
from ...kernel.fastjson import as_text
from ...kernel.files import read_regular
from ...kernel.judge.asking import Judge
from ...kernel.judge.question import explain_failure
from ...kernel.paths import load_data
from ...kernel.text.clean import block, counted
from ...replies import reset_tuning_reminder, rows, tune
from ...replies.judge import GradeMaterial, deep_question, read_turn
from ...replies.score import ReplyScorer, read_last_reply
from ...replies.signals import load_filler_rules
from ..command_context import DONE, Approval, CommandContext, CommandError, Handler, UsageError
from ..console import Console, read_text
from ..options import add_days_option, add_flag, answer_lines, require_existing

_TEXT = "score replies, show their scores over time, and tune the filler rules"
_SCORE_TEXT = """\
score a reply: filler phrases, words before the answer, density, and whether a judge is needed
  memory replies score reply.md
  memory replies score - --user "Why does the build hang?" < reply.md
  memory replies score --last                  the last reply of this project
  memory replies score --last --deep           with a judge, on all eight dimensions
  memory replies score --jsonl < replies.jsonl > scores.jsonl
"""
_HISTORY_TEXT = """\
show reply scores over time, by model, project and pattern, and the effect of corrections
  memory replies history
  memory replies history --effect
"""
_MAX_BYTES = 32 << 20
_MAX_SHOWN = 20_000
_FIGURES = rows.Score._fields[1:9]  # from the number of filler phrases to the drift
_DAYS = 30
_MAX_ROWS = 8
_LEGEND = (
    "With filler: replies with at least one filler phrase. Wordy: replies with so much filler, or such low density, alone or with those"
    " before, that Claude is corrected on your next prompt. For a judge: replies that the rules leave to it. Density: the mean share of"
    " words that carry information, from 0 to 1; - if no reply was long enough to measure."
)
_EFFECT = """\
Wordy replies whose next reply was not wordy
  corrected:      {corrected}
  control group:  {control}"""


def _configure_score(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file with a reply; - reads standard input")
    add_flag(parser, "--last", "the last reply of this project, read from the transcript")
    parser.add_argument("--user", default="", metavar="TEXT", help="the message that the reply answers")
    add_flag(parser, "--jsonl", 'read lines {"id", "user", "response"} and print a line of scores for each')
    add_flag(parser, "--deep", "ask the judge to grade all eight dimensions")


def _score(arguments: Namespace, context: CommandContext) -> int:
    """Score and print. The exit code is 1 if the reply cannot be read, or if a requested judge did not answer."""
    if not arguments.jsonl and (arguments.file is None) != arguments.last:
        raise UsageError("expected one of FILE, - and --last; see `memory replies score --help`")
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    if scorer.error:
        context.console.error(str(scorer.error))
    if arguments.jsonl:
        return answer_lines("response", partial(_scored_line, scorer), context.console)
    given = _last_reply(context) if arguments.last else (_read(arguments.file), arguments.user, [])
    text, prompt, calls = given
    score = scorer.score(text, prompt)
    if arguments.deep:
        return _grade(score, GradeMaterial(score.query_type, prompt, calls, text), context)
    context.console.result(_as_record(None, text, score))
    _show_score(text, score, context)
    return DONE


def _last_reply(context: CommandContext) -> tuple[str, str, list[str]]:
    """Return the project's last reply in a transcript that still exists, with its prompt and the tool calls of its turn."""
    scores = rows.read_scores(context.paths, project=context.paths.project_key)
    transcripts = [path_field(score.transcript) for score in scores]
    for path in dict.fromkeys(reversed(transcripts)):
        reply = read_last_reply(path)
        if reply.text:
            return reply.text, reply.prompt, read_turn(path)[1]
    raise CommandError("no reply of this project can be read: none was scored yet, or its transcript is gone")


def _read(file: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises UsageError for a missing file, OSError for an unreadable one."""
    if file == "-":
        return read_text(_MAX_BYTES)
    require_existing(file)
    return read_regular(file, _MAX_BYTES, follow=True)[0].decode("utf-8", "replace")


def _scored_line(scorer: ReplyScorer, row: Mapping[str, object], text: str) -> dict[str, object]:
    return _as_record(row.get("id"), text, scorer.score(text, as_text(row.get("user"))))


def _as_record(request_id: object, text: str, score: rows.Score) -> dict[str, object]:
    """Return a score as JSON data; offsets count characters of the given text."""
    spans = [[start, end, text[start:end], rule] for start, end, rule in score.matches]
    return {"id": request_id, "filler_spans": spans, **{name: getattr(score, name) for name in _FIGURES}}


def _show_score(text: str, score: rows.Score, context: CommandContext) -> None:
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
    measures = [
        ["filler phrases", ", ".join([str(score.padding_count), *rules[:10]])],
        ["words before the answer", str(score.preamble_words)],
        ["density", density],
        ["kind of message", score.query_type],
        ["judge", "%s: %s" % (score.gate, advice)],
        ["wordy", " and ".join(score.drift) + ", " + score.severity if score.drift else "no"],
    ]
    context.console.table(["measure", "value"], measures)


def _grade(score: rows.Score, material: GradeMaterial, context: CommandContext) -> int:
    """Print the judge's levels by dimension, or the score by rules if no judge answered; then the exit code is 1."""
    timed = context.within(context.settings.integer("scoring.judge.timeout_ms") / 1000)
    judge = Judge("scoring", timed, off=context.taint.why_off)
    verdict = judge.ask(deep_question(material), timed.deadline)
    levels = verdict.values["levels"] if verdict.values else {}
    record = {"levels": levels, "failure": verdict.failure, "detail": verdict.detail}
    context.console.result({**record, "score": _as_record(None, material.reply, score)})
    if verdict.failure:
        _show_score(material.reply, score, context)
        words = explain_failure(verdict.failure, "scoring")
        raise CommandError("scored by rules alone: %s %s" % (words.says, words.do))
    cells = []
    for name, level in levels.items():
        scale = load_data("replies", "dimensions")["dimensions"][name]
        cells.append([name, scale["name"], "%d of %d" % (level, scale["most"]), scale["levels"][level]])
    context.console.table(["", "dimension", "level", "meaning"], cells)
    return DONE


def _configure_history(parser: ArgumentParser) -> None:
    add_days_option(parser, _DAYS)
    add_flag(parser, "--effect", "show the effect of corrections, compared with a control group")


def _history(arguments: Namespace, context: CommandContext) -> None:
    """Print the scores, or the effect of corrections."""
    since = days_ago(arguments.days)
    if arguments.effect:
        _show_effect(since, context)
        return
    scores = rows.read_scores(context.paths, since)
    context.console.result(_history_record(scores))
    if scores:
        _show_history(scores, context)
    else:
        text = "No reply was scored in the last %s. Replies are scored as Claude finishes them."
        context.console.line(text % counted(arguments.days, "day"))


def _grouped(scores: list[rows.Score], name: str) -> list[rows.ScoreGroup]:
    """Group replies by a field of their records."""
    return rows.group_scores(scores, lambda score: str(getattr(score, name)))


def _history_record(scores: list[rows.Score]) -> dict[str, object]:
    return {
        "replies": len(scores),
        "days": rows.group_by_day(scores),
        **{name + "s": _grouped(scores, name) for name in ("model", "project", "gate")},
        "patterns": [{"id": name, "matches": count} for name, count in rows.count_patterns(scores)],
        "audit": rows.missed_by_rules(scores),
    }


def _show_history(scores: list[rows.Score], context: CommandContext) -> None:
    console = context.console
    (total,) = rows.group_scores(scores, lambda _: "all")
    missed = rows.missed_by_rules(scores)
    console.line(console.style("Replies scored: %d" % total.replies, "bold"))
    shares = {"with filler": total.padded, "wordy": total.drifted, "for a judge": total.escalated}
    shares.update({"missed by rules (audit)": missed} if missed.n else {})
    console.table(["share", "replies"], [[name, str(part)] for name, part in shares.items()])
    for name in ("model", "project"):
        table = [_row(group) for group in _grouped(scores, name)[:_MAX_ROWS]]
        _print_part([name, "replies", "with filler", "wordy", "density"], table, console)
    patterns = [[name, str(count)] for name, count in rows.count_patterns(scores)[:_MAX_ROWS]]
    _print_part(["pattern", "matches"], patterns, console)
    if console.wraps:  # only for a person at a terminal
        console.line()
        console.paragraph(_LEGEND)


def _print_part(headers: list[str], cells: list[list[str]], console: Console) -> None:
    """Print a table below an empty line, unless it has no rows."""
    if cells:
        console.line()
        console.table(headers, cells)


def _row(group: rows.ScoreGroup) -> list[str]:
    density = "-" if group.density is None else "%.3f" % group.density
    shares = ("%.0f%%" % (100 * (part.value or 0.0)) for part in (group.padded, group.drifted))
    return [group.name, str(group.replies), *shares, density]


def _show_effect(since: str, context: CommandContext) -> None:
    effect = rows.measure_effect(context.paths, since)
    gap = None if effect.gap is None else dict(zip(("difference", "low", "high"), effect.gap))
    groups = {"corrected": effect.corrected, "control": effect.control}
    record = {**groups, "effect": gap, "enough": effect.is_conclusive}
    context.console.result(record, *_EFFECT.format(**groups).split("\n"), effect.verdict)


_TUNE_TEXT = """\
adjust the filler rules by a judge's verdicts
  memory replies tune                shows agreement, cleared patterns, new phrases and proposals
  memory replies tune --apply        writes the proposals into your own rule pack, with a backup
"""
_TUNE_DAYS = 60
_MAX_PHRASES = 12
_RESCORED = (
    "Replies scored again: %(replies)d. With filler before: %(padded_before)d (phrases: %(phrases_before)d);"
    " after: %(padded_after)d (phrases: %(phrases_after)d)."
)
_NO_CHANGE = "No change to the filler rules is proposed."


def _configure_tune(parser: ArgumentParser) -> None:
    add_days_option(parser, _TUNE_DAYS)
    add_flag(parser, "--apply", "write the proposals into your own rule pack")


def _approve_tune(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return what to change; None for an analysis."""
    return Approval("change the filler rules?") if arguments.apply else None


def _tune(arguments: Namespace, context: CommandContext) -> None:
    """Show what judged replies say about the rules, and the proposed rule pack; write it with --apply.

    Raises RulePackError if the pack cannot be read.
    """
    scores = rows.read_scores(context.paths, days_ago(arguments.days))
    console, state = context.console, context.paths.state()
    study = tune.study_scores(scores, load_filler_rules(state))
    advice = tune.gate_advice(study)
    change = tune.propose_pack(study, state)
    diff = change.diff
    effect = change.rescored(scores) if diff else {}
    applies = arguments.apply and bool(diff)
    record = {**study._asdict(), "advice": advice, "diff": diff, "rescored": effect}
    console.result({**record, "applied": applies})
    _show_study(study, advice, context)
    console.lines("", *([*diff.splitlines(), "", _RESCORED % effect] if diff else [_NO_CHANGE]))
    reset_tuning_reminder(context.paths)
    if applies:
        path, backup = change.write(context.paths)
        console.line("Written: %s.%s" % (path, " The previous version: %s." % backup if backup else ""))


def _show_study(study: tune.TuningStudy, advice: str, context: CommandContext) -> None:
    console = context.console
    console.line("Judged replies: %d; still in their transcripts: %d" % (study.judged, study.reread))
    console.line(advice)
    if study.missed.n:
        console.line("missed by rules, estimated from the audited replies: %s" % (study.missed,))
    cleared = [[row.rule, str(row.cleared), "exempt" if row.exempt else ""] for row in study.cleared]
    phrases = [[row.phrase, str(row.replies), "promote" if row.promote else ""] for row in study.candidates]
    _print_part(["pattern", "cleared by the judge", "proposal"], cleared[:_MAX_PHRASES], console)
    _print_part(["new phrase", "replies", "proposal"], phrases[:_MAX_PHRASES], console)


HANDLERS = {
    "replies": Handler(_TEXT, None),
    "replies score": Handler(_SCORE_TEXT, _score, _configure_score),
    "replies history": Handler(_HISTORY_TEXT, _history, _configure_history),
    "replies tune": Handler(_TUNE_TEXT, _tune, _configure_tune, _approve_tune),
}
