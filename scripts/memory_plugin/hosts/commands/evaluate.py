"""`memory evaluate`: gates and a jury over conversations.

Exit codes: 0 pass, 1 fail (a gate's error included), 2 usage, 3 could not be judged.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from ...evaluation.agreement import agreement
from ...evaluation.conversation import conversation_of
from ...evaluation.data import EvaluationError
from ...evaluation.gates import run_gates
from ...evaluation.jury import Bench, judge_at, seats
from ...evaluation.pack_check import check
from ...evaluation.packs import load_packs, pack_names
from ...evaluation.pipeline import Plan
from ...evaluation.report import markdown, one_line
from ...evaluation.rubric import load_rubric, rubric_names
from ...evaluation.subject import subject_of
from ...kernel.clock import Deadline
from ...kernel.files import Unreadable, in_words, read_regular, replace_file
from ...kernel.ledger import Ledger
from ...kernel.native import loads
from ...kernel.settings.advice import terminal_safe
from ..evaluation_batch import Done, evaluate_all, inputs, summary
from ..wrong_use import must_be_known, must_exist

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from ...evaluation.packs import Pack
    from ...evaluation.scenario import Subject
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "evaluate conversations: gates that decide by rules, then a jury of judges"
EXAMPLES = """\
  memory evaluate --gates-only talk.jsonl                     {"turn": 1, "role": "user", "content": "..."} a line
  memory evaluate 0d1ec0de-0000-4000-8000-000000000001        a session, by its id
  memory evaluate talks/*.jsonl --pack caregiving --rubric caregiving --report report
  memory evaluate scenario.json --subject anthropic:claude-haiku-4-5-20251001 --runs 3 --resume runs.jsonl
  memory evaluate --agreement labels.jsonl --pack caregiving  how far the gates agree with human labels
"""
DONE, FAILED, USAGE, UNJUDGED = 0, 1, 2, 3
_EXIT = {"pass": DONE, "fail": FAILED, "unjudged": UNJUDGED}
_MAX_FILE = 200_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="transcripts, JSONL of turns, scenarios, session ids, or - (default: this session)",
    )  # fmt: skip
    parser.add_argument("--gates-only", action="store_true", help="rules only; nothing is sent anywhere")
    parser.add_argument(
        "--pack",
        action="append",
        metavar="NAME|FILE",
        help="rule pack, again for more: %s" % ", ".join(pack_names()),
    )
    parser.add_argument(
        "--rubric", metavar="NAME|FILE", help="what the jury scores: %s" % ", ".join(rubric_names())
    )
    parser.add_argument(
        "--judges-after-fail", action="store_true", help="ask the jury after a failed gate too"
    )
    parser.add_argument(
        "--runs", type=int, default=1, metavar="N", help="ask the jury, or play scenarios, N times"
    )
    parser.add_argument("--subject", metavar="BACKEND:MODEL", help="the model that replies in scenarios")
    parser.add_argument("--resume", metavar="FILE", help="keep results there, and skip those it holds")
    parser.add_argument("--report", metavar="PATH", help="write PATH.md and PATH.json")
    parser.add_argument("--markdown", action="store_true", help="print the report in Markdown")
    parser.add_argument(
        "--agreement", metavar="FILE", help="compare the gates with human labels in a JSONL file"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Evaluate what was asked for; the exit code says pass, fail, or could not be judged."""
    _expect_files(arguments)
    try:
        packs = _packs(arguments, session)
        if arguments.agreement:
            return _agreement(arguments, packs, session)
        files = inputs(arguments.inputs or list(filter(None, [session.id])), session.places)
        plan, subject = _plan(arguments, packs, session)
        done = _done(arguments.resume)
    except (EvaluationError, FileNotFoundError) as error:
        session.console.error(in_words(error))
        return USAGE
    if not files or not 1 <= arguments.runs <= 100:
        session.console.error(
            "nothing to evaluate: name a file or a session" if not files else "--runs: from 1 to 100"
        )
        return USAGE
    seconds = session.settings.number("evaluation.timeout_s")
    try:
        results = evaluate_all(files, plan, seconds, subject, done, _progress(len(files)))
    except EvaluationError as error:
        session.console.error(str(error))
        return UNJUDGED if arguments.subject else USAGE
    except (Unreadable, FileNotFoundError) as error:
        session.console.error(in_words(error))
        return USAGE
    return _said(arguments, session, summary(results))


def _expect_files(arguments: argparse.Namespace) -> None:
    """Raise WrongUse, before anything is done, for a file that is named and not there, or a folder in which one is to be written."""
    for name in arguments.pack or ():
        must_be_known(name, pack_names())
    if arguments.rubric:
        must_be_known(arguments.rubric, rubric_names())
    must_exist(*filter(None, [arguments.agreement]))
    for path in filter(None, [arguments.resume, arguments.report]):
        must_exist(os.path.dirname(path) or os.curdir)


def _packs(arguments: argparse.Namespace, session: Session) -> list[Pack]:
    """The packs asked for. One of the user's own has to pass its check first; one without gates would let everything pass."""
    wanted = arguments.pack or session.settings.texts("evaluation.packs")
    for name in wanted:
        if name not in pack_names() and check(name).faults:
            raise EvaluationError("%s has faults; see: memory rules check %s" % (name, name))
    packs = load_packs(wanted)
    for pack in packs:
        if not pack.gates:
            raise EvaluationError(
                "%s has no gates, it is there for others to extend; see: memory rules list" % pack.id
            )
    return packs


def _progress(count: int) -> Callable[[str], None]:
    """Lines on the error stream, where there is more than one thing to wait for."""
    return lambda text: print("memory: " + text, file=sys.stderr) if count > 1 else None


def _plan(
    arguments: argparse.Namespace, packs: list[Pack], session: Session
) -> tuple[Plan, Callable[[], Subject] | None]:
    settings = session.settings
    rubric = load_rubric(arguments.rubric or settings.text("evaluation.rubric"))
    off = terminal_safe(session.taint.why_off)
    bench = Bench(session.places, settings, session.id, off)
    on = settings.judge_asked_for("evaluation") and not off and not arguments.gates_only
    why = "gates only" if arguments.gates_only else off or "judges are off; see: memory judge on evaluation"
    jury = seats(bench, settings.texts("evaluation.judge.judges")) if on else []
    after = arguments.judges_after_fail or settings.flag("evaluation.judges_after_fail")
    plan = Plan(
        packs, rubric, jury, settings.integer("evaluation.quorum"), arguments.runs, after, "" if on else why
    )
    if not arguments.subject:
        return plan, None
    judge = judge_at(bench, arguments.subject)
    seconds = settings.number("evaluation.timeout_s")
    return plan, lambda: subject_of(judge, Deadline(seconds * 10))


def _done(path: str | None) -> Done:
    """What an earlier run left. A last line that was cut is ended first, so that the next result has a line of its own."""
    if not path:
        return Done("", {})
    results: dict[str, dict[str, Any]] = {}
    if os.path.lexists(path):
        data = read_regular(path, _MAX_FILE)[0]
        for entry in _lines(data):
            if (
                isinstance(entry, dict)
                and isinstance(entry.get("key"), str)
                and isinstance(entry.get("result"), dict)
            ):
                results[entry["key"]] = entry["result"]
        if data and not data.endswith(b"\n"):
            replace_file(path, data + b"\n")
    return Done(path, results)


def _lines(data: bytes) -> Iterator[object]:
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                yield loads(line)
            except ValueError:
                yield None


def _said(arguments: argparse.Namespace, session: Session, told: dict[str, Any]) -> int:
    for entry in told["results"]:
        _write_down(session, entry)
    if arguments.report:
        replace_file(arguments.report + ".md", markdown(told).encode("utf-8", "replace"))
        replace_file(arguments.report + ".json", json.dumps(told, indent=2).encode("ascii"))
    if arguments.json:
        session.console.json(told)
    elif arguments.markdown:
        session.console.line(markdown(told).rstrip("\n"))
    else:
        for entry in told["results"]:
            _show(session, entry)
    return _EXIT[told["verdict"]]


def _show(session: Session, entry: dict[str, Any]) -> None:
    session.console.line(one_line(entry))
    for gate in entry["gates"]:
        for finding in gate["findings"]:
            what = "note" if finding["note"] or not gate["hard"] else "fail"
            place = "%s %s, turn %d, %s" % (what, gate["gate"], finding["turn"], finding["role"])
            session.console.line(
                "  %s: %s (%s) %s" % (place, finding["reason"], finding["rule"], finding["excerpt"])
            )
        if gate["error"]:
            session.console.line("  error %s, which counts as a fail: %s" % (gate["gate"], gate["error"]))
    for row in entry["jury"].get("dimensions", []):
        middle = "unscored" if row["median"] is None else "%.1f" % row["median"]
        session.console.line("  %s: %s of %s" % (row["dimension"], middle, row["scores"]))
    if not entry["jury"]["asked"]:
        session.console.line("  judges were not asked: %s" % entry["jury"]["why"])


def _write_down(session: Session, entry: dict[str, Any]) -> None:
    """A line in evaluations.jsonl: figures and rule ids, no text of the conversation."""
    if session.places.state_dir is None:
        return
    settings = session.settings
    bounds = settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files")
    names = (
        "digest",
        "turns",
        "verdict",
        "overall",
        "weight_scored",
        "hard_fail",
        "packs",
        "rubric",
        "latency_ms",
        "cost_usd",
    )
    row: dict[str, object] = {name: entry[name] for name in names}
    row["gates"] = {
        "%s:%s" % (gate["pack"], gate["gate"]): [
            gate["status"],
            sorted({found["rule"] for found in gate["findings"]}),
        ]
        for gate in entry["gates"]
    }
    row["dimensions"] = {
        row["dimension"]: [row["median"], row["sd"], row["abstained"]]
        for row in entry["jury"].get("dimensions", [])
    }
    row["judges"] = [[judge["judge"], judge["outcome"]] for judge in entry["jury"].get("judges", [])]
    Ledger(session.places.state(), "evaluations", *bounds).append(session.id, session.places.project_key, row)


def _agreement(arguments: argparse.Namespace, packs: list[Pack], session: Session) -> int:
    """Compare with labels: lines {"turns": [...], "labels": {"compliance": "fail"}}."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    bad = 0
    for entry in _lines(read_regular(arguments.agreement, _MAX_FILE)[0]):
        turns, labels = (entry.get("turns"), entry.get("labels")) if isinstance(entry, dict) else (None, None)
        if not isinstance(turns, list) or not isinstance(labels, dict):
            bad += 1
            continue
        ours = {result.gate: result.status for result in run_gates(packs, conversation_of("", turns))}
        for gate, label in labels.items():
            if gate in ours:
                pairs.setdefault(str(gate), []).append((str(label), ours[gate]))
    told = {gate: agreement(rows) for gate, rows in pairs.items()}
    if arguments.json:
        session.console.json({"gates": told, "bad_lines": bad})
    else:
        _show_agreement(told, session)
    if not told:
        session.console.error("%s: no labels for the gates of these packs" % arguments.agreement)
        return USAGE
    return DONE


def _show_agreement(told: dict[str, Any], session: Session) -> None:
    rows = []
    for gate, figures in told.items():
        for label, row in figures["classes"].items():
            cells = [str(row[name]) for name in ("human", "ours", "recall", "precision")]
            rows.append([gate, str(figures["n"]), str(figures["kappa"]), label, *cells])
    if rows:
        session.console.table(["gate", "n", "kappa", "class", "human", "ours", "recall", "precision"], rows)
