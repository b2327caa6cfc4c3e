"""Create the index, with the ranking model and the background vocabulary from `config/recall/`, and bring it up to date with the stores.

Commands and a background process do this; a prompt only detects that it is due and uses what is indexed. Changes are committed in batches
and may be interrupted at any point: the index can always be rebuilt, and a file that was not read is still due.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from functools import cache
from itertools import chain
from time import sleep
from typing import Any

from ..kernel.fastjson import dumps
from ..kernel.files import error_text, make_folder, remove_file
from ..kernel.paths import Paths, load_data
from ..kernel.settings import Settings
from ..kernel.settings.load import load
from ..kernel.sqlite import Connection, SqliteError, open_database
from ..kernel.text.clean import counted
from ..memories.memory_files import stores
from ..memories.nearby import note_folders
from ..memories.record import categories
from ..memories.trust import PENDING, Trust
from ..memories.trust_file import decision_paths
from . import index_file
from .index_documents import (
    apply_supersession,
    files_by_trust,
    files_of_texts,
    seed_guards,
    total_documents,
    write_guards,
)
from .index_file import transaction
from .project_files import write_named_files
from .query import index_by_first_word
from .store_refresh import ReadBudget, RefreshPass, RefreshReport, refresh_notes, refresh_stores

_FILES = ("stopwords", "ranking", "confidence", "trees")
_TABLES = """
CREATE TABLE meta (name PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
  rowid INTEGER PRIMARY KEY, key UNIQUE, scope, id, category, status, title, tags, files, asked_as, path, stamp, digest, injectable, trust,
  expires_at, updated_at, inject, full_digest, text_digest, rule, created_at, superseded_by, supersedes, own, new_phrases);
CREATE INDEX full_digests ON documents (full_digest);
CREATE INDEX text_digests ON documents (text_digest);
CREATE INDEX phrases ON documents (new_phrases) WHERE new_phrases != '';
CREATE INDEX trusts ON documents (trust, status, key);
CREATE INDEX files ON documents (path);
CREATE INDEX links ON documents (key, trust, superseded_by, supersedes, asked_as, status, scope)
  WHERE status = 'active' AND scope != 'native' AND (superseded_by != '' OR supersedes != '[]');
