"""What a document says that is in force, and what it says in passing: bad examples, courtesy, what is over, praise of other options."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.memories.importing import read
from tests.memories.conftest import imported
from tests.project import Project

RULES = "# Oven rules\n\n- Bread must rest for an hour.\n\n"
OPTIONS = "# 9. Fire the oven\n\nStatus: accepted\n\n## Context\n\nCold nights.\n\n## Decision\n\nWe burn beech.\n\n## Options\n\n"
# What is said after each head: the case, the text, what is told of it, and what is not.
IN_RULES = [
    ("code below a ban", "Don't mix by hand:\n\n```\nmix --by-hand\n```\n", "mix by hand", "--by-hand"),
    ("code with a bad half", "Sift:\n\n```\n# wrong\npour(bag)\n# right\nsift(bag)\n```\n", "sift(bag)", "pour"),
    ("code below marks", "❌\n\n```\npour(bag)\n```\n\n✅\n\n```\nsift(bag)\n```\n", "sift(bag)", "pour"),
    ("an item that is marked as bad", "- ❌ `stuff`\n- Always name the loaf.\n", "name", "stuff"),
    ("a greeting", "Hi Claude, welcome!\n\nFlour must be sifted.\n", "sifted", "welcome"),
    ("a goodbye", "Flour must be sifted.\n\nQuestions? Ask in the chat, we are nice.\n", "sifted", "nice"),
    ("a role for the model", "You are an experienced baker.\n\nFlour must be sifted.\n", "sifted", "experienced"),
    ("a promise", "## Salt\n\n*(coming soon, Kim is on it)*\n", "must rest", "Kim"),
    ("how it was", "## The old way (until 2020)\n\nDough was kneaded by feet.\n", "must rest", "feet"),
    ("what is undecided", "## Noch zu klären\n\nVielleicht backen wir sonntags.\n", "must rest", "sonntags"),
    ("a history below a number", "## 4. Past executions\n\nKim was ill in May.\n", "must rest", "Kim"),
    ("an indented block", "Sift it.\n\nNot like this:\n\n    pour the bag\n\n", "Sift it", "pour the bag"),
    ("a heading that asks", "## Questions?\n\nCome and eat cake with us.\n", "must rest", "cake"),
    ("what is open", "## Still open\n\nWho brings the flour?\n", "must rest", "flour"),
    ("a clause that is withdrawn", "**R-1** ~~Kim sifts.~~ *Withdrawn.*\n\n**R-2** Flour is sifted.\n", "is sifted", "R-1"),
    ("a clause and its reason", "**R-1** Sift it.\n\n> Why: lumps\n\n**R-2** Salt it. (Kim)\n", "lumps", "R-1** Salt"),
    ("code below a label with words", "❌ BAD: spills\n```\npour(bag)\n```\n\n✅ GOOD: stays\n```\nsift(bag)\n```\n", "sift(bag)", "pour"),
    ("a bad half in SQL", "Sift:\n\n```\n-- bad: spills\npour(bag)\n```\n\n```\nsift(bag)\n```\n", "sift(bag)", "pour"),
    ("a bad span", "- Sift it. Not like this: `pour(bag)`.\n", "Sift it", "pour"),
    ("what nobody wants", "Sift.\n\nThis is what we do not want:\n\n```\npour(bag)\n```\n", "Sift", "pour"),
    ("a dubious quote below a mark", '- Sift it.\n\n  ❌ "I pour it"\n', "Sift it", "pour it"),
    ("who reads the file", "These rules are read by Kim in the morning.\n\n- Sift flour.\n", "Sift flour", "Kim"),
    ("sign-offs", "## Sign-off\n\n- Kim approved it in May.\n", "must rest", "Kim"),
    ("a pair of links at the top", "[Bread](b.md) / [Ovens](o.md)\n\nFlour must be sifted.\n", "sifted", "Ovens"),
    ("a history of revisions", "## Änderungshistorie\n\n| B | Kim war im Urlaub |\n|---|---|\n", "must rest", "Kim"),
    ("how to read the file", "Follow this when you knead with Kim.\n\n- Sift flour.\n", "Sift flour", "Kim"),
    ("what the file does", "This file gives Claude a picture of the oven.\n\n- Sift flour.\n", "Sift flour", "picture"),
    ("an item to do", "- Sift flour.\n- Remember to ask Kim about the sieve.\n", "Sift", "Kim"),
    ("a thought", "Flour must be sifted.\n\nMaybe we should try Kim's sieve one day.\n", "sifted", "Kim"),
    ("a paragraph to do", "Flour must be sifted.\n\nTODO ask Kim about the sieve\n", "sifted", "Kim"),
    ("a callout that is over", "## Flour\n\nIt must be sifted.\n\n> [!warning] Veraltet\n> Kim siebt.\n", "sifted", "Kim"),
    ("a placeholder", "Flour must be sifted.\n\nOwner: {Name the person who sifts}\n", "sifted", "Name the"),
    ("code below a heading", "## Don't do it like this\n\n```\npour(bag)\n```\n", "must rest", "pour"),
]  # fmt: skip
IN_OPTIONS = [
    ("a sentence of both", "- **Peat.** It smells nice, but it smokes.\n", "but it smokes", "smells nice"),
    ("a link", "* [Peat 1.5](https://peat.example): cheap\n* Beech\n", "[Peat 1.5](https://peat.example)", "cheap"),
    ("a name in italics", "- *Peat, dried.* Cheap here.\n", "Peat, dried", "Cheap"),
    ("labels in bold", "### Peat\n\n- **Good**: cheap\n- **Bad**: it smokes\n", "it smokes", "cheap"),
    ("names in a list", "- Peat: cheap and near\n- Beech: dear\n", "Peat", "cheap"),
    ("thumbs", "- Peat\n  - 👍 cheap\n  - 👎 smokes\n", "smokes", "cheap"),
    ("a tick", "1. **Beech** ✅\n    - burns long\n2. **Peat** ❌\n    - lights well\n", "burns long", "lights"),
    ("a table", "| Option | Pro | Verdict |\n|---|---|---|\n| Peat | cheap | rejected |\n", "beech", "cheap"),
    ("Portuguese labels", "- Peat\n  - Prós: mais barato\n  - Contras: menos calor\n", "menos calor", "mais barato"),
    ("Russian labels", "- Peat\n  - Плюсы: дёшево\n  - Минусы: дым\n", "дым", "дёшево"),
    ("columns after a number", "| # | Option | For | Against |\n|---|---|---|---|\n| 1 | Peat | cheap | smoke |\n", "beech", "cheap"),
    ("rows of pros", "| | Peat |\n|---|---|\n| **Pros** | cheap |\n| **Cons** | it smokes |\n", "it smokes", "cheap"),
    ("columns of plus and minus", "| Option | Plus | Minus |\n|---|---|---|\n| Peat | cheap | smoke |\n", "beech", "cheap"),
    ("headings", "### Peat — rejected\n\n* Lights well.\n* Failed in our test.\n", "Failed in our", "Lights"),
]  # fmt: skip


def told(project: Project, name: str, text: str) -> str:
    """Return all texts of the active memories that a file gives."""
    drafts = read(project.write(name, text), root=project.root, everything=True).drafts
    active = [draft.data for draft in drafts if draft.data["record_status"] == "active"]
    return json.dumps(active, ensure_ascii=False)


@pytest.mark.parametrize(
    ("name", "text", "kept", "dropped"),
    [
        pytest.param(name, head + text, kept, dropped, id=case)
        for name, head, cases in (
            ("CONTRIBUTING.md", RULES, IN_RULES),
            ("adr/0009-fire.md", OPTIONS, IN_OPTIONS),
        )
        for case, text, kept, dropped in cases
    ],
)
def test_rules_and_objections_are_told_and_not_what_is_wrong_or_praised(
    project: Project, name: str, text: str, kept: str, dropped: str
) -> None:
    said = told(project, name, text)
    assert (kept in said, dropped in said) == (True, False)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("Do not forget to run:\n\n```\nmake rest\n```\n", "make rest", id="code below an order"),
        pytest.param("Never bake without:\n\n```\nmake rest\n```\n", "make rest", id="code that a ban asks for"),
        pytest.param("## Labels\n\n- **Status:** `open`, `done`\n- Bread must be round.\n", "be round", id="labels"),
        pytest.param("## Out of scope (rejected by default)\n\n- Guests must not bake.\n", "must not", id="no verdict"),
        pytest.param("## Clients\n\n- Deprecated: `oldbake`, so use `bake`.\n- Bake twice.\n", "oldbake", id="a rule about what is over"),
        pytest.param("### Pitfalls\n\n- Opening the door of a hot oven\n", "Pitfalls: Opening", id="a ban by its heading"),
    ],
)  # fmt: skip
def test_what_only_looks_wrong_is_told(project: Project, text: str, kept: str) -> None:
    assert kept in told(project, "CONTRIBUTING.md", RULES + text)


@pytest.mark.parametrize(
    "text",
    [
        "# 9. Fire\n\nStatus: Invalidated by [0012-gas](0012-gas.md)\n\n## Context\n\nCold.\n\n## Decision\n\nBeech.\n",
        "> Gas came. [ADR-12](0012-gas.md) which supersedes this decision.\n\n# 9. Fire\n\n## Context\n\nCold.\n\n## Decision\n\nBeech.\n",
        "**BAKERY DECISION**\n\n| | |\n|---|---|\n| **State** | turned down in June |\n\n**Context**\n\nCold.\n\n**Decision**\n\nBeech.\n",
        "> [!warning] OUTDATED\n> Gas came.\n\n# Fire\n\nBurn beech.\n",
        "type:: howto\nstatus:: outdated\n\n- Burn beech.\n",
        "# Fires\n\n## Burn beech [replaced by F-2]\n\nwhat: beech\n",
        "# Fires\n\n## Burn peat - rejected\n\n- for: it is cheap\n",
        "# Fires\n\n### 2. Burn peat -> no\n\n+ it is cheap\n",
        "# Fires\n\n### Burn oak \u2192 later, maybe\n\n+ it burns long\n",
        "# Fires\n\n### Burn peat\n\nstate: OFF (see June)\nwhat: peat\n",
        "**kim** 10:02\nburn peat?\n\n**lou** 10:03\nno\n\n**kim** 10:04\nok\n\n**lou** 10:05\nbeech then\n",
        "---\nstatut: proposé\ntitre: Le feu\n---\nBurn beech.\n",
        "# 5. Fire\n\n![status: deprecated](https://b.example/badge/status-deprecated-grey)\n\n## Decision\n\nBurn peat.\n",
        "# Log\n\n## D-3 ❌ Burn peat\n\nIt is cheap.\n\n## D-4 🟡 Burn oak\n\nIt burns long.\n",
        "> ♻️ **SUPERSEDED**, see [7](0007.md)\n\n# 5. Fire\n\n## Context\n\nCold.\n\n## Decision\n\nBurn peat.\n",
        "# 5. Fire\n\n![status](https://b.example/badge/status-deprecated-red)\n\n## Decision\n\nBurn peat.\n",
        "# Log\n\n## D-3 · Burn peat\n**2025-01-09** · ❌ Withdrawn · Kim\n\nIt is cheap.\n",
        "# Log\n\n## Burn peat · 2025-01-09 · WITHDRAWN (see 4)\n\nIt is cheap.\n",
        "---\nstatut: accepté\n---\n> Cette décision ne s'applique plus.\n\n# 5. Feu\n\n## Décision\n\nTourbe.\n",
        "> [!NOTE]\n> **This record is of historical interest only.**\n\n# 5. Fire\n\n## Context\n\nCold.\n\n## Decision\n\nPeat.\n",
        "# Log\n\n## D-3 Burn peat\n\n:x: **REJECTED** in May\n\n**Answer:** Peat.\n",
        "> One-off, done in May. Don't run it again.\n\n1. Lift the oven\n2. Move it\n",
        "# 5. Vuur\n\n| Status | Afgewezen |\n|---|---|\n\n## Besluit\n\nTurf.\n",
        "# 5. Feuer\n\n| Status | zurückgezogen |\n|---|---|\n\n## Entscheidung\n\nTorf.\n",
        "# Oven log\n\n## 2024-02-01 (Kim)\n\nLit it.\n\n## 2024-02-02 (Lou)\n\nIt smoked.\n",
        "# Fire\n\n> ⛔ **PÉRIMÉ — remplacé par v3**\n\nBurn beech.\n",
        "---\ntags: [oven, outdated]\n---\nBurn beech.\n",
        "---\nsource: https://bread.example\ntags: [clipping]\n---\nBurn beech, always.\n",
        "# Fires\n\nAll of them.\n\n- [Beech](beech.md)\n- [Peat](peat.md)\n- [Oak](oak.md)\n",
    ],
    ids=["link", "note", "table", "callout", "property", "heading", "dash", "arrow", "later", "off", "chat",
         "French field", "badge", "marks", "banner", "badge alone", "parts", "heading of parts",
         "French banner", "interest", "capitals", "one-off", "Dutch table", "German table", "log", "French note", "tag",
         "clipping", "links"],
)  # fmt: skip
def test_what_is_over_or_of_others_is_not_told(project: Project, text: str) -> None:
    assert told(project, "notes/0009-fire.md", text) == "[]"


def test_the_decision_is_found_in_its_heading(project: Project) -> None:
    text = (
        "# 9. Fire\n\n## Context\n\nCold.\n\n## Considered Options\n\n- Peat\n\n## Decision: We burn beech.\n"
    )
    _, reading = imported(project, {"adr/0009-fire.md": text})
    assert reading.drafts[0].data["content"]["decision"] == "We burn beech."


def test_a_numbered_list_alone_is_a_procedure_that_its_file_names(project: Project) -> None:
    found, reading = imported(project, {"notes/move-oven.md": "1. Must be cold\n2. Lift it\n3. Never run\n"})
    assert (list(found), reading.drafts[0].data["category"]) == (["move oven"], "runbook")


def test_what_a_runbook_says_aside_is_named_as_left_out(project: Project) -> None:
    text = "# Oven is cold\n\n## Steps\n\n1. Light it\n\n## Symptoms\n\nCold bread.\n\n## Past incidents\n\nKim was ill.\n"
    _, reading = imported(project, {"runbooks/oven.md": text})
    assert "Kim" not in json.dumps([draft.data for draft in reading.drafts])
    assert [source.rpartition(":")[2] for source, _ in reading.left_out] == ["13"]


@pytest.mark.parametrize(
    "text",
    [
        "## 0. First\n\nAsk a mason.\n\n## 1. Fire\n\nWait a day.\n",
        "## Away\n\n1. Ask a mason.\n2. Wait.\n\n## Back\n\n3. Lift it.\n",
    ],
    ids=["numbers", "a list that goes on"],
)
def test_a_procedure_over_several_headings_is_one_memory(project: Project, text: str) -> None:
    text = "# Move the oven\n\n" + text
    found, _ = imported(project, {"runbooks/oven.md": text})
    assert list(found) == ["Move the oven"]


def test_each_question_of_a_page_of_questions_is_a_memory(project: Project) -> None:
    text = "---\ntags: [oven]\n---\n**May I burn peat?**\nNo, it smokes.\n\n**Where is the ash put?**\nBelow the roses.\n"
    found, _ = imported(project, {"faq.md": text})
    assert list(found) == ["faq: May I burn peat?", "faq: Where is the ash put?"]


def test_a_proposal_for_comments_is_a_record_with_its_summary(project: Project) -> None:
    text = "- Feature Name: fire\n%s\n# Summary\n\nWe burn %s.\n\n# Motivation\n\nCold.\n\n# Drawbacks\n\nAsh.\n\n# Later\n\nCoal?\n"
    texts = {"rfcs/0003-peat.md": text % ("", "peat")}
    texts["rfcs/0012-beech.md"] = text % ("- Replaces: [RFC 3](0003-peat.md)", "beech")
    found, reading = imported(project, texts)
    assert found == {"We burn beech": "active", "We burn peat": "archived"}
    content = reading.drafts[1].data["content"]
    assert (content["decision"], content["context"], content["consequences"]) == (
        "We burn beech.",
        "Cold.",
        "Ash.",
    )
    assert "Coal" not in str(content)


def test_each_chapter_of_concepts_is_a_memory(project: Project) -> None:
    text = "# 8. Concepts\n\n## 8.1 Fire\n\nWe burn beech.\n\n## 8.2 Dough\n\nIt rests for an hour.\n"
    found, _ = imported(project, {"arc42/08-concepts.md": text})
    assert len(found) == 2


def test_a_record_replaces_the_file_that_its_fields_name(project: Project) -> None:
    text = "---\nstatus: accepted\n%s---\n# Burn %s\n\n## Decision\n\nWe do.\n"
    texts = {"adr/peat.md": text % ("", "peat"), "adr/beech.md": text % ("supersedes: peat.md\n", "beech")}
    found, _ = imported(project, texts)
    assert found == {"Burn beech": "active", "Burn peat": "archived"}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("archived: false", "active"),
        ("deleted: no", "active"),
        ("active: true", "active"),
        ("superseded_by: []", "active"),
        ("superseded_by: n/a", "active"),
        ("archived: true", "archived"),
        ("active: false", "archived"),
        ("expired: yes", "archived"),
        ("lifecycle: deprecated", "archived"),
        ("replaced_by: oven.md", "archived"),
    ],
)
def test_a_field_of_a_note_may_say_that_it_holds(project: Project, field: str, expected: str) -> None:
    found, _ = imported(project, {"a.md": "---\n%s\ntags: [x]\n---\nBurn beech in the oven.\n" % field})
    assert list(found.values()) == [expected]


@pytest.mark.parametrize(
    "flag",
    [
        {"state": "deleted"},
        {"archived": True},
        {"is_active": False},
        {"deleted_at": "2026-01-02"},
        {"isTrashed": 1},
        {"valid": False},
    ],
)
def test_a_flag_of_another_tool_ends_an_entry(project: Project, flag: dict[str, object]) -> None:
    kept = {"text": "Burn beech in the oven", "archived": False, "is_active": True, "deleted_at": None}
    path = project.write(
        "a.jsonl", "%s\n%s\n" % (json.dumps(kept), json.dumps({"text": "Burn peat", **flag}))
    )
    assert [draft.data["record_status"] for draft in read(path).drafts] == ["active", "archived"]


@pytest.mark.parametrize(
    "rules",
    [
        "1. Don't use peat. It smokes in the morning.\n2. Every loaf rests for an hour before it is baked.\n",
        "1. **No peat in the oven.** It smokes.\n2. **An hour of rest.** A loaf is flat otherwise.\n",
        "**1.1** No peat in the oven.\n\n**1.2** A loaf rests for an hour.\n",
        "1.1 No peat in the oven.\n\n1.2 A loaf rests for an hour.\n",
        "**G1. No peat in the oven.**\nIt smokes.\n\n**G2. Loaves rest for an hour.**\nThey are flat otherwise.\n",
        "**No peat.** It smokes in the hall.\n\n**An hour of rest.** A loaf is flat otherwise.\n",
        "Scope: all ovens are meant.\n\n1. **No peat.** It smokes in the hall a lot.\n2. **Rest.** A loaf is flat otherwise, and dry.\n",
        "- [ ] No loaf is baked with peat.\n- [ ] Every loaf has rested for an hour.\n",
    ],
    ids=["numbers", "bold", "clauses", "plain clauses", "lines", "paragraphs", "below a scope", "boxes"],
)
def test_numbered_rules_and_checks_are_rules_and_no_procedure(project: Project, rules: str) -> None:
    found, _ = imported(
        project, {".cursor/rules/oven.mdc": "---\nglobs: oven/**\n---\n# Review checklist\n\n" + rules}
    )
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Build an oven\n\nFlat stones are best.\n", "Build an oven"),
        ("```sh\n# light it\n```\n\n## Fire\n\nIn the evening.\n\n## Bread\n\nAt night.\n", "Clay oven"),
    ],
    ids=["its own", "a comment in code"],
)
def test_a_note_is_called_by_its_file_if_its_heading_is_of_a_part(
    project: Project, text: str, title: str
) -> None:
    for stem in ("Clay oven", "203105061230 Clay oven"):
        _, reading = imported(project, {"vault/%s.md" % stem: text})
        assert reading.drafts[0].data["title"] == title
        os.remove(reading.drafts[0].path)


def test_a_first_heading_of_several_is_said_once(project: Project) -> None:
    _, reading = imported(project, {"vault/Clay oven.md": "# Stones\n\nFlat ones.\n\n# Clay\n\nWet.\n"})
    assert reading.drafts[0].data["content"] == {"decision": "## Stones\n\nFlat ones.\n\n## Clay\n\nWet."}


def test_a_readme_alone_in_its_folder_is_a_document(project: Project) -> None:
    text = "# Mill of the house\n\nThe wheel is of oak.\n\n## Sundays\n\nIt stands still.\n"
    files = dict.fromkeys(("README.md", "mill/README.md", "shop/README.md"), text)
    files["shop/prices.md"] = "# Prices\n\nA loaf costs two.\n"
    found, _ = imported(project, files)
    assert sorted(found) == ["Mill of the house", "Prices: A loaf costs two"]


def test_a_memory_bank_is_read_without_its_state(project: Project) -> None:
    text = "# %s\n\n## Current focus\n\n- The oven door\n\n## What works\n\n- The wheel turns.\n"
    files = {"bank/%s.md" % name: text % name for name in ("activeContext", "progress", "state")}
    found, reading = imported(
        project, files | {"bank/systemPatterns.md": "# Mill\n\n- Never grind at night.\n"}
    )
    assert list(found) == ["Never grind at night"]
    assert {os.path.basename(source).partition(":")[0] for source, _ in reading.left_out} == {
        "activeContext.md", "progress.md", "state.md",
    }  # fmt: skip


def test_what_two_writers_at_once_leave_on_a_line_is_read(project: Project) -> None:
    entity = '{"type":"entity","name":"%s","entityType":"house","observations":["It is of clay"]}'
    reading = read(project.write("oven.json", '[]%s%s"beech"]}' % (entity % "Oven", entity % "Kiln")))
    assert [draft.data["title"] for draft in reading.drafts] == ["Oven: It is of clay", "Kiln: It is of clay"]
    ((_, why),) = reading.problems
    assert why.count("not JSON") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ndoc_status: draft\n---\n# Box sizes\n\nBoxes have three sizes.\n", "archived"),
        ("# Box sizes\n\nStatus: fulfilled for the fair and superseded for shops\n\n## Decision\n\nA box.\n", "archived"),
        ("# Box sizes\n\nStatus: Part one is implemented. No shop uses it.\n\n## Decision\n\nA box.\n", "active"),
        ("> ⛔ **Fiche périmée.** Lire la suite.\n\n# Box sizes\n\nStatut: en vigueur\n\n## Decision\n\nA box.\n", "archived"),
    ],
)  # fmt: skip
def test_a_status_may_stand_in_any_field_and_end_behind_its_first_word(
    project: Project, text: str, expected: str
) -> None:
    found, _ = imported(project, {"adr/0004-box-sizes.md": text})
    assert list(found.values()) == [expected]


def test_a_runbook_with_its_symptoms_in_bold_is_one_memory(project: Project) -> None:
    text = "# Lamp dark\n\n**Symptoms:** the hall is dark.\n\n## Steps\n\n1. Look up.\n2. Swap the lamp.\n"
    found, _ = imported(project, {"runbooks/lamp.md": text})
    assert found == {"Lamp dark": "active"}


@pytest.mark.parametrize(
    "text",
    [
        "# Knots\n\n## Something here\n\nAnd something else here\n",
        "# Knots\n\nWe're still working on this!\n",
        "@mainpage Knots\n\n@subpage ropes\n",
        "# Knots\n\nThis file explains knots.\n\nMuchas gracias a Ana por todo.\n",
    ],
)
def test_a_page_that_nobody_wrote_yet_and_furniture_are_no_memories(project: Project, text: str) -> None:
    found, _ = imported(project, {"knots.md": text})
    assert not found
