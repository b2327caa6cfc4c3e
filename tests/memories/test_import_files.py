"""Which files of a folder an import reads, and what it says about the others."""

from __future__ import annotations

import os

import pytest

from memory_plugin.memories.importing import read
from tests.project import Project

RULE = "- Never push %s to the main branch.\n"


def test_rules_of_agents_are_read_and_the_text_of_others_is_not(project: Project) -> None:
    wanted = [
        ".cursor/rules/a.mdc",
        ".cursorrules",
        ".github/copilot-instructions.md",
        ".github/instructions/go.instructions.md",
        "docs/guide.md",
    ]
    unwanted = [
        ".github/PULL_REQUEST_TEMPLATE.md",
        ".github/ISSUE_TEMPLATE/bug.md",
        ".idea/x.md",
        "CHANGELOG.md",
        "README.md",
        "node_modules/x/AGENTS.md",
        "out/generated.md",
        "libs/other/AGENTS.md",
        "requirements.txt",
    ]
    project.git("init", "-q")
    project.write(".gitignore", "out/\n")
    for at, name in enumerate(wanted + unwanted):
        project.write(name, RULE % ("change %d" % at))
    os.makedirs(os.path.join(project.root, "libs", "other", ".git"))
    project.write("package.json", {"name": "shop", "description": "A shop."})
    project.write("docs/adr/0003-cache.rst", "Cache\n=====\n")
    reading = read(project.root, root=project.root)
    assert {os.path.relpath(draft.path, project.root) for draft in reading.drafts} == set(wanted)
    assert reading.problems == []
    named = {os.path.relpath(path, project.root) for path, _ in reading.left_out}
    assert named >= {"CHANGELOG.md", "node_modules", "out", os.path.join("libs", "other"), "package.json"}
    assert os.path.join("docs", "adr", "0003-cache.rst") in named


def test_notes_next_to_memories_are_read_but_not_our_index(project: Project) -> None:
    project.save("Use Postgres", "b")
    project.write(".claude/memory/deploy.md", RULE % "code")
    assert [draft.data["category"] for draft in read(project.root, root=project.root).drafts] == [
        "constraint"
    ]
    reading = read(os.path.join(project.root, ".claude", "memory"), root=project.root)
    assert sorted(draft.data["title"] for draft in reading.drafts) == [
        "Never push code to the main branch",
        "Use Postgres",
    ]


def test_a_folder_behind_a_link_is_named(project: Project) -> None:
    folder = os.path.dirname(project.write("shared/team/a.md", RULE % "code"))
    os.makedirs(os.path.join(project.root, ".cursor", "rules"))
    link = os.path.join(project.root, ".cursor", "rules", "team")
    os.symlink(folder, link)
    reading = read(os.path.dirname(link), root=project.root)
    assert reading.left_out == [(link, "a symbolic link; to import it, name it")]
    assert len(read(link, root=project.root).drafts) == 1


def test_an_unknown_format_is_named(project: Project) -> None:
    exports = (
        [{"a": at} for at in range(700)],
        {"observations": [{"id": 1}], "sessions": []},
        {"version": 2},
    )
    for content in exports:
        reading = read(project.write("export.json", content))
        assert {why[:14] for _, why in reading.problems} == {"unknown format"}
        assert reading.drafts == []


def test_patterns_that_no_memory_can_hold_are_named(project: Project) -> None:
    head = '---\nglobs: ["src/**/*.{ts,tsx}", "!src/gen/**"]\n---\n'
    reading = read(project.write("a.mdc", head + RULE % "code"), root=project.root)
    assert [draft.data["related_files"] for draft in reading.drafts] == [["src/**/*.{ts,tsx}"]]
    assert "!src/gen/**" in reading.left_out[0][1]


def test_a_record_about_templates_is_no_template(project: Project) -> None:
    text = "# ADR-036: %s\n\n## Status\n\nAccepted\n\n## Context\n\nMany.\n\n## Decision\n\nOne source.\n"
    names = [
        "ADR-036-two-source-template-architecture.md",
        "0052-mail-template.md",
        "adr-template.md",
        "0000-template.md",
    ]
    for name in names:
        project.write("adr/" + name, text % name)
    reading = read(os.path.join(project.root, "adr"))
    assert sorted(os.path.basename(draft.path) for draft in reading.drafts) == sorted(names[:2])


