"""Exports of other tools: common field names, mem0's records, the graph of MCP's memory server, rule files, notes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.memories.importing import read
from tests.project import Project

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


def test_the_graph_of_an_mcp_memory_server(project: Project) -> None:
    rows = [
        {
            "type": "entity",
            "name": "billing",
            "entityType": "service",
            "observations": ["Uses Postgres 16", "billing must not call the shop"],
        },
        {"type": "entity", "name": "shop", "entityType": "service", "observations": []},
        {"type": "relation", "from": "billing", "to": "shop", "relationType": "is_called_by"},
        {"type": "relation", "from": "shop", "to": "cdn", "relationType": "is_served_from"},
    ]
    data = import_file(project, "memory.jsonl", "\n".join(map(json.dumps, rows)))
    assert [one["title"] for one in data] == [
        "billing: Uses Postgres 16",
        "billing must not call the shop",
        "shop is served from cdn",
    ]
    assert data[0]["content"]["context"] == "billing is called by shop"
    assert (data[1]["category"], data[1]["tags"]) == ("constraint", ["billing", "service"])
    graph = {"entities": rows[:2], "relations": rows[2:]}
    assert [one["title"] for one in import_file(project, "graph.json", graph)] == [
        one["title"] for one in data
    ]


@pytest.mark.parametrize("title", ["Memory 12", "17", "Untitled", "Decision"])
def test_a_title_that_says_nothing_is_replaced(project: Project, title: str) -> None:
    (data,) = import_file(
        project,
        "n.json",
        [{"title": title, "content": "Never deploy on Fridays.", "createdAt": 1_700_000_000_000}],
    )
    assert (data["title"], data["category"]) == ("Never deploy on Fridays", "constraint")
    assert data["created_at"] == "2023-11-14T22:13:20Z"


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
    assert [(one["category"], one["title"]) for one in data] == [
        ("constraint", "Never return raw database rows"),
        ("preference", "Name handlers after the route"),
    ]
    assert [one["related_files"] for one in data] == [["src/api/**/*.ts", "src/lib/*.ts"]] * 2


def test_paths_in_a_rule_and_the_folder_of_a_part(project: Project) -> None:
    text = "## Rules\n- Never edit `src/gen/client.ts` by hand; see `make gen` and `/v2/x`.\n"
    (data,) = import_file(project, "packages/api/AGENTS.md", text)
    assert data["related_files"] == ["packages/api/", "src/gen/client.ts"]


def test_notes_of_claude_code_are_titled_by_what_they_say(project: Project) -> None:
    head = "---\nname: feedback_tests\ndescription: Run the tests before saying that it works\nmetadata:\n  type: feedback\n---\n"
    text = head + "Run them.\n\n**Why:** It was wrong twice.\n"
    (data,) = import_file(project, "feedback_tests.md", text)
    assert (data["title"], data["category"]) == ("Run the tests before saying that it works", "preference")
    assert data["content"]["context"] == "It was wrong twice."
