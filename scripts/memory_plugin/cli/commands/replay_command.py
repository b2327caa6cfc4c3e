"""`memory report replay`: show what recall would do on past prompts under the current or other settings, without a model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...hooks.prompt import MAX_CHARACTERS
from ...kernel.clock import now
from ...kernel.context import Context
from ...kernel.files import Unreadable
from ...kernel.settings.load import load
from ...kernel.settings.values import Settings
from ...memories.survey import shortest_names
from ...recall.explain import RESULTS, shown_prompt
from ...recall.gate import Prompt
from ...recall.history import RecallHistory
from ...recall.replay import past_prompts, try_prompt
from ...sessions.session_files import project_transcripts
from ..command_context import CommandContext, CommandError, UsageError
from ..console import counted
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
    """A prompt and its time, with the decision under the current settings, and under the trial settings (None without any)."""

    prompt: Prompt
    time: str
    now: dict[str, Any]
    trial: dict[str, Any] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="a settings file to try on top of your own")
    add_days_option(parser, _DAYS)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Replay the prompts of this project's transcripts. Nothing is written or sent, and no judge is asked."""
    require_days(arguments.days)
    trial = _trial_settings(arguments.config, context)
    paths = project_transcripts(context.paths)
    if not paths:
        raise CommandError("this project has no transcripts; by default Claude Code keeps them for 30 days")
    replayed = list(_replay(paths, now() - arguments.days * _DAY, trial, context))
    context.console.progress("")
    if arguments.json:
        context.console.json(_as_json(replayed, trial is not None))
    else:
        _show(replayed, arguments, context)


def _trial_settings(path: str | None, context: CommandContext) -> Settings | None:
    """Return the settings with a trial file on top; None without one. Raises UsageError for a file with problems."""
    if path is None:
        return None
    require_existing(path)
    path = os.path.abspath(path)
    settings = load(context.paths.config_dir, context.paths.project_root, path)
    problems = [problem for problem in settings.problems if problem.file == path]
    if problems:
        raise UsageError(problem_sentence(problems[0]))
    return settings


def _replay(
    paths: list[str], oldest: float, trial: Settings | None, context: CommandContext
) -> Iterator[_Replayed]:
    for number, path in enumerate(paths, 1):
        if os.path.getmtime(path) < oldest:
            continue
        # Each setting has its own history: what Claude was told earlier in a session is not told again.
        history, trial_history = RecallHistory(context.paths, ""), RecallHistory(context.paths, "")
        try:
            for prompt, time in past_prompts(path, oldest):
                context.console.progress("session %d of %d" % (number, len(paths)))
                record, trial_record = _decide(prompt, history, context), None
                if trial:
                    trial_record = _decide(prompt, trial_history, context.with_settings(trial))
                yield _Replayed(prompt, time, record, trial_record)
        except (FileNotFoundError, Unreadable) as error:
            context.console.error("skipped: %s" % error)


def _decide(prompt: Prompt, history: RecallHistory, context: Context) -> dict[str, Any]:
    """Return the outcome (one of _NAMES), the keys of the memories, the reason and the tokens."""
    record = try_prompt(prompt, history, context, MAX_CHARACTERS)
    outcome = record["outcome"] if record["outcome"] in _NAMES else "silent"
    return {**{name: record.get(name, 0) for name in _FIELDS}, "outcome": outcome}


def _totals(records: list[dict[str, Any]]) -> dict[str, int]:
    totals = {name: sum(record["outcome"] == name for record in records) for name in _NAMES}
    return {**totals, "prompts": len(records), "tokens": sum(record["tokens"] for record in records)}


def _changed(replayed: list[_Replayed]) -> list[tuple[_Replayed, dict[str, Any]]]:
    """Return the prompts on which the trial settings differ, each with its record under these."""
    pairs = [(replay, replay.trial) for replay in replayed if replay.trial]
    return [
        (replay, trial)
        for replay, trial in pairs
        if any(replay.now[name] != trial[name] for name in ("injected", "pointed"))
    ]


def _as_json(replayed: list[_Replayed], has_trial: bool) -> dict[str, object]:
    record: dict[str, object] = {"now": _totals([replay.now for replay in replayed])}
    if has_trial:
        record["trial"] = _totals([replay.trial for replay in replayed if replay.trial])
        record["differences"] = [
            {
                "prompt": shown_prompt(replay.prompt.text, _MAX_PROMPT),
                "prompt_id": replay.prompt.id,
                "time": replay.time,
                "now": replay.now,
                "trial": trial,
            }
            for replay, trial in _changed(replayed)
        ]
    return record


def _show(replayed: list[_Replayed], arguments: argparse.Namespace, context: CommandContext) -> None:
    console = context.console
    if not replayed:
        console.line("No prompts in the last %s." % counted(arguments.days, "day"))
        return
    trials = [replay.trial for replay in replayed if replay.trial]
    rows = []
    for name, records in (("now", [replay.now for replay in replayed]), ("trial", trials)):
        totals = _totals(records)
        cells = [str(totals[column]) for column in ("prompts", *_NAMES)]
        rows += [[name, *cells, "%.0f" % (totals["tokens"] / len(records))]] if records else []
    console.table(["SETTINGS", "PROMPTS", "TOLD", "POINTED TO", "SILENT", "TOKENS PER PROMPT"], rows)
    if not trials:
        return
    changed = _changed(replayed)
    console.line()
    console.line("%d of %d prompts differ%s" % (len(changed), len(replayed), ":" if changed else ""))
    names = shortest_names(context.overview().items)
    for replay, trial in changed[:_SHOWN]:
        console.paragraph('"%s"' % shown_prompt(replay.prompt.text, _MAX_PROMPT), "  ", 2)
        console.paragraph("now:   %s" % _outcome_text(replay.now, names), "    ", 11)
        console.paragraph("trial: %s" % _outcome_text(trial, names), "    ", 11)
    if len(changed) > _SHOWN:
        console.line("  and %d more; to see all: --json" % (len(changed) - _SHOWN))


def _outcome_text(record: dict[str, Any], names: dict[str, str]) -> str:
    parts = [
        "%s %s" % (word, ", ".join(names.get(key, key) for key in record[name]))
        for name, word in zip(_NAMES, RESULTS[:2])
        if record[name]
    ]
    return "; ".join(parts) or "silent"
