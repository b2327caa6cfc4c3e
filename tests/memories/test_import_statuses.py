"""Which entries are in force: the words and marks of a status, in records, notes and files of memories."""

from __future__ import annotations

import json

import pytest

from memory_plugin.memories.importing import read
from tests.memories.conftest import imported
from tests.project import Project

RECORD = (
    "# 4. Heat the hall with wood\n\n%s\n\n## Context\n\nGas is dear.\n\n## Decision\n\nWe buy a stove.\n"
)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param("❌ Rejected", "Rejected", id="a cross before the word"),
        pytest.param("⚠️ **Deprecated** (2025)", "Deprecated (2025)", id="a sign and bold"),
        pytest.param("🤔 Proposed", "only proposed", id="a face before the word"),
        pytest.param("🚧 Incomplete", "only proposed", id="incomplete"),
        pytest.param("Reservada para a fase B", "only proposed", id="reserved"),
        pytest.param("proposta (aceitar antes da fase B)", "only proposed", id="to be accepted"),
        pytest.param("Moved (see the wiki)", "Moved (see the wiki)", id="moved"),
        pytest.param("WIP", "only proposed", id="in progress"),
        pytest.param("Open", "only proposed", id="open"),
        pytest.param("Parked until autumn", "only proposed", id="parked"),
        pytest.param("Not yet decided", "only proposed", id="not decided"),
        pytest.param("Proposed, not yet accepted", "only proposed", id="not accepted"),
        pytest.param("- [x] Proposed\n- [ ] Accepted", "only proposed", id="the proposal is ticked"),
        pytest.param("_Proposed_", "only proposed", id="in italics"),
        pytest.param("Expired", "Expired", id="expired"),
        pytest.param("Merged into ADR-9", "Merged into ADR-9", id="part of another record"),
        pytest.param("Superseded in part by ADR-9", "", id="in part"),
        pytest.param("Partly superseded", "", id="partly"),
        pytest.param("Living", "", id="a record that is kept up to date"),
        pytest.param("Lukewarm", "unknown status: Lukewarm", id="a word that nobody knows"),
        pytest.param("✅ Accepted", "", id="a tick before the word"),
        pytest.param("Accepted (superseded Peat + Coal)", "", id="it superseded others"),
        pytest.param("Accepted (superseded by Coal)", "Accepted (superseded by Coal)", id="superseded"),
        pytest.param("_Akzeptiert_", "", id="accepted in italics"),
        pytest.param("[![A badge](https://b.test/badge/ADR/approved/green/)](a.md)", "", id="a badge"),
        pytest.param("🟢 In production", "", id="in use"),
        pytest.param("- [ ] Proposed\n- [x] Accepted\n- [ ] Rejected", "", id="the acceptance is ticked"),
        pytest.param("~~Rejected~~ Accepted after all", "", id="the old word is crossed out"),
        pytest.param(
            "Accepted after a long talk about what had been\nsuperseded by the new gateway.",
            "",
            id="a wrapped line",
        ),
        pytest.param("We have heated like this since the roof was new.", "", id="a text about it"),
        pytest.param("\u6c7a\u5b9a", "", id="another script"),
        pytest.param("принято", "", id="accepted in Russian"),
        pytest.param("отклонено", "отклонено", id="rejected in Russian"),
        pytest.param("не принято", "не принято", id="not accepted in Russian"),
        pytest.param("已采纳", "", id="accepted in Chinese"),
        pytest.param("已废弃", "已废弃", id="dropped in Chinese"),
        pytest.param("由 ADR-7 取代", "由 ADR-7 取代", id="replaced in Chinese"),
        pytest.param("草案", "only proposed", id="a draft in Chinese"),
        pytest.param("廃止", "廃止", id="dropped in Japanese"),
        pytest.param("ADR-7 に置き換え", "ADR-7 に置き換え", id="replaced in Japanese"),
        pytest.param("폐기됨", "폐기됨", id="dropped in Korean"),
        pytest.param("Accettata", "", id="accepted in Italian"),
        pytest.param("Accepted, ersetzt ADR-7", "", id="replaces in German"),
        pytest.param("Ersetzt durch ADR-7", "Ersetzt durch ADR-7", id="replaced in German"),
        pytest.param("Accepted (was: rejected in May)", "", id="what it was"),
        pytest.param("augmented by [ADR-4](4.md)", "", id="augmented"),
        pytest.param("✅", "", id="a mark alone"),
        pytest.param("⏳ In Progress", "only proposed", id="under way"),
        pytest.param("Future vision", "only proposed", id="a vision"),
        pytest.param("✅ Fully implemented", "", id="all of it"),
        pytest.param("Proposed | **Accepted** | Rejected", "", id="accepted in bold"),
        pytest.param("Accepted | Proposed | **Rejected**", "Rejected", id="rejected in bold"),
    ],
)
@pytest.mark.parametrize("head", ["## Status\n\n%s", "Status: %s"], ids=["section", "line"])
def test_a_record_is_in_force_only_if_its_status_allows(
    project: Project, head: str, status: str, reason: str
) -> None:
    if head.startswith("Status") and "\n" in status:
        pytest.skip("a line has no list")
    _, reading = imported(project, {"adr/0004-heating.md": RECORD % (head % status)})
    (draft,) = reading.drafts
    said = draft.data.get("archived_reason", "")
    assert said.endswith(reason) if reason else not said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Status: zur Diskussion", "archived"),
        ("Status: ☐ Entwurf ☒ beantragt ☐ genehmigt", "archived"),
        ("Statut : en cours d'examen", "archived"),
        ("Statut : validée", "active"),
        ("Estado: en revisión", "archived"),
        ("Estado: sustituida por ADR-9", "archived"),
        ("Situação: 🟡 Em discussão", "archived"),
        ("Situação: ✅ Aprovada", "active"),
        ("Stato: respinta", "archived"),
        ("Status: vervangen door ADR-9", "archived"),
        ("Status: w trakcie dyskusji", "archived"),
        ("Status: przyjęta", "active"),
        ("Stav: zamítnuto", "archived"),
        ("Status: förkastat", "archived"),
        ("Status: avvist", "archived"),
        ("Durum: reddedildi", "archived"),
        ("Durum: kabul edildi", "active"),
        ("Статус: відхилено", "archived"),
        ("Статус: на обсуждении", "archived"),
        ("状态: 已否决", "archived"),
        ("ステータス: 却下", "archived"),
        ("상태: 검토 중", "archived"),
    ],
)
def test_a_status_counts_in_the_language_of_its_record(project: Project, line: str, expected: str) -> None:
    found, _ = imported(project, {"adr/0004-heating.md": RECORD % line})
    assert list(found.values()) == [expected]


