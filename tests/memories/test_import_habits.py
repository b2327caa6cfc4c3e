"""Habits of teams: a status at the end or in a file beside, points that are over, boxes in rule files, maps, minutes in sentences."""

from __future__ import annotations

import pytest

from tests.memories.conftest import imported
from tests.project import Project

RECORD = "# DR-4 Ovens / Öfen\n\n## Background\n\nBread is late.\n\n## Decision / 決定\n\nWe buy two ovens.\n\n---\n%s\n"


@pytest.mark.parametrize(
    ("foot", "state"),
    [
        pytest.param(
            "【状態 / Status】廃止 / SUPERSEDED by DR-9", "archived", id="in brackets, two languages"
        ),
        pytest.param("`state: replaced-by 0007`", "archived", id="as code"),
        pytest.param("Status: ❌ no", "archived", id="a plain no"),
        pytest.param("Status: 💭 idea, again in May", "archived", id="an idea"),
        pytest.param("【状態】採用", "active", id="adopted"),
        pytest.param("`state: implemented in 0.14`", "active", id="implemented"),
    ],
)
def test_a_status_below_the_last_ruler_counts(project: Project, foot: str, state: str) -> None:
    found, _ = imported(project, {"notes/ovens.md": RECORD % foot})
    assert list(found.values()) == [state]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        pytest.param("title: ovens\nstatus: implementable\n", "active", id="agreed"),
        pytest.param("title: ovens\nstatus: provisional\n", "archived", id="an idea so far"),
        pytest.param("title: ovens\nstatus: replaced\n", "archived", id="replaced"),
    ],
)
def test_a_readme_has_its_status_in_the_file_beside(project: Project, fields: str, state: str) -> None:
    text = "# 12 Two ovens\n\n## Motivation\n\nBread is late.\n\n## Proposal\n\nWe buy two ovens.\n"
    files = {"rfcs/0012-ovens/README.md": text, "rfcs/0012-ovens/rfc.yaml": fields, "rfcs/0001.md": "# x\n"}
    found, _ = imported(project, files)
    assert list(found.values()) == [state]


def test_another_file_beside_a_readme_says_nothing_about_it(project: Project) -> None:
    files = {
        "docs/oven/README.md": "# Oven\n\nRye rests.\n",
        "docs/oven/action.yml": "name: Bake it\nauthor: Kim\n",
    }
    found, _ = imported(project, files)
    assert "Bake it" not in "".join(found)


@pytest.mark.parametrize(
    "point", ["(a) Deleted users are purged at night.", "(a) The gas oven is replaced by two of beech."]
)
def test_a_point_about_what_is_replaced_is_told(project: Project, point: str) -> None:
    text = "# Ovens\n\nStatus: accepted\n\n## Decision\n\n%s\n(b) Rye rests.\n" % point
    _, reading = imported(project, {"docs/adr/0003-ovens.md": text})
    assert point[4:] in reading.drafts[0].data["content"]["decision"]


