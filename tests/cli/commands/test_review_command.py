"""`memory review`, `reject` and `accept`: by keys in a terminal, elsewhere by groups and ids, and only for the text that was shown."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import pytest

from memory_plugin.memories.record import categories, new_memory
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.project import Project

GROUP, ENTRY = "[q] quit: ", "[s] skip"
GUARD = {"commands": ["git push --force"], "action": "remind"}
terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


def put(project: Project, name: str, *, by: str = "", category: str = "decision", **fields: object) -> None:
    """Write a memory's file as a repository contains it; commit it if an author is given."""
    chosen = categories()[category]
    data = new_memory(chosen, name, "Title of " + name, {chosen.primary: "The body of %s." % name}, {})
    project.write(".claude/memory/%s/%s.json" % (chosen.folder, name), {**data, **fields})
    if by:
        project.git("add", "-A")
        email = by.lower() + "@example.org"
        command = ["git", "commit", "-q", "-m", name]
        run = project.process(command, GIT_AUTHOR_NAME=by, GIT_AUTHOR_EMAIL=email)
        assert run.returncode == 0, run.stderr


def trust(project: Project) -> dict[str, str]:
    rows = project.memories("--status", "all")
    return {row["id"]: row["trust"] for row in rows}


def groups(project: Project, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project.cli("review", "--json", *arguments).json["groups"]
    return found


@pytest.fixture
def team(project: Project) -> Project:
    """Return a project with memories of two authors, one file in no commit, and a guard."""
    put(project, "bo-one", by="Bo")
    put(project, "bo-two", by="Bo", category="runbook")
    put(project, "cy-one", by="Cy")
    put(project, "cy-guard", by="Cy", category="constraint", guard=GUARD)
    put(project, "loose")
    return project


@terminal
def test_one_key_decides_a_group_and_guards_are_decided_one_by_one(team: Project) -> None:
    review = PseudoTerminal(team, "review")
    assert "group 1 of 4: 2 memories, new, by Bo <bo@example.org> as git says (unverified)" in review.until(
        GROUP
    )
    review.press("a")
    assert "cy-one" in review.until(ENTRY)
    review.press("n")
    assert "loose" in review.until(ENTRY)
    review.press("s")
    shown = review.until(ENTRY)
    assert "guard: blocks the first call in each session that runs `git push --force`" in shown
    review.press("y")
    assert review.end() == 0
    assert "accepted 3, rejected 1, 1 still pending" in review.seen
    assert trust(team) == {
        "bo-one": "trusted",
        "bo-two": "trusted",
        "cy-one": "rejected",
        "cy-guard": "trusted",
        "loose": "pending",
    }


@terminal
def test_all_of_a_group_after_reading_some_of_it_and_quitting(project: Project) -> None:
    for name in ("a", "b", "c", "d"):
        put(project, name, by="Bo")
    put(project, "other", by="Cy")
    review = PseudoTerminal(project, "review")
    review.until(GROUP)
    review.press("o")
    assert "The body of a." in review.until(GROUP)
    review.press("n")
    assert "[a] accept all 3" in review.until(GROUP)
    review.press("a")
    review.until(GROUP)
    review.press("q")
    assert review.end() == 0
    expected = {"a": "rejected", **dict.fromkeys("bcd", "trusted"), "other": "pending"}
    assert trust(project) == expected


@terminal
def test_a_one_line_memory_is_shown_once_and_a_question_fits_80_columns(project: Project) -> None:
    for name in ("use-uv", "use-ruff"):
        put(project, name, by="Bo", title="We say " + name, content={"decision": "We say " + name})
    review = PseudoTerminal(project, "review")
    assert review.until(GROUP).count("We say use-uv") == 1
    review.press("o")
    assert review.until(GROUP).count("We say use-ruff") == 1
    review.press("q")
    assert review.end() == 0
    assert max(map(len, re.findall(r"\[[ay]\].*: ", review.seen))) <= 80


@terminal
def test_keys_typed_before_a_question_and_unknown_keys_decide_nothing(project: Project) -> None:
    put(project, "one", by="Bo")
    put(project, "two", by="Cy")
    review = PseudoTerminal(project, "review")
    review.until(ENTRY)
    review.press("x")
    review.until(ENTRY)
    review.press("\x1b[A")
    review.until(ENTRY)
    review.press("yyyy")
    review.until(ENTRY)
    review.press("\x04")
    assert review.end() == 0
    assert trust(project) == {"one": "pending", "two": "pending"}


@terminal
def test_an_edited_memory_is_trusted_with_its_new_text(project: Project) -> None:
    put(project, "one", by="Bo")
    editor = project.write("editor.sh", "#!/bin/sh\nsed -i 's/The body/My body/' \"$1\"\n")
    os.chmod(editor, 0o700)
    review = PseudoTerminal(project, "review", EDITOR=editor)
    review.until(ENTRY)
    review.press("e")
    assert review.end() == 0
    assert "edited 1, 0 still pending" in review.seen
    assert trust(project) == {"one": "trusted"}
    assert project.cli("show", "one", "--json").json["body"] == "My body of one."


@terminal
def test_an_edit_that_changes_nothing_asks_again(project: Project) -> None:
    put(project, "one", by="Bo")
    review = PseudoTerminal(project, "review", EDITOR="true")
    review.until(ENTRY)
    review.press("e")
    assert "it is still pending" in review.until(ENTRY)
    review.press("q")
    assert review.end() == 0
    assert trust(project) == {"one": "pending"}


def test_a_change_is_shown_against_the_last_trusted_text(project: Project) -> None:
    name = project.save("Deploy on Mondays", "The train leaves at noon.")
    path = project.cli("show", name, "--json").json["path"]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("at noon", "at night"))
    run = project.cli("review")
    assert "changed since you trusted it" in run.stdout
    assert "- The train leaves at noon." in run.stdout
    assert "+ The train leaves at night." in run.stdout
    ((entry,),) = [group["entries"] for group in groups(project)]
    (change,) = entry["changes"]
    assert change["field"] == "text"
    assert "\x1b" not in run.stdout


