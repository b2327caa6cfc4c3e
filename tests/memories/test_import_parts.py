"""Parts of documents: rows of tables of decisions, paragraphs of rule files, and what a decision says of options that were not taken."""

from __future__ import annotations

import pytest

from tests.memories.conftest import imported
from tests.memories.test_import_unwanted import told
from tests.project import Project

LOG = """\
# Decision log (small ones)

| # | Date | Decision | Why | State |
|---|---|---|---|---|
| B-3 | 26 Feb 2031 | The oven is lit at four | Rolls leave at six | In force |
| B-2 | 12 Feb 2031 | Rye rests for a night | It is sour otherwise | Not agreed, again in May |
| B-1 | 2031-01-08 | The oven is lit at five | Old timetable | Replaced by B-3 |
"""


def test_each_row_of_a_table_of_decisions_is_a_memory_while_it_holds(project: Project) -> None:
    found, reading = imported(project, {"docs/decisions.md": LOG})
    title = "The oven is lit at four — Rolls leave at six — 26 Feb 2031"
    assert found == {title: "active"}
    assert reading.drafts[0].source.endswith("decisions.md:5")


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("| ADR | Decision | Status |\n|---|---|---|\n| 1 | [Beech](0001.md) | ok |\n", id="links to records"),
        pytest.param("| Who | Decision |\n|---|---|\n| Kim | lights the oven |\n", id="no reason and no state"),
    ],
)  # fmt: skip
def test_another_table_stays_in_its_note(project: Project, table: str) -> None:
    found, _ = imported(project, {"docs/fires.md": "# How we fire\n\nBeech burns long.\n\n" + table})
    assert found == {"How we fire": "active"}


@pytest.mark.parametrize(
    ("table", "told_rows"),
    [
        pytest.param("| Do | Don't |\n|---|---|\n| Use `scale` | Use `cup` |\n", ["Use `scale`"], id="two columns"),
        pytest.param("| ❌ Avoid | ✅ Do |\n|---|---|\n| a cup of flour | grams of flour |\n", ["grams of flour"], id="other way"),
        pytest.param(
            "| Do | Do not | Why |\n|---|---|---|\n| Use grams | use cups | they are of all sizes |\n",
            ["Use grams — not: use cups — they are of all sizes"], id="with a reason",
        ),
    ],
)  # fmt: skip
def test_a_table_of_what_to_do_and_what_not_is_read(
    project: Project, table: str, told_rows: list[str]
) -> None:
    _, reading = imported(project, {"AGENTS.md": "# Oven\n\n- Bread must rest.\n\n## Flour\n\n" + table})
    texts = ["".join(map(str, draft.data["content"].values())) for draft in reading.drafts]
    assert [row in "".join(texts) for row in told_rows] == [True] * len(told_rows)
    assert "cup of flour" not in "".join(texts)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("- **IMPORTANT**: Run `tare` before use.\n- Bread is good.\n", "IMPORTANT: Run `tare` before use", id="bold"),
        pytest.param("- ⚠️ Run `tare` before use.\n- Bread is good.\n", "⚠️ Run `tare` before use", id="sign"),
        pytest.param("- ❌ Do not use any cup\n- Bread is good.\n", "❌ Do not use any cup", id="cross"),
        pytest.param("Never open the door at night.\n\n- Rye is below.\n- Salt is above.\n", "Never open the door at night", id="above"),
        pytest.param("- Bread is good.\n\n> **Warning**: do not bake in May.\n", "Warning: do not bake in May", id="a quote"),
    ],
)  # fmt: skip
def test_what_stresses_a_rule_or_stands_beside_a_list_hides_none(
    project: Project, text: str, title: str
) -> None:
    _, reading = imported(project, {"AGENTS.md": "# Oven\n\n## Baking\n\n" + text})
    categories = {draft.data["title"]: draft.data["category"] for draft in reading.drafts}
    assert categories.get("docs: " + title) == "constraint"


