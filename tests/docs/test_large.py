"""docs/large.md: its programs, run as they are printed, count what two people's ledgers hold."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import fences, page, section
from tests.project import Project

TITLE, BODY = "Use Postgres for billing", "The billing service stores its invoices in Postgres 15."
ASK = "Which database does the billing service use?"
KEY = "project:decision/use-postgres-for-billing"


def team(project: Project) -> str:
    """Return a folder with the ledgers of two people: one was told a memory, the other asked twice more, to no avail."""
    project.save(TITLE, BODY, "--asked-as", ASK)
    folder = os.path.join(os.path.dirname(project.root), "work")
    for person, prompts in (("ada", [ASK]), ("bob", ["Write a poem about the sea.", "ok"])):
        for prompt in prompts:
            project.prompt(prompt)
        ledger = os.path.join(project.state, "recalls.jsonl")
        os.makedirs(os.path.join(folder, "team", person))
        shutil.copy(ledger, os.path.join(folder, "team", person))
    with open(os.path.join(folder, "team", "bob", "recalls.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"schema":1,"time":"2026-')  # what a crash may leave
    return folder


def printed(project: Project, engine: str) -> str:
    """Return what the program of a section prints beside the team's ledgers."""
    (program,) = fences(section(page("docs/large.md"), engine), "python")
    done = subprocess.run(
        [sys.executable, "-c", program.text],
        cwd=team(project),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs(module: str) -> pytest.MarkDecorator:
    """Skip a test where an optional engine is not installed."""
    return pytest.mark.skipif(
        importlib.util.find_spec(module) is None,
        reason="%s is not installed: pip install %s" % (module, module),
    )


@needs("duckdb")
def test_duckdb_counts_by_person_and_by_memory(project: Project) -> None:
    ada, bob, memory = printed(project, "DuckDB").splitlines()
    assert ada.startswith("('ada', 1, 1, ")
    assert bob.startswith("('bob', 3, 1, ")
    assert memory == "('%s', 2, 2)" % KEY


@needs("chdb")
def test_clickhouse_counts_by_person_and_by_memory(project: Project) -> None:
    rows = [line for line in printed(project, "ClickHouse").splitlines() if line]
    assert rows[0] == '"person","prompts","told","tokens","ms_95"'
    assert rows[1].startswith('"ada",1,1,')
    assert rows[2].startswith('"bob",3,1,')
    assert rows[3:] == ['"key","told","people"', '"%s",2,2' % KEY]


@needs("duckdb")
def test_the_queries_of_the_ledgers_page_run_in_duckdb(project: Project) -> None:
    """The whole table and every question that the page asks of it."""
    queries = [fence.text for fence in fences(section(page("docs/ledgers.md"), "DuckDB"), "sql")]
    read = "; ".join(queries).replace("~/.claude/lcars/memory/", "team/ada/")
    done = subprocess.run(
        [sys.executable, "-c", "import duckdb, sys; print(duckdb.execute(sys.argv[1]).fetchall())", read],
        cwd=team(project),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@needs("chdb")
def test_the_queries_of_the_ledgers_page_run_in_clickhouse(project: Project) -> None:
    folder = team(project)
    (fence,) = fences(section(page("docs/ledgers.md"), "ClickHouse"), "sql")
    read = fence.text.replace("/home/ada/.claude/lcars/memory/", os.path.join(folder, "team", "ada") + "/")
    program = (
        "import sys; from chdb.session import Session; s = Session()\n"
        "for one in sys.argv[1].split(';'): one.strip() and print(s.query(one, 'CSV'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, read],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert '"injected","",1,' in done.stdout
