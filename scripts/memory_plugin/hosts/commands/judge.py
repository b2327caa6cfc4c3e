"""`memory judge`: switched on and off, tried out, looked at.

Exit codes: 0 done and well, 1 failed or not working, 2 usage.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...kernel.clock import Deadline
from ...kernel.judge.accounts import Accounts
from ...kernel.judge.judge import FOLDER, Judge
from ...kernel.judge.outcome import Failed
from ...kernel.judge.prices import price_of
from ...kernel.judge.question import Question, Verdict
from ...kernel.judge.reply import selected
from ...kernel.judge.rubric import load_rubric
from ...kernel.judge.verdicts import Verdicts
from ...kernel.judge.words import ways_to_a_judge, words_for
from ...kernel.settings.advice import terminal_safe
from ...kernel.settings.edit import EditError, set_value
from ...kernel.settings.load import load
from ..judge_figures import KEPT_NOTHING, calls, opinions

if TYPE_CHECKING:
    from typing import Any

    from ...kernel.settings.load import Settings
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "check_question", "configure", "judge_of", "run"]

DONE, FAILED = 0, 1

HELP = "two opinions of a small model before anything unsure is injected: on, off, check, stats, reset"
EXAMPLES = """\
  memory judge on       say what is sent and what it costs, and switch the judge on
  memory judge check    one tiny call: does it work, and if not, why
  memory judge stats    calls, costs and agreement of the last 30 days
  memory judge reset    ask again at once after failures
  memory judge off
"""
_SWITCH = "retrieval.judge.enabled"
_TYPICAL = (700, 30)  # tokens of one call with fifteen candidates, in and out
_SENT = (
    "Sent for a prompt that the rules are unsure about: the prompt's first and last 250 characters (of a short follow-up also"
    " a piece of the turn before, 500 in all), and of each candidate its title, category and tags. Secrets, personal data and"
    " <private> parts are taken out first. Bodies and paths of memories are never sent."
)
_TAINTED = "the project's own settings set %s, which decides where keys and texts go"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, purpose in (
        ("on", "say what is sent and what it costs, and switch the judge on in your own settings"),
        ("off", "switch it off in your own settings"),
        ("check", "one tiny call: does it work, and if not, why"),
        ("reset", "ask again at once: forget failures, switched-off sessions and kept verdicts"),
        ("stats", "calls, outcomes, costs and agreement"),
    ):
        action = actions.add_parser(name, help=purpose, description=purpose)
        # Suppressed defaults: what stands before the action's name must survive what is missing after it.
        action.add_argument("--root", metavar="DIR", default=argparse.SUPPRESS, help="the project")
        action.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for programs"
        )
    action.add_argument("--days", type=int, default=30, metavar="N", help="how far back (default: 30)")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Do one action."""
    action = {"on": _on, "off": _off, "check": _check, "stats": _stats, "reset": _reset}[arguments.action]
    try:
        return action(arguments, session)
    except EditError as error:
        session.console.error(str(error))
    except Failed as failed:
        session.console.error("%s %s" % (failed.detail, words_for(failed.name).do))
    return FAILED


def judge_of(session: Session) -> Judge:
    """The judge of recall, as a command may use it."""
    names = ", ".join(sorted(session.taint.names)) or "something unreadable"
    off = _TAINTED % terminal_safe(names) if session.taint.judges_off else ""
    settings = session.settings
    model = settings.text("retrieval.judge.model")
    return Judge("retrieval", model, session.places, settings, session.id, off=off, helper=True)


def check_question() -> Question:
    """The tiny question of `memory judge check`."""
    return Question(load_rubric("check"), {"numbers": [1, 2, 3, 4]}, lambda value: selected(value, "even", 5))


def _on(arguments: argparse.Namespace, session: Session) -> int:
    said = [_SENT, _costs(session.settings), *_key_words(session)]
    if not arguments.json:
        for text in said:
            session.console.line(text)
    if not session.require_word("switch the judge on"):
        return FAILED
    change = set_value(session.places.config_dir, _SWITCH, value=True)
    now = load(session.places.config_dir, session.places.project_root)
    on = now.judge_asked_for("retrieval") and not session.taint.judges_off
    if arguments.json:
        session.console.json({"on": on, "changed": change.changed, "file": change.path, "said": said})
        return DONE
    session.console.line("Switched on in %s; try it: memory judge check" % terminal_safe(change.path))
    if not on:
        session.console.line("In this project it stays off; see: memory doctor")
    return DONE


def _costs(settings: Settings) -> str:
    """The price of one unsure prompt, and the caps."""
    model, backend = settings.text("retrieval.judge.model"), settings.text("judge.backend")
    caps = settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd")
    price = price_of(model, backend, settings.block("judge.prices"))
    calls_made = 2 if settings.flag("retrieval.judge.dual_verification") else 1
    if price.known:
        cost = "about $%.4f for such a prompt (%d calls to %s, prices of %s)" % (
            price.dollars(*_TYPICAL) * calls_made,
            calls_made,
            model,
            price.as_of,
        )
    else:
        cost = "unknown for %s; the caps count it as if it cost $%g and $%g a million tokens in and out" % (
            model,
            *price.tiers[-1][1:],
        )
    return "Cost: %s. Caps: $%.2f a session, $%.2f a day." % (cost, *caps)