PARAGRAPHS = "---\ndescription: x\nalwaysApply: true\n---\n# Oven\n\n%s"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("Always weigh flour to the gram.\n\nRolls are baked at six. Kim wrote it down.\n", 2, id="two rules"),
        pytest.param("Always weigh flour to the gram.\n\nWhy: cups are of all sizes.\n", 1, id="a rule and its reason"),
        pytest.param("Always weigh flour:\n\n```\nweigh\n```\n\nThen light the oven.\n", 1, id="code between them"),
        pytest.param("Always weigh flour to the gram.\n\n%s\n" % ("It is the only way that works here. " * 12), 1, id="a long text"),
    ],
)  # fmt: skip
def test_short_paragraphs_of_a_file_of_rules_are_rules(project: Project, text: str, count: int) -> None:
    found, _ = imported(project, {".cursor/rules/oven.mdc": PARAGRAPHS % text})
    assert len(found) == count


@pytest.mark.parametrize(
    "steps",
    [
        "1. Store weights in grams and show ounces only in the shop.\n2. Scales: always tare the bowl.\n",
        "1. Keep rye in the cellar, not in the hall.\n2. Light it with beech, not with peat.\n",
    ],
)
def test_numbered_orders_that_hold_always_are_rules(project: Project, steps: str) -> None:
    found, _ = imported(project, {"AGENTS.md": "# Oven\n\n## Weights\n\n" + steps})
    assert len(found) == 2


RECORD = (
    "# 9. Fire the oven\n\nStatus: accepted\n\n## Context\n\nCold.\n\n## Decision\n\nWe burn beech.\n\n%s\n"
)


@pytest.mark.parametrize(
    ("said", "kept", "dropped"),
    [
        pytest.param("We looked at peat, which would be cheap, but it smokes.", "but it smokes", "cheap", id="a sentence"),
        pytest.param("Peat was the runner-up: it is near. It loses on smoke, though.", "loses on smoke", "near", id="runner-up"),
        pytest.param("What we looked at:\n\n- Peat: cheap and near", "Peat", "cheap", id="a label and a list"),
        pytest.param("- who: Kim\n- not taken: peat. It would be cheap, but it smokes.", "but it smokes", "cheap", id="an item"),
        pytest.param("Alternatives considered\n: Peat. Is cheap.\n: Oak. It needs a permit.", "needs a permit", "Is cheap", id="terms"),
        pytest.param("## Pros y contras\n\n### Turba\n\n* A favor: barata\n* En contra: humea", "humea", "barata", id="Spanish labels"),
        pytest.param("Peat would have been cheap, but it smokes.", "cheap", "oak", id="not called an option"),
    ],
)  # fmt: skip
def test_a_decision_tells_no_praise_of_what_was_not_taken(
    project: Project, said: str, kept: str, dropped: str
) -> None:
    text = told(project, "adr/0009-fire.md", RECORD % said)
    assert ("burn beech" in text, kept in text, dropped in text) == (True, True, False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("rfcs/0015-peat.md", "- RFC PR: [15](https://b.io/15), closed unmerged\n\n# Summary\n\nBurn peat.\n", id="closed"),
        pytest.param("rfcs/0015-peat.md", "- RFC PR: [15](https://b.io/15) (open, in review)\n\n# Summary\n\nBurn peat.\n", id="open"),
        pytest.param("adr/0015-peat.md", "# 15. Peat\n\n**Status:** rescinded by the guild\n\n## Decision\n\nBurn peat.\n", id="rescinded"),
        pytest.param("adr/0015-peat.md", "# 15. Peat\n\nStatus: up for vote\n\n## Decision\n\nBurn peat.\n", id="up for vote"),
        pytest.param("adr/0015.md", "# 15. Turba\n\n## Propuesta\n\nQuemar turba.\n\n## Resolución\n\nNo se aprueba. Humea.\n", id="no"),
        pytest.param("docs/log.md", "# Log\n\n## 2031-02-01 · Peat\n\n**Not doing this.** The idea was to burn peat.\n", id="not done"),
        pytest.param("notes/freeze.md", "> Update: the freeze is over, bake what you like.\n\nNobody bakes rye until May.\n", id="over"),
        pytest.param("tasks/peat.md", "---\nstatus: done\n---\n# The oven smokes\n\n## Decision\n\nBurn beech.\n", id="a task"),
        pytest.param("docs/oven.md", "# oven-door\n\n<!-- Auto Generated Below -->\n\nThe heat is a number.\n", id="generated"),
        pytest.param("test/fixtures/note.md", "# Kim's bread\n\nAlways bake twice.\n", id="test data"),
    ],
)  # fmt: skip
def test_what_is_not_in_force_or_not_said_by_people_is_not_told(
    project: Project, name: str, text: str
) -> None:
    project.write(name, text)
    found, _ = imported(project, {})
    assert "active" not in found.values()


