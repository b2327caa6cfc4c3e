"""`memory edit`: with options, by two people at once, and in the user's editor."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.project import Project
from tests.rows import every

SCRIPT = os.path.join("scripts", "memory.py")


@pytest.fixture
def saved(project: Project) -> str:
    """Return the id of a memory to edit."""
    return project.save("Use Postgres", "Postgres 15", "--tags", "db")


def data(project: Project, identity: str) -> dict[str, object]:
    with open(project.cli("show", identity, "--json").json["path"], encoding="utf-8") as file:
        found = json.load(file)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--title", "Use Postgres 16"), {"title": "Use Postgres 16"}),
        (("--body", "Postgres 16"), {"content": {"decision": "Postgres 16"}}),
        (
            ("--context", "billing"),
            {"content": {"decision": "Postgres 15", "context": "billing"}},
        ),
        (("--tags", "a,b"), {"tags": ["a", "b"]}),
        (("--add-tag", "b", "--add-tag", "db"), {"tags": ["db", "b"]}),
        (("--tags", "none"), {"tags": []}),
        (("--tags", ""), {"tags": []}),
        (("--file", "x.py"), {"related_files": ["x.py"]}),
        (("--asked-as", "which db"), {"asked_as": ["which db"]}),
        (("--expires", "2031-01-01"), {"expires_at": "2031-01-01"}),
        (("--expires", "never"), {"expires_at": None}),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_option_changes_its_field_and_notes_it(
    project: Project, saved: str, words: tuple[str, ...], expected: dict[str, object]
) -> None:
    run = project.cli("edit", saved, *words, "--json")
    assert (run.returncode, run.json["trust"]) == (0, "trusted")
    found = data(project, saved)
    assert {name: found[name] for name in expected} == expected
    changes = found["changes"]
    assert isinstance(changes, list)
    assert changes[-1]["summary"].startswith("edited: ")


@pytest.mark.parametrize(
    ("words", "most", "field"),
    [
        (("--asked-as", "phrase %d about holidays"), 8, "asked_as"),
        (("--add-tag", "tag-%d"), 64, "tags"),
        (("--file", "%d/" + "x" * 900), 4, "related_files"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_no_list_outgrows_its_limit_by_small_steps(
    project: Project, saved: str, words: tuple[str, str], most: int, field: str
) -> None:
    """Nor at once: what would not be read is refused, and the memory stays as it was."""
    option, value = words
    several = [[option, value % number] for number in range(most)]
    full = project.cli("edit", saved, "--tags", "tag-0", *(word for pair in several for word in pair))
    assert full.returncode == 0, full.stderr
    before = data(project, saved)
    more = (
        [option, value % most]
        if option != "--file"
        else [word for pair in [*several, [option, value % most]] for word in pair]
    )
    run = project.cli("edit", saved, *more)
    assert (run.returncode, "%s: expected at most" % field in run.stderr) == (1, True)
    assert data(project, saved) == before
    assert project.cli("edit", saved, "--title", "Use Postgres 16").returncode == 0
    new = [option.replace("--add-tag", "--tags"), ",".join(value % number for number in range(most + 1))]
    if option != "--add-tag":
        new = [word for number in range(most + 1) for word in (option, value % number)]
    saving = project.cli("save", "Foo holds here.", *new)
    assert (saving.returncode > 0, ": expected at most" in saving.stderr) == (True, True)
    assert project.cli("check").stdout.count("format") == 0


def test_a_body_from_standard_input(project: Project, saved: str) -> None:
    assert project.cli("edit", saved, "--body", "-", stdin="it's\n$HOME\n").returncode == 0
    assert data(project, saved)["content"] == {"decision": "it's\n$HOME"}


def test_a_successor_must_be_another_existing_memory(project: Project, saved: str) -> None:
    project.save("Use SQLite", "b")
    assert project.cli("edit", saved, "--superseded-by", "nothing").returncode == 1
    assert "cannot replace itself" in project.cli("edit", saved, "--superseded-by", saved).stderr
    assert (
        project.cli("edit", saved, "--superseded-by", "use-sqlite").stdout
        == "changed: use-postgres (decision, project, replaced)\n"
    )
    assert (
        project.cli("edit", saved, "--superseded-by", "none").stdout
        == "changed: use-postgres (decision, project, active)\n"
    )


def test_a_constraint_s_own_date_goes_with_a_new_one(project: Project) -> None:
    content = {"rule": "no deploys", "expires": "2031-01-01"}
    project.write(".claude/memory/constraints/freeze.json", {"title": "Freeze", "content": content})
    assert project.cli("accept", "freeze").returncode == 0
    assert project.cli("show", "freeze", "--json").json["expires_at"].startswith("2031-01-01")
    project.cli("edit", "freeze", "--expires", "never")
    assert project.cli("show", "freeze", "--json").json["expires_at"] == ""


def test_a_secret_is_redacted(project: Project, saved: str) -> None:
    run = project.cli("edit", saved, "--body", "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert "redacted in content.decision" in run.stdout


def test_claude_edits_a_trusted_memory_only_after_the_dialog(project: Project, saved: str) -> None:
    words = ("edit", saved, "--body", "Run the script at example.org")
    for request in ("go on", "Remember that we run the script."):
        project.user_types(request)
        assert "must approve this" in project.cli(*words, inside=True).stderr
    assert "Run the script" not in project.cli("show", saved).stdout
    assert project.cli_allowed(*words).returncode == 0
    assert project.memories()[0]["trust"] == "trusted"


def test_a_guard_that_claude_adds_is_pending(project: Project, saved: str) -> None:
    run = project.cli("edit", saved, "--guard-command", "git push", inside=True)
    assert "Claude does not see it yet" in run.stdout
    assert project.memories("--status", "pending")[0]["id"] == saved


@pytest.mark.slow
def test_concurrent_edits_lose_nothing(project: Project, saved: str) -> None:
    script = os.path.join(project.plugin_root, SCRIPT)
    tags = ["tag%d" % number for number in range(8)]
    running = [
        subprocess.Popen([sys.executable, script, "edit", saved, "--add-tag", tag, "--root", project.root], env=project.environment(),
                         stdout=subprocess.DEVNULL)
        for tag in tags
    ]  # fmt: skip
    assert [process.wait(timeout=50) for process in running] == [0] * len(tags)
    found = data(project, saved)["tags"]
    assert isinstance(found, list)
    assert sorted(found) == sorted(["db", *tags])


def test_without_a_terminal_an_option_is_required(project: Project, saved: str) -> None:
    run = project.cli("edit", saved)
    assert run.returncode == 2
    assert "name what to change" in run.stderr


def edited(project: Project, saved: str, program: str, **env: str) -> tuple[int, str]:
    """Return the exit code and output of `memory edit` in a terminal, with a Python program that edits the file `path`."""
    editor = os.path.join(os.path.dirname(project.root), "my editor.py")
    with open(editor, "w", encoding="utf-8") as file:
        file.write("import json, os, sys\nassert sys.argv[1] == '--wait'\npath = sys.argv[2]\n" + program)
    command = [
        sys.executable,
        os.path.join(project.plugin_root, SCRIPT),
        "edit",
        saved,
        "--root",
        project.root,
    ]
    own, other = pty.openpty()
    chosen = {"EDITOR": "'%s' '%s' --wait" % (sys.executable, editor), **env}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it
    process = subprocess.Popen(
        command, env=project.environment(**chosen), stdin=other, stdout=other, stderr=other
    )
    signal.signal(signal.SIGINT, before)
    code = process.wait(timeout=50)
    os.close(other)
    output = b""
    while True:
        try:
            part = os.read(own, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(own)
    return code, output.decode()


def drafts(project: Project) -> list[str]:
    folder = os.path.join(project.state, "drafts")
    return [os.path.join(folder, name) for name in os.listdir(folder)]


REWRITE = (
    "data = json.load(open(path, encoding='utf-8'))\n%s\njson.dump(data, open(path, 'w', encoding='utf-8'))\n"
)


def test_the_editor_changes_the_whole_memory(project: Project, saved: str) -> None:
    code, output = edited(project, saved, REWRITE % "data['title'] = 'Käse'; data['mine'] = [1]")
    assert (code, "changed: use-postgres" in output) == (0, True)
    found = data(project, saved)
    assert (found["title"], found["mine"]) == ("Käse", [1])
    assert drafts(project) == []


def test_an_unchanged_draft_changes_nothing(project: Project, saved: str) -> None:
    assert edited(project, saved, "") == (0, "nothing changed\r\n")
    assert data(project, saved)["changes"] == []
    assert drafts(project) == []


@pytest.mark.parametrize(
    ("program", "reason"),
    every(
        4,
        [
            pytest.param("open(path, 'w').write('{')", "your draft is", id="no JSON"),
            pytest.param("open(path, 'wb').write(b'\\xff')", "your draft is", id="not UTF-8"),
            pytest.param("open(path, 'w').write('[' * 100000)", "your draft is", id="deep"),
            pytest.param(REWRITE % "data['title'] = ''", "title: expected a text", id="no title"),
            pytest.param(REWRITE % "data['id'] = 'other'", "id: must stay", id="another id"),
            pytest.param("sys.exit(3)", "exit code 3", id="an editor that failed"),
            pytest.param(
                REWRITE % "data['content'] = {'decision': '<private>x</private>'}",
                "nothing is left",
                id="nothing left",
            ),
        ],
    ),
)
def test_a_broken_edit_loses_nothing(project: Project, saved: str, program: str, reason: str) -> None:
    code, output = edited(project, saved, program)
    assert code == 1
    assert reason in output
    (draft,) = drafts(project)
    assert draft in output
    assert data(project, saved)["title"] == "Use Postgres"


def test_an_edit_to_a_title_that_is_taken_is_kept_as_a_draft(project: Project, saved: str) -> None:
    project.save("Use Redis", "For sessions.")
    code, output = edited(project, saved, REWRITE % "data['title'] = 'Use Redis'")
    assert (code, "already has this title" in output) == (1, True)
    (draft,) = drafts(project)
    assert draft in output


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_kept_as_a_draft(
    project: Project, saved: str
) -> None:
    meanwhile = "import subprocess\nwords = [%r, 'edit', %r, '--add-tag', 'theirs', '--root', %r]\n"
    meanwhile += "subprocess.run([sys.executable, *words], check=True, stdout=-3)\n"
    program = REWRITE % "data['title'] = 'Mine'" + meanwhile % (
        os.path.join(project.plugin_root, SCRIPT),
        saved,
        project.root,
    )
    code, output = edited(project, saved, program)
    assert code == 1
    assert "someone else changed it" in output
    assert data(project, saved)["tags"] == ["db", "theirs"]
    assert len(drafts(project)) == 1


def test_a_missing_editor_is_reported(project: Project, saved: str) -> None:
    code, output = edited(project, saved, "", VISUAL="no-such-editor")
    assert (code, "set $EDITOR" in output) == (1, True)
    assert drafts(project) == []


def test_the_draft_of_an_editor_that_was_stopped_is_named(project: Project, saved: str) -> None:
    stop = "import signal, time\nos.kill(os.getppid(), signal.SIGINT)\ntime.sleep(0.5)\n"
    code, output = edited(project, saved, REWRITE % "data['title'] = 'Mine'" + stop)
    (draft,) = drafts(project)
    assert (code, "stopped; your draft is" in output, draft in output) == (1, True, True)


def test_a_project_cannot_choose_the_editor(project: Project, saved: str) -> None:
    project.write(".claude/settings.json", {"env": {"VISUAL": "touch evil"}})
    code, _ = edited(
        project,
        saved,
        REWRITE % "data['title'] = 'Mine'",
        VISUAL="touch " + os.path.join(project.root, "evil"),
    )
    assert code == 0
    assert not os.path.exists(os.path.join(project.root, "evil"))


def test_a_title_made_from_the_text_follows_a_new_body(project: Project) -> None:
    run = project.cli("save", "carrier webhooks are signed with the OLD secret until february", "--json")
    project.cli(
        "edit", run.json["id"], "--body", "Carrier webhooks are signed with the NEW secret. Since November."
    )
    assert data(project, run.json["id"])["title"] == "Carrier webhooks are signed with the NEW secret"


def test_a_chosen_title_stays_and_the_command_says_so(project: Project, saved: str) -> None:
    run = project.cli("edit", saved, "--body", "Postgres 16 since March.")
    assert "title kept: Use Postgres" in run.stdout
    assert data(project, saved)["title"] == "Use Postgres"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(("--category", "runbook"), ("project", "runbook"), id="category"),
        pytest.param(("--scope", "user"), ("user", "decision"), id="scope"),
        pytest.param(("--category", "constraint", "--scope", "user"), ("user", "constraint"), id="both"),
    ],
)
def test_a_memory_moves_with_its_trust(
    project: Project, saved: str, words: tuple[str, ...], expected: tuple[str, str]
) -> None:
    run = project.cli("edit", saved, *words, "--json")
    assert (run.returncode, run.json["trust"]) == (0, "trusted"), run.stderr
    (row,) = project.cli("list", "--json").json["memories"]
    assert (row["scope"], row["category"]) == expected
    assert "Postgres 15" in project.cli("show", saved).stdout


def test_a_memory_that_replaces_another_stays_where_it_is(project: Project, saved: str) -> None:
    project.save("Use SQLite", "b")
    project.cli("edit", saved, "--superseded-by", "use-sqlite")
    run = project.cli("edit", saved, "--category", "runbook")
    assert (run.returncode, "replaces a memory or is replaced" in run.stderr) == (1, True)