def _key_words(session: Session) -> list[str]:
    """Whether there is a key, as far as that is known before the judge is on."""
    trouble = judge_of(session).unready(anyway=True)
    if trouble is None:
        return ["Key: found."]
    words = words_for(trouble.failure)
    more = ways_to_a_judge() if trouble.failure == "no_key" else [words.do]
    return ["Key: %s" % trouble.detail, words.says, *more]


def _off(arguments: argparse.Namespace, session: Session) -> int:
    change = set_value(session.places.config_dir, _SWITCH, value=False)
    if arguments.json:
        session.console.json({"on": False, "changed": change.changed, "file": change.path})
    else:
        session.console.line("The judge is off: %s" % terminal_safe(change.path))
    return DONE


def _check(arguments: argparse.Namespace, session: Session) -> int:
    seconds = max(10.0, session.settings.number("retrieval.judge.timeout_per_call"))
    judge = judge_of(session)
    verdict = judge.ask(check_question(), Deadline(seconds), again=True, fresh=True)
    if arguments.json:
        session.console.json(_check_record(judge, verdict))
    else:
        for text in _check_words(judge, verdict):
            session.console.line(text)
    return FAILED if verdict.failure else DONE


def _check_record(judge: Judge, verdict: Verdict) -> dict[str, Any]:
    record: dict[str, Any] = {
        "ok": not verdict.failure,
        "failure": verdict.failure,
        "detail": verdict.detail,
        "backend": judge.backend,
        "model": judge.model,
        "ms": verdict.ms,
        "cost_usd": verdict.cost,
    }
    if verdict.failure:
        words = words_for(verdict.failure)
        record.update(says=words.says, do=words.do)
        if verdict.failure == "no_key":
            record["ways"] = ways_to_a_judge()
    return record


def _check_words(judge: Judge, verdict: Verdict) -> list[str]:
    who = "%s through %s" % (judge.model, judge.backend)
    if not verdict.failure:
        cost = "unknown" if verdict.cost is None else "$%.6f" % verdict.cost
        return ["The judge works: %s answered in %.0f ms; cost %s." % (who, verdict.ms, cost)]
    words = words_for(verdict.failure)
    detail = " (%s)" % verdict.detail if verdict.detail else ""
    lines = ["The judge does not work: %s%s, %s." % (verdict.failure, detail, who), words.says, words.do]
    return lines + (["- " + way for way in ways_to_a_judge()] if verdict.failure == "no_key" else [])


def _stats(arguments: argparse.Namespace, session: Session) -> int:
    places = session.places
    made, said = calls(places, arguments.days), opinions(places, arguments.days)
    figures = Accounts(places.state(FOLDER)).figures(session.id)
    if arguments.json:
        account = {"day_usd": figures.day, "session_usd": figures.session, "session_off": figures.off}
        record = {**said._asdict(), "agreement": said.agreement}
        session.console.json({"calls": made._asdict(), "opinions": record, "account": account})
        return DONE
    console = session.console
    rows = sorted(made.outcomes.items(), key=lambda row: -row[1])
    console.table(["outcome", "calls"], [[name, str(count)] for name, count in rows])
    middle = "none" if made.median_ms is None else "%.0f ms" % made.median_ms
    console.line("from the cache: %d; median wait: %s" % (made.cached, middle))
    tokens = (made.tokens_in, made.tokens_out, made.cost_usd, made.cost_unknown)
    console.line("tokens: %d in, %d out; cost: $%.4f, and %d calls of unknown cost" % tokens)
    console.line("counted against the caps: $%.4f today, $%.4f in this session" % figures[:2])
    for line in _opinion_words(said.agreement, said.none_kept):
        console.line(line)
    for why, text in [("session", figures.off), *((why, "left alone") for why in figures.resting)]:
        if text:
            console.line("%s: %s" % (why, text))
    return DONE


def _opinion_words(agreement: float | None, none_kept: int) -> list[str]:
    lines = [] if agreement is None else ["the two judges agree on %.0f %% of candidates" % (100 * agreement)]
    if none_kept >= KEPT_NOTHING:
        lines.append("the judges kept nothing in the last %d decisions; see: memory judge check" % none_kept)
    return lines


def _reset(arguments: argparse.Namespace, session: Session) -> int:
    folder = session.places.state(FOLDER)
    accounts = Accounts(folder)
    accounts.reset()
    forgotten = Verdicts(folder).clear()
    day = accounts.figures(session.id).day
    if arguments.json:
        session.console.json({"forgotten_verdicts": forgotten, "day_usd": day})
        return DONE
    session.console.line(
        "All servers and sessions may be asked again; %d kept verdicts are forgotten." % forgotten
    )
    session.console.line(
        "What was spent today still counts: $%.4f. To go on, raise judge.caps.day_usd." % day
    )
    return DONE