def test_without_a_terminal_groups_are_only_listed(team: Project) -> None:
    run = team.cli("review", stdin="a\na\na\n")
    assert run.returncode == 0
    assert set(trust(team).values()) == {"pending"}
    assert len(re.findall("^group g", run.stdout, re.MULTILINE)) == 4
    assert team.cli("review", "--json", inside=True).json["groups"] == groups(team)


def test_a_group_id_decides_only_the_entries_that_were_listed(team: Project) -> None:
    bo, *_ = groups(team)
    assert bo["title"] == "new, by Bo <bo@example.org> as git says (unverified)"
    put(team, "bo-one", title="Changed in the meantime")
    run = team.cli("accept", "--group", str(bo["id"]))
    assert run.returncode == 1
    assert "memory review" in run.stderr
    assert set(trust(team).values()) == {"pending"}
    for group in groups(team):
        if "guard" not in json.dumps(group["entries"]):
            assert team.cli("reject", "--group", str(group["id"])).returncode == 0
    assert "rejected" in trust(team).values()


def test_the_dialog_about_a_group_names_its_memories(team: Project) -> None:
    bo, *_ = groups(team)
    reason = team.dialog("accept", "--group", str(bo["id"]))["permissionDecisionReason"]
    assert 'accept 2 memories: "Title of bo-one", "Title of bo-two"?' in reason


def test_a_guard_is_never_decided_with_a_group(team: Project) -> None:
    guards = groups(team)[-1]
    assert [entry["id"] for entry in guards["entries"]] == ["cy-guard"]
    for command in ("accept", "reject"):
        assert team.cli(command, "--group", str(guards["id"])).returncode == 2
    assert trust(team)["cy-guard"] == "pending"


def test_accept_all_leaves_guards_out_and_prints_the_categories(team: Project) -> None:
    run = team.cli("accept", "--all")
    assert run.returncode == 0
    assert "accepted 4 memories (decision: 3, runbook: 1)" in run.stdout
    assert "not accepted, because they have a guard (name them, or use --guards): cy-guard" in run.stdout
    assert trust(team)["cy-guard"] == "pending"
    assert team.cli("accept", "--all", "--json").json["accepted"] == []
    run = team.cli("accept", "--all", "--guards")
    assert "guard: blocks the first" in run.stdout
    assert set(trust(team).values()) == {"trusted"}
    assert team.cli("accept", "one", "--guards").returncode == 2


