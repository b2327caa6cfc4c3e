"""`memory report replay`: show what recall would do on past prompts under the current or other settings, without a model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import NamedTuple

from ...hooks.prompt import MAX_CHARACTERS
from ...kernel.clock import now
from ...kernel.files import Unreadable
from ...kernel.settings.load import load
from ...kernel.settings.values import Settings
from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.survey import shortest_names
from ...recall.history import RecallHistory
from ...recall.replay import PastPrompt, Result, past_prompts, replay_prompt
from ...sessions.session_files import project_transcripts
from ..command_context import CommandContext, CommandError, UsageError
from ..console import counted
from ..options import require_existing
from ..setting_problems import problem_sentence

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


class _Replayed(NamedTuple):
    """A prompt with its result under the current settings, and under the trial settings (None without any)."""

    prompt: PastPrompt
    now: Result
    trial: Result | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--config", metavar="FILE", help="a settings file to try on top of your own")
    parser.add_argument(
        "--days",
        type=int,
        default=_DAYS,
        metavar="N",
        help="prompts of the last N days (default: %d)" % _DAYS,
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=_SHOWN,
        metavar="N",
        help="the number of differences to print (default: %d)" % _SHOWN,
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Replay the prompts of this project's transcripts. Nothing is written or sent, and no judge is asked."""
    if arguments.days < 1:
        raise UsageError("--days: expected 1 or more, got %d" % arguments.days)
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
            for prompt in past_prompts(path, oldest):
                context.console.progress("session %d of %d" % (number, len(paths)))
                result, trial_result = replay_prompt(prompt, history, context, MAX_CHARACTERS), None
                if trial:
                    trial_context = context.with_settings(trial)
                    trial_result = replay_prompt(prompt, trial_history, trial_context, MAX_CHARACTERS)
                yield _Replayed(prompt, result, trial_result)
        except (FileNotFoundError, Unreadable) as error:
            context.console.error("skipped: %s" % error)


def _totals(results: list[Result]) -> dict[str, object]:
    totals: dict[str, object] = {name: sum(result.outcome == name for result in results) for name in _NAMES}
    totals["prompts"] = len(results)
    totals["tokens"] = sum(result.tokens for result in results)
    return totals


def _changed(replayed: list[_Replayed]) -> list[_Replayed]:
    return [
        replay
        for replay in replayed
        if replay.trial
        and (replay.now.injected, replay.now.pointed) != (replay.trial.injected, replay.trial.pointed)
    ]


def _as_json(replayed: list[_Replayed], has_trial: bool) -> dict[str, object]:
    record: dict[str, object] = {"now": _totals([replay.now for replay in replayed])}
    if has_trial:
        record["trial"] = _totals([replay.trial for replay in replayed if replay.trial])
        record["differences"] = [
            {
                "prompt": _shortened(replay.prompt.text),
                "prompt_id": replay.prompt.id,
                "time": replay.prompt.time,
                "now": _result_json(replay.now),
                "trial": _result_json(replay.trial),
            }
            for replay in _changed(replayed)
            if replay.trial
        ]
    return record


def _result_json(result: Result) -> dict[str, object]:
    names = ("outcome", "injected", "pointed", "reason", "tokens")
    return {name: getattr(result, name) for name in names}


def _show(replayed: list[_Replayed], arguments: argparse.Namespace, context: CommandContext) -> None:
    console = context.console
    if not replayed:
        console.line("No prompts in the last %s." % counted(arguments.days, "day"))
        return
    rows = [["now", *_cells([replay.now for replay in replayed])]]
    trials = [replay.trial for replay in replayed if replay.trial]
    if trials:
        rows.append(["trial", *_cells(trials)])
    console.table(["SETTINGS", "PROMPTS", "TOLD", "POINTED TO", "SILENT", "TOKENS PER PROMPT"], rows)
    if not trials:
        return
    changed = _changed(replayed)
    console.line()
    console.line("%d of %d prompts differ%s" % (len(changed), len(replayed), ":" if changed else ""))
    names = shortest_names(context.overview().items)
    for replay in changed[: arguments.limit]:
        console.paragraph('"%s"' % _shortened(replay.prompt.text), "  ", 2)
        console.paragraph("now:   %s" % _outcome_text(replay.now, names), "    ", 11)
        if replay.trial:
            console.paragraph("trial: %s" % _outcome_text(replay.trial, names), "    ", 11)
    if len(changed) > arguments.limit:
        console.line("  and %d more; to see all: --limit N or --json" % (len(changed) - arguments.limit))


def _cells(results: list[Result]) -> list[str]:
    totals = _totals(results)
    tokens = sum(result.tokens for result in results) / len(results)
    return [str(totals["prompts"]), *(str(totals[name]) for name in _NAMES), "%.0f" % tokens]


def _shortened(prompt: str) -> str:
    """Return the beginning of a prompt on one line, without secrets."""
    text = shown_line(prompt[: 4 * _MAX_PROMPT])
    return plain(text if len(text) <= _MAX_PROMPT else text[: _MAX_PROMPT - 1] + "\u2026", _MAX_PROMPT)


def _outcome_text(result: Result, names: dict[str, str]) -> str:
    parts = []
    if result.injected:
        parts.append("told " + ", ".join(names.get(key, key) for key in result.injected))
    if result.pointed:
        parts.append("pointed to " + ", ".join(names.get(key, key) for key in result.pointed))
    return "; ".join(parts) or "silent"