CREATE INDEX newest ON documents (updated_at, expires_at, injectable, scope) WHERE injectable = 1 AND scope != 'native';
CREATE INDEX newest_rules ON documents (updated_at) WHERE rule != '';
CREATE TABLE vectors (rowid INTEGER PRIMARY KEY, expires_at, title, tags, body, files, asked_as);
CREATE TABLE vocabulary (term PRIMARY KEY, strong, weak, held_strong, held_weak, share DEFAULT 0) WITHOUT ROWID;
CREATE TABLE totals (injectable INTEGER PRIMARY KEY, documents, title, tags, body, files, asked_as);
CREATE TABLE superseded (key PRIMARY KEY, by) WITHOUT ROWID;
CREATE TABLE inherited (key PRIMARY KEY, asked_as, field) WITHOUT ROWID;
CREATE TABLE paths (path, key, way, injectable, PRIMARY KEY (path, key)) WITHOUT ROWID;
CREATE INDEX path_keys ON paths (key);
CREATE INDEX patterns ON paths (path) WHERE way = 'pattern';
CREATE TABLE guards (key PRIMARY KEY, row) WITHOUT ROWID;
INSERT INTO totals VALUES (0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0, 0);
"""
# The terms are already analyzed, so the tokenizer only splits at spaces. Only row ids are read from FTS5: no positions, no sizes.
_FTS5 = """CREATE VIRTUAL TABLE %s USING fts5(terms, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '._-/+#'")"""
_MAX_ROUNDS = 1000
_PAUSE = 0.01  # seconds in which a waiting command gets the lock
_LOCK_WAIT = 20.0
_WRITER_WAIT = 5.0
# Files of pending memories are watched one by one: an edit in place does not change the folder, and recall checks only what it injects.
_MAX_WATCHED_PENDING = 50


def refresh_index(
    paths: Paths,
    settings: Settings,
    rounds: int = _MAX_ROUNDS,
    *,
    budget: ReadBudget | None = None,
    wait: float = _LOCK_WAIT,
) -> RefreshReport:
    """Bring the index up to date; create it if it is missing or damaged.

    The work is done in rounds of about 10,000 typical memories, between which other processes can use the index. With fewer `rounds` than
    needed, the report has the number of files left. `budget` replaces that of the first round. Raises IndexUnavailable if the index
    cannot be created, Busy if another process keeps the lock, and OSError.
    """
    path = index_file.index_path(paths)
    make_folder(os.path.dirname(path))
    report = RefreshReport()
    for number in range(rounds):
        if number:
            sleep(_PAUSE)
        with index_file.refresh_lock(path, wait):
            try:
                with closing(_for_writing(index_file.open_index(path, timeout=_WRITER_WAIT))) as connection:
                    refresh(connection, paths, settings, budget or ReadBudget(), report)
            except index_file.INDEX_ERRORS as error:
                if index_file.failure_reason(error) == index_file.LOCKED:
                    raise
                report = RefreshReport()
                with closing(create_index(path)) as connection:
                    refresh(connection, paths, settings, budget or ReadBudget(), report)
        if not report.remaining:
            break
        budget = None
    return report


def _for_writing(connection: Connection) -> Connection:
    """Return a connection that waits for no disk, because a lost index costs only the time to rebuild it."""
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_spill = OFF")  # else a large cache locks readers out until the commit
    return connection


def scrub_index(paths: Paths) -> None:
    """Erase the text of deleted memories from the index file: SQLite and FTS5 keep it until its space is reused.

    Raises IndexUnavailable, SqliteError, and Busy after 20 seconds.
    """
    path = index_file.index_path(paths)
    lock = index_file.refresh_lock(path, _LOCK_WAIT)
    with lock, closing(_for_writing(index_file.open_index(path, timeout=_WRITER_WAIT))) as connection:
        unused = "DELETE FROM vocabulary WHERE strong + weak + held_strong + held_weak = 0 AND share = 0"
        connection.execute(unused)
        for table in index_file.POSTINGS.values() if index_file.has_fts5(connection) else ():
            connection.execute("INSERT INTO %s (%s) VALUES ('optimize')" % (table, table))
        connection.execute("VACUUM")  # rewrites the file


def refresh(
    connection: Connection, paths: Paths, settings: Settings, budget: ReadBudget, report: RefreshReport
) -> None:
    """Update the index with the files that changed, up to the budget, and add to the report. The caller must hold `refresh_lock`."""
    report.remaining = 0
    # The marks are taken before settings, records and files are read, so that a change in between belongs to the next refresh.
    watched = _watched(paths, settings)
    marks = index_file.snapshot(watched, wait=budget.entries is None)  # a hook does not wait
    settings = load(paths.config_dir, paths.project_root)
    trust = Trust(paths, settings.texts("trust.accept_from"))
    present = trust.trusted, trust.rejected, trust.accept_from
    decided, trust_state = index_file.new_decisions(connection, *present)
    with transaction(connection):
        if index_file.meta_get(connection, "model") != model():  # of an older version of the plugin
            index_file.meta_set(connection, "model", model())
        index_file.meta_set(connection, index_file.PROJECT_ROOT, paths.project_root)
        if index_file.meta_get(connection, index_file.STALE) is None:
            seed_guards(paths, connection)
            index_file.meta_set(connection, index_file.STALE, "1")
        if decided is None and not total_documents(connection):
            # Prompts use the first memories before all are read.
            index_file.meta_set(connection, index_file.DECIDED, trust_state)
    edited = None if decided is None else files_of_texts(connection, decided)
    run = RefreshPass(connection, trust, edited, marks, budget, report)
    refresh_stores(run, stores(paths))
    refresh_notes(run, note_folders(paths, settings))
    marks.update(index_file.snapshot(files_by_trust(connection, PENDING, _MAX_WATCHED_PENDING)))
    is_stale = _derive(paths, connection)
    # Last, so that a refresh that is interrupted before is repeated.
    with transaction(connection):
        index_file.meta_set(connection, index_file.STALE, str(int(is_stale)))
        index_file.meta_set(connection, index_file.WATCHED, dumps(marks))
        index_file.meta_set(connection, index_file.DECIDED, trust_state)


def _derive(paths: Paths, connection: Connection) -> bool:
    """Update what memories change for each other and the prepared files; return whether one could not be written, so that it is due."""
    if index_file.meta_get(connection, index_file.STALE) != "0":
        with transaction(connection):
            apply_supersession(connection)
    is_due = False
    for write in (write_named_files, write_guards):
        try:
            write(paths, connection)
        except OSError:
            is_due = True
    return is_due


def _watched(paths: Paths, settings: Settings) -> list[str]:
    """Return the folders and files whose change makes the index out of date."""
    watched = [os.path.join(paths.project_root, ".claude", "memory"), *decision_paths(paths)]
    if paths.config_dir:
        watched.append(os.path.join(paths.config_dir, "settings.json"))  # for `trust.accept_from`
    for store in stores(paths):
        watched.append(store.root)
        watched += [os.path.join(store.root, category.folder) for category in categories().values()]
    for folder in note_folders(paths, settings):
        watched += [folder, os.path.join(folder, "MEMORY.md")]
    return list(dict.fromkeys(watched))


def index_state(paths: Paths) -> tuple[str, str]:
    """Return whether the index is missing, unusable, behind or whole; and the reason, or how large it is."""
    path = index_file.index_path(paths)
    try:
        with closing(index_file.open_index(path)) as connection:
            state = "whole" if index_file.changed_paths(connection) == set() else "behind"
            size = counted(total_documents(connection), "entry"), os.path.getsize(path) // 1024
            return state, "%s, %d kB" % size
    except (index_file.IndexUnavailable, SqliteError) as error:
        return "unusable" if os.path.exists(path) else "missing", str(error)


def create_index(path: str, fts5: bool = True) -> Connection:
    """Return a connection to a new, empty index that replaces whatever was at `path`.

    With `fts5` False it has no FTS5 tables even if SQLite supports them. Raises IndexUnavailable if the file cannot be created.
    """
    temporary = "%s.%d.new" % (path, os.getpid())
    try:
        remove_file(temporary)
        with closing(_for_writing(open_database(temporary, 0.05))) as connection:
            _create_tables(connection, fts5)
        os.chmod(temporary, 0o600)
        os.replace(temporary, path)
    except (OSError, SqliteError) as error:
        remove_file(temporary)
        raise index_file.IndexUnavailable("cannot create %s: %s" % (path, error_text(error))) from None
    remove_file(path + "-journal")
    return _for_writing(open_database(path, 0.05))


def create_index_in_memory() -> Connection:
    """Return a connection to a new, empty index that is never saved. Raises IndexUnavailable if Python has no SQLite."""
    connection = open_database(":memory:")
    _create_tables(connection, fts5=True)
    return connection


def _create_tables(connection: Connection, fts5: bool) -> None:
    """Create the tables in an empty database and save the model; with `fts5`, also the FTS5 tables where SQLite supports them.

    Raises SqliteError, and OSError or ValueError when the plugin's own files are missing or damaged.
    """
    connection.execute("BEGIN")
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    fts5_made = "0"
    with suppress(SqliteError):  # SQLite was built without FTS5
        for table in index_file.POSTINGS.values() if fts5 else ():
            connection.execute(_FTS5 % table)
            fts5_made = "1"
    index_file.meta_set(connection, "fts5", fts5_made)
    index_file.meta_set(connection, "model", model())
    connection.executemany("INSERT INTO vocabulary VALUES (?, 0, 0, 0, 0, ?)", sorted(background().items()))
    connection.execute("PRAGMA user_version = %d" % index_file.index_version())
    connection.execute("COMMIT")


@cache
def model() -> str:
    """Return the ranking model as one JSON text: the values of some files in `config/recall/`, by file name.

    From `intents.json` it has the names, and the passages by their first word. Raises OSError or ValueError if the plugin's own files are
    missing or damaged.
    """
    intents = {name: list(chain.from_iterable(texts.values())) for name, texts in _values("intents").items()}
    prepared = {"intents": sorted(intents), "passages": index_by_first_word(intents)}
    return dumps({**prepared, **{name: _values(name) for name in _FILES}})


@cache
def background() -> dict[str, float]:
    """Return stem -> the share of short English and technical texts that contain it, in (0, 1)."""
    data = load_data("recall", "background")
    return {str(term): int(count) / int(data["texts"]) for term, count in data["counts"].items()}


def _values(name: str) -> dict[str, Any]:
    return {entry: described["value"] for entry, described in load_data("recall", name)["entries"].items()}
