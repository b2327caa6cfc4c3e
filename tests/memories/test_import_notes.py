"""What becomes of a note: one memory or one for each of its sections, and what of its text nobody needs."""

from __future__ import annotations

import pytest

from memory_plugin.memories.importing import read
from tests.memories.conftest import imported
from tests.project import Project

_LONG = "The kiln is fired with gas from the tank behind the shed, and somebody watches it. " * 25


@pytest.mark.parametrize(
    ("name", "text", "titles"),
    [
        pytest.param(
            "kiln.md",
            "# The gas kiln\n\n## Data\n\n- Volume: 90 liters\n- Cone: 9\n\n## Shelves\n\n- Three large\n- Two half\n",
            ["The gas kiln"],
            id="facts in short sections are one memory",
        ),
        pytest.param(
            "kiln.md",
            "# The gas kiln\n\n- Never fire it alone.\n- The lid must stay shut.\n- Always log the cones.\n",
            ["Never fire it alone", "The lid must stay shut", "Always log the cones"],
            id="a list of orders is one memory for each",
        ),
        pytest.param(
            "team-rules.md",
            "# Studio\n\n- Glazes are mixed by two people.\n- Kiln logs are kept for a year.\n",
            ["Glazes are mixed by two people", "Kiln logs are kept for a year"],
            id="rules by the name of the file",
        ),
        pytest.param(
            "clay-log.md",
            "# Clay log\n\n### 2031-02-01 - Buy clay by the ton\n\nCheap.\n\n### 2031-03-01 - Dry it outside\n\nThe room is damp.\n",
            ["Clay log: 2031-02-01 - Buy clay by the ton", "Clay log: 2031-03-01 - Dry it outside"],
            id="a log is one memory for each day",
        ),
        pytest.param(
            "kiln.md",
            "# The gas kiln\n\n## Why\n\nGas is cheap here.\n\n## Benefits\n\n- It heats evenly.\n",
            ["The gas kiln"],
            id="reasons alone are a note",
        ),
        pytest.param(
            "deck.md",
            "# Decision: buy the deck oven\n\n**Decision:** Yes.\n\n## Why\n\n- It is hot.\n\n## What we rejected\n\n- Rack\n",
            ["Decision: buy the deck oven"],
            id="a note that marks its decision is one memory",
        ),
        pytest.param(
            "mixer.md",
            "Clean the mixer\n===============\n\nBelt\n----\n\nOil it in May.\n\nBowl\n----\n\nWash it by hand.\n",
            ["Clean the mixer"],
            id="underlined headings",
        ),
        pytest.param(
            "runbooks/mixer.md",
            "The mixer\n=========\n\nBelt slips\n----------\n\n1. Oil it.\n\nBowl leaks\n----------\n\n1. Weld it.\n",
            ["The mixer: Belt slips", "The mixer: Bowl leaks"],
            id="underlined headings of a runbook",
        ),
    ],
)
def test_a_note_is_kept_together(project: Project, name: str, text: str, titles: list[str]) -> None:
    found, _ = imported(project, {name: text})
    assert list(found) == titles


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        pytest.param(
            "# The gas kiln\n\n## Heat\n\n%s\n\n## Shelves\n\n- Three large\n- Two half\n" % _LONG,
            ["The gas kiln: Heat", "The gas kiln: Shelves"],
            id="each section",
        ),
        pytest.param(
            "# The kiln\n\n## Firing\n\n### Bisque\n\n%s\n\n### Glaze\n\n%s\n" % (_LONG, _LONG),
            ["The kiln: Firing: Bisque", "The kiln: Firing: Glaze"],
            id="the next headings",
        ),
    ],
)
def test_a_long_note_is_split_if_somebody_names_it_and_else_left_out(
    project: Project, text: str, titles: list[str]
) -> None:
    named = read(project.write("notes/kiln.md", text), root=project.root)
    assert [draft.data["title"] for draft in named.drafts] == titles
    mixed, reading = imported(project, {"notes/kiln.md": text, "notes/learnings.md": text})
    assert len(mixed) == len(titles)
    assert ["a long text" in why for _, why in reading.left_out] == [True]


_DECIDED = "# Heat\n\nThe kiln loses heat at the lid.\n\n**Decision:** the lid is lined with wool.\n"


