"""The doctor: every check of the installation and of the stores."""

from __future__ import annotations

import os
from collections import Counter
from typing import Callable

from ..kernel.files import error_text
from ..kernel.text.clean import counted, inflected
from ..memories.memory_files import PROJECT, USER, stores, why_not_read
from ..memories.nearby import notes_elsewhere, unread_nearby
from ..memories.repository import git
from ..memories.survey import CHANGED, Survey
from ..memories.trust import Trust
from ..memories.trust_file import TrustUnreadable
from . import WorkContext, installation
from .check import NOTED, StoreFinding, check_memories, file_findings
from .installation import FAIL, NOTE, OK, WARN, Check

# To add a check: a function, a line here, and a test.
CHECKS: tuple[Callable[[WorkContext], Check], ...] = (
    *(installation.python, installation.program, installation.sqlite, installation.state_folder),
    *(installation.switch, installation.settings, installation.environment),
)
STATE_CHECKS: tuple[Callable[[WorkContext], Check], ...] = (  # only with a state folder
    *(installation.index, installation.events),
    *(installation.judge, installation.models, installation.langfuse, installation.past_sessions),
)
_SCOPES = {PROJECT: "in this project", USER: "in your own store"}


def examine(context: WorkContext, overview: Survey | None = None) -> list[Check]:
    """Return the results of all checks; with an `overview` of the stores, without those that read every text."""
    has_state = context.paths.state_dir is not None
    checks = [check(context) for check in (*CHECKS, *(STATE_CHECKS if has_state else ()))]
    try:
        survey = context.survey() if overview is None else overview
    except TrustUnreadable as error:
        fix = "make the file readable; if it cannot be recovered, move it away and accept your memories again"
        return [*checks, Check("trust", FAIL, error_text(error), fix)]
    findings = file_findings(survey.problems)
    if overview is None:
        roots = (store.root for store in stores(context.paths) if not why_not_read(store))
        memories = [item.stored for item in survey.items]
        findings += check_memories(memories, list(filter(os.path.isdir, roots)))
    checks += [
        _stores(survey),
        _nearby(context),
        _pending(survey),
        *([_record(context)] if has_state else []),
        _accept_from(context),
    ]
    return [*checks, _memories(findings)]


def _memories(findings: list[StoreFinding]) -> Check:
    """Report what `memory check` finds."""
    if not findings:
        return Check("memories", OK, "no problems in their files")
    details = tuple(dict.fromkeys(map(str, findings)))  # a file that cannot be read is found twice
    number, files = counted(len(details), "problem"), counted(len({one.path for one in findings}), "file")
    is_serious = any(one.rule not in NOTED for one in findings)
    fix = "correct these files, or move those that are no memories" if is_serious else ""
    return Check("memories", WARN if is_serious else NOTE, "%s in %s" % (number, files), fix, details)


def _stores(survey: Survey) -> Check:
    """Report stores that are not read, else how many memories each store holds."""
    if survey.left_alone:
        fix = "make it a plain folder that you can read; your own store must belong to you"
        return Check("stores", WARN, "not read: " + "; ".join(survey.left_alone), fix)
    scopes = sorted(Counter(item.stored.store.scope for item in survey.items).items())
    parts = ["%s %s" % (counted(number, "memory"), _SCOPES[scope]) for scope, number in scopes]
    of_project = [item.stored for item in survey.items if item.stored.store.worktree]
    if any(git(one.store.worktree or "", "check-ignore", "--", one.path) for one in of_project[:1]):
        parts.append("git ignores those of the project, so only you have them")
    return Check("stores", OK, ", ".join(parts) or "nothing is stored yet")


def _nearby(context: WorkContext) -> Check:
    """Report stores and notes next to the project's store that are not read."""
    found = (*unread_nearby(context.paths), *notes_elsewhere(context.paths))
    if found:
        return Check("nearby", NOTE, "not read: %s" % counted(len(found), "place"), "", found)
    return Check("nearby", OK, "no unread stores or notes")


def _pending(survey: Survey) -> Check:
    """Report memories that await approval."""
    items = [item for item in survey.items if item.is_pending]
    if not items:
        return Check("pending", OK, "no pending memory")
    text = inflected(len(items), "pending memory", "pending memories") + ", which Claude does not see"
    changed = sum(item.reason == CHANGED for item in items)
    if changed:
        text += "; %d changed since you trusted it" % changed
    return Check("pending", NOTE, text, "review them: memory review")


def _record(context: WorkContext) -> Check:
    """Report damage in the records of what the user trusted and rejected."""
    trust = Trust(context.paths)
    damaged = sum(file.damaged_lines() for file in (trust.trusted, trust.rejected))
    if damaged:
        text = "damaged lines in the record, which are ignored: %d" % damaged
        status = NOTE if damaged == 1 else WARN  # a writer that was killed leaves one torn line
        return Check("trust", status, text, "if a memory of yours is pending, accept it again")
    return Check("trust", OK, "the record of what you trust is intact")


def _accept_from(context: WorkContext) -> Check:
    """Report whether this project's memories are accepted without review, and entries that can never apply."""
    name, roots = "auto-accept", context.accept_from
    real = {root: os.path.realpath(root) for root in roots}
    wrong = tuple("%s: expected %s" % (root, path) for root, path in real.items() if root != path)
    if wrong:
        fix = "name git roots by their real paths: memory config set trust.accept_from '[\"/a/path\"]'"
        return Check(name, WARN, "trust.accept_from has entries that never apply", fix, wrong)
    if context.paths.project_root in roots:
        text = "memories of this project, except guards, are accepted without review, because trust.accept_from names it"
        return Check(name, NOTE, text, "memory config unset trust.accept_from")
    return Check(name, OK, "off; you review every memory of this project")