@terminal
@pytest.mark.parametrize(("answer", "expected"), [("n", "pending"), ("y", "trusted")])
def test_accept_all_asks_a_person_first(team: Project, answer: str, expected: str) -> None:
    run = PseudoTerminal(team, "accept", "--all")
    assert "Accept 4 memories (decision: 3, runbook: 1)? [y/N]" in run.until("[y/N] ")
    run.type(answer + "\n")
    assert run.end() == 0
    assert trust(team)["bo-one"] == expected


def test_nothing_is_decided_inside_the_client_without_approval(team: Project) -> None:
    bo, *_ = groups(team)
    for command in (
        ["reject", "bo-one"],
        ["reject", "--group", str(bo["id"])],
        ["accept", "--group", str(bo["id"])],
    ):
        assert team.cli(*command, inside=True).returncode == 1
    assert set(trust(team).values()) == {"pending"}
    team.user_types("/memory:review")
    assert team.cli("accept", "--all", "--guards", inside=True).returncode == 1
    assert team.cli_allowed("accept", "--group", str(bo["id"])).returncode == 0
    assert team.cli_allowed("reject", "cy-one").returncode == 0
    found = trust(team)
    assert (found["bo-one"], found["cy-one"], found["loose"]) == ("trusted", "rejected", "pending")


def test_a_rejected_text_never_comes_back_as_pending(team: Project) -> None:
    assert team.cli("reject", "cy-one", "loose").returncode == 0
    folder = os.path.join(team.root, ".claude", "memory", "decisions")
    os.rename(folder + "/loose.json", folder + "/renamed.json")
    os.unlink(folder + "/cy-one.json")
    team.git("restore", ".claude/memory/decisions/cy-one.json")
    found = trust(team)
    assert (found["cy-one"], found["renamed"]) == ("rejected", "rejected")
    shown = [entry["id"] for group in groups(team) for entry in group["entries"]]
    assert not {"cy-one", "renamed"} & set(shown)
    rows = team.memories("--status", "rejected")
    assert {row["id"] for row in rows} == {"cy-one", "renamed"}
    assert team.cli("accept", "cy-one").returncode == 0
    assert trust(team)["cy-one"] == "trusted"


def test_reject_reports_memories_that_it_cannot_reject(team: Project) -> None:
    team.cli("accept", "bo-one")
    team.cli("reject", "loose")
    assert "memory forget bo-one" in team.cli("reject", "bo-one").stderr
    assert "already rejected" in team.cli("reject", "loose").stderr
    assert team.cli("reject").returncode == 2
    assert team.cli("reject", "loose", "--group", "g1").returncode == 2
    assert trust(team)["bo-one"] == "trusted"


def test_nothing_pending(project: Project) -> None:
    assert project.cli("review").stdout == "Nothing is pending.\n"
    assert project.cli("review", "--json").json == {"groups": []}


def test_a_commit_that_no_longer_matches_the_file_is_not_shown(team: Project) -> None:
    put(team, "cy-one", title="Changed by hand")
    titles = {entry["id"]: group["title"] for group in groups(team) for entry in group["entries"]}
    assert titles["cy-one"] == titles["loose"] == "new, in no commit"
    assert "by Cy" in str(titles["cy-guard"])


def test_git_runs_no_program_chosen_by_the_repository(team: Project) -> None:
    """Neither a pager, a file system monitor, a filter, a signature check nor an alias."""
    trap = team.write("trap.sh", "#!/bin/sh\necho run >> %s/trapped\ncat\n" % os.path.dirname(team.root))
    os.chmod(trap, 0o700)
    team.write(".gitattributes", "*.json filter=trap diff=trap\n")
    for name in (
        "core.pager", "core.fsmonitor", "core.sshCommand", "gpg.program", "filter.trap.clean", "filter.trap.smudge",
        "diff.trap.textconv", "diff.trap.command", "diff.external", "alias.log", "core.gitProxy", "core.editor",
    ):  # fmt: skip
        team.git("config", name, "!" + trap if name.startswith("alias") else trap)
    team.git("config", "log.showSignature", "true")
    team.git("config", "core.hooksPath", os.path.dirname(trap))
    put(team, "loose", title="Changed")
    (bo, *_) = groups(team)
    assert bo["title"] == "new, by Bo <bo@example.org> as git says (unverified)"
    assert not os.path.exists(os.path.join(os.path.dirname(team.root), "trapped"))