@pytest.mark.parametrize(
    ("name", "is_paper"),
    [
        pytest.param("docs/analysis/heat.md", True, id="a folder of analyses"),
        pytest.param("docs/analysen/heat.md", True, id="a German folder"),
        pytest.param("planning/sprints/S03/scope.md", True, id="a folder above"),
        pytest.param("docs/heat-loss-report.md", True, id="a report"),
        pytest.param("docs/heat_audit_2031-05.md", True, id="an audit with its month"),
        pytest.param("docs/heat-improvement-plan.md", True, id="a plan"),
        pytest.param("docs/heat-2031-05-04.md", True, id="a day at the end"),
        pytest.param("docs/heat.md", False, id="a note"),
        pytest.param("docs/runbooks/heat-spike.md", False, id="a runbook"),
        pytest.param("docs/audit-log-retention.md", False, id="a note about audits"),
        pytest.param("docs/heat-recovery-plan.md", False, id="a plan for an emergency"),
        pytest.param("AGENTS.md", False, id="rules"),
        pytest.param(".cursor/rules/research.md", False, id="rules about research"),
    ],
)
def test_of_a_working_paper_only_what_it_marks_as_decided_is_kept(
    project: Project, name: str, is_paper: bool
) -> None:
    _, reading = imported(project, {name: _DECIDED})
    told = "\n".join(str(draft.data["content"]) for draft in reading.drafts)
    assert ("lined with wool" in told, "loses heat" in told) == (True, not is_paper)
    named = read(project.write(name, _DECIDED), root=project.root).drafts
    assert "loses heat" in str([draft.data["content"] for draft in named])


def test_a_summary_in_a_paper_is_no_decision(project: Project) -> None:
    found, _ = imported(project, {"reports/heat.md": "# Heat\n\n## Summary\n\nAll lids are warm.\n"})
    assert not found


def test_numbered_steps_make_a_note_a_runbook_and_numbered_names_do_not(project: Project) -> None:
    steps = "# Empty the kiln\n\nIt is hot.\n\n1. Open the vent\n2. Wait a day\n3. Lift the lid\n"
    names = "# Parts of the kiln\n\nIt has two.\n\n1. **Vent** - lets out steam\n2. **Lid:** holds the heat\n"
    _, reading = imported(
        project,
        {
            "empty.md": steps,
            "parts.md": names,
        },
    )
    assert [(draft.data["category"], draft.data["title"]) for draft in reading.drafts] == [
        ("runbook", "Empty the kiln"),
        ("decision", "Parts of the kiln"),
    ]


_OUTLINE = """- ## Firing
\t- The kiln is fired on Mondays.
\t- DONE Order the cones
\t  :LOGBOOK:
\t  CLOCK: [2031-01-01 Wed 10:00:00]
\t  :END:
\t- LATER Ask for a second kiln
\t-
- ## Clay
  source:: the pit
\t- Stoneware comes from the pit in the north. ((65a1b2c3-0000-4000-8000-000000000000))
- #+BEGIN_QUERY
  {:title "Open"}
  #+END_QUERY
"""


def test_an_outline_has_headings_and_no_tasks(project: Project) -> None:
    found, reading = imported(project, {"pages/Kiln.md": _OUTLINE})
    assert list(found) == ["Kiln: Firing"]
    assert reading.drafts[0].data["content"]["decision"] == (
        "## Firing\n\n\t- The kiln is fired on Mondays.\n\n"
        "## Clay\n\n\t- Stoneware comes from the pit in the north."
    )
    assert len(reading.left_out) == 2


_KEPT = "Glazes are mixed by two people."


