"""`memory evaluate`: run gates and a jury over conversations.

Exit codes: 0 pass, 1 fail (also if a gate has an error), 2 usage, 3 could not be judged.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from ...evaluation import EvaluationError
from ...evaluation.conversations import STDIN, conversation_of, parse_lines, read_conversations
from ...evaluation.evaluation_gates import run_gates
from ...evaluation.jury import choose_jurors, load_rubric, rubric_names
from ...evaluation.packs import chosen_packs, pack_names
from ...evaluation.pipeline import (
    GATES_ONLY,
    EvaluationPlan,
    compare_labels,
    evaluate,
    ledger_row,
    markdown_report,
    summarize,
    text_lines,
    tier_lines,
)
from ...evaluation.rule_matching import RulePack
from ...kernel.context import LedgerError
from ...kernel.files import Unreadable, error_text, read_regular
from ...kernel.text.clean import terminal_safe
from ...sessions.session_files import TranscriptNotFound, find_transcript
from ..command_context import CommandContext, UsageError
from ..options import add_flag, require_existing, require_known, write_output

HELP = "evaluate conversations: rule-based gates first, then scores from a jury of models"
EXAMPLES = """\
  memory evaluate --gates-only talk.jsonl                     {"turn": 1, "role": "user", "content": "..."} on each line
  memory evaluate 0d1ec0de-0000-4000-8000-000000000001        a session by its id
  memory evaluate talks/*.jsonl --pack caregiving --rubric caregiving --report report
  memory evaluate --agreement labels.jsonl --pack caregiving  how well the gates agree with human labels
"""
_EXIT = {"pass": 0, "fail": 1, "unjudged": 3}
_MAX_FILE = 200_000_000
_MARK = "memory evaluate"  # in the reports that this command writes


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="transcripts, JSONL of turns, session ids, or - (default: this session)",
    )
    add_flag(parser, "--gates-only", "run the gates only; nothing is sent")
    packs, rubrics = ", ".join(pack_names()), ", ".join(rubric_names())
    parser.add_argument(
        "--pack", action="append", metavar="NAME|FILE", help="a rule pack; repeat it for more: " + packs
    )
    parser.add_argument("--rubric", metavar="NAME|FILE", help="the rubric of the jury: " + rubrics)
    add_flag(parser, "--judges-after-fail", "ask the jury even after a failed gate")
    parser.add_argument("--report", metavar="PATH", help="write PATH.md and PATH.json")
    parser.add_argument(
        "--agreement", metavar="FILE", help="compare the gates with human labels in a JSONL file"
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Evaluate the inputs. The exit code tells pass, fail, or could not be judged."""
    for name in arguments.pack or ():
        require_known(name, pack_names())
    if arguments.rubric:
        require_known(arguments.rubric, rubric_names())
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
        with context.console.working("evaluate"):
            for number, path in enumerate(files, 1):
                context.console.progress("%d of %d: %s" % (number, len(files), path))
                results += [evaluate(conversation, plan) for conversation in read_conversations(path)]
    except (EvaluationError, TranscriptNotFound, Unreadable, FileNotFoundError) as error:
        raise UsageError(error_text(error)) from None
    return _report(arguments, context, summarize(results))


def _plan(arguments: argparse.Namespace, packs: list[RulePack], context: CommandContext) -> EvaluationPlan:
    settings = context.settings
    rubric = load_rubric(arguments.rubric or settings.text("evaluation.rubric"))
    off = terminal_safe(context.taint.why_off)
    why_off = GATES_ONLY if arguments.gates_only else off
    if not why_off and not settings.is_judge_enabled("evaluation"):
        why_off = "off; to turn it on: memory judge on evaluation"
    jurors = [] if why_off else choose_jurors(context, settings.texts("evaluation.judge.judges"), off)
    quorum = settings.integer("evaluation.quorum")
    return EvaluationPlan(packs, rubric, jurors, quorum, arguments.judges_after_fail, why_off)


def _report(arguments: argparse.Namespace, context: CommandContext, summary: dict[str, Any]) -> int:
    """Write results to ledger, files and console; return the exit code of the verdict."""
    for entry in summary["results"]:
        _append_to_ledger(context, entry)
    if arguments.report:
        path = os.path.abspath(arguments.report)
        text = "<!-- %s -->\n\n%s" % (_MARK, markdown_report(summary))
        write_output(path + ".md", text.encode("utf-8", "replace"), _MARK.encode("ascii"), context)
        data = json.dumps({"written_by": _MARK, **summary}, indent=2)
        write_output(path + ".json", data.encode("ascii"), _MARK.encode("ascii"), context)
    lines = [line for entry in summary["results"] for line in text_lines(entry)]
    context.console.result(arguments.json, summary, *lines, *tier_lines(summary))
    return _EXIT[summary["verdict"]]


def _append_to_ledger(context: CommandContext, entry: dict[str, Any]) -> None:
    """Append a record to evaluations.jsonl: figures and rule ids, no text of the conversation."""
    if context.paths.state_dir is None:
        return
    try:
        context.append("evaluations", ledger_row(entry))
    except LedgerError as error:
        context.console.error("the evaluation was not recorded: %s" % error)


def _compare_with_labels(
    arguments: argparse.Namespace, packs: list[RulePack], context: CommandContext
) -> int:
    """Compare the gates with human labels: lines {"turns": [...], "labels": {"compliance": "fail"}}."""
    require_existing(arguments.agreement)
    pairs: dict[str, list[tuple[str, str]]] = {}
    invalid = 0
    for entry in parse_lines(read_regular(arguments.agreement, _MAX_FILE)[0]):
        turns, labels = (entry.get("turns"), entry.get("labels")) if isinstance(entry, dict) else (None, None)
        if not isinstance(turns, list) or not isinstance(labels, dict):
            invalid += 1
            continue
        ours = {result.gate: result.status for result in run_gates(packs, conversation_of("", turns))}
        for gate in labels.keys() & ours.keys():
            pairs.setdefault(gate, []).append((str(labels[gate]), ours[gate]))
    if not pairs:
        raise UsageError("%s: no labels for the gates of these packs" % arguments.agreement)
    by_gate = {gate: compare_labels(pairs[gate]) for gate in sorted(pairs)}
    if arguments.json:
        context.console.json({"gates": by_gate, "bad_lines": invalid})
        return 0
    names = ["human", "ours", "recall", "precision"]
    rows = [
        [gate, str(figures["n"]), str(figures["kappa"]), label, *(str(row[name]) for name in names)]
        for gate, figures in by_gate.items()
        for label, row in figures["classes"].items()
    ]
    context.console.table(["gate", "n", "kappa", "class", *names], rows)
    return 0
