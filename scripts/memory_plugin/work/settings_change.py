"""What a change of the settings means, and the status line in the user's settings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..kernel.fastjson import as_object
from ..kernel.files import make_folder, replace_file
from ..kernel.paths import Paths, read_state, write_state
from ..kernel.settings import Settings, feature_name, judge_switches, user_file
from ..kernel.settings.load import load
from ..kernel.settings.schema import find_key, keys
from ..kernel.text.clean import plain
from . import WorkContext, WorkError
from .status_line import BEFORE, FOLDER, script_path, script_text

MAX_VALUE = 200
_BACKUP, _STATUS_LINE = "before.json", "statusLine"
_UNKNOWN_FORM = "nothing was changed: your settings have a status line of an unknown form"

_JUDGE_ON = "The judge for %s is on. It sends %s At most $%.2f a session and $%.2f a day for all judges."


class SettingsChange(NamedTuple):
    """A change of the user's file, the settings before and after it, and notes on it, a sentence each."""

    file: user_file.FileChange
    before: Settings
    now: Settings
    notes: list[str]

    def described(self, name: str) -> str:
        """Return a key with its new and old value, or the name of a block."""
        if find_key(name) is None:
            return user_file.readable(name)
        old, new = _in_effect(name, self.before), _in_effect(name, self.now)
        return "%s is %s" % (name, "still " + new if new == old else "now %s (was %s)" % (new, old))


def change_setting(name: str, value: object, context: WorkContext) -> SettingsChange:
    """Set a key of the user's file, or a name below one; None removes a key or a block. Raises WrongValueError and EditError."""
    change = user_file.change_values(context.paths.config_dir, {name: value})
    now = load(context.paths.config_dir, context.paths.project_root)
    return SettingsChange(change, context.settings, now, _judges_now_on(context.settings, now))


def _judges_now_on(before: Settings, now: Settings) -> list[str]:
    """Return a note for each judge that the change switched on."""
    notes = []
    for feature, (switch, _, _) in judge_switches().items():
        if now.is_judge_enabled(feature) and not before.is_judge_enabled(feature):
            caps = (now.number("judge.caps.session_usd"), now.number("judge.caps.day_usd"))
            _, _, sent = keys()[switch].description.partition("Sends ")
            notes.append(_JUDGE_ON % (feature_name(feature), sent, *caps))
    return notes


def _in_effect(name: str, settings: Settings) -> str:
    present = settings.get(name)
    if present is None:
        present = values_at(name, settings)[name]
    deciders = {"default": ", the default", "user": ""}
    decider = deciders.get(settings.origin(name), ", decided by the project's files")
    return plain(written(present), MAX_VALUE) + decider


def values_at(name: str, settings: Settings) -> dict[str, object]:
    """Return the keys of a block with their values, or one key with its value; all keys for an empty name, none for an unknown one.

    For a shipped table that `name` asks for, the value is what can be changed in it.
    """
    key = find_key(name)
    if key is not None:
        return {name: user_file.value_of(key, settings)}
    return {one: settings.get(one) for one in settings.all_keys() if not name or one.startswith(name + ".")}


def nested(values: Mapping[str, object]) -> dict[str, object]:
    """Return values by dotted key as nested objects, like the block `memory` of a file."""
    tree: dict[str, object] = {}
    for key, value in values.items():
        *blocks, last = key.split(".")
        node: Any = tree
        for part in blocks:
            node = node.setdefault(part, {})
        node[last] = value
    return tree


def written(value: object) -> str:
    """Return a value as a command line takes it."""
    return value if isinstance(value, str) and value else json.dumps(value)


def invalid_values(settings: Settings, *keys: str) -> list[str]:
    """Return why the user's values of some keys are not used, a sentence each."""
    prefixes = tuple(key + "." for key in keys)
    return [
        user_file.problem_sentence(problem)
        for problem in settings.problems
        if problem.kind == "value" and (problem.key + ".").startswith(prefixes)
    ]


def require_valid(settings: Settings, *keys: str) -> None:
    """Raise WorkError, with the first problem, if the user's value of a key that decides this command is not used."""
    for problem in invalid_values(settings, *keys):
        raise WorkError(problem)


class Installed(NamedTuple):
    """Whether the user's settings were changed, their file, and whether a status line of the user's own comes first."""

    changed: bool
    path: str
    has_other: bool


def install_status_line(context: WorkContext) -> Installed:
    """Add the line to the user's settings, after their current one. Raises WorkError and EditError."""
    from .refresh import prepare_counts  # imports recall

    paths = context.paths
    command = _line_command(paths)

    def edit(content: dict[str, Any]) -> None:
        line = as_object(content.get(_STATUS_LINE))
        if line and line.get("command") != command:
            _back_up(line, paths)
        content[_STATUS_LINE] = {**line, "type": "command", "command": command}

    make_folder(paths.state(FOLDER))
    replace_file(script_path(paths), script_text(paths).encode("utf-8"))
    prepare_counts(context)
    change = user_file.change_content(paths.config_dir, edit)
    return Installed(change.changed, change.path, os.path.exists(paths.state(FOLDER, BEFORE)))


def remove_status_line(context: WorkContext) -> str:
    """Restore the user's own line, and return the changed file; empty if ours is not in the settings. Raises EditError."""
    from shutil import rmtree  # imports compression

    paths = context.paths

    def edit(content: dict[str, Any]) -> None:
        current = content.get(_STATUS_LINE)
        if isinstance(current, dict) and current.get("command") == _line_command(paths):
            before = read_state(paths.state(FOLDER, _BACKUP)).get("before")
            if before:
                content[_STATUS_LINE] = before
            else:
                del content[_STATUS_LINE]

    change = user_file.change_content(paths.config_dir, edit)
    rmtree(paths.state(FOLDER), ignore_errors=True)
    return change.path if change.changed else ""


def _back_up(current: dict[str, Any], paths: Paths) -> None:
    """Save the user's current status line: it is shown before ours, and restored when ours is removed."""
    before = current.get("command")
    if current.get("type") != "command" or not isinstance(before, str):
        raise WorkError(_UNKNOWN_FORM)
    replace_file(paths.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(paths.state(FOLDER, _BACKUP), {"before": current}, durable=True)


def _line_command(paths: Paths) -> str:
    """Return the command that prints the status line."""
    from shlex import quote

    return "sh " + quote(script_path(paths))
