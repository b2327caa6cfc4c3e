"""Which files a refresh of the index has to read: what changed in the folders that changed, or what belongs to another trust."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.files import stamp
from ..memories.files import TooManyEntries, category_folders, is_read, listing, why_left_alone
from ..memories.trust import load_trust, trust_path
from .index import read
from .share import cost

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.sqlite import Connection
    from ..memories.gitlog import Mark
    from ..memories.record import Category
    from ..memories.stores import Store
    from ..memories.trust import StoreTrust
    from .share import Share

__all__ = ["DueFile", "DueWork", "View", "find_due", "within_share"]

_SMALL = 8192  # bytes; hardly one memory in a hundred is larger


class DueFile(NamedTuple):
    """A file that needs a look, with the mark by which one without a living memory is known and passed over."""

    category: Category
    path: str
    mark: str
    size: int
    changed_at: float


class View(NamedTuple):
    """What is known before a healing.

    The paths that changed (None: nobody knows), whether everything is looked at all the same, files known to differ from the index, and
    the marks of files that hold no living memory. `done` names files that an earlier round of this run has read; `entries` is how many
    directory entries of a store are looked at, None for all.
    """

    changed: set[str] | None
    everything: bool
    edited: set[str]
    lifeless: dict[str, str]
    done: set[str]
    entries: int | None

    def has_changed(self, *paths: str) -> bool:
        """Whether one of these paths may have changed."""
        return self.changed is None or not self.changed.isdisjoint(paths)

    def is_due(self, folder: str) -> bool:
        """Whether a folder needs a look."""
        return (
            self.everything
            or self.has_changed(folder)
            or any(os.path.dirname(p) == folder for p in self.edited)
        )


class DueWork(NamedTuple):
    """What needs a look in one store: `log` is the end of git's log before anything was looked at.

    `unseen` says that the store has more entries than were to be looked at, so that nothing is known of it. `again` names files that an
    earlier round has read and that are due all the same, since git was not at rest then; `left` is what is due and not read now.
    """

    store: Store
    log: Mark | None
    changed: list[DueFile]
    gone: list[str]
    again: list[str]
    left: list[DueFile]
    unseen: bool = False


def find_due(connection: Connection, places: Places, store: Store, log: Mark | None, view: View) -> DueWork:
    """What of a store has to be read: everything when its trust changed, else the files whose stamp is not the indexed one."""
    known = read.stamps(connection, store.scope)
    if why_left_alone(store):
        return DueWork(store, None, [], [key for key, _, _ in known.values()], [], [])
    regrade = view.has_changed(trust_path(places, store))
    fresh: list[DueFile] = []
    again: list[str] = []
    try:
        seen = _listed(store, view, regrade)
    except TooManyEntries:
        return DueWork(store, None, [], [], [], [], unseen=True)
    looked_at = set(seen)
    for folder, (category, files) in seen.items():
        for path, status in files.items():
            mark = _lifeless_mark(status)
            as_known = path in known and known[path][1] == stamp(status) and path not in view.edited
            if view.lifeless.get(path) == mark or (as_known and not regrade):
                continue
            if path in view.done:
                again.append(folder)
            else:
                fresh.append(DueFile(category, path, mark, status.st_size, status.st_mtime))
    paths = {path for _, files in seen.values() for path in files}
    for path in [path for path in view.lifeless if path not in paths and _is_gone(path, looked_at)]:
        del view.lifeless[path]
    outside = {path for path in known if os.path.dirname(os.path.dirname(path)) != store.root}
    gone = [path for path in known if path not in paths and (path in outside or _is_gone(path, looked_at))]
    return DueWork(store, log, fresh, [known[path][0] for path in gone], again, [])


def _listed(store: Store, view: View, regrade: bool) -> dict[str, tuple[Category, dict[str, os.stat_result]]]:
    """The files of each folder that is due. Raises TooManyEntries."""
    found: dict[str, tuple[Category, dict[str, os.stat_result]]] = {}
    left = view.entries
    for category, folder in category_folders(store):
        if regrade or view.is_due(folder):
            found[folder] = (category, dict(listing(folder, left)))
            left = None if left is None else left - len(found[folder][1])
    return found


def _is_gone(path: str, looked_at: set[str]) -> bool:
    """Whether a file that was not seen is no longer in the store: its folder was looked at, or is none that is read."""
    folder = os.path.dirname(path)
    return folder in looked_at or not is_read(folder)


def _lifeless_mark(status: os.stat_result) -> str:
    """As `stamp`, and the time of the last change of rights: a file that could not be read may be readable now."""
    return "%s:%d" % (stamp(status), status.st_ctime_ns)


def within_share(work: list[DueWork], places: Places, edited: set[str], share: Share) -> list[DueWork]:
    """Return the work with what the share does not hold moved to `left`.

    First comes what is known to be edited, then of all stores what is small and may be injected, of that what is named after words that
    are wanted, then the rest, and always the small before the large: what came with a repository must not keep the user's own memories
    waiting, nor the other way round.
    """
    due = [(at, file) for at, part in enumerate(work) for file in part.changed]
    if len(due) > share.files or sum(cost(file.size) for _, file in due) > share.characters:
        trusts = [load_trust(places, part.store) for part in work]
        due.sort(key=lambda one: _urgency(one[1], edited, trusts[one[0]], share.wanted))
    taken: list[list[DueFile]] = [[] for _ in work]
    left: list[list[DueFile]] = [[] for _ in work]
    full = False
    for at, file in due:
        full = full or not share.take(cost(file.size))
        (left if full else taken)[at].append(file)
    return [part._replace(changed=taken[at], left=left[at]) for at, part in enumerate(work)]


def _urgency(
    file: DueFile, edited: set[str], trust: StoreTrust, wanted: frozenset[str]
) -> tuple[bool, bool, bool, int, int, str]:
    identity = os.path.basename(file.path)[: -len(".json")]
    unknown = not trust.knows_name(file.category.name, identity)
    shared = len(wanted.intersection(identity.split("-")))  # an id is made of the title's words
    return file.path not in edited, file.size > _SMALL, unknown, -shared, file.size, file.path
