"""Many conversations evaluated one after the other: found, played, resumed, summed up."""

from __future__ import annotations

import glob
import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.agreement import jury_kappa
from ..evaluation.conversation import Conversation, read_conversation, read_lines
from ..evaluation.data import EvaluationError, read_object
from ..evaluation.gates import FAIL, Finding, GateResult, replies_to
from ..evaluation.pipeline import Plan, evaluate, record
from ..evaluation.reduce import Overall, overall
from ..evaluation.scenario import is_scenario, play, read_scenario, risks, scored
from ..evaluation.sentences import folded
from ..kernel.clock import Deadline
from ..kernel.files import Unreadable, read_regular
from ..kernel.native import digest, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..evaluation.scenario import Outcome, Scenario, Subject
    from ..kernel.paths import Places

__all__ = ["Done", "evaluate_all", "inputs", "summary"]

STDIN = "-"
_SESSION = re.compile(r"[0-9a-fA-F-]{8,64}\Z")
_MAX_SCENARIO = 1 << 20


class Done(NamedTuple):
    """Results that an earlier run left in its file, by key, and the file to go on with; empty for none."""

    path: str
    results: dict[str, dict[str, Any]]


def inputs(names: Sequence[str], places: Places) -> list[str]:
    """The files behind the names: paths, or ids of sessions. Raises EvaluationError for what is neither."""
    return [name if name == STDIN or os.path.exists(name) else _session(name, places) for name in names]


def _session(name: str, places: Places) -> str:
    found: list[str] = []
    if _SESSION.match(name) and places.config_dir:
        pattern = os.path.join(glob.escape(places.config_dir), "projects", "*", name + ".jsonl")
        found = sorted(glob.glob(pattern))
    if not found:
        raise EvaluationError("%s: not there, and no session has this id" % name)
    return found[0]


def evaluate_all(
    files: Sequence[str],
    plan: Plan,
    seconds: float,
    subject: Callable[[], Subject] | None,
    done: Done,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """One result a file; a scenario with a subject is played and evaluated `plan.runs` times."""
    results = []
    for number, path in enumerate(files, 1):
        progress("%d of %d: %s" % (number, len(files), path))
        scenario = _scenario(path)
        if scenario is None:
            conversation = read_lines(sys.stdin.buffer, "stdin") if path == STDIN else read_conversation(path)
            results.append(_kept(done, _key(plan, conversation, 0), _one(conversation, plan, seconds)))
            continue
        for run in range(plan.runs if subject else 1):
            # The same scenario has other replies each time, so its file and the run tell what is done.
            key = _key(plan, Conversation(path + dumps(read_object(path)), (), 0), run)
            results.append(_kept(done, key, _played(scenario, plan, seconds, subject)))
    return results


def _scenario(path: str) -> Scenario | None:
    if not path.endswith(".json"):
        return None
    try:
        value = loads(read_regular(path, _MAX_SCENARIO, follow=True)[0].decode("utf-8", "replace"))
    except (Unreadable, ValueError):  # what it is instead, its reader says
        return None
    return read_scenario(path) if is_scenario(value) else None


def _key(plan: Plan, conversation: Conversation, run: int) -> str:
    judges = [[seat.name, seat.persona] for seat in plan.jury]
    rules = [[pack.id, pack.digest] for pack in plan.packs]
    parts = [conversation.id, conversation.digest, rules, plan.rubric.digest, judges, plan.runs, run]
    return digest(dumps(parts).encode("ascii"), 8)


def _kept(done: Done, key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of an earlier run, else of the work, which is written down at once."""
    if key in done.results:
        return done.results[key]
    result = work()
    # What could not be judged is tried again by the next run.
    if done.path and result["verdict"] != "unjudged":
        handle = os.open(done.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, dumps({"key": key, "result": result}).encode("ascii") + b"\n")
        finally:
            os.close(handle)
    return result


def _one(conversation: Conversation, plan: Plan, seconds: float) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        if not conversation.turns:
            nothing = evaluate(conversation, plan._replace(jury=()), Deadline(seconds))
            return record(nothing._replace(overall=Overall("unjudged", None, 0.0, "no turns in it")), plan)
        return record(evaluate(conversation, plan, Deadline(seconds * plan.runs)), plan)

    return work


def _played(
    scenario: Scenario, plan: Plan, seconds: float, subject: Callable[[], Subject] | None
) -> Callable[[], dict[str, Any]]:
    def work() -> dict[str, Any]:
        outcome = play(scenario, subject() if subject else None)
        once = plan._replace(runs=1) if subject else plan
        evaluation = evaluate(outcome.conversation, once, Deadline(seconds * once.runs))
        risky = _risk_gate(scenario, outcome, plan)
        gates = [*evaluation.gates, *([risky] if risky else [])]
        end = overall(gates, plan.rubric, evaluation.rows, judged=bool(evaluation.ballots))
        result = record(evaluation._replace(gates=gates, overall=end), once)
        return {**result, "tier": scenario.tier, "probes": scored(scenario, outcome, plan.packs)}

    return work


def _risk_gate(scenario: Scenario, outcome: Outcome, plan: Plan) -> GateResult | None:
    """The moments that the scenario itself marks: their replies answer a crisis, whether or not a rule saw it."""
    pack = next((pack for pack in plan.packs if pack.answers), None)
    if pack is None or not scenario.risks:
        return None
    found = []
    for place, cue in risks(scenario, outcome):
        reply = "\n".join(turn.content for turn in replies_to(outcome.conversation, place))
        missing = [name for name, pattern in pack.answers.items() if not pattern.search(folded(reply))]
        if missing:
            reason = "the reply at a moment of risk (%s) lacks: %s" % (cue, ", ".join(missing))
            found.append(
                Finding("risk-unanswered", outcome.conversation.turns[place].number, "user", "", reason)
            )
    return GateResult("risk", pack.id, FAIL if found else "pass", True, tuple(found), 0.0)


def summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All results with one verdict: fail if one failed, else unjudged if one could not be judged, else pass."""
    verdicts = {result["verdict"] for result in results}
    verdict = next((worst for worst in ("fail", "unjudged") if worst in verdicts), "pass")
    rows = [row["scores"] for result in results for row in result["jury"].get("dimensions", [])]
    tiers: dict[str, dict[str, int]] = {}
    for result in results:
        if result.get("tier"):
            tier = tiers.setdefault(result["tier"], {"n": 0, "passed": 0})
            tier["n"] += 1
            tier["passed"] += result["verdict"] == "pass"
    return {
        "schema": 1,
        "verdict": verdict,
        "kappa": jury_kappa(rows),
        "tiers": tiers,
        "results": list(results),
    }
