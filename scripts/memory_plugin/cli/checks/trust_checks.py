"""Checks of trust: pending memories, the records of the user's decisions, and projects whose memories are accepted without review."""

from __future__ import annotations

import os

from ...memories.survey import CHANGED, Survey
from ...memories.trust import load_trust
from ..command_context import CommandContext
from ..console import inflected
from . import NOTE, OK, WARN, Check


def pending(_context: CommandContext, survey: Survey) -> Check:
    """Report memories that await approval."""
    items = [item for item in survey.items if item.waits]
    if not items:
        return Check("pending", OK, "no memory awaits approval")
    subject = inflected(len(items), "memory awaits", "memories await")
    text = subject + " approval and will not be recalled until then"
    changed = sum(item.reason == CHANGED for item in items)
    if changed:
        text += "; %d changed since you trusted it" % changed
    return Check("pending", NOTE, text, "review them: memory review")


def record(context: CommandContext, _survey: Survey) -> Check:
    """Report damage in the records of what the user trusted and rejected. `examine` reports records that cannot be read at all."""
    if context.paths.state_dir is None:
        return Check("trust", OK, "not recorded, because there is no state folder")
    trust = load_trust(context.paths)
    damaged = sum(file.damaged_lines() for file in (trust.trusted, trust.rejected))
    folder = context.paths.state("trust")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    set_aside = tuple(os.path.join(folder, name) for name in names if ".damaged-" in name)
    if set_aside:
        text = "a record could not be read and was set aside; what it trusted is now pending"
        return Check("trust", WARN, text, "accept what is yours, then delete the file", set_aside)
    if damaged:
        text = "damaged lines in the record, which are ignored: %d" % damaged
        return Check("trust", NOTE, text, "if a memory of yours is pending, accept it again")
    return Check("trust", OK, "the record of what you trust is intact")


def accept_from(context: CommandContext, _survey: Survey) -> Check:
    """Report whether this project's memories are accepted without review, and entries that can never apply."""
    name, roots = "accept_from", context.accept_from
    wrong = tuple(
        "%s: expected %s" % (root, os.path.realpath(root) if os.path.isabs(root) else "an absolute path")
        for root in roots
        if not os.path.isabs(root) or os.path.realpath(root) != root
    )
    if wrong:
        fix = "name git roots by their real paths: memory config set trust.accept_from"
        return Check(name, WARN, "trust.accept_from has entries that never apply", fix, wrong)
    if context.paths.project_root in roots:
        text = "memories of this project, except guards, are accepted without review, because trust.accept_from names it"
        return Check(name, NOTE, text, "memory config unset trust.accept_from")
    return Check(name, OK, "this project's memories are accepted only by you")