def test_ways_in_the_context_of_a_decision_are_options(project: Project) -> None:
    ways = "## Context\n\nThree ways.\n\n### Peat\n\nIt is near.\nIt fails at night.\n\n### Beech\n\nIt burns long.\n"
    text = told(
        project, "adr/0009.md", "# 9. Fire\n\nStatus: accepted\n\n%s\n## Decision\n\nWe burn beech.\n" % ways
    )
    assert ("near" in text, "fails" in text, "burns long" in text) == (False, True, True)


def test_a_mail_is_told_by_its_subject_without_quotations_and_courtesy(project: Project) -> None:
    head = "From: Kim <kim@b.example>\nTo: all@b.example\nSubject: Fuel for the oven\nDate: Thu, 28 Nov 2030\n\nHi all,\n\n"
    mail = "We stay with beech.\n\nLou wrote:\n> We could burn peat.\n\nThanks to everybody!\n\n-- \nKim\nBread is art.\n"
    found, reading = imported(project, {"lists/fuel.txt": head + mail})
    assert list(found) == ["Fuel for the oven"]
    assert reading.drafts[0].data["content"]["decision"] == "We stay with beech."


def test_minutes_keep_the_reason_of_a_decision(project: Project) -> None:
    text = "# Meeting 2031-05-13\n\n**Decision:** The oven is lit at four.\n\nReason: rolls leave at six.\n\nKim was ill.\n"
    told_text = told(project, "meetings/2031-05-13.md", text)
    assert ("rolls leave at six" in told_text, "ill" in told_text) == (True, False)


OLD = "# %s\n\n## Status\n\nAccepted\n\n## Context\n\nCold.\n\n## Decision\n\n%s\n"


@pytest.mark.parametrize(
    ("title", "is_doubted"),
    [
        ("Get rid of Gas", True),
        ("Move away from gas", True),
        ("Buy gas in May", False),
        ("Replace oil", False),
    ],
)
def test_a_title_that_removes_something_makes_earlier_records_doubtful(
    project: Project, title: str, is_doubted: bool
) -> None:
    files = {
        "adr/0001.md": OLD % ("1. Heat with gas", "Gas."),
        "adr/0010.md": OLD % (title, "No."),
    }
    _, reading = imported(project, files)
    assert ("perhaps over" in str(reading.drafts[0].data["content"]["status"])) == is_doubted


@pytest.mark.parametrize("heading", ["When to use this runbook", "Prerequisites", "Requisitos"])
def test_conditions_of_a_runbook_are_no_steps(project: Project, heading: str) -> None:
    text = "# Runbook: Restore\n\n## %s\n\n- Flour was lost\n- The oven is cold\n\n## Restore\n\n- Light it\n- Sift flour\n"
    _, reading = imported(project, {"runbooks/restore.md": text % heading})
    steps = ["Flour was lost" in str(draft.data["content"].get("steps")) for draft in reading.drafts]
    assert steps == [False, False]


def test_a_rule_names_the_subject_of_its_document(project: Project) -> None:
    text = "# Shop content guidelines\n\n## Avoid\n\n- Long sentences in the window\n- Any word of more than ten letters\n"
    _, reading = imported(project, {"docs/content.md": text})
    assert "Shop content guidelines" in str(reading.drafts[0].data["content"])
