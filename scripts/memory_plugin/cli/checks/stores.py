"""Checks of what is stored: files that are no memories, secrets, hidden characters, and what waits."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING
from unicodedata import normalize

from ...kernel.paths import git_folder
from ...kernel.text.clean import plain
from ...memories.files import why_left_alone
from ...memories.gitlog import has_commits, log_path
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE, unreadable_expiry
from ...memories.stores import project_store, repository, stores
from ...memories.survey import EXPIRED, Survey, life, supersession, unmistakable
from ...memories.trust import FOREIGN, load_trust
from ..secrets_scan import scan_paths
from .check import NOTE, OK, WARN, Check, counted

if TYPE_CHECKING:
    from ...memories.survey import Item
    from ..command_context import Session

__all__ = [
    "duplicates",
    "expired",
    "files",
    "git_log",
    "hidden_characters",
    "left_alone",
    "names",
    "secrets",
    "superseded",
    "waiting",
]

_MAX_REASON = 300
_UNCUT = 1 << 20
_MOST_SCANNED = 8 << 20  # bytes: some seconds of usual text


def left_alone(_session: Session, found: Survey) -> Check:
    """Stores that are not read at all."""
    if found.left_alone:
        fix = "make it a plain folder of your own"
        return Check("stores", WARN, "not read: " + "; ".join(found.left_alone), fix)
    scopes = Counter(item.stored.store.scope for item in found.items)
    parts = ["%s %s" % (counted(number, "memory"), "in " + scope) for scope, number in sorted(scopes.items())]
    return Check("stores", OK, ", ".join(parts) or "nothing stored yet")


def files(_session: Session, found: Survey) -> Check:
    """Files in a store that are no memories."""
    if not found.problems:
        return Check("files", OK, "every file is a memory")
    details = tuple(
        "%s: %s" % (problem.path, plain(problem.reason, _MAX_REASON)) for problem in found.problems
    )
    text = "%s cannot be read as memories, and are not recalled" % counted(len(details), "file")
    return Check(
        "files",
        WARN,
        text,
        "fix or delete them; where one is too large, keep the long text in a file of its own and name that in the memory",
        details,
    )


def names(_session: Session, found: Survey) -> Check:
    """Memories whose data names another id or category than their place; the place counts."""
    wrong = tuple(detail for item in found.items for detail in _disagreements(item))
    if wrong:
        return Check(
            "names",
            NOTE,
            "what these files say of themselves is not where they lie; their place counts",
            "",
            wrong,
        )
    return Check("names", OK, "ids and categories agree with the files' places")


def _disagreements(item: Item) -> list[str]:
    memory = item.stored.memory
    said = [
        (name, memory.data.get(name), place)
        for name, place in (("id", memory.id), ("category", memory.category))
    ]
    return [
        "%s: says %s %s" % (item.stored.path, name, shown_line(str(value)[:80]))
        for name, value, place in said
        if value is not None and value != place
    ]


def secrets(session: Session, _found: Survey) -> Check:
    """Secrets that lie in a store, by file, line and rule; never the value."""
    roots = [
        store.root
        for store in stores(session.places)
        if not why_left_alone(store) and os.path.isdir(store.root)
    ]
    scan = scan_paths(roots, most=_MOST_SCANNED)
    places = scan.places
    if not places and scan.left:
        text = "none found, but the largest were not looked at: %s" % counted(scan.left, "file")
        return Check("secrets", NOTE, text, "memory scan looks at all")
    if not places:
        return Check("secrets", OK, "none found in the stores")
    details = tuple("%s:%d: %s" % (place.path, place.line, place.rule) for place in places)
    text = "%s in the stores; they are not injected" % counted(len(places), "secret")
    return Check("secrets", WARN, text, "memory scan --fix, and replace what was exposed", details)


def hidden_characters(_session: Session, found: Survey) -> Check:
    """Titles that hold what nobody can see."""
    paths = tuple(item.stored.path for item in found.items if _hides(item.stored.memory.title))
    if paths:
        text = "%s hidden characters; they are left out wherever it is shown" % (
            "a title holds" if len(paths) == 1 else "%d titles hold" % len(paths)
        )
        return Check(
            "hidden characters", WARN, text, "look at who wrote it; memory edit ID --title ...", paths
        )
    return Check("hidden characters", OK, "none in any title")


def _hides(title: str) -> bool:
    try:
        visible = " ".join(normalize("NFC", title).split())
        visible.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return plain(title, _UNCUT) != visible


def waiting(_session: Session, found: Survey) -> Check:
    """Memories that wait for the user's word."""
    items = [item for item in found.items if item.waits]
    if not items:
        return Check("waiting", OK, "nothing waits for your word")
    foreign = sum(item.trust == FOREIGN for item in items)
    text = "%s for your word: not recalled until then" % (
        "1 memory waits" if len(items) == 1 else "%d memories wait" % len(items)
    )
    if foreign:
        text += "; %d came with the repository" % foreign
    return Check("waiting", NOTE, text, "memory list --status pending, then memory accept ID or --all")