@pytest.mark.parametrize(
    ("name", "title", "is_record"),
    [
        ("0000-use-markdown-architectural-decision-records.md", "0000. Use Markdown records", True),
        ("ADR-0000-adr-process.md", "ADR-0000: Record architecture decisions", True),
        ("0000.md", "0000: Title templates of mails", True),
        ("0000-name.md", "ADR-0000: [short title]", False),
        ("0000-name.md", "0000. Short title", False),
        ("NNNN-name.md", "ADR-NNNN: Use Postgres", False),
    ],
)
def test_the_first_record_may_have_the_number_zero(
    project: Project, name: str, title: str, is_record: bool
) -> None:
    text = "# %s\n\n## Status\n\nAccepted\n\n## Context\n\nMany.\n\n## Decision\n\nOne source.\n"
    reading = read(project.write("adr/" + name, text % title))
    assert (len(reading.drafts), len(reading.left_out)) == (int(is_record), int(not is_record))


@pytest.mark.parametrize(
    ("text", "titles", "left_out"),
    [
        pytest.param(
            "## Branches\n- Always branch from main.\n- Hotfix: `hotfix/x`\n- `dev/x`\n- Never push to main.\n",
            ["Always branch from main", "Branches: Hotfix: `hotfix/x`", "Never push to main"],
            [3],
            id="code below rules",
        ),
        pytest.param(
            "## Stack\n- Node\n- `pnpm`\n- [guide](guide.md)\n", ["Stack: Node"], [], id="names with code"
        ),
        pytest.param("## Files\n- `a.ts`\n- src/b.ts\n", [], [1, 2], id="paths"),
        pytest.param(
            "## Style\n- [ ] Add types\n- Never use any.\n", ["Never use any"], [1], id="open boxes"
        ),
        pytest.param("## See also\n- [a](a.md)\n", [], [1], id="links"),
    ],
)
def test_no_item_of_a_list_is_dropped_in_silence(
    project: Project, text: str, titles: list[str], left_out: list[int]
) -> None:
    path = project.write("style.md", text)
    reading = read(path)
    assert [draft.data["title"] for draft in reading.drafts] == titles
    assert [source for source, why in reading.left_out if "states nothing" in why] == [
        "%s:%d" % (path, line + 1) for line in left_out
    ]


def test_a_long_text_is_left_out_unless_it_has_rules_or_is_named(project: Project) -> None:
    text = "# %s\n\n" + "".join("- The part %d of the engine burns oil.\n" % at for at in range(500))
    project.write("docs/engines.md", text % "Engines")
    project.write("docs/style.md", text % "Style guide")
    reading = read(os.path.join(project.root, "docs"))
    assert {os.path.basename(draft.path) for draft in reading.drafts} == {"style.md"}
    assert "a long text" in reading.left_out[0][1]
    assert len(read(os.path.join(project.root, "docs", "engines.md")).drafts) == 1


def test_a_report_is_left_out_and_its_records_are_not(project: Project) -> None:
    text = "# Engines\n\n## 1. Oil\n\n" + "The engine burns oil in its third year. " * 300
    text += "\n\n## 2. Choice\n\n### Context\n\nIt was slow.\n\n### Decision\n\nWe use the old engine.\n"
    project.write("docs/engines.md", text)
    reading = read(os.path.join(project.root, "docs"))
    assert [draft.data["content"]["decision"] for draft in reading.drafts] == ["We use the old engine."]
    assert "a long text" in reading.left_out[0][1]


def test_a_part_of_an_answer_that_names_its_own_decision_stays_whole(project: Project) -> None:
    text = "# Oil\n\n## Context\n\nIt leaks.\n\n## Decision\n\nWe buy new oil.\n\n### Old barrels\n\nThree are left.\n\n"
    [draft] = read(project.write("0007-oil.md", text + "**Decision**: They are sold.\n")).drafts
    decision = draft.data["content"]["decision"]
    assert all(part in decision for part in ("We buy", "Old barrels", "Three are left", "They are sold"))