def test_points_that_are_over_are_not_told(project: Project) -> None:
    head = "# Ovens\n\nStatus: accepted\n\n> Point 2 was replaced by 0009.\n\n## Decision\n\n"
    text = head + "1. Two ovens\n   at four.\n2. Beech wood.\n3. Rye.\n"
    _, reading = imported(project, {"docs/adr/0003-ovens.md": text})
    decision = reading.drafts[0].data["content"]["decision"]
    assert ("at four" in decision, "Beech" in decision, "Rye" in decision) == (True, False, True)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        pytest.param("- [ ] No name of a guest goes into a log.\n- [ ] buy flour for the baker's own bread\n", ["No name"], id="boxes"),
        pytest.param("- `oven/` - the firmware of it\n- `shop/` - the till\n", [], id="a map of folders"),
        pytest.param("```text\noven/   the firmware\nshop/   the till\n```\n", [], id="a tree"),
        pytest.param("```\ncmd/oven/    main\nshop/till/   the till\n```\n", [], id="a tree of nested folders"),
        pytest.param("- `oven/` firmware of it\n- `shop/` the till\n", [], id="a map without dashes"),
        pytest.param("| 👎 | 👍 |\n|---|---|\n| Oops, no bread | Bread comes at six |\n", ["Bread comes"], id="thumbs"),
        pytest.param("Bread must rest.\n\n---\n_From our old wiki, ask Kim._\n", ["Bread must"], id="a foot in italics"),
        pytest.param(
            "Never praise it.\n\n<details>\n<summary>How not to write one</summary>\n\n> best bread ever\n\n</details>\n",
            ["Never praise"], id="a folded bad example",
        ),
    ],
)  # fmt: skip
def test_a_rule_file_tells_rules_alone(project: Project, section: str, told: list[str]) -> None:
    text = (
        "# Oven\n\nOven is a driver for bakers.\n\n## State\n\n- Salt must be weighed.\n\n## Other\n\n"
        + section
    )
    _, reading = imported(project, {"AGENTS.md": text})
    texts = ["".join(map(str, draft.data["content"].values())) for draft in reading.drafts]
    assert len(texts) == 1 + len(told)
    assert [one for one in ["Salt", *told] if one not in "".join(texts)] == []


def test_a_changelog_is_no_rule_but_how_to_write_it_is(project: Project) -> None:
    rule = "# Oven\n\n## Changelog\n\nNever edit it. Add a fragment.\n"
    history = "# Oven\n\n- Salt must be weighed.\n\n## Changelog\n\n- 2031-02-03 salt\n- 1.2 rye\n"
    assert [len(imported(project, {"AGENTS.md": text})[0]) for text in (rule, history)] == [1, 1]


@pytest.mark.parametrize(
    "said",
    [
        "Lin was boring, good. After an hour we agreed to\nbake rye at four. No wheat.",
        "Vote 3-0: bake rye at four.",
        "RESOLVED, after some laughing: bake rye at four.",
        "Long talk. ==From now on we bake rye at four==, Kim tells all.",
    ],
)
def test_minutes_decide_in_the_middle_of_a_text(project: Project, said: str) -> None:
    text = "# Bakers' call - minutes\n\n## 2031-03-01\n\nPresent: Lin, Kim.\n\n**Rye.** %s\n\n## 2031-04-01\n\nWeather was bad.\n"
    _, reading = imported(project, {"minutes/2031.md": text % said})
    assert ["rye at four" in str(draft.data["content"]) for draft in reading.drafts] == [True]


def test_a_table_of_actions_is_no_runbook(project: Project) -> None:
    table = "| what | who | state |\n|---|---|---|\n| buy an alarm | Kim | open |\n"
    text = "# Burnt bread\n\n## Root cause\n\nThe alarm was off.\n\n## Actions\n\n" + table
    _, reading = imported(project, {"notes/burnt.md": text})
    assert "buy an alarm" not in str([draft.data["content"] for draft in reading.drafts])


def test_a_record_that_replaces_a_part_of_another_leaves_it_in_force(project: Project) -> None:
    files = {"docs/adr/0001-ovens.md": "# Ovens\n\nStatus: accepted\n\n## Decision\n\nTwo ovens, at four.\n"}
    said = "This ADR supersedes ADR [0001](0001-ovens.md)'s hour. The rest of ADR `0001` remains.\n"
    files["docs/adr/0002-hour.md"] = "# Hour\n\nStatus: accepted\n\n%s\n## Decision\n\nAt five.\n" % said
    found, _ = imported(project, files)
    assert list(found.values()) == ["active", "active"]


def test_a_word_far_below_does_not_make_a_file_generated(project: Project) -> None:
    text = "# Keys\n\nStatus: accepted\n\n## Decision\n\n%s\n\n## Amendment: auto-generated keys\n\nThey expire.\n"
    found, _ = imported(
        project, {"docs/adr/0004-keys.md": text % ("Guests sign in with their own key. " * 40)}
    )
    assert list(found.values()) == ["active"]


