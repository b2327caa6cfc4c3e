"""Importing the notes of others: each format, exports of other tools, each kind of damage, and no file that is not named."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.importing import read
from memory_plugin.memories.memory_files import Store
from tests.memories.conftest import Put
from tests.project import Project


def titles(path: str, category: str = "") -> list[tuple[str, str]]:
    return [(draft.data["category"], draft.data["title"]) for draft in read(path, category).drafts]


def test_a_file_of_sections_is_a_memory_for_each(project: Project) -> None:
    path = project.write(
        "CLAUDE.md",
        "# Shop\nWe use Go.\n\n## Code style\nTabs.\n\n## Deploy\n### Staging\nrun a\n",
    )
    assert titles(path) == [
        ("decision", "Shop: We use Go"),
        ("decision", "Code style: Tabs"),
        ("decision", "Staging: run a"),
    ]
    assert titles(path, "constraint")[0] == ("constraint", "Shop: We use Go")
    assert [draft.source for draft in read(path).drafts] == [path + ":1", path + ":4", path + ":8"]


def test_a_file_with_fields_at_its_head_is_one_memory(project: Project) -> None:
    path = project.write(
        "n.md", "---\nname: Queues\ndescription: Why.\ntype: feedback\ntags: [a, b]\n---\n# Intro\nUse SQS.\n"
    )
    (draft,) = read(path).drafts
    assert (draft.data["title"], draft.data["category"], draft.data["tags"]) == (
        "Queues",
        "preference",
        ["a", "b"],
    )
    assert draft.data["content"] == {"value": "Why.\n\n# Intro\n\nUse SQS."}


def test_json_lines_with_bad_ones_named_by_line(project: Project) -> None:
    rows = [
        '{"title": "A", "body": "a", "tags": "x, y"}',
        "",
        "{",
        '{"title": "B"}',
        "7",
        '{"title": "C", "body": "c", "category": "Tech-Debt"}',
    ]
    path = project.write("n.jsonl", "\r\n".join(rows))
    reading = read(path)
    assert [(draft.source, draft.data["title"]) for draft in reading.drafts] == [
        (path + ":1", "A"),
        (path + ":6", "C"),
    ]
    assert reading.drafts[0].data["tags"] == ["x", "y"]
    assert reading.drafts[1].data["category"] == "tech_debt"
    assert [source for source, _ in reading.problems] == [path + ":3", path + ":4", path + ":5"]
    assert "unknown format" in reading.problems[1][1]


def test_a_json_list_and_the_output_of_list(project: Project) -> None:
    items = [
        {"title": "A", "body": "a"},
        {"title": 7, "body": "b"},
        {"title": "C", "body": "c", "category": "nonsense"},
    ]
    for content in (items, {"memories": items}):
        path = project.write("n.json", content)
        reading = read(path)
        assert titles(path) == [("decision", "A"), ("decision", "b"), ("decision", "C")]
        assert reading.problems == []


def test_a_memory_file_keeps_its_fields(project: Project, put: Put) -> None:
    path = put(
        "use-postgres",
        category="constraint",
        theirs={"a": 1},
        record_status="archived",
        created_at="2020-01-01T00:00:00Z",
    )
    (draft,) = read(path).drafts
    assert draft.data["theirs"] == {"a": 1}
    assert (draft.data["id"], draft.data["category"], draft.data["record_status"]) == (
        "use-postgres",
        "constraint",
        "archived",
    )
    assert draft.data["created_at"] == "2020-01-01T00:00:00Z"


@pytest.mark.parametrize("inside", [".claude/memory", "."], ids=["the store", "its project"])
def test_a_whole_store_is_read_with_its_folders_as_categories(
    paths: Paths, store: Store, put: Put, inside: str
) -> None:
    put("one", category="runbook")
    put("two")
    bad = put("bad", raw=b"{")
    reading = read(os.path.join(paths.project_root, inside))
    assert sorted(draft.data["id"] for draft in reading.drafts) == ["one", "two"]
    assert [source for source, _ in reading.problems] == [bad]


def test_a_folder_of_notes_without_links_and_hidden_files(project: Project) -> None:
    for name in ("a.md", "sub/b.txt", "c.jsonl", ".git/x.md", ".hidden.md", "d.py"):
        project.write(
            "notes/" + name, '{"title": "T", "body": "b"}' if name.endswith("l") else "text of " + name
        )
    os.symlink("/etc/passwd", os.path.join(project.root, "notes", "e.md"))
    os.mkfifo(os.path.join(project.root, "notes", "f.md"))
    reading = read(os.path.join(project.root, "notes"))
    assert sorted(draft.data["title"] for draft in reading.drafts) == [
        "T",
        "text of a.md",
        "text of sub/b.txt",
    ]
    assert len(reading.problems) == 2


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("a.json", b"\xff\xfe{", "save it as UTF-8", id="not UTF-8"),
        pytest.param("a.json", b"[" * 200_000, "not JSON", id="deep JSON"),
        pytest.param("a.json", b'{"title":"t","body":NaN}', "not JSON", id="NaN"),
        pytest.param("a.json", b'\n\n{"a" 1}', "not JSON", id="no JSON"),
        pytest.param("a.json", b"{", "not JSON", id="half JSON"),
        pytest.param("a.json", b'"text"', "unknown format", id="a text"),
        pytest.param(
            "a.json", b'{"title":"t","content":{"decision":1e999}}', "out of range", id="an infinite number"
        ),
        pytest.param("a.jsonl", b'{"title":"t","body":"' + b"[" * 200_000, "not JSON", id="a cut line"),
        pytest.param("a.py", b"print()", "expected one of .md", id="another kind"),
    ],
)
def test_a_file_that_cannot_be_understood_is_a_problem(
    project: Project, name: str, content: bytes, reason: str
) -> None:
    path = os.path.join(project.root, name)
    with open(path, "wb") as file:
        file.write(content)
    reading = read(path)
    assert reading.drafts == []
    assert reason in reading.problems[0][1]
    assert reading.problems[0][1].count("not JSON") <= 1


def test_a_missing_file_is_a_problem(project: Project) -> None:
    assert read(os.path.join(project.root, "nothing.md")).problems[0][1] == "not there"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["title", "body", "content", "category", "tags", "id"]), inner, max_size=6
        )
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON)
def test_any_json_is_read_or_named(project: Project, value: object) -> None:
    path = project.write("any.json", json.dumps(value))
    reading = read(path)
    assert (
        reading.drafts
        or reading.problems
        or value in ([], {"memories": []})
        or (isinstance(value, dict) and value.get("memories") == [])
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.mdc", "---\nalwaysApply: true\n---\n\n# Rules\n\n- %s\n", id="below front matter"),
        pytest.param("b.md", "- %s\n", id="at the start"),
        pytest.param(
            "c.md", "\n\n# Rules\n\n\nThese hold for all of us here:\n\n- %s\n", id="after blank lines"
        ),
        pytest.param("d.md", "# Rules\n## Git\n- %s\n", id="without a blank line"),
    ],
)
def test_the_source_of_a_rule_names_its_line(project: Project, name: str, text: str) -> None:
    rule = "Never push to the main branch."
    path = project.write(name, text % rule)
    (draft,) = read(path).drafts
    line = int(draft.source.rpartition(":")[2])
    assert (text % rule).split("\n")[line - 1] == "- " + rule


def test_a_short_question_is_titled_with_its_answer(project: Project) -> None:
    path = project.write(
        "rules.md", "# Trouble\n\n- Server offline? Look at the fuse box.\n- Disk full? Drop the old logs.\n"
    )
    assert [title for _, title in titles(path)] == [
        "Server offline? Look at the fuse box",
        "Disk full? Drop the old logs",
    ]


def test_a_folder_of_documents_may_have_a_folder_named_as_in_a_store(project: Project) -> None:
    project.write("docs/decisions/queues.md", "# Queues\n\n- We use Postgres as a queue for jobs.\n")
    project.write("docs/guide.md", "# Rules\n\n- Never push to the main branch.\n")
    found = titles(os.path.join(project.root, "docs"))
    assert [title for _, title in found] == [
        "Never push to the main branch",
        "Queues: We use Postgres as a queue for jobs",
    ]


UUID = "3f0a1c9e-5b1d-4c55-9a55-0d4c6a1b2c3d"


def import_file(project: Project, name: str, content: object) -> list[dict[str, Any]]:
    text = content if isinstance(content, str) else json.dumps(content)
    reading = read(project.write(name, text), root=project.root)
    assert reading.problems == []
    return [draft.data for draft in reading.drafts]


def test_records_of_mem0(project: Project) -> None:
    item = {
        "id": UUID,
        "memory": "Prefers pytest over unittest. Always.",
        "metadata": {"category": "preference", "tags": ["python"]},
        "created_at": "2024-07-20T01:30:36.275141-07:00",
    }
    (data,) = import_file(project, "mem0.json", {"results": [item]})
    assert (data["title"], data["category"], data["tags"]) == (
        "Prefers pytest over unittest",
        "preference",
        ["python"],
    )
    assert (data["id"], data["created_at"]) == ("", "2024-07-20T08:30:36Z")


def test_entities_of_an_mcp_memory_server(project: Project) -> None:
    entity = {
        "type": "entity",
        "name": "billing",
        "entityType": "service",
        "observations": ["Uses Postgres 16", "Has two queues"],
    }
    for name, content in (
        ("memory.jsonl", json.dumps(entity)),
        ("graph.json", {"entities": [entity], "relations": []}),
    ):
        (data,) = import_file(project, name, content)
        assert (data["title"], data["content"]["decision"]) == (
            "billing: Uses Postgres 16",
            "Uses Postgres 16\nHas two queues",
        )


@pytest.mark.parametrize("title", [None, "", " "])
def test_a_missing_title_is_the_first_sentence(project: Project, title: str | None) -> None:
    item = {"content": "Never deploy on Fridays. It failed twice.", "createdAt": "2023-11-14 22:13:20"}
    (data,) = import_file(project, "n.json", [item if title is None else {"title": title, **item}])
    assert (data["title"], data["created_at"]) == ("Never deploy on Fridays", "2023-11-14T22:13:20Z")


@pytest.mark.parametrize(
    ("entry", "category"),
    [
        ({"type": "feedback"}, "preference"),
        ({"kind": "Runbook"}, "runbook"),
        ({"type": "work"}, "decision"),
        ({"type": "reference"}, "decision"),
        ({"category": "Tech-Debt"}, "tech_debt"),
        ({"metadata": {"category": "work"}}, "decision"),
    ],
)
def test_an_entry_names_its_category(project: Project, entry: dict[str, Any], category: str) -> None:
    (data,) = import_file(project, "n.json", [{"text": "Deploy on Tuesdays.", **entry}])
    assert data["category"] == category


def test_a_list_of_texts(project: Project) -> None:
    assert [
        one["title"]
        for one in import_file(project, "n.json", ["Use tabs in Go code.", "Never force-push to main."])
    ] == [
        "Use tabs in Go code",
        "Never force-push to main",
    ]


def test_a_rule_file_binds_its_rules_to_files(project: Project) -> None:
    head = "---\ndescription: API rules\nglobs: src/api/**/*.ts,src/lib/*.ts\nalwaysApply: false\n---\n"
    text = head + "# API\n\n- Never return raw database rows.\n- Name handlers after the route.\n"
    data = import_file(project, ".cursor/rules/api.mdc", text)
    assert [one["title"] for one in data] == [
        "Never return raw database rows",
        "Name handlers after the route",
    ]
    assert [one["related_files"] for one in data] == [["src/api/**/*.ts", "src/lib/*.ts"]] * 2


def test_paths_in_a_rule_and_the_folder_of_a_part(project: Project) -> None:
    text = "## Rules\n- Never edit `src/gen/client.ts` by hand; see `make gen` and `/v2/x`.\n"
    (data,) = import_file(project, "packages/api/AGENTS.md", text)
    assert data["related_files"] == ["packages/api/", "packages/api/src/gen/client.ts"]


def test_notes_of_claude_code_are_titled_by_what_they_say(project: Project) -> None:
    head = "---\nname: feedback_tests\ndescription: Run the tests before saying that it works\nmetadata:\n  type: feedback\n---\n"
    for said in ("Run them.", "run the tests before saying that it works."):
        (data,) = import_file(
            project, "feedback_tests.md", head + said + "\n\n**Why:** It was wrong twice.\n"
        )
        title = "Run the tests before saying that it works"
        assert (data["title"], data["category"]) == (title, "preference")
        assert data["content"]["value"].lower().count(title.lower()) == 1


def test_a_record_is_asked_for_by_its_symptoms_and_questions(project: Project) -> None:
    text = '# Queue is stuck\n## Symptoms\n- `subscription locked` in the log\n- "shop shows no sales"\n## Fix\n1. kill it\n'
    (data,) = import_file(project, "runbook.md", text)
    assert data["asked_as"] == ["`subscription locked` in the log", "shop shows no sales"]
    assert (data["category"], data["content"]["steps"]) == ("runbook", ["kill it"])
    text = "# Numbers\n## Context\nIt fails. Which port is it?\n\n- Which host is it?\n- Why?\n## Decision\nPort 1.\n"
    (data,) = import_file(project, "adr.md", text)
    assert data["asked_as"] == ["Which port is it?", "Which host is it?"]
    (data,) = import_file(project, "adr.md", "## Status\n![Accepted](https://b.test/a)\n" + text)
    assert data["content"]["status"] == "Accepted"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Superseded by [ADR 12](12.md)", "archived"),
        ("**Deprecated**", "archived"),
        ("rejected", "archived"),
        ("Ersetzt durch 12", "archived"),
        ("Accepted", "active"),
        ("Supersedes ADR 3", "active"),
        ("Accepted, not deprecated", "active"),
        ("Accepted\n- Superseded by: none", "active"),
        ("Superceded by [9](9.md)", "archived"),
        ("[Superseded](https://badges.test/superseded)", "archived"),
    ],
)
def test_a_record_that_does_not_hold_any_more_is_archived(
    project: Project, status: str, expected: str
) -> None:
    end = "## Context\nx\n## Decision\ny\n"
    for text in ("# Use it\n## Status\n%s\n" + end, "# Use it\n- **Status:** %s\n\n" + end):
        (data,) = import_file(project, "adr.md", text % status)
        assert data["record_status"] == expected


@pytest.mark.parametrize(
    ("name", "title"), [("runbooks/queue.md", "Queue is stuck"), ("docs/queue.md", "Queue runbook")]
)
def test_a_section_of_a_runbook_stays_one_memory(project: Project, name: str, title: str) -> None:
    steps = "## Restart\n1. Stop it, which\n   takes a while\n2. Start it\n\n"
    text = "# %s\nIt holds the mails.\n\n%s## After\nThen:\n\n- Tell support\n- Write it down\n"
    drafts = read(project.write(name, text % (title, steps))).drafts
    assert [(draft.data["category"], draft.data["title"]) for draft in drafts] == [
        ("decision", title),
        ("runbook", title + ": Restart"),
        ("runbook", title + ": After"),
    ]
    assert drafts[1].data["content"] == {"steps": ["Stop it, which takes a while", "Start it"]}


def test_bare_lines_get_their_category_and_entries_with_titles_do_not(project: Project) -> None:
    path = project.write(
        "notes.json", ["Never push to main", {"title": "Ports", "text": "Never push to main"}]
    )
    assert titles(path) == [("constraint", "Never push to main"), ("decision", "Ports")]
    path = project.write(
        "notes.md", "- **Always** use UTC in the database\n- Invoices live in Postgres 16 now\n"
    )
    assert [category for category, _ in titles(path)] == ["constraint", "decision"]
