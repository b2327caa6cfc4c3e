"""Stores and indexes for tests, and the records that recall wrote about them."""

from __future__ import annotations

import glob
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.memories.memory_files import all_memories, stores
from memory_plugin.memories.trust import Trust
from memory_plugin.recall.documents import Document
from memory_plugin.recall.index_refresh import refresh_index
from tests.project import IS_WINDOWS, Project

TITLE = "Use Postgres for the billing database"
BODY = "The billing service stores its invoices in Postgres 15, never in MySQL."
ASK = "Which database do we use for the billing service?"
TOLD = "Postgres 15"


def memory(title: str = TITLE, body: str = BODY, **fields: object) -> dict[str, Any]:
    """Return the data of a decision, as its file holds it."""
    common = {
        "schema_version": "1.0",
        "category": "decision",
        "title": title,
        "tags": [],
        "record_status": "active",
    }
    stamps = {"created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z"}
    return {**common, **stamps, "content": {"decision": body}, **fields}


def store(project: Project, *names: str) -> str:
    """Return a path in the project's store."""
    return os.path.join(project.root, ".claude", "memory", *names)


def put(project: Project, name: str, data: object, folder: str = "decisions") -> str:
    """Return the path of a file put into the store past the command line, as an editor or git does it: under another name, then renamed."""
    path = os.path.join(".claude", "memory", folder, name + ".json")
    target = os.path.join(project.root, path)
    os.replace(project.write(path + ".new", data), target)
    return target


def put_accepted(project: Project, name: str, data: object) -> str:
    """Put a file into the store, accept it and refresh the index; return its path."""
    path = put(project, name, data)
    with at_home(project) as paths:
        accept_all(paths)
        refresh_index(paths, load(paths.config_dir, paths.project_root))
    return path


def accept_all(paths: Paths) -> None:
    """Trust every memory of all stores, as `memory accept` does."""
    found = [stored for one in stores(paths) for stored in all_memories(one)]
    Trust(paths).accept(found, "accept")


def rewrite_in_place(path: str, data: dict[str, Any]) -> None:
    """Change a file so that its folder's time of change stays what it was."""
    with open(path, "r+", encoding="utf-8") as file:
        file.truncate()
        json.dump(data, file)


def no_threshold(project: Project, **more: object) -> None:
    """Let the user's settings take every match for good enough for a full text, for tests that are not about ranking.

    `more` are further keys of `retrieval`.
    """
    settings = {"inject_threshold": 0.0, "pointer_threshold": 1.0, **more}
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": {"retrieval": settings}}, file)


def index_file(project: Project) -> str:
    """Return the index of the project."""
    (path,) = glob.glob(os.path.join(project.state, "index", "*.sqlite3"))
    return path


def ask(project: Project, session: str) -> str:
    """Return what a session is told; the hook says nothing on standard error."""
    run = project.prompt(ASK, session_id=session)
    assert (run.returncode, run.stderr) == (0, "")
    return run.context


def ask_after_refresh(project: Project, session: str) -> str:
    """Return what a session is told after a refresh in the foreground."""
    assert project.cli("refresh").returncode == 0
    return ask(project, session)


def last(project: Project) -> dict[str, Any]:
    """Return the last decision that recall wrote down."""
    return project.ledger("recalls")[-1]


def problems(project: Project) -> list[str]:
    """Return what went wrong, in the order in which it was noted."""
    return [str(row["what"]) for row in project.ledger("events")]


def everything_written(project: Project) -> bytes:
    """All bytes below the config folder, transcripts left out."""
    found = b""
    for at, _, names in os.walk(project.config):
        if "projects" not in at:
            for name in names:
                with open(os.path.join(at, name), "rb") as file:
                    found += file.read()
    return found


def without_rights(project: Project) -> list[str]:
    """Return the beginning of a command that runs without the right to read everything, which root has."""
    if IS_WINDOWS:
        pytest.skip("takes away rights of POSIX")
    if os.geteuid() != 0:
        return []
    caps = "-dac_override,-dac_read_search"
    command = ["setpriv", "--bounding-set", caps, "--inh-caps", caps]
    if shutil.which("setpriv") is None or project.process([*command, "true"]).returncode != 0:
        pytest.skip("root reads everything here")
    return command


@contextmanager
def at_home(project: Project) -> Iterator[Paths]:
    """Yield the paths of a project, for code that runs in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", project.home)
        patch.setenv("CLAUDE_CONFIG_DIR", project.config)
        yield Paths(project.root)


def all_documents(connection: Connection, scope: str = "") -> list[Document]:
    """Return the active documents in an index, of a scope or of all scopes, by key."""
    active = "WHERE status = 'active' AND ? IN ('', scope) ORDER BY key"
    names = [name for name in Document._fields if name != "body"]
    rows = connection.execute("SELECT %s FROM documents %s" % (", ".join(names), active), (scope,))  # noqa: S608 - names of ours
    return [_document(dict(zip(names, row))) for row in rows]


def _document(values: dict[str, Any]) -> Document:
    lists = {name: json.loads(values[name]) for name in ("tags", "files", "asked_as", "supersedes")}
    flags = {name: bool(values[name]) for name in ("injectable", "own")}
    return Document(**{**values, **lists, **flags})
