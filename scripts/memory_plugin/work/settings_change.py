"""What a change of the settings means."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from ..kernel.settings import JUDGE_SWITCHES, Settings, load, merged
from ..kernel.settings.schema import Rule, find_key, keys
from ..kernel.settings.user_file import readable, table_value
from ..kernel.text.clean import plain, terminal_safe
from .context import WorkContext

_JUDGE_ON = "the judge for %s is on. %s At most $%.2f a session and $%.2f a day for all judges together."


def nested(shown: list[str], name: str, settings: Settings) -> dict[str, Any]:
    """Return the values as nested objects, like the block `memory` of a file."""
    tree: dict[str, Any] = {}
    for key in shown:
        *blocks, last = key.split(".")
        node = tree
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
    for feature, (switch, _, _) in JUDGE_SWITCHES.items():
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


def reloaded(context: WorkContext) -> Settings:
    """Return the settings as their files are now."""
    return load(context.paths.config_dir, context.paths.project_root)
