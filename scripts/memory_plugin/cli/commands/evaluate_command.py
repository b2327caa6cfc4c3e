"""`memory evaluate`: run gates and a jury over conversations.

Exit codes: 0 pass, 1 fail (also if a gate has an error), 2 usage, 3 could not be judged.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ...evaluation.aggregate import compare_labels
from ...evaluation.conversation import conversation_of
from ...evaluation.evaluation_files import EvaluationError, find_inputs, parse_lines
from ...evaluation.evaluation_gates import run_gates
from ...evaluation.evaluation_rubric import load_rubric, rubric_names
from ...evaluation.jury import choose_jurors, judge_at, subject_of
from ...evaluation.pack_check import check_pack
from ...evaluation.packs import load_packs, pack_names
from ...evaluation.pipeline import EvaluationPlan, evaluate_all, summarize
from ...evaluation.report import markdown_report, summary_line
from ...kernel.clock import Deadline
from ...kernel.context import LedgerError
from ...kernel.files import Unreadable, error_text, read_regular
from ...kernel.settings.advice import terminal_safe
from ..command_context import CommandError, UsageError
from ..options import add_flag, require_existing, require_known
from ..output_file import write_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ...evaluation.packs import RulePack
    from ...evaluation.scenario import Subject
    from ..command_context import CommandContext

HELP = "evaluate conversations: rule-based gates first, then scores from a jury of models"
EXAMPLES = """\
  memory evaluate --gates-only talk.jsonl                     {"turn": 1, "role": "user", "content": "..."} on each line
  memory evaluate 0d1ec0de-0000-4000-8000-000000000001        a session by its id
  memory evaluate talks/*.jsonl --pack caregiving --rubric caregiving --report report
  memory evaluate scenario.json --subject anthropic:claude-haiku-5-5 --runs 3
  memory evaluate --agreement labels.jsonl --pack caregiving  how well the gates agree with human labels
"""
DONE, FAILED, USAGE, UNJUDGED = 0, 1, 2, 3
_EXIT = {"pass": DONE, "fail": FAILED, "unjudged": UNJUDGED}
_MAX_FILE = 200_000_000
_MARK = "memory evaluate"  # in the reports that this command writes


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="transcripts, JSONL of turns, scenarios, session ids, or - (default: this session)",
    )  # fmt: skip
    add_flag(parser, "--gates-only", "run the rules only; nothing is sent anywhere")
    parser.add_argument(
        "--pack",
        action="append",
        metavar="NAME|FILE",
        help="a rule pack; repeat it for more: %s" % ", ".join(pack_names()),
    )
    parser.add_argument(
        "--rubric", metavar="NAME|FILE", help="the rubric of the jury: %s" % ", ".join(rubric_names())
    )
    add_flag(parser, "--judges-after-fail", "ask the jury even after a failed gate")
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="ask the jury, or play each scenario, N times"
    )
    parser.add_argument("--subject", metavar="BACKEND:MODEL", help="the model that replies in scenarios")
    parser.add_argument("--report", metavar="PATH", help="write PATH.md and PATH.json")
    add_flag(parser, "--markdown", "print the report in Markdown")
    parser.add_argument(
        "--agreement", metavar="FILE", help="compare the gates with human labels in a JSONL file"
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Evaluate the inputs. The exit code tells pass, fail, or could not be judged."""
    _expect_files(arguments)
    try:
        packs = _packs(arguments, context)
        if arguments.agreement:
            return _compare_with_labels(arguments, packs, context)
        files = find_inputs(arguments.inputs or list(filter(None, [context.session])), context.paths)
        plan, subject = _plan(arguments, packs, context)
    except (EvaluationError, FileNotFoundError) as error:
        raise UsageError(error_text(error)) from None
    if not files:
        raise UsageError("nothing to evaluate: name a file or a session")
    if not 1 <= arguments.runs <= 100:
        raise UsageError("--runs: expected 1 to 100, got %d" % arguments.runs)
    try:
        with context.console.working("evaluate"):
            results = evaluate_all(files, plan, subject, _progress(len(files)))
    except EvaluationError as error:
        raise CommandError(str(error), UNJUDGED if arguments.subject else USAGE) from None
    except (Unreadable, FileNotFoundError) as error:
        raise UsageError(error_text(error)) from None
    return _report(arguments, context, summarize(results))


def _expect_files(arguments: argparse.Namespace) -> None:
    """Raise UsageError if a named file or output folder does not exist, before any work starts."""
    for name in arguments.pack or ():
        require_known(name, pack_names())
    if arguments.rubric:
        require_known(arguments.rubric, rubric_names())
    require_existing(*filter(None, [arguments.agreement]))
    if arguments.report:
        require_existing(os.path.dirname(arguments.report) or os.curdir)


def _packs(arguments: argparse.Namespace, context: CommandContext) -> list[RulePack]:
    """Return the packs to use. Raises EvaluationError for a pack with errors, or one without gates, which would pass everything."""
    names = arguments.pack or context.settings.texts("evaluation.packs")
    for name in names:
        if name not in pack_names() and check_pack(name).faults:
            raise EvaluationError("%s has errors; see: memory evaluate rules check %s" % (name, name))
    packs = load_packs(names)
    for pack in packs:
        if not pack.gates:
            raise EvaluationError(
                "%s has no gates: it is only a base for other packs; see: memory evaluate rules list"
                % pack.id
            )
    return packs


def _progress(count: int) -> Callable[[str], None]:
    """Return a function that prints progress on the error stream, if there is more than one input."""
    return lambda text: print("memory: " + text, file=sys.stderr) if count > 1 else None


def _plan(
    arguments: argparse.Namespace, packs: list[RulePack], context: CommandContext
) -> tuple[EvaluationPlan, Callable[[], Subject] | None]:
    settings = context.settings
    rubric = load_rubric(arguments.rubric or settings.text("evaluation.rubric"))
    off = terminal_safe(context.taint.why_off)
    seconds = settings.number("evaluation.timeout_s")
    timed = context.within(seconds)
    why_off = "gates only" if arguments.gates_only else off
    if not why_off and not settings.is_judge_enabled("evaluation"):
        why_off = "judges are off; to switch them on: memory judge on evaluation"
    jurors = [] if why_off else choose_jurors(timed, settings.texts("evaluation.judge.judges"), off)
    after = arguments.judges_after_fail or settings.flag("evaluation.judges_after_fail")
    quorum = settings.integer("evaluation.quorum")
    plan = EvaluationPlan(packs, rubric, jurors, quorum, arguments.runs, after, why_off, seconds)
    if not arguments.subject:
        return plan, None
    judge = judge_at(timed, arguments.subject, off)
    return plan, lambda: subject_of(judge, Deadline(seconds * 10))


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
    if arguments.json:
        context.console.json(summary)
    elif arguments.markdown:
        context.console.line(markdown_report(summary).rstrip("\n"))
    else:
        for entry in summary["results"]:
            _show(context, entry)
    return _EXIT[summary["verdict"]]


def _show(context: CommandContext, entry: dict[str, Any]) -> None:
    context.console.line(summary_line(entry))
    for gate in entry["gates"]:
        for finding in gate["findings"]:
            severity = "note" if finding["note"] or not gate["hard"] else "fail"
            place = "%s %s, turn %d, %s" % (severity, gate["gate"], finding["turn"], finding["role"])
            context.console.line(
                "  %s: %s (%s) %s" % (place, finding["reason"], finding["rule"], finding["excerpt"])
            )
        if gate["error"]:
            context.console.line("  error in %s, which counts as a fail: %s" % (gate["gate"], gate["error"]))
    for row in entry["jury"].get("dimensions", []):
        median = "unscored" if row["median"] is None else "%.1f" % row["median"]
        context.console.line("  %s: %s of %s" % (row["dimension"], median, row["scores"]))
    if not entry["jury"]["asked"]:
        context.console.line("  judges were not asked: %s" % entry["jury"]["why"])


def _append_to_ledger(context: CommandContext, entry: dict[str, Any]) -> None:
    """Append a record to evaluations.jsonl: figures and rule ids, no text of the conversation."""
    if context.paths.state_dir is None:
        return
    names = (
        *("digest", "turns", "verdict", "overall", "weight_scored", "hard_fail"),
        *("packs", "rubric", "latency_ms", "cost_usd"),
    )
    jury, gates = entry["jury"], {}
    for gate in entry["gates"]:
        rules = sorted({finding["rule"] for finding in gate["findings"]})
        gates["%s:%s" % (gate["pack"], gate["gate"])] = [gate["status"], rules]
    row: dict[str, object] = {name: entry[name] for name in names}
    row["gates"] = gates
    row["dimensions"] = {
        dimension["dimension"]: [dimension["median"], dimension["sd"], dimension["abstained"]]
        for dimension in jury.get("dimensions", [])
    }
    row["judges"] = [[judge["judge"], judge["outcome"]] for judge in jury.get("judges", [])]
    try:
        context.append("evaluations", row)
    except LedgerError as error:
        context.console.error("the evaluation was not recorded: %s" % error)


def _compare_with_labels(
    arguments: argparse.Namespace, packs: list[RulePack], context: CommandContext
) -> int:
    """Compare the gates with human labels: lines {"turns": [...], "labels": {"compliance": "fail"}}."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    invalid = 0
    for entry in parse_lines(read_regular(arguments.agreement, _MAX_FILE)[0]):
        turns, labels = (entry.get("turns"), entry.get("labels")) if isinstance(entry, dict) else (None, None)
        if not isinstance(turns, list) or not isinstance(labels, dict):
            invalid += 1
            continue
        ours = {result.gate: result.status for result in run_gates(packs, conversation_of("", turns))}
        for gate, label in labels.items():
            if gate in ours:
                pairs.setdefault(str(gate), []).append((str(label), ours[gate]))
    figures = {gate: compare_labels(rows) for gate, rows in pairs.items()}
    if arguments.json:
        context.console.json({"gates": figures, "bad_lines": invalid})
    else:
        _show_agreement(figures, context)
    if not figures:
        raise UsageError("%s: no labels for the gates of these packs" % arguments.agreement)
    return DONE


def _show_agreement(by_gate: dict[str, Any], context: CommandContext) -> None:
    rows = []
    for gate, figures in by_gate.items():
        for label, row in figures["classes"].items():
            cells = [str(row[name]) for name in ("human", "ours", "recall", "precision")]
            rows.append([gate, str(figures["n"]), str(figures["kappa"]), label, *cells])
    if rows:
        context.console.table(["gate", "n", "kappa", "class", "human", "ours", "recall", "precision"], rows)