@pytest.mark.parametrize(
    ("title", "status", "expected"),
    [
        ("[SUPERSEDED] Heat with wood", "Accepted", "archived"),
        ("ADR-4 (superseded): Heat with wood", "", "archived"),
        ("4. Heat with wood (superseded by ADR-9)", "", "archived"),
        ("DEPRECATED: Heat with wood", "", "archived"),
        ("4. Heat with wood - REJECTED", "", "archived"),
        ("4. Heat with wood (废弃)", "", "archived"),
        ("4. Heat with wood (Proposed)", "", "archived"),
        ("4. Heat with wood (Proposed)", "Accepted", "active"),
        ("4. Burn rejected wood", "", "active"),
        ("4. Rejected wood is burnt", "", "active"),
        ("4. Keep (deprecated) stoves for a year", "", "active"),
    ],
)
def test_a_title_may_say_that_a_record_is_over(
    project: Project, title: str, status: str, expected: str
) -> None:
    text = RECORD.replace("4. Heat the hall with wood", title) % ("Status: %s" % status if status else "")
    found, _ = imported(project, {"adr/0004-heating.md": text})
    assert list(found.values()) == [expected]


@pytest.mark.parametrize("title", ["# Old heating\n\n", ""])
@pytest.mark.parametrize("said", ["Superseded by [5](0005-b.md)", "Accepted"])
def test_a_table_with_one_row_states_what_its_columns_name(project: Project, title: str, said: str) -> None:
    table = "| Status | Date | Author |\n|:---|:---|:---|\n| %s | 2031-05-06 | kim |\n"
    parts = "\n## Context\n\nGas is dear.\n\n## Decision\n\nWe buy a stove.\n"
    _, reading = imported(project, {"adr/0004-a.md": table % said + "\n" + title + parts})
    (draft,) = reading.drafts
    assert draft.data["record_status"] == ("active" if said == "Accepted" else "archived")
    assert draft.data["created_at"][:10] == "2031-05-06"


def test_a_record_without_sections_that_we_know_has_its_status_beside_its_text(project: Project) -> None:
    text = "# 4. Heat the hall with wood\n\n## Status\n\n%s\n\n## What we burn\n\nWe buy a stove.\n"
    for status, expected in (("✅ Accepted", "active"), ("❌ Rejected", "archived")):
        _, reading = imported(project, {"adr/0004-heating.md": text % status})
        (draft,) = reading.drafts
        assert (draft.data["record_status"], draft.data["content"]["status"]) == (expected, status)
        assert draft.data["content"]["decision"] == "## What we burn\n\nWe buy a stove."


