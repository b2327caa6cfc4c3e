"""`memory save`: the output that programs rely on, redaction, and pending memories."""

from __future__ import annotations

import json
import os
import shlex
import shutil

import pytest

from memory_plugin.memories.record import categories
from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WORDS = ("--category", "decision", "--title", "Use Postgres")


def read_memory(path: str) -> dict[str, object]:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    assert isinstance(data, dict)
    return data


def test_json_output(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "Postgres 16", "--asked-as", "which database", "--json")
    assert run.returncode == 0
    assert (
        run.json.items()
        >= {
            "id": "use-postgres",
            "path": os.path.join(
                os.path.realpath(project.root), ".claude", "memory", "decisions", "use-postgres.json"
            ),
            "category": "decision",
            "scope": "project",
            "trust": "trusted",
            "redacted": [],
            "created": True,
            "superseded": "",
            "similar": [],
            "guard": None,
        }.items()
    )


def test_every_field_reaches_the_file(project: Project) -> None:
    project.write("src/db.py", "")
    inside = os.path.join(project.root, "src/db.py")
    more = "--tags|db, billing|--tags|db|--file|src/db.py|--file|%s|--file|gone.py" % inside
    more += "|--asked-as|which database|--asked-as|mysql?|--expires|2031-12-31|--context|locks were lost"
    run = project.cli("save", *WORDS, "--body", "Postgres 16", *more.split("|"), "--json")
    data = read_memory(run.json["path"])
    assert data["tags"] == ["db", "billing"]
    assert data["related_files"] == ["src/db.py", "gone.py"]
    assert data["asked_as"] == ["which database", "mysql?"]
    assert data["expires_at"] == "2031-12-31"
    assert data["content"] == {"decision": "Postgres 16", "context": "locks were lost"}
    assert data["schema_version"] == "1.0"


@pytest.mark.parametrize(
    ("category", "content"),
    [
        ("constraint", {"rule": "one\ntwo"}),
        ("Preference", {"value": "one\ntwo"}),
        ("RUNBOOK", {"steps": ["one", "two"]}),
        ("tech-debt", {"description": "one\ntwo"}),
        ("session_summary", {"outcome": "one\ntwo"}),
    ],
)
def test_the_body_goes_into_the_main_field_of_the_category(
    project: Project, category: str, content: dict[str, object]
) -> None:
    run = project.cli(
        "save", "--category", category, "--title", "T", "--body", "-", "--json", stdin="one\ntwo\n"
    )
    assert read_memory(run.json["path"])["content"] == content


def test_an_invalid_body_is_refused_and_nothing_is_written(project: Project) -> None:
    cases = [
        (b"caf\xe9", "not UTF-8 (byte 3)"),
        (b"x" * ((1 << 20) + 1), "more than 1048576 bytes"),
        (b"x" * (1 << 20), "a memory holds at most"),
        (b" \n", "--body: standard input is empty"),
        (b"<private>all of it</private>", "nothing is left"),
    ]
    for stdin, reason in cases:
        run = project.memory("save", *WORDS, "--body", "-", "--root", project.root, stdin=stdin)
        assert run.returncode == 1
        assert reason in run.stderr
        assert run.stderr.count("\n") == 1
    assert project.cli("list", "--json").json["memories"] == []


def test_a_secret_never_reaches_a_file_or_the_screen(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "the token is " + SECRET)
    assert "redacted in content.decision" in run.stdout
    assert SECRET not in run.stdout + run.stderr
    for above, _, names in os.walk(os.path.dirname(project.root)):
        for name in names:
            with open(os.path.join(above, name), "rb") as file:
                assert SECRET.encode() not in file.read(), name
    again = project.cli("save", *WORDS, "--body", "the token is " + SECRET, "--json").json
    assert again["created"] is False
    assert [found["field"] for found in again["redacted"]] == ["content.decision"]