PLAIN = """\
DECISION: ovens
STATE: agreed, but see the note

What we do
(a) Two ovens burn at four.
(b) Beech wood is bought in May.

What we looked at
- Gas: the best heat, three bakers have it

NOTE 9 Sep (Kim): (b) is replaced. Oak is bought. (a) stays.
"""


def test_short_lines_of_a_plain_text_are_its_headings(project: Project) -> None:
    _, reading = imported(project, {"decisions/2031-02-ovens.txt": PLAIN})
    told = str([draft.data["content"] for draft in reading.drafts])
    assert [one in told for one in ("Two ovens", "Oak is bought", "Beech wood", "best heat")] == [
        True,
        True,
        False,
        False,
    ]


def test_lines_in_capitals_are_headings_where_there_are_no_others(project: Project) -> None:
    head = "BURNT BREAD\n===========\n\nPURPOSE\nThis page says it.\n\n"
    text = head + "STEPS\n1. Open the door.\n2. Cool it.\n\nCHANGE HISTORY\n3.2 No fax to Bern.\n"
    found, reading = imported(project, {"docs/runbooks/burnt-bread.md": text})
    assert list(found) == ["BURNT BREAD"]
    assert "fax" not in str(reading.drafts[0].data["content"])


@pytest.mark.parametrize(
    "item",
    [
        "- two loaves for one -- Kim likes it, Lin does not, parked",
        "- remember: buy Kim a cake (12 March!)",
        "Old: until 2029 all bread came from Bern.",
        "Maybe move to gas so that they sweep the oven for us? Lin thinks it is dear.",
        "Idea of Kim: sell bread by mail. Nothing decided.",
        "Ask Kim before Thursday whether the key is hers.",
    ],
)
def test_what_is_open_or_over_in_a_line_is_not_told(project: Project, item: str) -> None:
    _, reading = imported(project, {"notes/bread.md": "# Bread\n\nRye rests for a night.\n\n%s\n" % item})
    told = str([draft.data["content"] for draft in reading.drafts])
    assert ("Rye rests" in told, item.lstrip("- ") in told) == (True, False)


@pytest.mark.parametrize(
    "heading",
    [
        "Old way (until 2029)",
        "What the oven did before",
        "Questions we still have",
        "To do (bakers)",
        "?",
        "Vragen",
    ],
)
def test_what_stands_below_a_heading_of_before_or_later_is_not_told(project: Project, heading: str) -> None:
    text = "# Bread\n\nRye rests for a night.\n\n## %s\n\nBread came from Bern by mail.\n" % heading
    _, reading = imported(project, {"notes/bread.md": text})
    assert "from Bern" not in str([draft.data["content"] for draft in reading.drafts])


def test_a_table_of_what_and_why_is_a_log(project: Project) -> None:
    rows = "| B1 | 2031-01-02 | Rye rests | it is sour | in force |\n| B2 | 2031-01-03 | Gas burns | hot | not decided, parked |\n"
    text = "# Decision log\n\n| # | Date | What | Why | State |\n|---|---|---|---|---|\n" + rows
    found, _ = imported(project, {"docs/log.md": text})
    assert [title.split(" \u2014 ")[0] for title in found] == ["Rye rests"]


def test_what_was_learned_in_a_daily_note_is_kept(project: Project) -> None:
    text = "# 2031-02-12\n\n## Log\n\n- call with Lin, 50 minutes\n\n## Learned\n\n- Ovens cool from the door, so rye goes to the back\n"
    _, reading = imported(project, {"Daily/2031-02-12.md": text})
    told = str([draft.data["content"] for draft in reading.drafts])
    assert ("rye goes to the back" in told, "50 minutes" in told) == (True, False)
