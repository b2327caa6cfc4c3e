"""What a change of the settings means, and the status line in the user's settings."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from ..kernel.files import make_folder, replace_file
from ..kernel.paths import Paths, read_state, write_state
from ..kernel.settings import Settings, SettingsFileError, content, judge_switches, merged
from ..kernel.settings.load import load
from ..kernel.settings.schema import Rule, find_key, keys
from ..kernel.settings.user_file import change_content, problem_sentence, readable, table_value
from ..kernel.text.clean import plain, terminal_safe
from .context import WorkContext, WorkError
from .status_line import BEFORE, FOLDER, script_path, script_text

_BACKUP, _STATUS_LINE = "before.json", "statusLine"

_JUDGE_ON = "the judge for %s is on. %s At most $%.2f a session and $%.2f a day for all judges together."


def nested(shown: list[str], name: str, settings: Settings) -> dict[str, object]:
    """Return the values as nested objects, like the block `memory` of a file."""
    tree: dict[str, object] = {}
    for key in shown:
        *blocks, last = key.split(".")
        node: Any = tree
        for part in blocks:
            node = node.setdefault(part, {})
        node[last] = value(key, name, settings)
    return tree


def notes(key: Rule, value: object, context: WorkContext) -> list[str]:
    """Return notes on a key that was just set: another file overrides it, or a judge is now on or still off."""
    now = reloaded(context)
    notes = judge_notes(context, now)
    if now.get(key.name) != merged(now.get(key.name), value) and now.origin(key.name) in now.files:
        decider = terminal_safe(now.files[now.origin(key.name)])
        notes.append("In this project, %s overrides it: %s" % (decider, written(now.get(key.name))))
    feature, in_judge, _ = key.name.partition(".judge.")
    if in_judge and not now.is_judge_enabled(feature):
        notes.append("its judge is off. Turn it on: memory judge on %s" % feature)
    return notes


def judge_notes(context: WorkContext, now: Settings) -> list[str]:
    """Return a note for each judge that the change switched on."""
    notes = []
    for feature, (switch, _, _) in judge_switches().items():
        if now.is_judge_enabled(feature) and not context.settings.is_judge_enabled(feature):
            caps = (now.number("judge.caps.session_usd"), now.number("judge.caps.day_usd"))
            _, _, sent = keys()[switch].description.partition("Sends ")
            notes.append(_JUDGE_ON % (feature, "Sends " + sent, *caps))
    return notes


def changed_value(name: str, before: Settings, now: Settings) -> str:
    """Return a key with its new and old value, or the name of a block."""
    if find_key(name) is None:
        return readable(name)
    old, new = (_in_effect(name, settings) for settings in (before, now))
    return "%s is %s" % (name, "still " + new if new == old else "now %s (was %s)" % (new, old))


def _in_effect(name: str, settings: Settings) -> str:
    present = settings.get(name) if name in keys() else value(name, name, settings)
    deciders = {"default": ", the default", "user": ""}
    decider = deciders.get(settings.origin(name), ", decided by the project's files")
    return plain(written(present), MAX_VALUE) + decider


MAX_VALUE = 200


def value(key: str, name: str, settings: Settings) -> object:
    """Return the value of a key in effect; for a shipped table that the user asked for by `name`, what can be changed in it."""
    if key == name:
        with suppress(LookupError):  # not a table
            return table_value(name, settings)
    return settings.get(key)


def written(value: object) -> str:
    """Return a value as a command line takes it."""
    return value if isinstance(value, str) and value else json.dumps(value)


def invalid_values(settings: Settings, *keys: str) -> list[str]:
    """Return why the user's values of some keys are not used, a sentence each."""
    prefixes = tuple(key + "." for key in keys)
    return [
        problem_sentence(problem)
        for problem in settings.problems
        if problem.kind == "value" and (problem.key + ".").startswith(prefixes)
    ]


def require_valid(settings: Settings, *keys: str) -> None:
    """Raise WorkError, with the first problem, if the user's value of a key that decides this command is not used."""
    for problem in invalid_values(settings, *keys):
        raise WorkError(problem)


def reloaded(context: WorkContext) -> Settings:
    """Return the settings as their files are now."""
    return load(context.paths.config_dir, context.paths.project_root)


class Installed(NamedTuple):
    """Whether the user's settings were changed, their file, and whether a status line of the user's own comes first."""

    changed: bool
    path: str
    has_other: bool


def install_status_line(context: WorkContext) -> Installed:
    """Add the line to the user's settings, after their current one. Raises WorkError and EditError."""
    from .refresh import prepare_counts  # imports recall

    paths = context.paths
    current = _status_line(paths)
    command = _line_command(paths)
    if current is not None and current.get("command") != command:
        _back_up(current, paths)
    make_folder(paths.state(FOLDER))
    replace_file(script_path(paths), script_text(paths).encode("utf-8"))
    prepare_counts(context)
    value: dict[str, object] = {**(current or {}), "type": "command", "command": command}
    change = change_content(paths.config_dir, lambda content: content.update({_STATUS_LINE: value}))
    return Installed(change.changed, change.path, os.path.exists(paths.state(FOLDER, BEFORE)))


def remove_status_line(context: WorkContext) -> str:
    """Restore the user's own line, and return the changed file; empty if ours is not in the settings. Raises WorkError and EditError."""
    from shutil import rmtree  # imports compression

    paths, path = context.paths, ""
    current = _status_line(paths)
    if current is not None and current.get("command") == _line_command(paths):
        before = read_state(paths.state(FOLDER, _BACKUP)).get("before")
        path = change_content(
            paths.config_dir,
            lambda content: (
                content.update({_STATUS_LINE: before}) if before else content.pop(_STATUS_LINE, None)
            ),
        ).path
    rmtree(paths.state(FOLDER), ignore_errors=True)
    return path


def _back_up(current: dict[str, object], paths: Paths) -> None:
    """Save the user's current status line: it is shown before ours, and restored when ours is removed."""
    before = current.get("command")
    if current.get("type") != "command" or not isinstance(before, str):
        raise WorkError("nothing was changed: your settings have a status line of an unknown form")
    make_folder(paths.state(FOLDER))
    replace_file(paths.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(paths.state(FOLDER, _BACKUP), {"before": current}, durable=True)


def _line_command(paths: Paths) -> str:
    """Return the command that prints the status line."""
    from shlex import quote

    return "sh " + quote(script_path(paths))


def _status_line(paths: Paths) -> dict[str, object] | None:
    """Return the status line in the user's settings, or None. Raises WorkError for an unreadable file."""
    if paths.config_dir is None:
        raise WorkError(paths.why_no_state)
    path = os.path.join(paths.config_dir, "settings.json")
    try:
        value = content(path, follow=True).get(_STATUS_LINE)
    except FileNotFoundError:
        return None
    except SettingsFileError as error:
        raise WorkError("%s: %s; fix the file first" % (path, error)) from None
    return value if isinstance(value, dict) else None
