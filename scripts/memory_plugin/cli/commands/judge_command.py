"""`memory judge`: switch a judge on and off, and try it.

Exit codes: 0 done, 1 failed or not working, 2 usage.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...evaluation import EvaluationError
from ...kernel.context import Deadline
from ...kernel.judge.asking import FOLDER, Judge
from ...kernel.judge.budget import REFUSED, VERDICTS, Remembered, SpendingBudget
from ...kernel.judge.question import JudgeError, Verdict, explain_failure
from ...kernel.judge.vendors import HOST
from ...kernel.settings import feature_name, judge_switches
from ...kernel.text.clean import counted, terminal_safe
from ...work import judges as facts
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler
from ..options import add_actions, add_flag, run_action

_TEXT = """\
turn the optional small models on or off, and check them
  memory judge on             recall: shows what is sent and what it costs, then turns it on
  memory judge on --host      through Claude Code, with your own login: no key is needed
  memory judge on replies     also: sessions, interview, capture, evaluation
  memory judge check          asks one small question to test it
  memory judge reset          retry immediately after failures
  memory judge off all
"""
_OFFER = "No key was found. Turn it on through Claude Code, with your own login?"
_TURN_ON = "Turn it on?"
_NOT_ASKED = "Nothing changed: the judge is not asked."
_USE_A_KEY = " To use a key instead, set ANTHROPIC_API_KEY and run this again."
_RESET = "Done: the judge is asked again from the next prompt on; %s deleted."
_STILL_COUNTS = "Spent today, which still counts: %s. More: memory config set judge.caps.day_usd NUMBER"
_ALL = "all"
_CHECK_SECONDS = 10.0
_OFF = "The judge is off. To turn it on: memory judge on"


def _configure(parser: ArgumentParser) -> None:
    actions = add_actions(parser, _ACTIONS)
    for name in ("on", "off", "check"):
        choices = [*map(feature_name, facts.FEATURES), *([_ALL] if name == "off" else [])]
        text = "whose judge: %s (default: recall)" % ", ".join(choices)
        actions[name].add_argument(
            "feature",
            nargs="?",
            type=feature_name,
            choices=choices,
            default="recall",
            metavar="FEATURE",
            help=text,
        )
    add_flag(actions["on"], "--host", "ask through Claude Code, with your own login instead of a key")


def _feature(arguments: Namespace) -> str:
    """Return the name of the feature in the settings."""
    return {feature_name(feature): feature for feature in facts.FEATURES}[arguments.feature]


def _approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the judge to switch on, with its price; None for other actions."""
    if arguments.action != "on":
        return None
    offer = facts.offer_judge(_feature(arguments), context, through_host=arguments.host)
    return Approval("turn on the judge for %s? %s" % (arguments.feature, offer.brief))


def _run(arguments: Namespace, context: CommandContext) -> int | None:
    """Run one action."""
    try:
        return run_action(arguments, context)
    except JudgeError as failed:
        raise CommandError("%s %s" % (failed.detail, explain_failure(failed.name, "retrieval").do)) from None
    except EvaluationError as error:
        raise CommandError("evaluation.judge.judges: %s" % error) from None


def _on(arguments: Namespace, context: CommandContext) -> None:
    """Say what is sent and what it costs, ask in a terminal, then switch the judge on."""
    feature, console = _feature(arguments), context.console
    asks = console.can_prompt()
    offer = facts.offer_judge(feature, context, through_host=arguments.host)
    is_host_offered = asks and offer.failure == "no_key"
    if is_host_offered:
        offer = facts.offer_judge(feature, context, through_host=True)
    said = offer.said
    if asks:
        _print(said, context)
        said = []
        if not console.confirm(_OFFER if is_host_offered else _TURN_ON):
            console.line(_NOT_ASKED + (_USE_A_KEY if is_host_offered else ""))
            return
    change, is_on = facts.turn_on(feature, offer, context)
    record = {"feature": feature, "on": is_on, "changed": change.changed, "file": change.path}
    console.result({**record, "said": said})
    until = ", but nothing is asked until one of these is set up" if offer.failure else ""
    is_host = offer.settings.text("judge.backend") == HOST
    to_try = "To try it, ask Claude to run" if is_host else "To try it"
    entry = facts.judged_feature(feature)
    through_host = entry.get("host", "") if is_host else ""
    how = context.settings.to_set(judge_switches()[feature][0], "true")
    how = "To see why: memory doctor" if context.taint.judges_off else "To change that: " + how
    hint = "" if is_on else "It stays off in this project. " + how
    done = "Turned on in %s%s." % (terminal_safe(change.path), until)
    check = "%s: memory judge check%s" % (to_try, _argument(feature))
    _print([*said, done, check, entry["also"], through_host, hint], context)