def test_user_scope_uses_the_user_s_store(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "b", "--scope", "user", "--json")
    assert run.json["path"] == os.path.join(project.config, "memory", "decisions", "use-postgres.json")
    assert run.json["scope"] == "user"


def test_a_save_by_claude_without_a_request_is_pending_and_shows_how_to_approve(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "b", inside=True)
    assert run.returncode == 0
    assert "memory accept use-postgres" in run.stdout
    assert project.cli("list", "--status", "pending", "--json").json["memories"][0]["trust"] == "pending"
    assert project.prompt("Should we use Postgres for this decision?").context == ""


def test_a_successor_replaces_the_old_memory(project: Project) -> None:
    project.save("Use MySQL", "b")
    run = project.cli("save", *WORDS, "--body", "b", "--supersedes", "use-mysql", "--json")
    assert run.json["superseded"] == "use-mysql"
    lives = {memory["id"]: memory["life"] for memory in project.cli("list", "--json").json["memories"]}
    assert lives == {"use-mysql": "superseded", "use-postgres": "active"}


def test_a_pending_successor_leaves_the_old_memory(project: Project) -> None:
    project.save("Use MySQL", "b")
    run = project.cli("save", *WORDS, "--body", "b", "--supersedes", "use-mysql", inside=True)
    assert "is not replaced yet" in run.stderr
    assert project.cli("show", "use-mysql", "--json").json["life"] == "active"


def test_superseding_an_unknown_memory_stores_nothing(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "b", "--supersedes", "nothing")
    assert run.returncode == 1
    assert project.cli("list", "--json").json["memories"] == []


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "a\nb", "-> x #tags:y", "\u202eevil", "数据库", "x" * 500, "'\"`$(id)"]
)
def test_a_title_cannot_choose_the_path(project: Project, title: str) -> None:
    run = project.cli("save", "--category", "decision", "--title", title, "--body", "b", "--json")
    assert os.path.dirname(run.json["path"]) == os.path.join(
        os.path.realpath(project.root), ".claude/memory/decisions"
    )


def test_the_next_prompt_sees_it(project: Project) -> None:
    project.save(
        "Use Postgres for the billing database", "Billing runs on Postgres 16.", "--tags", "billing,database"
    )
    assert (
        "Billing runs on Postgres 16." in project.prompt("Should billing use the Postgres database?").context
    )


@pytest.mark.parametrize("category", list(categories()))
def test_every_category_keeps_the_problem(project: Project, category: str) -> None:
    words = ("--category", category, "--title", "Use Postgres", "--context", "-", "--body", "b", "--json")
    run = project.cli("save", *words, stdin="Two invoices got\none number.\n")
    content = read_memory(run.json["path"])["content"]
    assert isinstance(content, dict)
    assert content["context"] == "Two invoices got\none number."
    assert "context: Two invoices got" in project.cli("show", "use-postgres").stdout


def test_a_problem_is_searched_and_edited(project: Project) -> None:
    project.save("Use Postgres", "b", "--context", "Two invoices got one number.")
    assert [row["id"] for row in project.cli("search", "invoices", "--json").json["results"]] == [
        "use-postgres"
    ]
    project.cli("edit", "use-postgres", "--context", "another problem")
    assert "context: another problem" in project.cli("show", "use-postgres").stdout
    project.cli("edit", "use-postgres", "--context", "none")
    assert "context: another" not in project.cli("show", "use-postgres").stdout


def test_only_one_option_may_read_standard_input(project: Project) -> None:
    run = project.cli("save", *WORDS, "--body", "-", "--context", "-", stdin="x")
    assert (run.returncode, project.cli("list", "--json").json["memories"]) == (2, [])
    assert "only one of --body and --context" in run.stderr


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(
            ("Never log request bodies",),
            "saved constraint: Never log request bodies\nundo: memory forget never-log-request-bodies\n",
            id="a rule",
        ),
        pytest.param(
            ("sessions expire after 30 min. See auth/.",),
            "saved decision: sessions expire after 30 min\n"
            "undo: memory forget sessions-expire-after-30-min\n",
            id="a statement",
        ),
        pytest.param(
            ("Never push", "--category", "preference"),
            "saved preference: Never push\nundo: memory forget never-push\n",
            id="a named category",
        ),
    ],
)
def test_one_line_says_what_was_saved_and_how_to_undo_it(
    project: Project, words: tuple[str, ...], line: str
) -> None:
    assert project.cli("save", *words).stdout == line
    assert project.cli(*line.rpartition("memory ")[2].split()).returncode == 0


