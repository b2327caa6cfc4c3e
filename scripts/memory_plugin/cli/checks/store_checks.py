"""Checks of the stores and of trust: unreadable files, secrets, expired, duplicate and superseded memories, pending ones, the records."""

from __future__ import annotations

import os
from collections import Counter
from unicodedata import normalize

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.memory_files import PROJECT, USER, stores, why_not_read
from ...memories.record import ACTIVE, unreadable_expiry
from ...memories.survey import CHANGED, EXPIRED, Item, Survey, life_cycle_state, shortest_names, supersession
from ...memories.trust import load_trust
from ..command_context import CommandContext
from ..commands.check_command import misnamed
from ..console import counted, inflected
from ..secrets_scan import scan_paths
from . import NOTE, OK, WARN, Check

_MAX_REASON = 300
_SCOPES = {PROJECT: "in this project", USER: "in your own store"}
_UNCUT = 1 << 20
# Bytes: 3,000 typical memories, or five seconds for text written to slow the rules down.
_MAX_SCANNED = 2 << 20


def unread_stores(_context: CommandContext, survey: Survey) -> Check:
    """Report stores that are not read, else how many memories each store holds."""
    if survey.left_alone:
        fix = "make it a regular folder that you own"
        return Check("stores", WARN, "not read: " + "; ".join(survey.left_alone), fix)
    scopes = Counter(item.stored.store.scope for item in survey.items)
    parts = [
        "%s %s" % (counted(number, "memory"), _SCOPES[scope]) for scope, number in sorted(scopes.items())
    ]
    return Check("stores", OK, ", ".join(parts) or "nothing is stored yet")


def files(_context: CommandContext, survey: Survey) -> Check:
    """Report files in a store that are not memories."""
    if not survey.problems:
        return Check("files", OK, "every file is a valid memory")
    details = tuple(
        "%s: %s" % (problem.path, plain(problem.reason, _MAX_REASON)) for problem in survey.problems
    )
    text = "%s cannot be read and will not be recalled" % counted(len(details), "file")
    fix = "fix or delete them; if one is too large, move the long text to a file of its own and name that file in the memory"
    return Check("files", WARN, text, fix, details)


def names(_context: CommandContext, survey: Survey) -> Check:
    """Report memories whose data and path disagree about the id or category; the path decides."""
    stored = (item.stored for item in survey.items)
    wrong = tuple("%s: %s" % (one.path, text) for one in stored for text in misnamed(one))
    if wrong:
        text = "the id or category in these files differs from their path; the path decides"
        return Check("names", NOTE, text, "", wrong)
    return Check("names", OK, "ids and categories match the paths")


def secrets(context: CommandContext, _survey: Survey) -> Check:
    """Report secrets in the stores by file, line and rule; never their value."""
    roots = [
        store.root for store in stores(context.paths) if not why_not_read(store) and os.path.isdir(store.root)
    ]
    scan = scan_paths(roots, max_bytes=_MAX_SCANNED)
    places = scan.places
    if not places and scan.left:
        text = "none found, but the largest files were not scanned: %s" % counted(scan.left, "file")
        return Check("secrets", NOTE, text, "memory check secrets reads all of them")
    if not places:
        return Check("secrets", OK, "none in the stores")
    details = tuple("%s:%d: %s" % (place.path, place.line, place.rule) for place in places)
    text = "%s in the stores; never shown to Claude" % counted(len(places), "secret")
    return Check(
        "secrets", WARN, text, "run memory check secrets --fix, and replace what was exposed", details
    )


def hidden_characters(_context: CommandContext, survey: Survey) -> Check:
    """Report titles with invisible characters."""
    paths = tuple(item.stored.path for item in survey.items if _hides(item.stored.memory.title))
    if paths:
        subject = inflected(len(paths), "title contains", "titles contain")
        text = subject + " hidden characters, which are never displayed"
        fix = "find out who wrote it, then run: memory edit ID --title ..."
        return Check("hidden characters", WARN, text, fix, paths)
    return Check("hidden characters", OK, "none in any title")


def _hides(title: str) -> bool:
    try:
        visible = " ".join(normalize("NFC", title).split())
        visible.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return plain(title, _UNCUT) != visible


def expired(_context: CommandContext, survey: Survey) -> Check:
    """Report expired memories, and expiry dates that are not dates."""
    names = shortest_names(survey.items)
    paths = tuple(names[item.stored.key] for item in survey.items if life_cycle_state(item) == EXPIRED)
    if paths:
        text = "%s expired and no longer recalled" % inflected(len(paths), "memory is", "memories are")
        return Check(
            "expired", NOTE, text, "memory edit ID --expires DATE, or memory forget ID --keep", paths
        )
    unread = tuple(
        "%s: %s" % (names[item.stored.key], shown_line(expiry))
        for item in survey.items
        if (expiry := unreadable_expiry(item.stored.memory))
    )
    if unread:
        text = "the expiry of these memories is not a date, so they never expire"
        return Check("expired", WARN, text, "memory edit ID --expires YYYY-MM-DD", unread)
    return Check("expired", OK, "none")


def superseded(_context: CommandContext, survey: Survey) -> Check:
    """Report superseded memories without a successor: it does not exist, or they supersede each other."""
    names = shortest_names(survey.items)
    lost = {
        item.stored.key: item.superseded_by
        for item in survey.items
        if item.superseded_by and item.superseded_by not in names
    }
    circular = [key for key in supersession(survey.items).circular if key in names]
    details = (
        *(
            "%s: superseded by %s, which does not exist" % (names[key], shown_line(successor))
            for key, successor in lost.items()
        ),
        *("%s: supersedes a memory that supersedes it" % names[key] for key in circular),
    )
    if not details:
        return Check("superseded", OK, "every superseded memory has a successor")
    fix = "memory restore %s, or memory forget the same id" % names[[*lost, *circular][0]]
    text = "some superseded memories have no active successor"
    return Check("superseded", NOTE, text, fix, details)


def duplicates(_context: CommandContext, survey: Survey) -> Check:
    """Report active memories with the same title."""
    titles: dict[str, list[Item]] = {}
    for item in sorted(survey.items, key=lambda item: item.stored.memory.updated_at):
        if life_cycle_state(item) == ACTIVE:
            titles.setdefault(" ".join(item.stored.memory.title.casefold().split()), []).append(item)
    groups = [items for items in titles.values() if len(items) > 1]
    if not groups:
        return Check("duplicates", OK, "no duplicate titles")
    names = shortest_names(survey.items)
    named = [[names[item.stored.key] for item in items] for items in groups]
    details = tuple(
        "%s: %s" % (shown_line(items[-1].stored.memory.title), ", ".join(ids))
        for items, ids in zip(groups, named)
    )
    fix = "keep one of each, for example: memory edit %s --superseded-by %s" % (named[0][0], named[0][-1])
    text = "%s used more than once (oldest first)" % inflected(len(groups), "title is", "titles are")
    return Check("duplicates", NOTE, text, fix, details)


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