def test_a_forged_author_name_cannot_imitate_a_line(team: Project) -> None:
    put(team, "odd", by="Eve\u2028\x01abc\x1f2026-01-01\x1fAda \x1b[31m")
    ((title,),) = [
        [group["title"]] for group in groups(team) for entry in group["entries"] if entry["id"] == "odd"
    ]
    assert str(title).startswith("new, by Eve")
    assert "\x1b" not in str(title)


def test_review_works_without_git(team: Project) -> None:
    run = team.cli("review", "--json", PATH="/nowhere")
    assert [group["title"] for group in run.json["groups"]] == ["new, in no commit", "new, in no commit"]


@terminal
def test_a_git_in_the_current_folder_is_not_run(team: Project) -> None:
    """Windows searches that folder first, which a relative folder on the PATH stands for here."""
    trap = os.path.join(os.path.dirname(team.root), "trapped")
    os.chmod(team.write("git", "#!/bin/sh\necho run > '%s'\n" % trap), 0o700)
    run = team.cli("review", "--json", PATH=".:" + os.defpath)
    assert len(run.json["groups"]) == 2
    assert not os.path.exists(trap)


@terminal
def test_a_log_of_any_size_is_read_up_to_a_limit(team: Project) -> None:
    folder = os.path.dirname(team.write("bin/git", "#!/bin/sh\nexec /usr/bin/yes\n"))
    os.chmod(os.path.join(folder, "git"), 0o700)
    run = team.cli("review", "--json", PATH=folder)
    assert [group["title"] for group in run.json["groups"]] == ["new, in no commit", "new, in no commit"]


@terminal
@pytest.mark.slow
def test_five_hundred_memories_take_a_key_for_each_author_and_each_guard(project: Project) -> None:
    folders = list(categories())
    authors = ["Ann"] * 200 + ["Bo"] * 150 + ["Cy"] * 100 + ["Di"] * 50
    for at, author in enumerate(authors):
        guard = {"guard": GUARD} if at in (7, 300) else {}
        last = at + 1 == len(authors) or authors[at + 1] != author
        put(project, "m%03d" % at, by=author if last else "", category=folders[at % len(folders)], **guard)
    review = PseudoTerminal(project, "review")
    for key in "aaaayy":
        review.until(GROUP)
        review.press(key)
    assert review.end() == 0
    assert "accepted 500, 0 still pending" in review.seen
    assert review.pressed == 6
    assert all(review.seen.count("Title of m%03d" % at) for at in range(500)), "nothing is accepted unseen"
    assert set(trust(project).values()) == {"trusted"}


def test_only_the_whole_id_of_a_group_is_accepted(team: Project) -> None:
    """Two texts can be made to share the beginning of an id."""
    bo, *_ = groups(team)
    identity = str(bo["id"])
    assert len(identity) == 33
    assert team.cli("accept", "--group", identity[:20]).returncode == 1
    run = team.cli("accept", "--group", identity)
    assert run.returncode == 0
    assert "accepted: bo-one" in run.stdout


def test_a_text_that_changed_after_it_was_listed_is_not_accepted(team: Project) -> None:
    bo, *_ = groups(team)
    put(team, "bo-one", title="Something else")
    assert team.cli("accept", "--group", str(bo["id"])).returncode == 1
    assert set(trust(team).values()) == {"pending"}


def test_memories_with_thousands_of_fields_are_reviewed_with_bounded_work(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each memory is redacted once, not field by field."""
    for at in range(3):
        content = {"field %d" % number: "value %d" % number for number in range(4500)}
        put(project, "m%d" % at, content={"decision": "d", **content})
    (group,) = groups(project)
    assert len(group["entries"]) == 3
    assert "neither shown nor matched" in group["entries"][0]["memory"]["fields"]["text"][-1]
