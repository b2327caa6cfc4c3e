"""`memory report replay`: show what recall would do on past prompts under the current or other settings, without a model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from ...kernel.context import Context, now
from ...kernel.files import Unreadable
from ...kernel.settings.load import load
from ...kernel.settings.problems import problem_sentence
from ...kernel.settings.values import Settings
from ...kernel.text.clean import counted
from ...memories.survey import shortest_names
from ...recall.explain import RESULTS, shown_prompt
from ...recall.history import RecallHistory
from ...sessions.session_files import project_transcripts
from ...work.replay import NAMES, Replayed, decide, past_prompts, that_differ, totals_of
from ..command_context import CommandContext, CommandError, UsageError
from ..console import Console
from ..options import add_days_option, require_days, require_existing

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
    totals = {name: totals_of([replay.decisions[name] for replay in replayed]) for name in contexts}
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
) -> Iterator[Replayed]:
    for number, path in enumerate(paths, 1):
        if os.path.getmtime(path) < oldest:
            continue
        # Each setting has its own history: what Claude was told earlier in a session is not told again.
        histories = {name: RecallHistory(context.paths, "") for name, context in contexts.items()}
        try:
            for prompt, time in past_prompts(path, oldest):
                console.progress("session %d of %d" % (number, len(paths)))
                decisions = {
                    name: decide(prompt, histories[name], context) for name, context in contexts.items()
                }
                yield Replayed(prompt, time, decisions)
        except (FileNotFoundError, Unreadable) as error:
            console.error("skipped: %s" % error)


def _as_json(replayed: list[Replayed]) -> list[dict[str, object]]:
    return [
        {
            "prompt": shown_prompt(replay.prompt.text, _MAX_PROMPT),
            "prompt_id": replay.prompt.id,
            "time": replay.time,
            **replay.decisions,
        }
        for replay in that_differ(replayed)
    ]


def _show(replayed: list[Replayed], totals: dict[str, dict[str, int]], context: CommandContext) -> None:
    console = context.console
    rows = [
        [
            name,
            *(str(total[column]) for column in ("prompts", *NAMES)),
            "%.0f" % (total["tokens"] / len(replayed)),
        ]
        for name, total in totals.items()
    ]
    console.table(["SETTINGS", "PROMPTS", "SHOWN", "BY TITLE", "SILENT", "TOKENS PER PROMPT"], rows)
    if "trial" not in totals:
        return
    differing = that_differ(replayed)
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
        for name, word in zip(NAMES, RESULTS[:2])
        if record[name]
    ]
    return "; ".join(parts) or "silent"