def git_log(session: Session, _found: Survey) -> Check:
    """Whether git tells, by its log, what it brings into a store of the user's."""
    name, store = "git log", project_store(session.places)
    folder = repository(store)
    trust = load_trust(session.places, store) if session.places.state_dir and folder else None
    if trust is None or not trust.mine or not folder or not git_folder(folder):
        return Check(name, OK, "not needed: no store of yours in a repository")
    if trust.doubted:
        text = "the project's settings told git what to log: what changes waits for your word"
        return Check(name, WARN, text, "look at what waits, then memory accept --all")
    if has_commits(folder) and not os.path.exists(log_path(folder) or ""):
        text = "git keeps none here, so that what a pull brings into your store counts as yours"
        return Check(name, WARN, text, "git config core.logAllRefUpdates true, then memory accept --all")
    return Check(name, OK, "what git brings is told from your own edits")


def expired(_session: Session, found: Survey) -> Check:
    """Memories whose time is over."""
    names = unmistakable(found.items)
    paths = tuple(names[item.stored.key] for item in found.items if life(item) == EXPIRED)
    if paths:
        text = "%s expired and not recalled any more" % (
            "1 memory is" if len(paths) == 1 else "%d memories are" % len(paths)
        )
        return Check("expired", NOTE, text, "memory edit ID --expires DATE, or memory archive ID", paths)
    unread = tuple(
        "%s: %s" % (names[item.stored.key], shown_line(said))
        for item in found.items
        if (said := unreadable_expiry(item.stored.memory))
    )
    if unread:
        text = "what these say of their end is no date, so they hold until you say otherwise"
        return Check("expired", WARN, text, "memory edit ID --expires YYYY-MM-DD", unread)
    return Check("expired", OK, "none")


def superseded(_session: Session, found: Survey) -> Check:
    """Superseded memories whose successor cannot speak for them: none has its name, or they supersede one another."""
    names = unmistakable(found.items)
    lost = tuple(
        "%s: superseded by %s, which is not there" % (names[item.stored.key], shown_line(item.superseded_by))
        for item in found.items
        if item.superseded_by and item.superseded_by not in names
    )
    rings = [key for key in supersession(found.items).circular if key in names]
    details = lost + tuple("%s: supersedes a memory that supersedes it" % names[key] for key in rings)
    if not details:
        return Check("superseded", OK, "every superseded memory has its successor")
    name = next(
        (names[item.stored.key] for item in found.items if item.superseded_by not in ("", *names)), ""
    )
    fix = "memory restore %s, or memory forget it" % (name or names[rings[0]])
    return Check("superseded", NOTE, "nothing speaks for some superseded memories", fix, details)


def duplicates(_session: Session, found: Survey) -> Check:
    """Active memories with one title."""
    titles: dict[str, list[Item]] = {}
    for item in sorted(found.items, key=lambda item: item.stored.memory.updated_at):
        if life(item) == ACTIVE:
            titles.setdefault(" ".join(item.stored.memory.title.casefold().split()), []).append(item)
    groups = [items for items in titles.values() if len(items) > 1]
    if not groups:
        return Check("duplicates", OK, "every title stands once")
    names = unmistakable(found.items)
    named = [[names[item.stored.key] for item in items] for items in groups]
    details = tuple(
        "%s: %s" % (shown_line(items[-1].stored.memory.title), ", ".join(ids))
        for items, ids in zip(groups, named)
    )
    fix = "keep one of each, such as: memory edit %s --superseded-by %s" % (named[0][0], named[0][-1])
    text = "%s more than once, the oldest first" % (
        "a title stands" if len(groups) == 1 else "some titles stand"
    )
    return Check("duplicates", NOTE, text, fix, details)
