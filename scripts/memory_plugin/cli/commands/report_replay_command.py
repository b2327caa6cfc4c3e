"""`memory report replay`: show what recall would do on past prompts under the current or other settings, without a model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...host.events import MAX_CHARACTERS
from ...kernel.clock import iso, now
from ...kernel.context import Context
from ...kernel.files import Unreadable
from ...kernel.settings.load import load
from ...kernel.settings.values import Settings
from ...kernel.text.tags import without_private
from ...kernel.transcript.reader import Lines, open_transcript
from ...kernel.transcript.rows import PROMPT, reply_text_of, user_input_of
from ...memories.survey import shortest_names
from ...recall.explain import RESULTS, shown_prompt
from ...recall.gate import Prompt, turn_text
from ...recall.history import Answer, RecallHistory
from ...recall.pipeline import recall
from ...sessions.session_files import project_transcripts
from ..command_context import CommandContext, CommandError, UsageError
from ..console import Console, counted
from ..options import add_days_option, require_days, require_existing
from .config_command import problem_sentence

HELP = "show what recall would do on your past prompts, under current or other settings"
EXAMPLES = """\
  memory report replay                                   the last 30 days, with the current settings
  memory report replay --days 7 --config trial.json      also what another settings file would change
  memory report replay --config trial.json --json

  trial.json is a settings file, for example {"memory": {"retrieval": {"pointer_threshold": 0.6}}}
"""
_DAY = 86400
_DAYS = 30
_SHOWN = 10
_MAX_PROMPT = 70
_NAMES = ("injected", "pointed", "silent")
_FIELDS = ("outcome", "injected", "pointed", "reason", "tokens")


class _Replayed(NamedTuple):
    """A prompt, its time, and the decisions about it by the name of the settings: `now`, and `trial` if there are some to try."""

    prompt: Prompt
    time: str
    decisions: dict[str, dict[str, Any]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="a settings file to try on top of your own")
    add_days_option(parser, _DAYS)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Replay the prompts of this project's transcripts. Nothing is written or sent, and no judge is asked."""
    require_days(arguments.days)
    contexts: dict[str, Context] = {"now": context}
    if arguments.config is not None:
        contexts["trial"] = context.with_settings(_trial_settings(arguments.config, context))
    paths = project_transcripts(context.paths)
    if not paths:
        raise CommandError("this project has no transcripts; by default Claude Code keeps them for 30 days")
    replayed = list(_replay(paths, now() - arguments.days * _DAY, contexts, context.console))
    context.console.progress("")
    totals = {name: _totals([replay.decisions[name] for replay in replayed]) for name in contexts}
    if arguments.json:
        differences = {"differences": _as_json(replayed)} if "trial" in contexts else {}
        context.console.json({**totals, **differences})
    elif not replayed:
        context.console.line("No prompts in the last %s." % counted(arguments.days, "day"))
    else:
        _show(replayed, totals, context)


def _trial_settings(path: str, context: CommandContext) -> Settings:
    """Return the settings with a trial file on top. Raises UsageError for a file with problems."""
    require_existing(path)
    path = os.path.abspath(path)
    settings = load(context.paths.config_dir, context.paths.project_root, path)
    problems = [problem for problem in settings.problems if problem.file == path]
    if problems:
        raise UsageError(problem_sentence(problems[0]))
    return settings


def _replay(
    paths: list[str], oldest: float, contexts: dict[str, Context], console: Console
) -> Iterator[_Replayed]:
    for number, path in enumerate(paths, 1):
        if os.path.getmtime(path) < oldest:
            continue
        # Each setting has its own history: what Claude was told earlier in a session is not told again.
        histories = {name: RecallHistory(context.paths, "") for name, context in contexts.items()}
        try:
            for prompt, time in past_prompts(path, oldest):
                console.progress("session %d of %d" % (number, len(paths)))
                decisions = {
                    name: _decide(prompt, histories[name], context) for name, context in contexts.items()
                }
                yield _Replayed(prompt, time, decisions)
        except (FileNotFoundError, Unreadable) as error:
            console.error("skipped: %s" % error)


