"""The table of docs/privacy.md lists all state, and only the user can read that state."""

from __future__ import annotations

import json
import os
import re

from memory_plugin.replies.signals import USER_PACK
from tests.docs.pages import first_column, page, section
from tests.project import Project
from tests.recall.store_files import memory, put
from tests.replies.builders import PADDED, user_record, write_transcript

TEXT = page("docs/privacy.md")


def use_for_a_day(project: Project) -> Project:
    """Run hooks and commands that write each kind of state; return the project."""
    project.save(
        "Use Postgres for the billing database", "The billing service stores its invoices in Postgres 15."
    )
    project.save("Never push", "Ask first.", "--guard-command", "git push")
    project.save("Short answers", "Answer in one paragraph.", "--scope", "user", category="preference")
    put(project, "theirs", memory("Deploy on Fridays"))  # pending: the next session start reports it
    project.start()
    project.prompt("please remember that we use tabs")
    project.prompt("Which database do we use for the billing service?")
    project.hook("UserPromptSubmit", b"no json")
    for key, value in {"enabled": "true", "when": "always"}.items():
        project.cli("config", "set", "retrieval.judge." + key, value)
    project.cli("config", "set", "retrieval.judge.min_confidence", "0")
    project.cli("config", "set", "judge.backend", "scripted")
    project.prompt("Which database does the billing service use for its invoices?", session_id="judged")
    project.cli("config", "set", "retrieval.max_inject", "2")
    project.cli("interview", "start", "the export")
    project.hook(
        "PreToolUse", project.event("PreToolUse", tool_name="Read", tool_input={"file_path": "x.py"})
    )
    project.hook("Stop", project.event("Stop", last_assistant_message=PADDED, prompt_id="p9"))
    project.cli("feedback", "useful", "use-postgres-for-the-billing-database")
    talk = project.write("talk.jsonl", {"turn": 1, "role": "user", "content": "Hello."})
    project.cli("evaluate", "--gates-only", talk)
    transcript = write_transcript(
        os.path.join(project.root, "said.jsonl"), user_record("We never push to main.")
    )
    project.cli("background", stdin=json.dumps({"event": "Stop", "session": "s", "transcript": transcript}))
    project.cli("refresh")  # waits for the refresh that SessionStart began in the background
    return project


def permissions(path: str) -> int:
    """Return the permissions of a path, or 0 if a background process has just deleted it."""
    try:
        return os.lstat(path).st_mode & 0o777
    except FileNotFoundError:
        return 0


def test_the_table_lists_all_state(project: Project) -> None:
    names = {name for name in os.listdir(use_for_a_day(project).state) if ".tmp" not in name}
    table = TEXT.partition("| state |")[2].partition("\n\n")[0]
    assert names == {
        word
        for head in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
        for word in head.strip("`").split("`, `")
    }


def test_the_page_names_state_that_only_some_features_write() -> None:
    ledgers = first_column(page("docs/ledgers.md").partition("\n## ")[0])
    assert [
        name for name in [*ledgers, USER_PACK, "grading", "drafts", "langfuse"] if "`%s`" % name not in TEXT
    ] == []


def test_the_readme_names_everything_that_an_uninstall_leaves(project: Project) -> None:
    text = section(page("README.md"), "Switch off, update, uninstall")
    left = os.listdir(use_for_a_day(project).config)
    assert {"settings.json", "settings.json.memory-backup", "lcars"} <= set(left)
    assert [name for name in left if name not in text] == []


def test_only_the_user_can_read_state_outside_the_project(project: Project) -> None:
    folder = use_for_a_day(project).config
    paths = [os.path.join(at, name) for at, folders, names in os.walk(folder) for name in [*folders, *names]]
    state = [path for path in paths if os.path.relpath(path, folder).split(os.sep)[0] in {"lcars", "memory"}]
    assert state
    assert [path for path in state if permissions(path) & 0o077] == []


def test_no_state_holds_the_text_of_a_prompt(project: Project) -> None:
    folder = use_for_a_day(project).state
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".json", ".jsonl", ".sqlite3", ".lock")):
                with open(os.path.join(at, name), "rb") as file:
                    assert b"please remember that we use tabs" not in file.read(), name
