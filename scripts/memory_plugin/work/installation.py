"""The checks of the doctor, except those of the stores: what the plugin needs and writes, the environment, settings, judges, Langfuse.

Each is a function that returns a `Check`. No judge is asked and nothing is spent.
"""

from __future__ import annotations

import os
import sys
from datetime import date
from typing import NamedTuple

from .. import VERSION
from ..evaluation import EvaluationError
from ..host.commands import first_on_path, is_own
from ..host.environment import OFF, is_sensitive, switched_off
from ..kernel.context import days_ago, iso, now
from ..kernel.fastjson import as_object
from ..kernel.files import write_problem
from ..kernel.judge.asking import FOLDER
from ..kernel.judge.budget import SpendingBudget
from ..kernel.judge.models import family_of, model_table
from ..kernel.judge.question import JudgeError, explain_failure
from ..kernel.judge.vendors import HOST
from ..kernel.paths import YOURS
from ..kernel.records import Form, Records, text
from ..kernel.settings import LOCAL, PROJECT, USER, content, feature_name
from ..kernel.settings.user_file import line_of, problem_sentence
from ..kernel.sqlite import SqliteError, connect
from ..kernel.text.clean import counted, plain
from ..recall.index_refresh import index_state
from ..sessions.langfuse import Outbox, ledger_scores
from ..sessions.langfuse_client import HOSTS, find_access, server_route
from ..sessions.past import index_path
from ..sessions.past_index import cleanup_days
from . import WorkContext
from . import judges as facts
from .past_sessions import is_on, session_exchanges

OK, NOTE, WARN, FAIL = "ok", "note", "warn", "fail"


class Check(NamedTuple):
    """The result of one check.

    `status` is `ok`, `note` (worth knowing, but nothing is wrong), `warn` or `fail`. `fix` says what to do, `details` lists the cases.
    """

    name: str
    status: str
    text: str
    fix: str = ""
    details: tuple[str, ...] = ()


_OTHER_USERS = 0o077
_NOT_ENABLED = "Claude Code's settings do not enable it, so hooks run only with --plugin-dir or elsewhere"
_MAX_NAMES = 20  # of variables, in one report


def python(_context: WorkContext) -> Check:
    """Report the version of Python that runs this; hooks run the first `python3` on the PATH."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", OK, "%s at %s; memory %s" % (version, sys.executable, VERSION))


def program(_context: WorkContext) -> Check:
    """Check that the first `memory` on the PATH is ours, because Claude Code asks the user only about our own program."""
    first = first_on_path()
    if not first or is_own(first):
        return Check("program", OK, first or "not on this PATH; Claude has it on its own")
    text = "%s comes first on the PATH and is not this plugin's, so no dialog asks you about what Claude runs with it"
    return Check("program", WARN, text % first, "remove it, or move its folder to the end of your PATH")


def sqlite(_context: WorkContext) -> Check:
    """Check that SQLite is available, with full-text search."""
    try:
        connection = connect(":memory:")
    except SqliteError as error:
        text = "%s, so Claude is shown nothing" % error
        return Check("sqlite", FAIL, text, "install a Python with sqlite3")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(a)")
    except SqliteError:
        return Check("sqlite", NOTE, "without FTS5; keyword search is used instead and finds slightly less")
    finally:
        connection.close()
    return Check("sqlite", OK, "with FTS5")


def state_folder(context: WorkContext) -> Check:
    """Check that the folder for ledgers, trust and the index is writable and private."""
    paths = context.paths
    if paths.state_dir is None:
        why, _, fix = paths.why_no_state.partition("; ")
        return Check("state folder", FAIL, "%s; Claude is shown nothing, and nothing is saved" % why, fix)
    folder = _nearest(paths.state_dir)
    if why := write_problem(folder):
        fix = "free some space, make it writable, or" + YOURS[1:]
        return Check(
            "state folder", FAIL, "%s is not writable (%s), so nothing can be stored" % (folder, why), fix
        )
    if folder == paths.state_dir and os.name == "posix" and os.stat(folder).st_mode & _OTHER_USERS:
        return Check("state folder", WARN, "other users can read %s" % folder, "chmod 700 %s" % folder)
    return Check("state folder", OK, paths.state_dir)


def _nearest(path: str) -> str:
    """Return the path if it exists, else its nearest existing parent."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def switch(context: WorkContext) -> Check:
    """Check whether the plugin, or its recall, is switched off, here or by Claude Code."""
    if switched_off():
        return Check("plugin", WARN, "%s is set, so no hook does anything" % OFF, "unset %s" % OFF)
    if not context.settings.flag("retrieval.enabled"):
        fix = context.settings.to_set("retrieval.enabled", "true")
        return Check("plugin", NOTE, "recall is off in the settings", fix)
    return _by_client(context) or Check("plugin", OK, "on (%s=1 turns it off)" % OFF)