def test_a_worktree_without_a_store_of_its_own_says_where_a_memory_is_stored(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    main, linked = project.root, project.root + "-linked"
    project.git("worktree", "add", "-q", linked)
    project.root = linked
    assert (
        "stored in %s, whose memories this worktree shares" % main in project.cli("save", "Never push").stdout
    )


def test_the_one_line_form_reads_standard_input(project: Project) -> None:
    assert project.cli("save", "-", "--json", stdin="Never push. Ask.\n").json["id"] == "never-push"


MYSQL = ("Billing runs on MySQL", "Billing keeps its invoices in MySQL 5, the only database that we know.")


@pytest.mark.parametrize(
    ("title", "body", "why"),
    [
        pytest.param(
            "Billing keeps running on MySQL",
            "Billing keeps invoices in MySQL 5, the only database we know.",
            "near duplicate",
            id="said again",
        ),
        pytest.param(
            "Billing moved to Postgres",
            "Row locks for invoices.",
            "similar decision",
            id="another answer",
        ),
        pytest.param("Billing sends invoices as PDF/A", "Ten years of archive.", "", id="the same topic"),
    ],
)
def test_similar_memories_are_named_with_the_command_that_replaces_them(
    project: Project, title: str, body: str, why: str
) -> None:
    old = project.save(*MYSQL, "--tags", "billing,database", "--file", "src/billing/db.py")
    project.save("Deploys need two approvals", "In GitHub.", "--tags", "deploy")
    about = (
        ("--file", "src/billing/db.py", "--tags", "billing,database") if why else ("--tags", "billing,pdf")
    )
    words = ("save", "--category", "decision", "--title", title, "--body", body, *about, "--json")
    similar = project.cli(*words).json["similar"]
    assert [(row["id"], row["title"], row["why"]) for row in similar] == (
        [(old, MYSQL[0], why)] if why else []
    )
    if why:
        assert ", replaced)" in project.cli(*shlex.split(similar[0]["command"])[1:]).stdout
        again = project.cli(
            "save", "--category", "decision", "--title", title + " now", "--body", body, "--json"
        )
        assert old not in [row["id"] for row in again.json["similar"]]


def test_similar_memories_are_printed_as_text(project: Project) -> None:
    old = project.save(*MYSQL)
    run = project.cli("save", "--category", "decision", "--title", "MySQL for billing", "--body", MYSQL[1])
    assert "  near duplicate: %s  %s\n" % (old, MYSQL[0]) in run.stdout
    assert "memory edit %s --superseded-by mysql-for-billing\n" % old in run.stdout


@pytest.mark.parametrize("category", ["decision", "runbook"])
def test_a_duplicate_title_is_refused_with_commands_to_run(project: Project, category: str) -> None:
    old = project.save(*MYSQL)
    words = ("save", "--category", category, "--title", "Billing  runs on mysql", "--body", "Postgres 16.")
    refused = project.cli(*words)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "memory edit %s --body" % old in refused.stderr
    assert "--supersedes %s" % old in refused.stderr
    assert [row["id"] for row in project.cli("list", "--json").json["memories"]] == [old]
    assert project.cli(*words, "--supersedes", old).returncode == 0


def test_a_title_may_be_reused_in_another_scope_or_after_retirement(project: Project) -> None:
    old = project.save(*MYSQL)
    words = ("save", "--category", "decision", "--title", MYSQL[0], "--body", "Again.")
    assert project.cli(*words, "--scope", "user").returncode == 0
    assert project.cli("forget", "project:decision/" + old).returncode == 0
    assert project.cli(*words).returncode == 0


def test_saving_the_same_text_again_adds_no_memory_even_if_it_contains_a_secret(project: Project) -> None:
    words = ("save", "--category", "decision", "--title", "Mail", "--body", "ask ghp_" + "a1B2" * 9)
    assert project.cli(*words).stdout.startswith("saved decision: Mail\n")
    assert project.cli(*words).stdout.startswith("already saved as mail (decision): Mail\n")


def test_a_replaced_memory_is_not_listed_as_similar(project: Project) -> None:
    old = project.save(*MYSQL)
    words = ("--category", "decision", "--title", MYSQL[0], "--body", "Again.", "--supersedes", old)
    assert project.cli("save", *words, "--json").json["similar"] == []


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("save", *WORDS, "--body", "Postgres 16"), id="save"),
        pytest.param(("edit", "mail", "--body", "Ask Ada."), id="edit"),
        pytest.param(("import", "notes.md"), id="import"),
    ],
)
def test_an_approval_that_cannot_be_recorded_leaves_a_pending_memory_and_says_so(
    project: Project, command: tuple[str, ...]
) -> None:
    project.save("Mail", "Ask.")
    project.write("notes.md", "# Rules\n\n- Always use Postgres.\n")
    shutil.rmtree(os.path.join(project.state, "trust", "texts"))
    with open(os.path.join(project.state, "trust", "texts"), "w", encoding="utf-8"):
        pass
    run = project.cli(*command)
    assert (run.returncode, run.stdout) == (1, "")
    assert (
        "what you saved is pending: your approval was not recorded. Solve that, then: memory review\n"
        in run.stderr
    )
    os.unlink(os.path.join(project.state, "trust", "texts"))
    (pending,) = project.memories("--status", "pending")
    assert project.cli("accept", pending["id"]).returncode == 0


