"""`memory import`: everything readable is stored once; the rest is listed."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.cli.pseudo_terminal import PseudoTerminal
from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
COLUMNS = 80
NOTES = "# Shop\n\n## Code style\nTabs, not spaces.\n\n## Deploy\nOn Tuesdays. Token %s\n" % SECRET


def imported(project: Project, *args: str, inside: bool = False) -> list[tuple[str, str]]:
    run = project.cli("import", *args, "--json", inside=inside)
    return [(item["outcome"], item.get("id", item.get("title", ""))) for item in run.json["items"]]


def test_notes_are_stored_once_and_are_the_user_s(project: Project) -> None:
    path = project.write("RULES.md", NOTES)
    ids = ["code-style-tabs-not-spaces", "deploy-on-tuesdays"]
    assert imported(project, path) == [("stored now", one) for one in ids]
    assert imported(project, path) == [("already stored", one) for one in ids]
    assert "Tabs, not spaces." in project.prompt("what is our code style, tabs or spaces?").context
    assert project.cli("doctor", "--json").json["ok"]


def test_secrets_are_redacted(project: Project) -> None:
    run = project.cli("import", project.write("RULES.md", NOTES))
    assert "redacted in" in run.stdout
    assert SECRET not in run.stdout
    assert SECRET not in project.cli("show", "deploy-on-tuesdays").stdout


def test_a_dry_run_writes_nothing(project: Project) -> None:
    path = project.write("RULES.md", NOTES)
    assert imported(project, path, "--dry-run") == [
        ("new", "code-style-tabs-not-spaces"),
        ("new", "deploy-on-tuesdays"),
    ]
    assert not os.path.exists(os.path.join(project.root, ".claude"))


def test_a_record_that_another_one_replaces_is_archived(project: Project) -> None:
    text = "# %s\n## Status\n%s\n## Context\nx\n## Decision\ny\n"
    project.write("adr/1.md", text % ("Keep the gem", "Accepted"))
    project.write("adr/2.md", text % ("Drop the gem", "Accepted\n\nSupersedes [ADR-1](1.md) and ADR-9"))
    path = project.write("adr/3.md", text % ("Use two gems", "Accepted, amends [2](2.md)\nSuperseded by 4"))
    items = project.cli("import", os.path.dirname(path), "--json").json["items"]
    assert [item["status"] for item in items] == ["archived", "active", "archived"]
    project.write("adr/5.md", text % ("Use three gems", "Rejected"))
    run = project.cli("import", os.path.dirname(path))
    assert "\narchived: adr/5.md:2: Rejected\n" in run.stdout
    assert "\n1 archived, 3 already stored\n" in run.stdout


def test_invalid_lines_are_reported_and_the_others_stored(project: Project) -> None:
    lines = [
        '{"title": "One", "body": "b", "tags": ["x"]}',
        "{",
        '{"title": "Two"}',
        '{"title": "Three", "body": "<private>x</private>"}',
    ]
    path = project.write("notes.jsonl", "\n".join(lines))
    run = project.cli("import", path, "--category", "runbook")
    assert run.returncode == 1
    assert sorted(line.split(": ")[2] for line in run.stderr.splitlines()) == [
        "notes.jsonl:%d" % at for at in (2, 3, 4)
    ]
    assert run.stdout.splitlines()[-2] == "1 stored now, 3 skipped"
    assert project.cli("show", "one", "--json").json["category"] == "runbook"


def test_a_whole_store_moves_with_its_fields(project: Project) -> None:
    other = os.path.join(os.path.dirname(project.root), "other", ".claude", "memory")
    os.makedirs(os.path.join(other, "tech-debt"))
    data = {
        "id": "their-own-id",
        "title": "Old",
        "category": "tech_debt",
        "content": {"description": "x"},
        "theirs": 1,
        "record_status": "retired",
        "created_at": "2020-01-01T00:00:00Z",
    }
    with open(os.path.join(other, "tech-debt", "their-own-id.json"), "w", encoding="utf-8") as file:
        json.dump(data, file)
    assert imported(project, other) == [("archived", "their-own-id")]
    shown = project.cli("show", "their-own-id", "--json").json
    assert (shown["status"], shown["created_at"], shown["category"]) == (
        "retired",
        "2020-01-01T00:00:00Z",
        "tech_debt",
    )


def test_what_claude_imports_unasked_is_pending(project: Project) -> None:
    path = project.write("page.md", "## Deploy\nRun the script from example.org.\n")
    assert project.cli("import", path, "--json", inside=True).json["waits_for_user"]
    assert project.memories()[0]["trust"] == "pending"


def test_memories_can_go_to_the_user_s_own_store(project: Project) -> None:
    imported(project, project.write("RULES.md", NOTES), "--scope", "user")
    assert {memory["scope"] for memory in project.memories()} == {"user"}


@pytest.mark.parametrize("name", ["program.py", "empty-folder"])
def test_nothing_to_import_is_a_failure_or_nothing(project: Project, name: str) -> None:
    os.makedirs(os.path.join(project.root, "empty-folder"))
    project.write("program.py", "x = 1")
    run = project.cli("import", os.path.join(project.root, name))
    assert run.returncode == (0 if name == "empty-folder" else 1)
    assert run.stdout == ("1 skipped\n" if run.returncode else "nothing to import\n")


@pytest.mark.slow
def test_many_memories_are_stored_quickly(project: Project) -> None:
    rows = [{"title": "Memory number %d" % number, "body": "body %d" % number} for number in range(300)]
    assert len(imported(project, project.write("many.json", rows))) == 300
    with open(os.path.join(project.root, ".claude", "memory", "index.md"), encoding="utf-8") as file:
        assert sum(line.startswith("- [") for line in file) == 300


ADR = """# 7. Use Postgres for billing

