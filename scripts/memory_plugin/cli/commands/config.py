"""`memory config`: what the settings are, where they come from, and changes to the user's own file.

Exit codes: 0 done, 1 failed or problems found, 2 no such key or a value that does not fit.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from ...kernel.settings.advice import (
    Origin,
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
from ...kernel.settings.user_file import Change, EditError, set_value, unset
from ...kernel.text.clean import plain
from ...recall.judge_switches import missing_switches

if TYPE_CHECKING:
    from ..command_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2

HELP = "show, change and check the settings"
EXAMPLES = """\
  memory config show                              every key and its value
  memory config show retrieval --origin           one block, and which file decides each key
  memory config show retrieval.max_inject         what a key means and takes
  memory config get retrieval.max_inject
  memory config set retrieval.max_inject 2
  memory config set hygiene.allow '["email"]'
  memory config unset retrieval.max_inject        back to the default
  memory config check                             what in your files is wrong, or refused
"""
_PROJECT = {
    "any": "set it",
    "lower": "only lower it or switch it off",
    "raise": "only raise it",
    "never": "not set it",
}
_DONE = {"set": "written to", "unset": "taken out of"}
_MAX_VALUE = 200
_JUDGE_ON = "the judge of %s is on: %s At most $%.2f a session and $%.2f a day for all judges together."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = _action(actions, "show", "print the settings in effect", "memory config show retrieval --origin")
    show.add_argument("key", nargs="?", default="", metavar="BLOCK|KEY", help="only this block or key")
    show.add_argument("--origin", action="store_true", help="say which file decides, and what was refused")
    get = _action(actions, "get", "print one value", "memory config get retrieval.max_inject")
    get.add_argument("key", metavar="KEY")
    change = _action(actions, "set", "set a key in your own file", "memory config set retrieval.max_inject 2")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help="as in JSON; a text needs no quotes of its own")
    take = _action(
        actions, "unset", "take a key or a block out of your own file", "memory config unset search"
    )
    take.add_argument("key", metavar="BLOCK|KEY")
    _action(actions, "check", "list what is wrong or refused", "memory config check --json")


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, purpose: str, example: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        name,
        help=purpose,
        description=purpose,
        epilog="example:\n  " + example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Suppressed defaults: what stands before the action's name must survive what is missing after it.
    parser.add_argument("--root", metavar="DIR", default=argparse.SUPPRESS, help="the project")
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for programs"
    )
    return parser


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Do one action."""
    if arguments.action == "check":
        return _check(arguments, session)
    name = canonical(arguments.key)
    action = {"show": _show, "get": _get, "set": _set, "unset": _unset}[arguments.action]
    try:
        return action(name, arguments, session)
    except WrongValueError as error:
        session.console.error("%s; `memory config show %s` says what it takes" % (error, name))
        return USAGE
    except EditError as error:
        session.console.error(str(error))
        return FAILED


def _show(name: str, arguments: argparse.Namespace, session: Session) -> int:
    rows = origins(session.settings, name)
    if not rows:
        return _no_such_key(name, session)
    if arguments.json:
        session.console.json(_shown_as_json(rows, session.settings))
    elif arguments.origin:
        session.console.table(["key", "value", "decided by"], [_origin_row(row) for row in rows])
        _say_files_and_problems(session)
    else:
        session.console.table(["key", "value"], [[row.key, _written(row.value)] for row in rows])
        _explain(name, session)
    return DONE


def _explain(name: str, session: Session) -> None:
    key = keys().get(name)
    if key is not None:
        facts = (expected(key.rule), json.dumps(key.default), _PROJECT[key.project])
        session.console.line()
        session.console.paragraph(key.description)
        session.console.paragraph("takes %s; default %s; a project's files may %s" % facts)
        choices = key.rule.get("items", {}).get("enum", ())
        if choices:
            session.console.paragraph("known: " + ", ".join(choices))


def _shown_as_json(rows: list[Origin], settings: Settings) -> dict[str, object]:
    return {
        "settings": nested(rows),
        "origins": {row.key: row.layer for row in rows},
        "files": settings.files,
        "problems": [problem_record(problem) for problem in settings.problems],
    }


def _origin_row(row: Origin) -> list[str]:
    return [
        row.key,
        _written(row.value),
        row.layer + (", project refused" if row.refused else ""),
    ]


