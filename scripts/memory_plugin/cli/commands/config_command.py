"""`memory config`: show the settings and where they come from, and change the user's own file.

Exit codes: 0 done, 1 failed or problems found, 2 unknown key or invalid value.
"""

from __future__ import annotations

import argparse
import json

from ...kernel.overrides import override_problems
from ...kernel.settings.advice import (
    KeyOrigin,
    nearest_key,
    nested,
    origins,
    problem_record,
    problem_sentence,
    readable,
    replaced_by,
    terminal_safe,
)
from ...kernel.settings.load import Settings, load
from ...kernel.settings.schema import Key, WrongValueError, canonical, expected, is_block, keys, parsed
from ...kernel.settings.user_file import EditError, FileChange, set_value, unset
from ...kernel.text.clean import plain
from ..approval import Approval
from ..command_context import CommandContext, CommandError, UsageError
from ..judge_switches import missing_switches
from ..options import add_actions, add_flag

DONE, FAILED = 0, 1

HELP = "show, change and check the settings"
EXAMPLES = """\
  memory config show                              every key and its value
  memory config show retrieval --origin           one block, and which file decides each key
  memory config show retrieval.max_inject         what a key means, and its values
  memory config get retrieval.max_inject
  memory config set retrieval.max_inject 2
  memory config set hygiene.allow '["email"]'
  memory config unset retrieval.max_inject        back to the default
  memory config check                             list invalid and refused settings
"""
_ACTIONS = {  # name: purpose, example
    "show": ("print the settings in effect", "show retrieval --origin"),
    "get": ("print one value", "get retrieval.max_inject"),
    "set": ("set a key in your own file", "set retrieval.max_inject 2"),
    "unset": ("remove a key or block from your own file", "unset search"),
    "check": ("list invalid and refused settings", "check --json"),
}
_PROJECT = {
    "any": "set it",
    "lower": "only lower it or turn it off",
    "raise": "only raise it",
    "never": "not set it",
}
_VERBS = {"set": "written to", "unset": "removed from"}
_MAX_VALUE = 200
# Where keys go, and whose texts are accepted unseen.
_TERMINAL_ONLY = ("judge.base_url", "judge.key_variable", "sessions.langfuse.host", "trust.accept_from")
_ONLY_IN_A_TERMINAL = "nothing was changed: %s is changed only in a terminal, outside Claude Code"
_JUDGE_ON = "the judge for %s is on: %s At most $%.2f a session and $%.2f a day for all judges together."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = add_actions(parser, {name: purpose for name, (purpose, _) in _ACTIONS.items()})
    for name, action in actions.items():
        action.epilog = "example:\n  memory config " + _ACTIONS[name][1]
    actions["show"].add_argument(
        "key", nargs="?", default="", metavar="BLOCK|KEY", help="only this block or key"
    )
    add_flag(actions["show"], "--origin", "show which file sets each key, and what was refused")
    for name, metavar in (("get", "KEY"), ("set", "KEY"), ("unset", "BLOCK|KEY")):
        actions[name].add_argument("key", metavar=metavar)
    actions["set"].add_argument("value", metavar="VALUE", help="a JSON value; text needs no quotes")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return the setting to change; None for other actions. Raises CommandError for a setting that only a terminal changes."""
    if arguments.action not in _VERBS:
        return None
    name = canonical(arguments.key)
    if any(key == name or key.startswith(name + ".") for key in _TERMINAL_ONLY):
        raise CommandError(_ONLY_IN_A_TERMINAL % name)
    value = " to " + plain(arguments.value, _MAX_VALUE) if arguments.action == "set" else ""
    return Approval("%s your setting %s%s" % (arguments.action, name, value))


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    if arguments.action == "check":
        return _check(arguments, context)
    name = canonical(arguments.key)
    action = {"show": _show, "get": _get, "set": _set, "unset": _unset}[arguments.action]
    try:
        return action(name, arguments, context)
    except WrongValueError as error:
        raise UsageError("%s; to see its values: memory config show %s" % (error, name)) from None
    except EditError as error:
        raise CommandError(str(error)) from None


def _show(name: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    rows = origins(context.settings, name)
    if not rows:
        raise _unknown_key(name)
    if arguments.json:
        context.console.json(_shown_as_json(rows, context.settings))
    elif arguments.origin:
        context.console.table(["key", "value", "decided by"], [_origin_row(row) for row in rows])
        _print_files_and_problems(context)
    else:
        context.console.table(["key", "value"], [[row.key, _written(row.value)] for row in rows])
        _explain(name, context)
    return DONE


def _explain(name: str, context: CommandContext) -> None:
    key = keys().get(name)
    if key is not None:
        facts = (expected(key.rule), json.dumps(key.default), _PROJECT[key.project])
        context.console.line()
        context.console.paragraph(key.description)
        context.console.paragraph("value: %s; default: %s; a project's files may %s" % facts)
        choices = key.rule.get("items", {}).get("enum", ())
        if choices:
            context.console.paragraph("known values: " + ", ".join(choices))


def _shown_as_json(rows: list[KeyOrigin], settings: Settings) -> dict[str, object]:
    return {
        "settings": nested(rows),
        "origins": {row.key: row.layer for row in rows},
        "files": settings.files,
        "problems": [problem_record(problem) for problem in settings.problems],
    }


def _origin_row(row: KeyOrigin) -> list[str]:
    return [row.key, _written(row.value), row.layer + (", project refused" if row.refused else "")]


def _written(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _print_files_and_problems(context: CommandContext) -> None:
    context.console.line()
    for layer, path in context.settings.files.items():
        context.console.line("%s: %s" % (layer, terminal_safe(path)))
    for problem in context.settings.problems:
        context.console.paragraph(problem_sentence(problem))


def _get(name: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    rows = origins(context.settings, name)
    if not rows:
        raise _unknown_key(name)
    value = rows[0].value if rows[0].key == name else _below(nested(rows), name)
    layers = {row.key: row.layer for row in rows}
    record = {"key": name, "value": value, "origin": layers.get(name, layers)}
    context.console.result(arguments.json, record, value if isinstance(value, str) else json.dumps(value))
    return DONE


def _below(tree: object, name: str) -> object:
    for part in name.split("."):
        tree = tree[part] if isinstance(tree, dict) else None
    return tree


def _set(name: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    key = keys().get(name)
    if key is None:
        raise _unknown_key(name)
    value = parsed(key, arguments.value)
    change = set_value(context.paths.config_dir, name, value)
    return _report(name, change, arguments, context, _notes(key, value, context))


def _unset(name: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    if not name.strip("."):
        raise _unknown_key(name)
    change = unset(context.paths.config_dir, name)
    if not change.changed and name not in keys() and not is_block(name):
        raise _unknown_key(name)
    return _report(name, change, arguments, context, _judge_notes(context, _reloaded(context)))


def _reloaded(context: CommandContext) -> Settings:
    return load(context.paths.config_dir, context.paths.project_root)


def _notes(key: Key, value: object, context: CommandContext) -> list[str]:
    """Return notes on a key that was just set: another file overrides it, or a judge is now on or still off."""
    now = _reloaded(context)
    notes = _judge_notes(context, now)
    if now.get(key.name) != value and now.origin(key.name) in now.files:
        decider = terminal_safe(now.files[now.origin(key.name)])
        notes.append("In this project, %s overrides it: %s" % (decider, _written(now.get(key.name))))
    feature, in_judge, _ = key.name.partition(".judge.")
    if in_judge and not now.is_judge_enabled(feature):
        notes.append("its judge is off; to switch it on: memory judge on %s" % feature)
    else:
        notes += ["%s; run: %s" % switch for switch in missing_switches(now, feature.partition(".")[0])]
    return notes


def _judge_notes(context: CommandContext, now: Settings) -> list[str]:
    notes = []
    for feature in now.judge_features():
        if now.is_judge_enabled(feature) and not context.settings.is_judge_enabled(feature):
            caps = (now.number("judge.caps.session_usd"), now.number("judge.caps.day_usd"))
            meaning = keys()[feature + ".judge.enabled"].description
            notes.append(_JUDGE_ON % (feature, meaning, *caps))
    return notes


def _report(
    name: str, change: FileChange, arguments: argparse.Namespace, context: CommandContext, notes: list[str]
) -> int:
    now = _reloaded(context)
    if arguments.json:
        result = {"key": name, "changed": change.changed, "file": change.path, "backup": change.backup}
        context.console.json({**result, "value": now.get(name), "origin": now.origin(name), "notes": notes})
        return DONE
    verb = _VERBS[arguments.action] if change.changed else "nothing changed in"
    text = "%s: %s %s" % (_changed_value(name, context.settings, now), verb, terminal_safe(change.path))
    for paragraph in (text, *notes):
        context.console.paragraph(paragraph)
    return DONE


def _changed_value(name: str, before: Settings, now: Settings) -> str:
    """Return a key with its new and old value, or the name of a block."""
    if name not in keys():
        return readable(name)
    old, new = _in_effect(name, before), _in_effect(name, now)
    return "%s is %s" % (name, "still " + new if new == old else "now %s (was %s)" % (new, old))


def _in_effect(name: str, settings: Settings) -> str:
    value, layer = plain(_written(settings.get(name)), _MAX_VALUE), settings.origin(name)
    decider = {"default": ", the default", "user": ""}.get(layer, ", decided by the project's files")
    return value + decider


def _check(arguments: argparse.Namespace, context: CommandContext) -> int:
    settings = context.settings
    unused = override_problems()
    notes = ["%s; run: %s" % switch for switch in missing_switches(settings)]
    code = FAILED if settings.problems or unused else DONE
    if arguments.json:
        records = [problem_record(problem) for problem in settings.problems]
        context.console.json(
            {"files": settings.files, "problems": records, "overrides": unused, "notes": notes}
        )
        return code
    problems = [*map(problem_sentence, settings.problems), *map(terminal_safe, unused)]
    for text in [*problems, *("note: " + note for note in notes)]:
        context.console.paragraph(text)
    if code == DONE:
        files = ", ".join(map(terminal_safe, settings.files.values()))
        context.console.line(
            "No problems in " + files if files else "No problems. Only the defaults are in use."
        )
    return code


def _unknown_key(name: str) -> UsageError:
    """Return the error for an unknown key, with the closest known one."""
    if is_block(name):
        return UsageError("%s is a block of keys; to list them: memory config show %s" % (name, name))
    near, successor = nearest_key(name), replaced_by(name)
    advice = "did you mean %s?" % near if near else "to list all: memory config show"
    if successor:
        advice = "no longer used; set instead: %s" % successor
    return UsageError("%s: no such key; %s" % (readable(name) or "(empty)", advice))
