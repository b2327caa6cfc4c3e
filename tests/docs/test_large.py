"""The programs of docs/large.md, run as they are printed, count what two people's ledgers hold."""

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


def team_ledgers(project: Project) -> str:
    """Return a folder with two people's ledgers: Ada's one prompt recalled the memory, Bob's two further prompts recalled nothing."""
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


def run_program(program: str, folder: str, *args: str) -> str:
    """Return the output of a Python program that is run in a folder and has to work."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def output_of_section(project: Project, engine: str) -> str:
    """Return the output of a section's program, run beside the team's ledgers."""
    (program,) = fences(section(page("docs/large.md"), engine), "python")
    return run_program(program.text, team_ledgers(project))


def needs(module: str) -> pytest.MarkDecorator:
    """Skip a test where an optional engine is not installed."""
    return pytest.mark.skipif(
        importlib.util.find_spec(module) is None,
        reason="%s is not installed: pip install %s" % (module, module),
    )


@needs("duckdb")
def test_duckdb_counts_by_person_and_by_memory(project: Project) -> None:
    ada, bob, memory = output_of_section(project, "DuckDB").splitlines()
    assert ada.startswith("('ada', 1, 1, ")
    assert bob.startswith("('bob', 3, 1, ")
    assert memory == "('%s', 2, 2)" % KEY


@needs("chdb")
def test_clickhouse_counts_by_person_and_by_memory(project: Project) -> None:
    rows = [line for line in output_of_section(project, "ClickHouse").splitlines() if line]
    assert rows[0] == '"person","prompts","told","tokens","ms_95"'
    assert rows[1].startswith('"ada",1,1,')
    assert rows[2].startswith('"bob",3,1,')
    assert rows[3:] == ['"key","told","people"', '"%s",2,2' % KEY]


@needs("duckdb")
def test_the_query_of_the_ledgers_page_runs(project: Project) -> None:
    (query,) = fences(page("docs/ledgers.md"), "sql")
    sql = query.text.replace("~/.claude/lcars/memory/", "team/ada/")
    program = "import duckdb, sys; print(duckdb.execute(sys.argv[1]).fetchall())"
    assert "('injected', '', 1, " in run_program(program, team_ledgers(project), sql)