@pytest.mark.parametrize(
    "written", ["src/app.py", "@src/app.py", "@src/app.py#L5-L9", "file://%s/src/app.py", "%s/src/app.py"]
)
def test_a_file_may_be_written_as_the_client_mentions_it(project: Project, written: str) -> None:
    project.write("src/app.py", "a = 1\n")
    run = project.cli("save", "Use Postgres", "--file", written.replace("%s", project.root), "--json")
    assert run.json["files"] == ["src/app.py"]


def test_two_files_in_one_option_are_refused(project: Project) -> None:
    run = project.cli("save", "Use Postgres", "--file", "src/a.py, src/b.py")
    assert "name each file by itself" in run.stderr


def test_a_rule_with_a_path_in_full_begins_at_the_root(project: Project) -> None:
    saved = project.cli(
        "save", "Use Postgres", "--guard-file", "Edit(/%s/src/**)" % project.root, "--json"
    ).json
    assert saved["guard"]["files"] == ["/src/**"]


def test_a_file_that_is_not_there_is_named_at_once(project: Project) -> None:
    project.write("src/app.py", "")
    assert (
        "  nosuch.py is not there\n" in project.cli("save", "Foo holds here.", "--file", "nosuch.py").stdout
    )
    assert "is not there" not in project.cli("edit", "foo-holds-here", "--file", "src/app.py").stdout
    assert "  gone.py is not there\n" in project.cli("edit", "foo-holds-here", "--file", "gone.py").stdout


def test_in_the_home_folder_it_says_that_all_projects_get_it(project: Project) -> None:
    said = "it is kept for all your projects"
    project.root = project.home
    notes = project.write("notes.md", "## First rule\n\nAlways sift the flour.\n")
    for words in (("save", "--scope", "project", "Never push"), ("import", notes)):
        assert said in project.cli(*words).stdout
    assert said not in project.cli("save", "--scope", "user", "Never pull").stdout
    personal = project.cli("save", "I prefer tabs.").stdout
    assert (said in personal, "--scope user" in personal) == (True, False)