def _written(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _say_files_and_problems(session: Session) -> None:
    session.console.line()
    for layer, path in session.settings.files.items():
        session.console.line("%s: %s" % (layer, terminal_safe(path)))
    for problem in session.settings.problems:
        session.console.paragraph(problem_sentence(problem))


def _get(name: str, arguments: argparse.Namespace, session: Session) -> int:
    rows = origins(session.settings, name)
    if not rows:
        return _no_such_key(name, session)
    value = rows[0].value if rows[0].key == name else _below(nested(rows), name)
    if arguments.json:
        layers = {row.key: row.layer for row in rows}
        session.console.json({"key": name, "value": value, "origin": layers.get(name, layers)})
    else:
        session.console.line(value if isinstance(value, str) else json.dumps(value))
    return DONE


def _below(tree: object, name: str) -> object:
    for part in name.split("."):
        tree = tree[part] if isinstance(tree, dict) else None
    return tree


def _set(name: str, arguments: argparse.Namespace, session: Session) -> int:
    key = keys().get(name)
    if key is None:
        return _no_such_key(name, session)
    value = parsed(key, arguments.value)
    if not session.require_word("change settings"):
        return FAILED
    change = set_value(session.places.config_dir, name, value)
    return _report(name, change, arguments, session, _notes(key, value, session))


def _unset(name: str, arguments: argparse.Namespace, session: Session) -> int:
    if not name.strip("."):
        return _no_such_key(name, session)
    if not session.require_word("change settings"):
        return FAILED
    change = unset(session.places.config_dir, name)
    if not change.changed and name not in keys() and not is_block(name):
        return _no_such_key(name, session)
    return _report(name, change, arguments, session, _judge_notes(session, _reloaded(session)))


def _reloaded(session: Session) -> Settings:
    return load(session.places.config_dir, session.places.project_root)


def _notes(key: Key, value: object, session: Session) -> list[str]:
    """What to know after setting this key: another file may decide, or a judge be on or still off."""
    now = _reloaded(session)
    notes = _judge_notes(session, now)
    if now.get(key.name) != value and now.origin(key.name) in now.files:
        decider = terminal_safe(now.files[now.origin(key.name)])
        notes.append("here %s decides: %s" % (decider, _written(now.get(key.name))))
    feature, in_judge, _ = key.name.partition(".judge.")
    if in_judge and not now.judge_asked_for(feature):
        notes.append("its judge is off; `memory judge on %s` switches it on" % feature)
    elif feature.partition(".")[0] == "retrieval":
        notes += ["%s; run: %s" % one for one in missing_switches(now)]
    return notes


def _judge_notes(session: Session, now: Settings) -> list[str]:
    notes = []
    for feature in now.judge_features():
        if now.judge_asked_for(feature) and not session.settings.judge_asked_for(feature):
            caps = (now.number("judge.caps.session_usd"), now.number("judge.caps.day_usd"))
            meaning = keys()[feature + ".judge.enabled"].description
            notes.append(_JUDGE_ON % (feature, meaning, *caps))
    return notes


def _report(
    name: str, change: Change, arguments: argparse.Namespace, session: Session, notes: list[str]
) -> int:
    now = _reloaded(session)
    if arguments.json:
        result = {"key": name, "changed": change.changed, "file": change.path, "backup": change.backup}
        session.console.json({**result, "value": now.get(name), "origin": now.origin(name), "notes": notes})
        return DONE
    done = _DONE[arguments.action] if change.changed else "nothing to change in"
    where = "%s %s" % (done, terminal_safe(change.path))
    session.console.paragraph("%s: %s" % (_becomes(name, session.settings, now), where))
    for note in notes:
        session.console.paragraph(note)
    return DONE


def _becomes(name: str, before: Settings, now: Settings) -> str:
    """What a key is now, and what it was; of a block only its name."""
    if name not in keys():
        return readable(name)
    old, new = _in_effect(name, before), _in_effect(name, now)
    return "%s is %s" % (name, "still " + new if new == old else "now %s (was %s)" % (new, old))


def _in_effect(name: str, settings: Settings) -> str:
    value, layer = plain(_written(settings.get(name)), _MAX_VALUE), settings.origin(name)
    decider = {"default": ", the default", "user": ""}.get(layer, ", which the project's files decide")
    return value + decider


def _check(arguments: argparse.Namespace, session: Session) -> int:
    settings = session.settings
    notes = ["%s; run: %s" % one for one in missing_switches(settings)]
    if arguments.json:
        records = [problem_record(problem) for problem in settings.problems]
        session.console.json({"files": settings.files, "problems": records, "notes": notes})
        return FAILED if settings.problems else DONE
    for problem in settings.problems:
        session.console.paragraph(problem_sentence(problem))
    for note in notes:
        session.console.paragraph("note: " + note)
    if not settings.problems:
        read = ", ".join(terminal_safe(path) for path in settings.files.values()) or "the defaults alone"
        session.console.line("no problems; read: " + read)
    return FAILED if settings.problems else DONE


def _no_such_key(name: str, session: Session) -> int:
    if is_block(name):
        words = name, name
        session.console.error("%s is a block of keys, not one; `memory config show %s` lists them" % words)
        return USAGE
    near, successor = nearest_key(name), replaced_by(name)
    advice = "did you mean %s? " % near if near else ""
    if successor:
        advice = "no longer used; set instead: %s. " % successor
    session.console.error(
        "%s: no such key; %s`memory config show` lists all" % (readable(name) or "(empty)", advice)
    )
    return USAGE
