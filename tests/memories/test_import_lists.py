"""What a list carries from the words above it, what states nothing without them, and what an export says in passing."""

from __future__ import annotations

import json

import pytest

from memory_plugin.memories.importing import read
from tests.memories.conftest import imported
from tests.project import Project

_ITEMS = "\n\n- Rolls from the day before in the window of the shop\n- Baking without a second person in the room\n"
_KEPT = "# Oven rules\n\n- Bread must rest for an hour.\n\n"


@pytest.mark.parametrize(
    "heading",
    [
        "Verbotene Handgriffe", "Nicht-Ziele", "Non-goals", "Forbidden", "Prohibited", "No-gos", "Prohibido", "Interdit", "Vietato",
        "Verboden", "절대 금지", "7. 절대 금지", "안티패턴", "禁止", "严禁", "禁止事項", "Запрещено", "Poor bread",
        "Fuera (por ahora)", "Fuera de alcance", "Hors périmètre", "Nicht im Umfang", "Winter: out of scope", "范围外",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["## %s", "**%s**"], ids=["heading", "bold"])
def test_a_ban_above_a_list_is_in_each_of_its_items(project: Project, heading: str, form: str) -> None:
    text = _KEPT + form % heading + _ITEMS
    drafts = read(project.write("AGENTS.md", text), root=project.root).drafts[1:]
    word = heading.rpartition(". ")[2]
    assert [draft.data["title"].startswith(word + ": ") for draft in drafts] == [True, True]
    assert all(word in str(draft.data["content"]) for draft in drafts)


@pytest.mark.parametrize(
    ("heading", "item", "is_alone"),
    [
        ("Nicht", "Keine Hefe im Keller lagern.", True),
        ("Don'ts", "No yeast is kept in the cellar.", True),
        ("Forbidden in winter", "Bread must not stand in the window.", False),
        ("Forbidden in winter", "No bread may stand in the window.", True),
        ("Prohibido", "No se guarda levadura en el sótano.", True),
        ("Interdit", "Ne jamais ouvrir le four en hiver.", True),
        ("禁止", "不要把酵母放在地下室里使用", True),
        ("Avoid", "No second person is in the room.", False),
        ("Anti-patterns", "No timer is on the door.", False),
        ("When it rains", "No bread is sold outside.", False),
        ("Never", "No-knead bread must be sold on Mondays.", False),
    ],
)
def test_an_item_that_forbids_stands_alone_below_a_ban(
    project: Project, heading: str, item: str, is_alone: bool
) -> None:
    text = "%s## %s\n\n- %s\n- Bread is baked for two shops in the town.\n" % (_KEPT, heading, item)
    data = read(project.write("AGENTS.md", text), root=project.root).drafts[1].data
    said = str(data["content"])
    assert (heading in data["title"] + said, heading + ": " in said) == (True, not is_alone)


@pytest.mark.parametrize("heading", ["Verbotene Handgriffe", "7. 절대 금지", "Forbidden", "Non-goals"])
def test_a_ban_in_another_language_is_a_constraint(project: Project, heading: str) -> None:
    text = "%s## %s%s" % (_KEPT, heading, _ITEMS)
    drafts = read(project.write("AGENTS.md", text), root=project.root).drafts
    assert {draft.data["category"] for draft in drafts} == {"constraint"}


@pytest.mark.parametrize("lead", ["禁止" * 30, "Shelves of the shop"])
def test_what_only_speaks_of_a_ban_is_no_ban_for_the_items(project: Project, lead: str) -> None:
    text = "%s## Shelves\n\n%s:%s" % (_KEPT, lead, _ITEMS)
    drafts = read(project.write("AGENTS.md", text), root=project.root).drafts
    assert drafts[1].data["title"].startswith("Rolls")


@pytest.mark.parametrize(
    ("item", "title"),
    [
        ("Must not be opened while it is hot", "Oven door: Must not be opened while it is hot"),
        ("Darf nicht offen stehen", "Oven door: Darf nicht offen stehen"),
        ("The door must not be opened while it is hot.", "The door must not be opened while it is hot"),
        ("Keep it shut while the oven is hot.", "Keep it shut while the oven is hot"),
    ],
)
def test_an_item_without_a_subject_has_the_heading(project: Project, item: str, title: str) -> None:
    text = "%s## Oven door\n\n- Bread must rest on the shelf.\n- %s\n" % (_KEPT, item)
    drafts = read(project.write("AGENTS.md", text), root=project.root).drafts
    assert drafts[-1].data["title"] == title


@pytest.mark.parametrize(
    ("heading", "language", "is_kept"),
    [
        ("Loaf class", "python", False),
        ("Loaf class", "kotlin", False),
        ("Loaves", "TypeScript", False),
        ("Use one class for each loaf", "python", True),
        ("Bake it", "sh", True),
        ("Loaf settings", "yaml", True),
        ("Loaf folder", "", True),
    ],
)
def test_a_sample_of_a_program_below_a_name_is_no_rule(
    project: Project, heading: str, language: str, is_kept: bool
) -> None:
    text = "%s## %s\n\n```%s\nloaf = bake(dough, hours)\n```\n" % (_KEPT, heading, language)
    found, reading = imported(project, {"AGENTS.md": text})
    assert (len(found), len(reading.left_out)) == ((2, 0) if is_kept else (1, 1))


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ("Before you open the bakery, check:", False),
        ("**Laws of the oven in winter:**", False),
        ("=== oven/core rules ===", False),
        ("This rule documents how the bakery keeps its ovens.", False),
        ("Update this runbook if a step was missing.", False),
        ("Who bakes when the second person is ill?", False),
        ("¿Quién hornea si el panadero está enfermo?", False),
        ("Ask the baker each time. Who else has the key to the oven?", True),
        ("**Budget:** por definir", False),
        ("Never open the oven in winter:", True),
        ("This rule prevents burned bread in the mornings.", True),
        ("Update the oven list when a new one is bought.", True),
    ],
)
def test_a_lead_or_a_mark_alone_is_no_rule(project: Project, text: str, is_kept: bool) -> None:
    found, _ = imported(project, {"AGENTS.md": "%s## Winter\n\n%s\n" % (_KEPT, text)})
    assert len(found) == 1 + is_kept