def test_a_long_article_is_left_out_and_a_long_runbook_is_not(project: Project) -> None:
    lines = "- Look at the pump.\n" * 30
    text = "# %s\n\n" + "".join("## Alert %d\n\n%s\n" % (at, lines) for at in range(20))
    project.write("docs/engines.md", text % "Engines")
    project.write("docs/playbook.md", text % "Playbook")
    reading = read(os.path.join(project.root, "docs"))
    assert {os.path.basename(draft.path) for draft in reading.drafts} == {"playbook.md"}
    assert {draft.data["category"] for draft in reading.drafts} == {"runbook"}


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        pytest.param(
            "# Style\n<!-- rule:7 -->\n- Use tabs in Go.\n<!-- rule:8\nold -->\n- Use spaces in YAML.\n",
            ["Use tabs in Go.", "Use spaces in YAML."],
            id="comments",
        ),
        pytest.param(
            "# Style\n<enforced>\n- Use tabs in Go.\n</enforced>\n- Use spaces in YAML.\n",
            ["Use tabs in Go.", "Use spaces in YAML."],
            id="tags",
        ),
        pytest.param(
            "# Style\n- Write `<!-- keep -->` above `![logo](a.png)` in pages.\n",
            ["Write `<!-- keep -->` above `![logo](a.png)` in pages."],
            id="marks in code",
        ),
        pytest.param(
            "# Style\n- Never use red.\n- TODO: write about the colors\n- TODO: add examples.\n\n_TODO: this part is not written yet._\n",
            ["Never use red."],
            id="texts to be written",
        ),
        pytest.param(
            '# Style\n\nMark what is old, and keep it:\n\n```csharp\n[Obsolete("use the new one")]\n```\n\n[Describe the colors here]\n',
            ['Mark what is old, and keep it:\n\n```csharp\n[Obsolete("use the new one")]\n```'],
            id="brackets in code",
        ),
        pytest.param(
            "# Debt\n- TODO: replace the parser of the old export format\n",
            ["Debt:\n- TODO: replace the parser of the old export format"],
            id="work to be done",
        ),
        pytest.param(
            "---\ntags: [a]\n---\n# Guard clauses first\n![a guard](https://a.test/a.gif)\n\nExit early.\n",
            ["Exit early."],
            id="a note does not repeat its title",
        ),
    ],
)
def test_a_memory_has_the_text_that_a_reader_sees(project: Project, text: str, bodies: list[str]) -> None:
    reading = read(project.write("style.md", text))
    found = [" ".join(map(str, draft.data["content"].values())) for draft in reading.drafts]
    assert found == bodies


ALERT = "# Disk Full\n\n## Meaning\n\nThe disk of a node is full.\n\n## Impact\n\nPods are evicted.\n%s## Mitigation\n\n%s\n"
TO_CHECK = "\n## Diagnosis\n\nLook at the size of the logs.\n\n"


@pytest.mark.parametrize("nothing", ["TODO", "_TBD_", "- To be written.", "N/A"])
def test_what_is_to_be_written_is_no_step(project: Project, nothing: str) -> None:
    texts = {
        "checked": ALERT % (TO_CHECK, nothing),
        "steps": ALERT % ("\n", nothing + "\n\nDelete the old logs."),
        "cause": ALERT % (TO_CHECK.replace("Look at the size of the logs.", nothing), "Delete the old logs."),
        "empty": ALERT % ("\n", nothing),
    }
    found = {}
    for name, text in texts.items():
        reading = read(project.write("runbooks/%s.md" % name, text), root=project.root)
        found[name] = [draft.data["content"] for draft in reading.drafts]
        assert bool(reading.left_out) == (name == "empty")
    assert not found.pop("empty")
    assert found.pop("checked")[0]["steps"] == ["Look at the size of the logs."]
    for (content,) in found.values():
        assert content["steps"] == ["Delete the old logs."]
        assert "root_cause" not in content


def test_a_record_without_its_decision_is_none(project: Project) -> None:
    text = "# ADR-7: Queue\n\n## Status\n\nProposed\n\n## Context\n\nIt is slow.\n\n## Decision\n\nTBD\n"
    reading = read(project.write("docs/ADR-7.md", text), root=project.root)
    assert (reading.drafts, len(reading.left_out)) == ([], 1)


@pytest.mark.parametrize(
    "field", ["[décrire la décision]", "- [Beschluss in einem Satz].", "1. [la decisión]"]
)
def test_a_field_in_brackets_is_still_to_be_written(project: Project, field: str) -> None:
    text = "# ADR-7: Queue\n\n## Status\n\nAccepted\n\n## Contexte\n\nIt is slow.\n\n## Décision\n\n%s\n"
    reading = read(project.write("docs/ADR-7.md", text % field), root=project.root)
    assert (reading.drafts, len(reading.left_out)) == ([], 1)
    for kept in (
        "We use [the queue](queue.md).",
        "[[Queue]] is used.",
        "- [x] We use the queue.",
        "```toml\n[licenses]\n```",
    ):
        (draft,) = read(project.write("docs/ADR-7.md", text % kept), root=project.root).drafts
        assert draft.data["content"]["decision"] == kept


def test_code_stays_with_its_step_and_headings_and_tags_are_no_steps(project: Project) -> None:
    text = """---
title: The budget burns
---

# BudgetBurn

## Impact

Requests fail.

<details>
<summary>More</summary>

Errors are counted.

</details>

## Critical

1. Look at the board.

### Slow reads

```promql
sum(a)
# of all
/ sum(b)
```

Then list them:

```sh
kubectl get pods
```
"""
    (draft,) = read(project.write("runbooks/burn.md", text), root=project.root).drafts
    assert draft.data["content"]["steps"] == [
        "Requests fail.",
        "Errors are counted.",
        "Critical: Look at the board.",
        "Critical: Slow reads:\n```promql\nsum(a)\n# of all\n/ sum(b)\n```",
        "Then list them:\n```sh\nkubectl get pods\n```",
    ]