def _by_client(context: WorkContext) -> Check | None:
    """Report what keeps Claude Code from running the hooks; None if its settings enable the plugin."""
    decided: dict[str, object] = {}
    for layer in filter(context.settings.files.__contains__, (LOCAL, PROJECT, USER)):
        path = context.settings.files[layer]
        values = content(path, follow=layer == USER)
        if values.get("disableAllHooks") is True:
            return Check("plugin", WARN, "no hook runs: disableAllHooks in %s" % path, "remove it there")
        named = as_object(values.get("enabledPlugins")).items()
        decided = decided or {name: value for name, value in named if name.startswith("memory@")}
        if decided and not any(decided.values()):
            fix = "claude plugin enable " + min(decided)
            return Check("plugin", WARN, "no hook runs: it is disabled in %s" % path, fix)
    return None if decided else Check("plugin", NOTE, _NOT_ENABLED)


def environment(context: WorkContext) -> Check:
    """Report the variables of the project's settings that could redirect requests or move folders, by file and line."""
    taint, name = context.taint, "project environment"
    risky = sorted(filter(is_sensitive, taint.names))
    if not risky and not taint.unread:
        return Check(name, OK, "the project's settings set no variable that memory uses")
    shown = risky[:_MAX_NAMES]
    places = ((taint.names[one], one) for one in shown)
    details = ["%s:%s sets %s" % (path, line_of(path, ("env", one)) or "?", one) for path, one in places]
    if len(risky) > len(shown):
        details.append("and %d more names" % (len(risky) - len(shown)))
    details += ["%s cannot be read" % path for path in taint.unread]
    named = ", ".join(shown) or "variables in a file that cannot be read"
    text = "the project's settings set %s; memory ignores that, and judges stay off" % named
    if "PATH" in taint.names:
        text += "; it may replace the python3 that runs the hooks, which no plugin can prevent"
    return Check(name, WARN, text, "read these lines before you trust the project", tuple(details))


def settings(context: WorkContext) -> Check:
    """Report invalid and refused settings."""
    problems = tuple(map(problem_sentence, context.settings.problems))
    if problems:
        return Check("settings", WARN, "some settings are not used", "memory config check", problems)
    return Check("settings", OK, "%s read" % counted(len(context.settings.files), "file"))


EVENTS = Form("events", {"event": text, "what": text})
_DAYS = 7
_SHOWN = 5
_MAX_EVENT = 300
_REFRESH = "memory refresh"
_LANGFUSE = "langfuse"


_INDEX = {
    "whole": (OK, "{}", ""),
    "behind": (NOTE, "older than the stores; the next prompt refreshes it; {}", _REFRESH),
    "missing": (NOTE, "not built yet; the next session or save builds it", _REFRESH),
    "unusable": (WARN, "unusable: {}; it will be rebuilt", _REFRESH),
}


def index(context: WorkContext) -> Check:
    """Check that the index is intact and up to date."""
    state, about = index_state(context.paths)
    status, text, fix = _INDEX[state]
    return Check("index", status, text.format(about), fix)


def events(context: WorkContext) -> Check:
    """Report the problems that hooks recorded in the last seven days."""
    rows = list(Records(context.paths.state(), EVENTS, days_ago(_DAYS)))
    if not rows:
        return Check("events", OK, "no problems in hooks in the last %d days" % _DAYS)
    shown = ("%s %s: %s" % (row.get("time"), row.get("event"), row.get("what")) for row in rows[-_SHOWN:])
    details = tuple(plain(text, _MAX_EVENT) for text in shown)
    serious = any(row.get("kind") == "error" for row in rows)
    number = counted(len(rows), "problem")
    text = "%s in hooks in the last %d days; the prompts went through" % (number, _DAYS)
    return Check("events", WARN if serious else NOTE, text, "", details)


def langfuse(context: WorkContext) -> Check:
    """Check whether scores can be sent to a server, and how many are pending."""
    paths, settings = context.paths, context.settings
    try:
        access = find_access(paths, settings, facts.session_scorer(context).off)
    except JudgeError as failed:
        if failed.name == "no_key" and not settings.text("sessions.langfuse.host"):
            return Check(_LANGFUSE, OK, "not set up; session scores stay on this machine")
        return Check(_LANGFUSE, WARN, "nothing is sent: %s" % failed.detail)
    waiting = len(Outbox(paths, access).missing(ledger_scores(paths)))
    text = "%s is set up; %s to send" % (access.address.authority, counted(waiting, "score"))
    push = "memory session langfuse push"
    address = tuple(facts.address_sentences(context, server_route(paths, settings), HOSTS))
    return Check(_LANGFUSE, NOTE if waiting else OK, text, push if waiting else "", address)


