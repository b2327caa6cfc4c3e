"""`memory evaluate`: run gates and a jury over conversations; check rule packs.

Exit codes: 0 pass, 1 fail (also if a gate has an error), 2 usage, 3 could not be judged.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace

from ...evaluation import EvaluationError, pipeline, shipped_names
from ...evaluation.conversation_formats import parse_lines
from ...evaluation.conversations import STDIN, conversation_of, read_conversations
from ...evaluation.evaluation_gates import run_gates
from ...evaluation.jury import choose_jurors, load_rubric
from ...evaluation.packs import check_pack, chosen_packs
from ...evaluation.rule_matching import RulePack
from ...kernel.context import LedgerError
from ...kernel.fastjson import as_object
from ...kernel.files import Unreadable, error_text, read_regular
from ...kernel.text.clean import counted, terminal_safe
from ...sessions.session_files import TranscriptNotFound, find_transcript
from ..command_context import CommandContext, CommandError, Handler, UsageError
from ..console import announce_input, with_objects
from ..options import add_actions, add_flag, require_existing, require_known, run_action, write_output

_TEXT = """\
evaluate conversations: rule-based gates first, then scores from a jury of models
  memory evaluate --gates-only talk.jsonl                     {"turn": 1, "role": "user", "content": "..."} on each line
  memory evaluate talks/*.jsonl --pack caregiving --rubric caregiving --report report
  memory evaluate --agreement labels.jsonl --pack caregiving  how well the gates agree with human labels
"""
_RULES_TEXT = """\
validate the rule packs used for evaluation
  memory evaluate rules check caregiving-ny
"""
_EXIT = {"pass": 0, "fail": 1, "unjudged": 3}
_MAX_FILE = 200_000_000
_MARK = "memory evaluate"
# Of the reports that this command writes.
_HEADS = {".md": "<!-- %s -->\n" % _MARK, ".json": '{\n  "written_by": "%s",\n' % _MARK}


def _configure(parser: ArgumentParser) -> None:
    text = "transcripts, JSONL of turns, session ids, or - (default: this session)"
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help=text)
    add_flag(parser, "--gates-only", "run the gates only; nothing is sent")
    packs, rubrics = ", ".join(shipped_names("packs")), ", ".join(shipped_names("rubrics"))
    parser.add_argument("--pack", action="append", metavar="NAME|FILE", help="a pack (repeatable): " + packs)
    parser.add_argument("--rubric", metavar="NAME|FILE", help="the rubric of the jury: " + rubrics)
    add_flag(parser, "--judges-after-fail", "ask the jury even after a failed gate")
    parser.add_argument("--report", metavar="PATH", help="write PATH.md and PATH.json")
    parser.add_argument("--agreement", metavar="FILE", help="compare the gates with people's labels (JSONL)")


def _evaluate(arguments: Namespace, context: CommandContext) -> int:
    """Evaluate the inputs. The exit code tells pass, fail, or could not be judged."""
    for name in arguments.pack or ():
        require_known(name, shipped_names("packs"))
    if arguments.rubric:
        require_known(arguments.rubric, shipped_names("rubrics"))
    if arguments.report:
        require_existing(os.path.dirname(arguments.report) or os.curdir)
    try:
        packs = chosen_packs(arguments.pack or context.settings.texts("evaluation.packs"))
        if arguments.agreement:
            return _compare_with_labels(arguments, packs, context)
        files = [
            name if name == STDIN or os.path.exists(name) else find_transcript(context.paths, name)
            for name in arguments.inputs or filter(None, [context.session])
        ]
        if not files:
            raise UsageError("nothing to evaluate: name a file or a session")
        plan = _plan(arguments, packs, context)
        results = []
        if STDIN in files:
            announce_input()
        with context.console.working("evaluate"):
            for number, path in enumerate(files, 1):
                context.console.progress("%d of %d: %s" % (number, len(files), path))
                results += [pipeline.evaluate(talk, plan) for talk in read_conversations(path)]
    except (EvaluationError, TranscriptNotFound, Unreadable, FileNotFoundError) as error:
        raise UsageError(error_text(error)) from None
    return _report(arguments, context, pipeline.summarize(results))


def _plan(arguments: Namespace, packs: list[RulePack], context: CommandContext) -> pipeline.EvaluationPlan:
    settings = context.settings
    rubric = load_rubric(arguments.rubric or settings.text("evaluation.rubric"))
    off = terminal_safe(context.taint.why_off)
    why_off = pipeline.GATES_ONLY if arguments.gates_only else off
    if not why_off and not settings.is_judge_enabled("evaluation"):
        why_off = "off; to turn it on: memory judge on evaluation"
    jurors = [] if why_off else choose_jurors(context, settings.texts("evaluation.judge.judges"), off)
    quorum = settings.integer("evaluation.quorum")
    return pipeline.EvaluationPlan(packs, rubric, jurors, quorum, arguments.judges_after_fail, why_off)


def _report(arguments: Namespace, context: CommandContext, summary: pipeline.Summary) -> int:
    """Write results to ledger, files and console; return the exit code of the verdict."""
    for result in summary.results if context.paths.state_dir is not None else ():
        try:
            context.append("evaluations", result.ledger_row())
        except LedgerError as error:
            context.console.error("the evaluation was not recorded: %s" % error)
    record = summary.record()
    if arguments.report:
        data = json.dumps(with_objects({"written_by": _MARK, **record}), indent=2)
        text = _HEADS[".md"] + "\n" + pipeline.markdown_report(summary)
        for end, content in ((".md", text), (".json", data)):
            path = os.path.abspath(arguments.report) + end
            write_output(path, content.encode("utf-8", "replace"), _HEADS[end].encode("ascii"), context)
    lines = [line for result in summary.results for line in result.text_lines()]
    context.console.result(record, *lines, *(tier.line() for tier in summary.tiers))
    return _EXIT[summary.verdict]


def _compare_with_labels(arguments: Namespace, packs: list[RulePack], context: CommandContext) -> int:
    """Compare the gates with human labels: lines {"turns": [...], "labels": {"compliance": "fail"}}."""
    require_existing(arguments.agreement)
    pairs: dict[str, list[tuple[str, str]]] = {}
    invalid = 0
    for entry in parse_lines(read_regular(arguments.agreement, _MAX_FILE)[0]):
        labels = as_object(as_object(entry).get("labels"))
        conversation = conversation_of("", as_object(entry).get("turns") or [])
        ours = {result.gate: result.status for result in run_gates(packs, conversation)}
        rated = labels.keys() & ours.keys() if conversation.turns and not conversation.skipped else ()
        invalid += not rated
        for gate in rated:
            pairs.setdefault(gate, []).append((str(labels[gate]).strip().lower(), ours[gate]))
    if not pairs:
        raise UsageError("%s: no labels for the gates of these packs" % arguments.agreement)
    by_gate = {gate: pipeline.compare_labels(pairs[gate]) for gate in sorted(pairs)}
    context.console.result({"gates": by_gate, "bad_lines": invalid})
    names = ["gate", "n", "kappa", "class", "human", "ours", "recall", "precision"]
    rows = [
        [gate, str(agreement.n), str(agreement.kappa), label, *map(str, figures.values())]
        for gate, agreement in by_gate.items()
        for label, figures in agreement.classes.items()
    ]
    context.console.table(names, rows)
    if invalid:
        context.console.line("left out: %d lines without readable turns or a label for these gates" % invalid)
    return 0


def _configure_rules(parser: ArgumentParser) -> None:
    actions = add_actions(parser, _ACTIONS)
    actions["check"].add_argument("pack", metavar="PACK", help="the name of a pack, or a file")


def _check_pack(arguments: Namespace, context: CommandContext) -> int:
    """Check a pack. The exit code is 1 for one with errors."""
    require_known(arguments.pack, shipped_names("packs"))
    try:
        report = check_pack(arguments.pack)
    except EvaluationError as error:
        raise CommandError(str(error)) from None
    counts = (report.rules, "rule"), (report.examples, "example"), (len(report.faults), "error")
    summary = "%s: %s" % (report.pack, ", ".join(counted(*count) for count in counts))
    context.console.result(report, *["error: " + fault for fault in report.faults], summary)
    return 1 if report.faults else 0


_ACTIONS = {"check": Handler("validate a pack and run its examples", _check_pack)}
HANDLERS = {
    "evaluate": Handler(_TEXT, _evaluate, _configure),
    "evaluate rules": Handler(_RULES_TEXT, run_action, _configure_rules),
}