@pytest.mark.parametrize(
    ("name", "head", "files"),
    [
        ("app/dashboard/.cursor/rules/x.mdc", "globs:\nalwaysApply: true", ["app/dashboard/"]),
        ("app/dashboard/.cursor/rules/x.mdc", "globs: '**/*.css'", ["app/dashboard/**/*.css"]),
        (
            "app/web/.cursor/rules/x.mdc",
            "globs: ['*.css', ./src/a/**]",
            ["app/web/**/*.css", "app/web/src/a/**"],
        ),
        ("app/web/.cursor/rules/x.mdc", "globs: app/web/src/**", ["app/web/src/**"]),
        (".cursor/rules/x.mdc", "globs: '*.css'", ["*.css"]),
        (".cursor/rules/x.mdc", "globs: []", []),
        (".cursor/rules/x.mdc", 'globs: "*.css", "*.{ts,tsx}"', ["*.css", "*.{ts,tsx}"]),
        ("api/.github/x.instructions.md", "applyTo: '**'", ["api/"]),
        (".cursor/rules/web/x.mdc", "alwaysApply: true", []),
        ("web/AGENTS.md", "", ["web/"]),
        ("web/GEMINI.md", "", ["web/"]),
        ("web/.windsurfrules", "", ["web/"]),
        ("web/.clinerules", "", ["web/"]),
        ("web/.clinerules/x.md", "", ["web/"]),
        ("web/copilot-instructions.md", "", ["web/"]),
        ("web/CONTRIBUTING.md", "", ["web/"]),
        ("CONTRIBUTING.md", "", []),
        ("docs/CONTRIBUTING.md", "", []),
        (".windsurfrules", "", []),
    ],
)
def test_rules_of_a_subfolder_are_for_its_files(
    project: Project, name: str, head: str, files: list[str]
) -> None:
    front = "---\n%s\n---\n" % head if head else ""
    path = project.write(name, front + "# Style\n\n- Always use the font Figtree for the interface.\n")
    (draft,) = read(path, root=project.root).drafts
    assert draft.data.get("related_files", []) == files
    above = ("dashboard", "api", "web")
    folder = next((one + ": " for one in above if files and one + "/" in files[0]), "")
    assert draft.data["title"] == folder + "Always use the font Figtree for the interface"


def test_a_rule_that_says_the_name_of_its_package_has_it_once(project: Project) -> None:
    path = project.write("libs/web/AGENTS.md", "# Rules\n- Never import from the Web package.\n")
    (draft,) = read(path, root=project.root).drafts
    assert draft.data["title"] == "Never import from the Web package"


@pytest.mark.parametrize("above", ["Look at the queue.", ""])
def test_the_rows_of_a_table_are_no_steps(project: Project, above: str) -> None:
    rows = "| Code | Meaning |\n| --- | --- |\n| 75 | full |"
    text = "# Mail stops\n\n## Symptoms\n\nNo mail.\n\n## Steps\n\n%s\n\n%s\n\nRestart it.\n" % (above, rows)
    (draft,) = read(project.write("runbooks/mail.md", text), root=project.root).drafts
    assert draft.data["content"]["steps"] == ["\n".join(filter(None, (above, rows))), "Restart it."]


def test_steps_below_a_symptom_are_a_runbook(project: Project) -> None:
    text = (
        "# The build disk is full\n\nSymptom: no space left.\n\n1. Prune the images.\n2. Start the agent.\n"
    )
    (draft,) = read(project.write("docs/runbooks/disk.md", text), root=project.root).drafts
    assert draft.data["category"] == "runbook"
    assert draft.data["content"]["steps"][1:] == ["Prune the images.", "Start the agent."]


def test_a_runbook_in_steps_is_one_memory(project: Project) -> None:
    text = "# Restore a backup\n\n### Step 1: stop\n\n- [ ] Stop the api\n\n### Step 2: restore\n\n```sh\nrestore --all\n```\n"
    (draft,) = read(project.write("runbooks/restore.md", text), root=project.root).drafts
    assert (draft.data["category"], draft.data["title"]) == ("runbook", "Restore a backup")
    assert draft.data["content"]["steps"] == [
        "Step 1: stop: Stop the api",
        "Step 2: restore:\n```sh\nrestore --all\n```",
    ]