## Status
%s

## Context
MySQL lost row locks. How do we keep invoice numbers unique?

## Decision
Billing runs on Postgres 16.
"""


def test_a_decision_record_is_one_memory_with_its_problem(project: Project) -> None:
    path = project.write("docs/adr/0007-use-postgres.md", ADR % "Accepted")
    assert imported(project, path) == [("stored now", "use-postgres-for-billing")]
    shown = project.cli("show", "use-postgres-for-billing", "--json").json
    assert shown["content"]["decision"] == "Billing runs on Postgres 16."
    assert shown["content"]["context"].startswith("MySQL lost row locks.")
    assert shown["asked_as"] == ["How do we keep invoice numbers unique?"]


def test_an_outdated_record_is_archived(project: Project) -> None:
    imported(project, project.write("adr.md", ADR % "Superseded by ADR 12"))
    assert project.memories() == []
    shown = project.cli("show", "use-postgres-for-billing", "--json").json
    assert (shown["status"], shown["trust"]) == ("archived", "trusted")


def test_front_matter_gives_context_phrases_and_files(project: Project) -> None:
    head = "---\ntitle: Use SQS\nproblem: RabbitMQ ran full.\nquestions: [which queue, why not rabbit]\nfiles: [src/q.py]\n---\n"
    imported(project, project.write("n.md", head + "Use SQS.\n"))
    shown = project.cli("show", "use-sqs", "--json").json
    assert shown["content"] == {"decision": "Use SQS.", "context": "RabbitMQ ran full."}
    assert (shown["asked_as"], shown["files"]) == (["which queue", "why not rabbit"], ["src/q.py"])


def test_a_heading_that_asks_is_a_phrase(project: Project) -> None:
    imported(
        project, project.write("faq.md", "# FAQ\n## Why do builds fail on Monday?\nThe cache is empty.\n")
    )
    assert project.cli("show", "faq-why-do-builds-fail-on-monday", "--json").json["asked_as"] == [
        "Why do builds fail on Monday?"
    ]


def test_json_lines_keep_context_ids_and_what_they_supersede(project: Project) -> None:
    rows = [
        {"id": "old-db", "title": "MySQL", "body": "b", "context": "c", "asked_as": ["which database"]},
        {"id": "new-db", "title": "Postgres", "body": "b", "supersedes": "old-db"},
    ]
    path = project.write("n.jsonl", "\n".join(map(json.dumps, rows)))
    assert imported(project, path) == [("stored now", "old-db"), ("stored now", "new-db")]
    lives = {one["id"]: one["superseded_by"] for one in project.memories()}
    assert lives == {"old-db": "new-db", "new-db": ""}
    assert project.cli("show", "old-db", "--json").json["content"]["context"] == "c"


GUIDE = "# Shop\n\n## Rules\n- Never push to the main branch.\n- Keep `src/gen/api.ts` as it is generated.\n"


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/rules/api.md"])
def test_what_claude_reads_anyway_is_left_out_of_a_folder(project: Project, name: str) -> None:
    path = project.write(name, GUIDE)
    run = project.cli("import", ".", "--dry-run")
    assert "left out: %s: Claude Code reads it anyway" % name in run.stdout
    for words in ((".", "--all"), (path,)):
        assert [one for one, _ in imported(project, *words, "--dry-run")] == ["new", "new"]


def test_the_same_text_twice_is_stored_once(project: Project) -> None:
    paths = [project.write(name, "## Git\n- Never push to the main branch.\n") for name in ("a.md", "b.md")]
    run = project.cli("import", *paths)
    assert "\n1 stored now, 1 already stored\n" in run.stdout
    assert "\n2 already stored\n" in project.cli("import", *paths, "--dry-run").stdout


def test_a_dry_run_names_what_is_stored(project: Project) -> None:
    rules = (
        "## Git\n- Never push to the main branch.\n- Squash commits before you ask for a review of them.\n"
    )
    project.cli("import", project.write("a.md", rules))
    more = rules + "- Squash the commits before you ask for a review of them.\n"
    items = project.cli("import", project.write("b.md", more), "--dry-run", "--json").json["items"]
    assert [item["outcome"] for item in items] == ["already stored", "already stored", "new"]


def test_a_person_is_asked_after_the_table(project: Project) -> None:
    path = project.write(
        "a.md", "## Git\n- Never push to the main branch.\n- Squash commits before a review.\n"
    )
    terminal = PseudoTerminal(project, "import", path)
    assert "Never push to the main branch" in terminal.until("[y/N]")
    terminal.type("n\n")
    assert terminal.end() == 0
    assert "nothing was saved" in terminal.seen
    assert project.memories() == []
    folder = os.path.join(project.root, "docs", "handbook", "engineering", "conventions")
    os.makedirs(folder)
    path = shutil.move(path, os.path.join(folder, "git.md"))
    terminal = PseudoTerminal(project, "import", path, COLUMNS=str(COLUMNS))
    table = terminal.until("[y/N]")
    assert max(map(len, table.splitlines())) <= COLUMNS
    assert "ions/git.md:2  Never" in table
    terminal.type("y\n")
    assert terminal.end() == 0
    assert "2 stored now" in terminal.seen
    assert {one["trust"] for one in project.memories()} == {"trusted"}


def test_a_record_that_was_replaced_since_is_archived_when_it_is_imported_again(project: Project) -> None:
    text = (
        "# 1. Use Redis\n\n## Status\n\n%s\n\n## Context\n\nSlow.\n\n## Decision\n\nSessions live in Redis.\n"
    )
    path = project.write("adr/0001-redis.md", text % "Accepted")
    project.cli("import", path, "--yes")
    project.write("adr/0001-redis.md", text % "Superseded by [2](0002.md)")
    project.cli("import", path, "--yes")
    memories = project.cli("list", "--status", "all", "--json").json["memories"]
    assert [(memory["title"], memory["status"]) for memory in memories] == [("Use Redis", "archived")]


@pytest.mark.parametrize("again", ["adr", "adr/12.md"])
def test_a_record_replaces_a_stored_one_with_its_title(project: Project, again: str) -> None:
    text = "# %d. Log format\n\n## Status\n\n%s\n\n## Context\n\nLogs.\n\n## Decision\n\nLogs are %s.\n"
    project.cli("import", project.write("adr/7.md", text % (7, "Accepted", "plain")), "--yes")
    project.write("adr/12.md", text % (12, "Accepted. Replaces ADR-7.", "JSON"))
    run = project.cli("import", again, "--yes")
    assert (run.returncode, "1 stored now" in run.stdout) == (0, True)
    stored = project.cli("list", "--json").json["memories"]
    (shown,) = (one["id"] for one in stored if one["status"] == "active" and not one["superseded_by"])
    assert project.cli("show", shown, "--json").json["content"]["decision"] == "Logs are JSON."
    assert project.cli("check").returncode == 0


def test_the_same_reason_is_printed_once(project: Project) -> None:
    for at in range(5):
        project.write("notes/%d.json" % at, "{")
    run = project.cli("import", "notes", "--yes")
    assert run.stderr.count("not JSON") == 1
    assert "and 2 more: not JSON" in run.stderr


def test_entries_from_standard_input_wait_for_the_user_inside_the_client(project: Project) -> None:
    """As the skill /memory:import stores what Claude read."""
    entry = {
        "title": "Invoices are numbered per tenant",
        "body": "Since 2024.",
        "asked_as": ["two invoices with one number"],
    }
    run = project.cli("import", "-", "--json", stdin=json.dumps(entry) + "\n", inside=True)
    assert (run.json["stored_now"], run.json["waits_for_user"]) == (1, True)
    (memory,) = project.cli("list", "--status", "pending", "--json").json["memories"]
    assert memory["title"] == entry["title"]


def test_entries_in_plain_lines(project: Project) -> None:
    text = "title: One\nbody: a\nb\nasked_as: x y z is slow; why at all\n\n"
    text += "title: Two\ncategory: runbook\nbody: 1. run\n2. wait\ntitle: Three\n"
    run = project.cli("import", "-", "--json", stdin=text)
    assert [(one["outcome"], one["source"]) for one in run.json["items"]] == [
        ("stored now", "-:1"),
        ("stored now", "-:6"),
        ("skipped", "-:10"),
    ]
    shown = project.cli("show", "one", "--json").json
    assert (shown["content"], shown["asked_as"]) == (
        {"decision": "a\nb"},
        ["x y z is slow", "why at all"],
    )
    assert project.cli("show", "two", "--json").json["content"]["steps"] == ["run", "wait"]


def test_different_rows_with_one_title_are_all_stored(project: Project) -> None:
    rows = [{"title": "Ports", "text": "Staging listens on 8081."}, {"title": "Ports", "text": "Live is 80."}]
    path = project.write("n.json", [*rows, rows[0]])
    for outcome in ("stored now", "already stored"):
        assert imported(project, path) == [
            (outcome, "ports"),
            (outcome, "ports-2"),
            ("already stored", "ports"),
        ]


def test_different_records_with_one_title_are_all_stored(project: Project) -> None:
    text = "# %s\n\n## Status\n\nAccepted\n\n## Context\n\nMany.\n\n## Decision\n\n%s\n"
    for name, said in (("a", "Dates use Temporal."), ("b", "Bounces go into a table.")):
        project.write("adr/%s.md" % name, text % ("Architecture Decision Record", said))
    for outcome in ("stored now", "already stored"):
        assert imported(project, "adr") == [
            (outcome, "architecture-decision-record"),
            (outcome, "architecture-decision-record-2"),
        ]


def test_a_record_that_a_later_one_may_have_ended_is_still_the_same(project: Project) -> None:
    text = "# %s\n\n## Status\n\nAccepted%s\n\n## Context\n\nTours.\n\n## Decision\n\nSo be it.\n"
    project.write("adr/0024-gas.md", text % ("24. Gas boiler", ""))
    path = os.path.dirname(project.write("adr/0024-oil.md", text % ("24. Oil lamps", "")))
    assert imported(project, path) == [("stored now", "gas-boiler"), ("stored now", "oil-lamps")]
    project.write("adr/0025-wood.md", text % ("25. Heat with wood", ". Supersedes ADR-24."))
    again = [
        ("already stored", "gas-boiler"),
        ("already stored", "oil-lamps"),
        ("stored now", "heat-with-wood"),
    ]
    assert (
        "perhaps over: a later record is called Heat with wood"
        in project.cli("import", path, "--dry-run").stdout
    )
    assert imported(project, path) == again
    assert len(project.cli("list", "--json").json["memories"]) == len(again)
