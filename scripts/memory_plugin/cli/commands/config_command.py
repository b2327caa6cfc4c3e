"""`memory config`: show, describe, check and change the settings; the status line and the completions of the shell.

Exit codes: 0 done, 1 failed or problems found, 2 unknown key or invalid value.
"""

from __future__ import annotations

import json
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence

from ...host.commands import TABLE, command_of, second_words
from ...kernel.paths import data_path
from ...kernel.settings import USER, Settings, user_file
from ...kernel.settings.schema import expected, find_key, keys
from ...kernel.text.clean import plain, terminal_safe
from ...work.settings_change import MAX_VALUE, SettingsChange, change_setting, nested, values_at, written
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler, UsageError
from ..command_line import handler_of
from ..options import add_actions, add_common_options, add_flag, run_action

_CONFIG_TEXT = """\
show, change and check the settings
  memory config show                              every key, its value, and which file decides it
  memory config show retrieval --origin           one block, with the files, and what was refused
  memory config show retrieval.max_inject         what a key means, and its values
  memory config set retrieval.max_inject 2
  memory config set hygiene.allow '["email"]'
  memory config unset retrieval.max_inject        back to the default
  memory config check                             list invalid and refused settings
"""
_PROJECT = {
    "any": "set it",
    "lower": "only lower it",
    "raise": "only raise it",
    "switch": "only turn it off",
    "never": "not set it",
}
_VERBS = {"set": "written to", "unset": "removed from"}
# Where keys go, and whose texts are accepted unseen.
_TERMINAL_ONLY = ("judge.base_url", "judge.key_variable", "sessions.langfuse.host", "trust.accept_from")
_ONLY_IN_A_TERMINAL = "nothing changed: %s is changed only in a terminal, outside Claude Code"


def _configure_config(parser: ArgumentParser) -> None:
    actions = add_actions(parser, _ACTIONS)
    actions["show"].add_argument("key", nargs="?", type=_name, default="", metavar="BLOCK|KEY")
    add_flag(actions["show"], "--origin", "also list the settings files, and what was refused")
    for name, metavar in (("get", "KEY"), ("set", "KEY"), ("unset", "BLOCK|KEY")):
        actions[name].add_argument("key", type=_name, metavar=metavar)
    actions["set"].add_argument("value", metavar="VALUE", help="a JSON value; text needs no quotes")


def _name(text: str) -> str:
    """Return the name of a key; a settings file has all keys in a block `memory`."""
    return text.removeprefix("memory.")