_JUDGE = "judge"
_MODELS = "models"
_JUDGE_DAYS = 30
_TRY = "memory judge check"


def judge(context: WorkContext) -> Check:
    """Check that the enabled judges can be asked; without a key, say what works anyway."""
    features = [feature for feature in facts.FEATURES if context.settings.is_judge_enabled(feature)]
    if not features:
        return Check(_JUDGE, OK, "off (optional; to turn it on: memory judge on)")
    addresses: list[str] = []
    for feature in features:
        try:
            judges = facts.judges_of(context, feature)
        except EvaluationError as error:
            text = "evaluation.judge.judges: %s" % error
            return Check(_JUDGE, WARN, text, "memory config show evaluation.judge")
        problems = [None if judge.backend == HOST else judge.unready() for judge in judges]
        addresses += facts.where(context, judges)
        if any(judge.backend == HOST for judge in judges):
            addresses.append(facts.host_sentence(context.settings))
        if problems and problems[0] and all(problems):
            failed = problems[0]
            says, *more = facts.advice(failed.failure, feature)
            name = feature_name(feature)
            text = "on for %s, but not asked: %s (%s). %s" % (name, failed.detail, failed.failure, says)
            return Check(_JUDGE, WARN, text, "%s %s" % (_TRY, name), (*more, *addresses))
    return _accounts(context, features, tuple(dict.fromkeys(addresses)))


def _accounts(context: WorkContext, features: list[str], addresses: tuple[str, ...]) -> Check:
    """Check the costs, failures and votes of earlier calls."""
    try:
        figures = SpendingBudget(context.paths.state(FOLDER)).figures(context.session)
    except JudgeError as failed:
        return Check(_JUDGE, WARN, failed.detail, explain_failure(failed.name, features[0]).do)
    if figures.off:
        return Check(_JUDGE, WARN, *explain_failure(figures.off, features[0]))
    none_kept = facts.kept_nothing(context.paths, _JUDGE_DAYS)
    if none_kept >= facts.KEPT_NOTHING:
        text = "on, but the judges kept no memory in the last %d decisions" % none_kept
        return Check(_JUDGE, WARN, text, _TRY)
    names = ", ".join(map(feature_name, features))
    text = "on for %s; %s spent today" % (names, facts.dollars(figures.day))
    return Check(_JUDGE, OK, text, "", addresses)


def models(context: WorkContext) -> Check:
    """Check for models that are retired or soon will be. A model of a judge that is off is worth a note."""
    days, status, ending = model_table()["warn_days"], NOTE, {}
    for feature in facts.FEATURES:
        try:
            judges = facts.judges_of(context, feature)
        except EvaluationError:
            continue  # reported by `judge`
        key = feature + ".judge." + ("judges" if feature == "evaluation" else "model")
        for judge in judges:
            if text := _ending(judge.backend, judge.model, days):
                ending["%s: %s" % (key, text)] = "memory config set %s MODEL" % key
                status = WARN if context.settings.is_judge_enabled(feature) else status
    if not ending:
        return Check(_MODELS, OK, "no configured model will be retired within %d days" % days)
    text = "%s retired or soon to be" % counted(len(ending), "configured model")
    return Check(_MODELS, status, text, next(iter(ending.values())), tuple(ending))


def _ending(backend: str, model: str, warn_days: int) -> str:
    """Return a sentence about a model that was retired or will be within that many days; empty for any other."""
    family = family_of(model, backend)
    if not family.ends:
        return ""
    days = (date.fromisoformat(family.ends) - date.fromisoformat(iso(now())[:10])).days
    if days > warn_days:
        return ""
    when = "was retired on %s" % family.ends
    if days > 0:
        when = "will be retired on %s, in %s" % (family.ends, counted(days, "day"))
    instead = "; requests then go to %s" % family.then if family.then else ""
    return "%s %s%s" % (model, when, instead)


def past_sessions(context: WorkContext) -> Check:
    """Report how many past sessions are indexed, and how many only the index still has."""
    name = "past sessions"
    if not is_on(context):
        return Check(name, NOTE, "not indexed", context.settings.to_set("sessions.history.enabled", "true"))
    try:
        paths = {each.session: each.path for each in session_exchanges(context)}
    except SqliteError as error:
        fix = "move %s away" % index_path(context.paths)
        return Check(name, WARN, "the index cannot be read: %s" % error, fix)
    text = (
        "%s indexed, %d of them without a transcript; Claude Code deletes transcripts after %d days"
        " (its setting cleanupPeriodDays)"
    )
    gone = sum(not os.path.lexists(path) for path in paths.values())
    return Check(name, OK, text % (counted(len(paths), "session"), gone, cleanup_days(context.paths)))