def _print(texts: list[str], context: CommandContext) -> None:
    for text in filter(None, texts):
        lead = "- " if text.startswith("- ") else ""
        context.console.paragraph(text.removeprefix(lead), lead, len(lead))


def _off(arguments: Namespace, context: CommandContext) -> None:
    is_all = arguments.feature == _ALL
    features = list(facts.FEATURES) if is_all else [_feature(arguments)]
    change = facts.turn_off(features, context)
    named = _ALL if is_all else features[0]
    record = {"feature": named, "on": False, "changed": change.changed, "file": change.path}
    which = "All judges are" if is_all else "The judge for %s is" % arguments.feature
    context.console.result(record, "%s off (in %s)." % (which, terminal_safe(change.path)))


def _check(arguments: Namespace, context: CommandContext) -> int:
    feature = _feature(arguments)
    judges = facts.judges_of(context, feature)
    question = facts.check_question()
    results = [(judge, judge.ask(question, Deadline(_CHECK_SECONDS), fresh=True)) for judge in judges]
    records = [facts.check_record(*result, feature, context) for result in results]
    context.console.result(records[0] if len(records) == 1 else {"judges": records})
    if not context.settings.is_judge_enabled(feature):
        context.console.paragraph(_OFF + _argument(feature))
    else:
        texts = [text for judge, verdict in results for text in _check_sentences(judge, verdict, feature)]
        _print([*texts, *facts.where(context, judges)], context)
    return FAILED if any(verdict.failure for _, verdict in results) else DONE


def _argument(feature: str) -> str:
    """Return a feature as the argument of a command, which leaves out the default one."""
    return "" if feature == facts.FEATURES[0] else " " + feature_name(feature)


def _check_sentences(judge: Judge, verdict: Verdict, feature: str) -> list[str]:
    if verdict.failure:
        cause = verdict.detail or "no details"
        facts_of = verdict.failure, judge.model, judge.backend
        line = "The judge did not answer: %s (%s, model %s, backend %s)." % (cause, *facts_of)
        return [line, *facts.advice(verdict.failure, feature)]
    cost = "unknown" if verdict.cost is None else "$%.6f" % verdict.cost
    text = "The judge works: %s through %s answered in %.0f ms; cost %s."
    return [text % (judge.model, judge.backend, verdict.ms, cost)]


def _reset(arguments: Namespace, context: CommandContext) -> None:
    folder = context.paths.state(FOLDER)
    accounts = SpendingBudget(folder)
    accounts.reset()
    Remembered(folder, REFUSED).clear()
    forgotten = Remembered(folder, VERDICTS).clear()
    day = accounts.figures(context.session).day
    lines = _RESET % counted(forgotten, "cached verdict"), _STILL_COUNTS % facts.dollars(day)
    context.console.result({"forgotten_verdicts": forgotten, "day_usd": day}, *lines)


_ACTIONS = {
    "on": Handler("show what is sent and what it costs, then turn the judge on in your own settings", _on),
    "off": Handler("turn the judge off in your own settings", _off),
    "check": Handler("ask one small question to test whether the judge works", _check),
    "reset": Handler("forget failures, disabled sessions and cached verdicts, and retry immediately", _reset),
}
HANDLERS = {"judge": Handler(_TEXT, _run, _configure, _approval)}