def _approve_config(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the setting to change; None for other actions. Raises CommandError for a setting that only a terminal changes."""
    if arguments.action not in _VERBS:
        return None
    name = arguments.key
    if any(key == name or key.startswith(name + ".") for key in _TERMINAL_ONLY):
        raise CommandError(_ONLY_IN_A_TERMINAL % name)
    value = " to " + plain(arguments.value, MAX_VALUE) if arguments.action == "set" else ""
    meaning = keys()[name].description if name in keys() else ""
    return Approval(("%s your setting %s%s? %s" % (arguments.action, name, value, meaning)).strip())


def _show(arguments: Namespace, context: CommandContext) -> None:
    console, settings, name = context.console, context.settings, arguments.key
    values = _known_values(name, settings)
    origins = {key: settings.origin(key) for key in values}
    problems = list(map(user_file.problem_record, settings.problems))
    record = {"settings": nested(values), "origins": origins, "files": settings.files}
    console.result({**record, "problems": problems})
    if name in values:  # whole, because a cell of a table may be cut
        console.paragraph("%s: %s (%s)" % (name, written(values[name]), _decider(name, settings)))
        _explain(name, context)
    else:
        rows = [[key, written(value), _decider(key, settings)] for key, value in values.items()]
        console.table(["key", "value", "decided by"], rows)
    if arguments.origin:
        files = ["%s: %s" % (layer, terminal_safe(path)) for layer, path in settings.files.items()]
        console.lines("", *files)
        for problem in settings.problems:
            console.paragraph(user_file.problem_sentence(problem))


def _decider(key: str, settings: Settings) -> str:
    refused = any(problem.kind == "refused" and problem.key == key for problem in settings.problems)
    return settings.origin(key) + (", project refused" if refused else "")


def _explain(name: str, context: CommandContext) -> None:
    key = find_key(name)
    if key is not None:
        default = key.default if key.setting is key else user_file.value_of(key, None)
        access = "switch" if key.type == "boolean" and key.project == "lower" else key.project
        facts = (expected(key), json.dumps(default), _PROJECT[access])
        context.console.line()
        context.console.paragraph(key.description)
        context.console.paragraph("value: %s; default: %s; a project may %s" % facts)
        if key.items and key.items.choices:
            context.console.paragraph("known values: " + ", ".join(key.items.choices))


def _get(arguments: Namespace, context: CommandContext) -> None:
    name = arguments.key
    values = _known_values(name, context.settings)
    layers = {key: context.settings.origin(key) for key in values}
    below = {key.removeprefix(name + "."): value for key, value in values.items()}
    value = values[name] if name in values else nested(below)
    record = {"key": name, "value": value, "origin": layers.get(name, layers)}
    context.console.result(record, value if isinstance(value, str) else json.dumps(value))


def _set(arguments: Namespace, context: CommandContext) -> None:
    name, key = arguments.key, find_key(arguments.key)
    if key is None:
        _known_values(name, context.settings)
        raise UsageError("%s is a block of keys; to list them: memory config show %s" % (name, name))
    try:
        change = change_setting(name, user_file.parsed(key, arguments.value), context)
    except user_file.WrongValueError as error:
        raise UsageError("%s; to see its values: memory config show %s" % (error, name)) from None
    _report(change, arguments, context)


def _unset(arguments: Namespace, context: CommandContext) -> None:
    name = arguments.key
    change = change_setting(name, None, context)
    if not change.file.changed and not (name and values_at(name, context.settings)):
        raise _unknown_key(name)
    _report(change, arguments, context)


def _report(change: SettingsChange, arguments: Namespace, context: CommandContext) -> None:
    name, (path, backup, changed) = arguments.key, change.file
    effect = {"value": change.now.get(name), "origin": change.now.origin(name), "notes": change.notes}
    context.console.result({"key": name, "changed": changed, "file": path, "backup": backup, **effect})
    verb = _VERBS[arguments.action] if changed else "nothing changed in"
    for text in ("%s: %s %s" % (change.described(name), verb, terminal_safe(path)), *change.notes):
        context.console.paragraph(text)


def _check(arguments: Namespace, context: CommandContext) -> int:
    console, settings = context.console, context.settings
    problems = list(map(user_file.problem_record, settings.problems))
    tables = [name for name, key in keys().items() if key.table or key.sum]
    changed = [name for name in tables if settings.origin(name) == USER]
    console.result({"files": settings.files, "problems": problems, "changed": changed})
    for problem in settings.problems:
        console.paragraph(user_file.problem_sentence(problem))
    if not settings.problems:
        files = ", ".join(map(terminal_safe, settings.files.values()))
        console.line("No problems" + (" in " + files if files else ". Only the defaults are in use."))
    if changed:
        console.paragraph("changed by you: " + ", ".join(changed))
    return FAILED if problems else DONE


def _known_values(name: str, settings: Settings) -> dict[str, object]:
    """Return what `values_at` does. Raises UsageError for an unknown name."""
    values = values_at(name, settings)
    if not values:
        raise _unknown_key(name)
    return values


def _unknown_key(name: str) -> UsageError:
    """Return the error for an unknown key, with the closest known one."""
    shown = user_file.readable(name) or "(empty)"
    return UsageError("%s: no such key; %s" % (shown, user_file.unknown_key_hint(name)))


_COMPLETIONS_TEXT = """\
print a completion script for bash, zsh or fish
  memory config completions bash > ~/.local/share/bash-completion/completions/memory
  memory config completions zsh > ~/.zfunc/_memory
  memory config completions fish > ~/.config/fish/completions/memory.fish
"""

_WORDS = "words"
SHELLS = ("bash", "zsh", "fish")


def _configure_completions(parser: ArgumentParser) -> None:
    """Declare the shell, and the words before the cursor, with which the script calls the command again."""
    parser.add_argument("shell", choices=(*SHELLS, _WORDS), metavar="SHELL", help=", ".join(SHELLS))
    parser.add_argument("words", nargs="*", help=SUPPRESS)


def _completions(arguments: Namespace, context: CommandContext) -> None:
    """Print the script, or the words that may come next."""
    if arguments.shell == _WORDS:
        context.console.verbatim("\n".join(_next_words(arguments.words)))
        return
    with open(data_path("completions", arguments.shell), encoding="utf-8") as script:
        context.console.verbatim(script.read().rstrip())


def _next_words(words: Sequence[str]) -> list[str]:
    """Return the commands, or the long options of a command and its second words or choices."""
    if not words:
        return [command.name for command in TABLE if command.group]
    command = command_of(words)
    found = ["--help", *second_words(words[0])]
    parser = ArgumentParser(add_help=False)
    add_common_options(parser)
    configure = command and handler_of(command.name).configure
    if configure:
        configure(parser)
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        found += [option for option in action.option_strings if option.startswith("--")]
        found += [] if action.option_strings else map(str, action.choices or ())
    return list(dict.fromkeys(found))


_STATUSLINE_TEXT = """\
print a line for Claude Code's status line: memories, shown in this session, pending
  memory config statusline
  memory config statusline install      adds it to your settings, after your current status line
  memory config statusline remove
"""


def _configure_statusline(parser: ArgumentParser) -> None:
    actions = ("show", "install", "remove")
    parser.add_argument("action", nargs="?", choices=actions, default="show", help="default: show")


def _approve_statusline(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the change of the status line; None for printing it."""
    return None if arguments.action == "show" else Approval("%s the status line?" % arguments.action)


def _statusline(arguments: Namespace, context: CommandContext) -> None:
    """Print the line, or change the user's settings."""
    from ...work.refresh import current_counts
    from ...work.settings_change import install_status_line, remove_status_line
    from ...work.status_line import status_text

    if arguments.action == "install":
        installed = install_status_line(context)
        done = "Installed" if installed.changed else "Already installed"
        order = " Your own status line comes first." if installed.has_other else ""
        text = "%s in %s.%s To remove it: memory config statusline remove"
        context.console.paragraph(text % (done, installed.path, order))
    elif arguments.action == "remove":
        path = remove_status_line(context)
        nothing = "This status line is not in your settings; nothing was changed there."
        context.console.line("Removed from %s." % path if path else nothing)
    else:
        line = status_text(context.paths, context.session, current_counts(context))
        context.console.result({"line": line}, line)


_ACTIONS = {
    "show": Handler("print the settings in effect", _show),
    "get": Handler("print one value", _get),
    "set": Handler("set a key in your own file", _set),
    "unset": Handler("remove a key or block from your own file", _unset),
    "check": Handler("list invalid and refused settings", _check),
}
HANDLERS = {
    "config": Handler(_CONFIG_TEXT, run_action, _configure_config, _approve_config),
    "config completions": Handler(_COMPLETIONS_TEXT, _completions, _configure_completions),
    "config statusline": Handler(_STATUSLINE_TEXT, _statusline, _configure_statusline, _approve_statusline),
}