@pytest.mark.parametrize(
    ("field", "expected"),
    [("draft: true", "archived"), ("draft: false", "active"), ("status: evergreen", "active")],
)
def test_a_draft_is_not_in_force_and_a_note_has_any_status(
    project: Project, field: str, expected: str
) -> None:
    found, _ = imported(project, {"stove.md": "---\n%s\ntags: [a]\n---\nThe stove burns birch.\n" % field})
    assert list(found.values()) == [expected]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param({"type": "todo", "status": "done"}, "archived", id="done work"),
        pytest.param({"type": "bug", "status": "Resolved in May"}, "archived", id="a fixed bug"),
        pytest.param({"type": "debt", "status": "won't fix"}, "archived", id="work that is dropped"),
        pytest.param({"type": "todo", "status": "pending"}, "active", id="waiting work"),
        pytest.param({"type": "todo", "status": "open"}, "active", id="open work"),
        pytest.param({"type": "decision", "status": "done"}, "active", id="a decision that was carried out"),
        pytest.param({"type": "decision", "status": "superseded"}, "archived", id="an old decision"),
        pytest.param({"type": "decision", "status": "proposed"}, "archived", id="a proposal"),
        pytest.param({"type": "fact", "status": "success"}, "active", id="a word of another tool"),
    ],
)
def test_an_entry_of_a_memory_file_has_a_status(
    project: Project, entry: dict[str, str], expected: str
) -> None:
    path = project.write("memory.jsonl", json.dumps({**entry, "content": "Sweep the chimney of the hall"}))
    assert [draft.data["record_status"] for draft in read(path).drafts] == [expected]


@pytest.mark.parametrize("name", ["expires_at", "expiration_date", "valid_until", "valid_to"])
def test_an_entry_keeps_the_day_on_which_it_ends(project: Project, name: str) -> None:
    entry = {"content": "The lift is out of order", name: "2031-08-01"}
    note = "---\n%s: 2031-08-01\ntags: [a]\n---\nThe ramp is closed.\n" % name
    paths = project.write("a.json", [entry, {**entry, name: "never"}]), project.write("b.md", note)
    dates = [draft.data.get("expires_at") for path in paths for draft in read(path).drafts]
    assert dates == ["2031-08-01T23:59:59Z", None, "2031-08-01T23:59:59Z"]


@pytest.mark.parametrize("name", ["talk.json", "talk.jsonl"])
def test_the_messages_of_a_conversation_are_no_memories(project: Project, name: str) -> None:
    rows = [{"role": "user", "content": "Which wood?"}, {"role": "assistant", "content": "Beech."}]
    lines = "\n".join(map(json.dumps, rows))
    reading = read(project.write(name, lines if name.endswith("l") else rows))
    assert (reading.drafts, reading.problems, len(reading.left_out)) == ([], [], 2)


@pytest.mark.parametrize(
    ("title", "status", "expected"),
    [
        ("Stove is cold [Deprecated]", "", "archived"),
        ("Permit is void (expired)", "", "active"),
        ("Marks of the stove", "- **Status**: Flame, Ember, Spark, Ash\n", "active"),
    ],
)
def test_a_runbook_is_over_if_its_title_says_so_of_it(
    project: Project, title: str, status: str, expected: str
) -> None:
    text = "# %s\n\n%s## Symptoms\n\nIt is cold.\n\n## Steps\n\n1. Open the flap.\n2. Light it.\n\n#### NOTE\n\nIt may smoke.\n"
    found, reading = imported(project, {"runbooks/stove.md": text % (title, status)})
    assert list(found.values()) == [expected]
    content = reading.drafts[0].data["content"]
    assert "Flame" not in str(content.get("status"))
    assert ("alternatives" in content, "It may smoke." in str(content)) == (False, True)


@pytest.mark.parametrize(("last", "expected"), [("Completed", "active"), ("Not completed", "archived")])
def test_what_was_proposed_and_then_done_holds(project: Project, last: str, expected: str) -> None:
    entity = {"name": "stove door", "observations": ["It opens", "Status: Proposed", "Status: " + last]}
    (draft,) = read(project.write("memory.jsonl", json.dumps(entity))).drafts
    assert draft.data["record_status"] == expected


@pytest.mark.parametrize(("name", "expected"), [("ADR-4", "archived"), ("gas", "active")])
def test_a_title_ends_a_record_only_by_its_number(project: Project, name: str, expected: str) -> None:
    new = RECORD.replace("4. Heat the hall with wood", "5. Burn peat instead of " + name) % "Status: accepted"
    files = {"adr/0004-heating.md": RECORD % "Status: accepted", "adr/0005-peat.md": new}
    found, _ = imported(project, files)
    assert found["Heat the hall with wood"] == expected