@pytest.mark.parametrize(
    ("title", "count"), [("`<título>`", 1), ("<name of the oven>", 1), ("List<Loaf>", 2)]
)
def test_below_a_heading_to_fill_in_is_no_rule(project: Project, title: str, count: int) -> None:
    text = "%s## OVEN-1 — %s\n\n- Bread is baked for two shops in the town.\n" % (_KEPT, title)
    assert len(imported(project, {"AGENTS.md": text})[0]) == count


def test_an_export_may_call_its_texts_entries(project: Project) -> None:
    row = {"section": "Ovens", "entry": "Todo horno se limpia los lunes"}
    (draft,) = read(project.write("memory.jsonl", json.dumps(row))).drafts
    assert draft.data["content"] == {"context": "Ovens", "decision": row["entry"]}
    entity = {"name": "Horno", "observations": [row["entry"], "TODO clean it"]}
    (draft,) = read(project.write("memory.jsonl", json.dumps(entity))).drafts
    assert draft.data["content"]["decision"] == row["entry"]


def test_a_file_of_entities_tells_no_talk_and_nothing_stale(project: Project) -> None:
    rows = [
        {"name": "Talk", "entityType": "session", "observations": ["We joked"]},
        {"name": "Urgent", "entityType": "TaskGroup", "observations": ["Buy flour"]},
        {"name": "v2_next_steps", "entityType": "plan", "observations": ["Buy salt"]},
        {"name": "current_implementation", "entityType": "state", "observations": ["Burns gas"]},
        {
            "name": "Cellar",
            "entityType": "room",
            "observations": ["Moved the flour here", "Removed old shelves"],
        },
        {"name": "session 2FA tokens", "observations": "They expire at noon, never later"},
        {
            "name": "Oven",
            "observations": [
                "OUTDATED: gas",
                "Currently in the yard",
                "Is cleaned on Mondays",
                "Red (no longer true)",
            ],
        },
    ]
    reading = read(project.write("memory.jsonl", "\n".join(map(json.dumps, rows))))
    assert [why for _, why in reading.left_out] == ["a conversation or a task, nothing to keep"] * 5
    told = [draft.data["content"]["decision"] for draft in reading.drafts]
    assert told == ["They expire at noon, never later", "Is cleaned on Mondays"]