@pytest.mark.parametrize(
    "aside",
    [
        pytest.param("This page explains how the studio works.", id="about the document"),
        pytest.param("This file lists what `studio.yml` needs.", id="about the document with a name"),
        pytest.param("_Last edited by kim on 4 May 2031 \u00b7 3 watchers_", id="line of a wiki"),
        pytest.param("Stand: Mai 2031, gepflegt von Kim", id="German line of status"),
        pytest.param("Source: the price list of the maker", id="source"),
        pytest.param("Hello and welcome! Have fun.", id="greeting"),
        pytest.param("\u274c Bad:\n\n```sh\nmix --alone\n```", id="bad example in code"),
        pytest.param('Bad example: "mixed it alone, sorry"', id="bad example in quotes"),
        pytest.param(
            "Schlechtes Beispiel f\u00fcr einen Eintrag: \u201egemischt\u201c", id="German bad example"
        ),
        pytest.param("See also: [[Clay]], [[Kiln|the kiln]]", id="links"),
        pytest.param("TODO: add a picture of the bench", id="picture to be added"),
        pytest.param("## Revision history\n\n- 2031-01-02 fixed a name", id="history"),
        pytest.param("#kiln #glaze/blue", id="tags"),
        pytest.param("## Related\n\n- [[Clay]] - where it comes from", id="related"),
    ],
)
@pytest.mark.parametrize("name", ["studio.md", "rules.md"])
def test_what_nobody_needs_is_in_no_memory(project: Project, name: str, aside: str) -> None:
    parts = (_KEPT, aside) if aside[:2] == "##" else (aside, _KEPT)
    _, reading = imported(project, {name: "# Glaze room\n\n%s\n\n%s\n" % parts})
    (draft,) = reading.drafts
    assert list(draft.data["content"].values()) == [_KEPT]


@pytest.mark.parametrize(
    "kept",
    [
        "Thanks to the fan, the room stays dry.",
        "- Source: the tank\n- Target: the kiln",
        "- TODO comments need a name and a day",
        "Bad batches are thrown away.",
        "The last drill broke in May.",
        "This folder is wiped each night.",
    ],
)
def test_what_only_looks_like_it_is_kept(project: Project, kept: str) -> None:
    _, reading = imported(project, {"studio.md": "# Glaze room\n\n%s\n\n%s\n" % (_KEPT, kept)})
    assert kept in reading.drafts[0].data["content"]["decision"]


@pytest.mark.parametrize("heading", ["Benefits", "Why this matters", "Pros", "Rationale", "Vorteile"])
def test_reasons_are_no_rules(project: Project, heading: str) -> None:
    text = (
        "# Rules\n\n## Glaze\n\n- Never mix it alone.\n\n## %s\n\n- Two people see more than one.\n" % heading
    )
    found, _ = imported(project, {"rules.md": text})
    assert list(found) == ["Never mix it alone"]


def test_a_note_keeps_its_reasons(project: Project) -> None:
    text = "# Glaze room\n\n## Bench\n\n- Made of stone\n- Cold\n\n## Rationale\n\n- Stone keeps its form.\n"
    _, reading = imported(project, {"bench.md": text})
    assert "Stone keeps its form." in reading.drafts[0].data["content"]["decision"]


@pytest.mark.parametrize(
    "name", ["Minutes-2031-05-04.md", "2031-05-04-weekly.md", "meeting notes 2031-05-04.md"]
)
def test_minutes_with_a_day_in_their_name_keep_decisions_alone(project: Project, name: str) -> None:
    text = "# Studio\n\n## Oven\n\nKim wants a new one.\n\n**Decision:** the oven is repaired in June.\n\n"
    text += "## Other\n\nThe sink must be empty by Friday.\n"
    found, _ = imported(project, {"notes/" + name: text})
    assert list(found) == ["the oven is repaired in June"]


def test_a_cause_in_steps_is_the_beginning_of_the_steps(project: Project) -> None:
    text = "# Kiln stays cold\n\n## Symptoms\n\nNo heat.\n\n## Diagnosis\n\n1. Look at the valve\n\n## Mitigation\n\n1. Open it\n"
    _, reading = imported(project, {"runbooks/kiln.md": text})
    content = reading.drafts[0].data["content"]
    assert content["steps"] == ["Look at the valve", "Open it"]
    assert "root_cause" not in content


def test_fields_of_a_tool_do_not_hide_those_of_the_note_below(project: Project) -> None:
    text = "---\ntitle: clay-oven\ntype: note\n---\n\n---\ntitle: Ovens of clay\ntags: [x]\n---\n\n# Intro\n\nWet.\n"
    _, reading = imported(project, {"vault/a.md": text})
    assert (reading.drafts[0].data["title"], reading.drafts[0].data["tags"]) == ("Ovens of clay", ["x"])
