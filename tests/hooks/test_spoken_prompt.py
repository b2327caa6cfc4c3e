"""The exact output of a hook process on a prompt: full texts, pointers, the header, the receipt."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project
from tests.recall.store_files import last, memory, put, rewrite_in_place

TITLES = {
    "staging-reset": "Staging is reset every night at 03:00",
    "staging-data": "Staging gets its data from seeds/",
    "staging-access": "Staging is reached over the VPN only",
    "staging-deploy": "Staging is deployed by every merge",
    "staging-mail": "Staging sends no mail <to> anybody & nobody",
}
ASK = "what holds for staging?"
FULL, POINTED, NOTHING = (0.0, 0.0), (1.0, 0.0), (1.0, 1.0)


@pytest.fixture
def staged(project: Project) -> Project:
    """Return a project with five accepted memories that match alike."""
    for name, title in TITLES.items():
        put(project, name, memory(title, "Body of %s. It goes on." % name))
    project.cli("accept", "--all")
    return project


def set_up(project: Project, thresholds: tuple[float, float], **more: object) -> None:
    """Write the user's settings."""
    retrieval = {"inject_threshold": thresholds[0], "pointer_threshold": thresholds[1], **more}
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": {"retrieval": retrieval}}, file)


def pointers(context: str) -> list[str]:
    """Return the lines that point at a memory."""
    inside = context.partition("<memory-titles>\n")[2].partition("</memory-titles>")[0]
    return inside.splitlines()[1:]


def test_a_broad_question_injects_the_best_matches_and_pointers_to_the_rest(staged: Project) -> None:
    set_up(staged, FULL)
    run = staged.prompt(ASK)
    context = run.context
    assert context.count("<memory id=") == 3
    assert context.index("<memory-titles>") > context.rindex("</memory>")
    assert context.endswith("\n</memory-titles>\n</memory-context>")
    assert "\n<memory-titles>\nPossibly related: memory show ID or TITLE\n" in context
    lines = pointers(context)
    assert len(lines) == 2
    for line in lines:
        name, _, title = line.partition(": ")
        assert title == "%s. Body of %s." % (TITLES[name], name)
        assert '<memory id="%s"' % name not in context
        assert staged.cli("show", name).returncode == 0
    row = last(staged)
    assert (row["place"], row["outcome"]) == ("prompt", "injected")
    assert (len(row["injected"]), len(row["pointed"])) == (3, 2)


def test_the_header_is_printed_once_and_again_after_a_compaction(staged: Project) -> None:
    set_up(staged, FULL, max_inject=1, max_pointers=0)
    said = ["Saved by the user. Follow" in staged.prompt(ASK).context for _ in range(2)]
    staged.start("compact")
    assert [*said, "Saved by the user. Follow" in staged.prompt(ASK).context] == [True, False, True]


def test_a_pointer_is_not_repeated_but_its_memory_can_still_be_injected_in_full(staged: Project) -> None:
    set_up(staged, POINTED)
    first, second = (pointers(staged.prompt(ASK).context) for _ in range(2))
    assert (len(first), len(second)) == (3, 2)
    assert not set(first) & set(second)
    third = staged.prompt(ASK)
    assert third.stdout == ""
    assert last(staged)["reason"] == "already_pointed"
    set_up(staged, FULL)
    assert staged.prompt(ASK).context.count("<memory id=") == 3


def test_an_edited_file_gets_no_pointer_to_its_old_text(staged: Project) -> None:
    set_up(staged, POINTED, max_pointers=5, max_inject=1)
    staged.prompt("something else altogether, so that the index is built", session_id="other")
    folder = os.path.join(staged.root, ".claude", "memory", "decisions")
    for name, title in TITLES.items():
        rewrite_in_place(
            os.path.join(folder, name + ".json"), memory(title + "!", "Another body of %s." % name)
        )
    context = staged.prompt(ASK).context
    assert all("! Another body" in line for line in pointers(context))


RECEIPTS = {
    "told by default": (FULL, {}, "memory: showed Claude "),
    "pointers too by default": (POINTED, {}, "memory: showed Claude the title"),
    "no pointers": (POINTED, {"receipt": "injected"}, ""),
    "off": (FULL, {"receipt": "off"}, ""),
    "nothing said": (NOTHING, {"receipt": "all"}, ""),
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_the_user_gets_the_receipt_their_settings_ask_for(staged: Project, name: str) -> None:
    thresholds, more, begins = RECEIPTS[name]
    set_up(staged, thresholds, **more)
    message = (staged.prompt(ASK).json or {}).get("systemMessage", "")
    assert bool(message) == bool(begins)
    assert message.startswith(begins)
    assert message.isprintable()


def test_a_project_can_neither_lower_a_threshold_nor_change_the_receipt(staged: Project) -> None:
    set_up(staged, NOTHING, receipt="injected")
    own = {"inject_threshold": 0.0, "pointer_threshold": 0.0, "receipt": "off", "max_pointers": 10}
    staged.write(".claude/settings.json", {"memory": {"retrieval": own}})
    assert staged.prompt(ASK).stdout == ""
    set_up(staged, FULL, receipt="injected")
    assert staged.prompt(ASK).json["systemMessage"].startswith("memory: showed Claude ")


def test_settings_outside_the_memory_block_send_every_candidate_to_the_judges(project: Project) -> None:
    """The known false positive: a memory about a page's style, and a prompt about a bug on that page."""
    project.save("Login page CSS uses tailwind", "Style the login page with tailwind classes only.")
    replies = [
        {"rubric": "relevance", "text": '{"relevant": []}'},
        {"rubric": "usefulness", "text": '{"useful": []}'},
    ]
    os.makedirs(os.path.join(project.state, "judge"), exist_ok=True)
    with open(os.path.join(project.state, "judge", "script.json"), "w", encoding="utf-8") as file:
        json.dump({"replies": replies}, file)
    own = {"retrieval": {"judge": {"enabled": True}}, "memory": {"judge": {"backend": "scripted"}}}
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump(own, file)
    assert project.prompt("fix the authentication bug on the login page").stdout == ""
    row = last(project)
    assert (row["reason"], row["judge"]["path"], row["judge"]["asked"]) == ("declined", "judged", 1)