def past_prompts(path: str, oldest: float) -> Iterator[tuple[Prompt, str]]:
    """Yield the prompts that a person typed in a transcript, from `oldest` (seconds since 1970) on, with their times in UTC.

    Those without a time are included. Repeated rows, such as those of a resumed session, are yielded once. Raises OSError.
    """
    seen: set[str] = set()
    first = iso(oldest)
    question = reply = ""
    with open_transcript(path) as file:
        for record in Lines(file):
            reply = without_private(reply_text_of(record)).strip() or reply
            kind, prompt = user_input_of(record)
            if kind != PROMPT:
                continue
            identity = str(record.get("uuid") or "")
            if identity and identity in seen:
                continue
            seen.add(identity)
            time = str(record.get("timestamp") or "")
            if not time or time >= first:
                yield Prompt(prompt, identity, "", previous_turn=turn_text(question, reply)), time
            question, reply = without_private(prompt).strip(), ""


def _decide(prompt: Prompt, history: RecallHistory, context: Context) -> dict[str, Any]:
    """Return the outcome (one of _NAMES), the keys of the memories, the reason and the tokens."""
    record = recall(Answer("prompt"), prompt, MAX_CHARACTERS, context, history).record
    outcome = record["outcome"] if record["outcome"] in _NAMES else "silent"
    return {**{name: record.get(name, 0) for name in _FIELDS}, "outcome": outcome}


def _totals(decisions: list[dict[str, Any]]) -> dict[str, int]:
    totals = {name: sum(decision["outcome"] == name for decision in decisions) for name in _NAMES}
    return {**totals, "prompts": len(decisions), "tokens": sum(decision["tokens"] for decision in decisions)}


def _differing(replayed: list[_Replayed]) -> list[_Replayed]:
    """Return the prompts on which the trial settings differ."""
    return [
        replay
        for replay in replayed
        if any(replay.decisions["now"][name] != replay.decisions["trial"][name] for name in _NAMES[:2])
    ]


def _as_json(replayed: list[_Replayed]) -> list[dict[str, object]]:
    return [
        {
            "prompt": shown_prompt(replay.prompt.text, _MAX_PROMPT),
            "prompt_id": replay.prompt.id,
            "time": replay.time,
            **replay.decisions,
        }
        for replay in _differing(replayed)
    ]


def _show(replayed: list[_Replayed], totals: dict[str, dict[str, int]], context: CommandContext) -> None:
    console = context.console
    rows = [
        [
            name,
            *(str(total[column]) for column in ("prompts", *_NAMES)),
            "%.0f" % (total["tokens"] / len(replayed)),
        ]
        for name, total in totals.items()
    ]
    console.table(["SETTINGS", "PROMPTS", "TOLD", "POINTED TO", "SILENT", "TOKENS PER PROMPT"], rows)
    if "trial" not in totals:
        return
    differing = _differing(replayed)
    console.line()
    console.line("%d of %d prompts differ%s" % (len(differing), len(replayed), ":" if differing else ""))
    names = shortest_names(context.overview().items)
    for replay in differing[:_SHOWN]:
        console.paragraph('"%s"' % shown_prompt(replay.prompt.text, _MAX_PROMPT), "  ", 2)
        for name, decision in replay.decisions.items():
            console.paragraph("%-6s %s" % (name + ":", _outcome_text(decision, names)), "    ", 11)
    if len(differing) > _SHOWN:
        console.line("  and %d more; to see all: --json" % (len(differing) - _SHOWN))


def _outcome_text(record: dict[str, Any], names: dict[str, str]) -> str:
    parts = [
        "%s %s" % (word, ", ".join(names.get(key, key) for key in record[name]))
        for name, word in zip(_NAMES, RESULTS[:2])
        if record[name]
    ]
    return "; ".join(parts) or "silent"