def test_an_observation_may_say_that_a_bug_is_over(project: Project) -> None:
    entity = {
        "type": "entity",
        "name": "smoke in the hall",
        "entityType": "bug",
        "observations": ["It reeks"],
    }
    solved = {**entity, "name": "sparks", "observations": ["Sparks fly", "Status: fixed in March"]}
    moved = {**entity, "name": "draught", "observations": ["Fixed windows let it in"]}
    path = project.write("memory.json", "\n".join(map(json.dumps, (entity, solved, moved))))
    found = {draft.data["title"]: draft.data["record_status"] for draft in read(path).drafts}
    assert found == {
        "smoke in the hall": "active",
        "Sparks fly": "archived",
        "draught: Fixed windows let it in": "active",
    }


def test_a_recommendation_is_no_decision_beside_one(project: Project) -> None:
    advice = "\n## Recommendation\n\nTry both for a while.\n"
    _, reading = imported(project, {"adr/0004-heating.md": RECORD % "Status: accepted" + advice})
    content = reading.drafts[0].data["content"]
    assert (content["decision"], content["proposal"]) == ("We buy a stove.", "Try both for a while.")
    text = "# 5. Cook with wood\n\nStatus: accepted\n\n## Context\n\nGas is dear.\n" + advice
    _, reading = imported(project, {"adr/0005-cooking.md": text})
    assert reading.drafts[-1].data["content"]["decision"] == "Try both for a while."


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        pytest.param("### ~~2024-03-01: Rent a lift~~\n~~We rent a lift for the bales.~~\nWithdrawn in May.", "", id="crossed out"),
        pytest.param("### 2024-03-01: Buy a lift\nWe ~~rent~~ buy a lift for the bales.", "We buy a lift for the bales.", id="a word"),
    ],
)  # fmt: skip
def test_what_is_crossed_out_or_open_is_not_kept(project: Project, entry: str, kept: str) -> None:
    text = (
        "# Barn log\n\n### 2024-05-02: Hay is baled\nThe hay is baled in the first dry week.\n\n%s\n" % entry
    )
    _, reading = imported(project, {"log.md": text})
    others = [" ".join(draft.data["content"]["decision"].split()) for draft in reading.drafts[1:]]
    assert others == [kept] * bool(kept)


@pytest.mark.parametrize("title", ["Decisions", "Decision log", "Entscheidungen", "Barn log"])
def test_an_entry_of_a_log_replaces_another_by_its_title(project: Project, title: str) -> None:
    text = (
        "# %s\n\n## 2025-03-01 Hay lies in the loft\n\nStatus: accepted\n\nThe loft is dry.\n\n"
        '## 2025-06-01 Hay lies in the yard\n\nStatus: accepted. Replaces "Hay lies in the loft".\n\nThe loft burns.\n\n'
        "## 2025-07-01 Do we need a second barn?\n\nStatus: still being discussed, nothing is decided\n\nBuild one.\n"
    )
    found, _ = imported(project, {"log.md": text % title})
    in_force = {name for name, status in found.items() if status == "active"}
    assert in_force == {"Hay lies in the yard"}


@pytest.mark.parametrize("heading", ["Decision Template", "How to use this file", "Decision statuses"])
def test_what_a_log_says_of_itself_is_no_entry(project: Project, heading: str) -> None:
    text = "# Log\n\n## AD-1: Bales are round\n\n**Status:** final\n\nWe press them round.\n\n"
    found, _ = imported(project, {"log.md": text + "## %s\n\nA number, then what and why.\n" % heading})
    assert found == {"Bales are round": "active"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Statut : accepté", "active"),
        ("Statut : proposé", "archived"),
        ("* Statut : brouillon", "archived"),
        ("Statut : remplacé par [ADR-2](2.md)", "archived"),
        ("Estado: borrador", "archived"),
        ("Stato: bozza", "archived"),
        ("상태: 제안 (2031-05-04)", "archived"),
        ("상태: 채택", "active"),
        ("상태: 폐기", "archived"),
        ("ステータス: 提案", "archived"),
        ("ステータス: 承認", "active"),
        ("状态\uff1a草案", "archived"),
        ("状态\uff1a已采纳", "active"),
        ("Статус: Предложено", "archived"),
        ("Статус: принято", "active"),
        ("Статус: отклонено", "archived"),
    ],
)
def test_a_status_is_read_in_other_languages(project: Project, status: str, expected: str) -> None:
    text = "# Utiliser Postgres\n\n%s\n\n## Décision\n\nNous utilisons Postgres.\n"
    found, _ = imported(project, {"0001-postgres.md": text % status})
    assert found == {"Utiliser Postgres": expected}
