"""Markdown: front matter, sections below headings, the rules of lists and their titles, decision records and runbooks."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories.import_facts import front_matter, visible_text
from memory_plugin.memories.markdown import Section, sections, title_for, without_markdown
from memory_plugin.memories.record import MAX_TITLE
from memory_plugin.memories.statements import statements_in


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        pytest.param("title: Use Postgres", {"title": "Use Postgres"}, id="a value"),
        pytest.param("title: 'a: b'", {"title": "a: b"}, id="a quoted value"),
        pytest.param("Tags: [a, 'b c', ]", {"tags": ["a", "b c"]}, id="a list in brackets"),
        pytest.param("tags:\n  - a\n- b", {"tags": ["a", "b"]}, id="a list with dashes"),
        pytest.param(
            "description: >\n  one\n  two\nname: n",
            {"description": "one\ntwo", "name": "n"},
            id="a folded block",
        ),
        pytest.param("url: http://x/y#z", {"url": "http://x/y#z"}, id="a colon in the value"),
        pytest.param(
            'title = "Use Postgres"\ntags = ["a", "b"]',
            {"title": "Use Postgres", "tags": ["a", "b"]},
            id="TOML",
        ),
        pytest.param("query: a = b", {"query": "a = b"}, id="a sign in the value"),
        pytest.param("", {}, id="nothing"),
    ],
)
def test_fields_at_the_head(head: str, fields: dict[str, object]) -> None:
    lines = head.count("\n") + 3
    assert front_matter("---\n%s\n---\nrest\n" % head) == (fields, "\n" * lines + "rest\n")


def test_a_head_of_toml_stands_between_plus_signs() -> None:
    assert front_matter("+++\ndraft = true\n+++\nrest\n") == ({"draft": "true"}, "\n\n\nrest\n")


def test_no_head() -> None:
    cases = ["", "no head", "---\nnever closed: 1\n", "text\n---\na: b\n---\n", "---\nA text.\n---\nrest\n"]
    assert [text for text in cases if front_matter(text) != ({}, text)] == []


def test_sections_with_their_lines_and_headings_above() -> None:
    text = "before\n\n# Doc\nintro\n## Deploy ##\n### Staging\nrun a\n\n### Production\nrun b\n## Empty\n## Last\nend\n\n"
    assert sections(text) == [
        Section("", (), "before", 1, 1),
        Section("Doc", (), "intro", 3, 4),
        Section("Staging", ("Deploy", "Staging"), "run a", 6, 7),
        Section("Production", ("Deploy", "Production"), "run b", 9, 10),
        Section("Last", ("Last",), "end", 12, 13),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_a_heading_inside_a_code_fence_is_code(fence: str) -> None:
    text = "# A\n%s sh\n# not a heading\n%s\n# B\nend" % (fence, fence)
    assert [section.heading for section in sections(text)] == ["A", "B"]


def test_code_on_one_line_opens_no_fence() -> None:
    assert [section.heading for section in sections("# A\n```Case``` has states\n# B\nb")] == ["A", "B"]
    assert title_for("```Case``` has states") == "```Case``` has states"


def test_a_line_between_sections_belongs_to_none() -> None:
    assert [section.text for section in sections("# A\na\n\n---\n\n# B\nb\n***\nc")] == ["a", "b\n***\nc"]


def test_a_shorter_or_other_fence_closes_nothing() -> None:
    assert len(sections("# A\n````\n```\n~~~~\n# code\n````\n# B\nb")) == 2


def test_lines_that_are_not_headings() -> None:
    cases = ["#no space", "####### seven", "    # indented code", "\\# escaped", "text # inside"]
    assert [
        line for line in cases if [section.heading for section in sections(line + "\ntext")] != [""]
    ] == []


@given(st.text(alphabet=st.sampled_from("#`~ \n-:ab[]'\"\t"), max_size=200))
def test_any_text_is_read_and_every_word_is_kept(text: str) -> None:
    _, rest = front_matter(text)
    text_of_sections = "".join(section.heading + section.text for section in sections(rest))
    headings = "".join(line for line in rest.splitlines() if line.lstrip().startswith("#"))
    assert all(letter in text_of_sections + headings for letter in rest if letter in "ab")


def test_the_first_sentence_is_the_title() -> None:
    cases = [
        ("**Never** mock [the database](db.md). It hides `JOIN` bugs.", "Never mock the database"),
        ("Use tools, e.g. Ruff, in CI.", "Use tools, e.g. Ruff, in CI"),
        ("Ein Brot, z. B. Roggen, ruht.", "Ein Brot, z. B. Roggen, ruht"),
        ("- [x] Pin versions exactly.", "Pin versions exactly"),
        ("Node 20.1 is required. Older ones fail.", "Node 20.1 is required"),
        ("Tabs.", "Style: Tabs"),
        ("> [!note]\n> The cache is warmed at night.", "The cache is warmed at night"),
        ("The web app has one backend. `packages/rules` holds the rules.", "The web app has one backend"),
    ]
    assert [(text, title) for text, title in cases if title_for(text, "Style") != title] == []


@given(st.text(max_size=400))
def test_any_text_has_a_short_title(text: str) -> None:
    assert len(title_for(text, "Heading")) <= MAX_TITLE
    assert "\n" not in without_markdown(text)


def titles_and_contexts(text: str) -> list[tuple[str, str]]:
    return [
        (statement.title, statement.context)
        for section in sections(text)
        for statement in statements_in(section, [], False, False)
    ]


def test_an_introduction_in_the_middle_is_the_context_of_its_list() -> None:
    text = "## Queue\nJobs live in Redis.\n\nSome notes on retries:\n\n- Jobs are retried three times.\n- Never delete a job by hand.\n"
    assert titles_and_contexts(text) == [
        ("Jobs live in Redis", ""),
        ("Jobs are retried three times", "Some notes on retries:"),
        ("Never delete a job by hand", "Some notes on retries:"),
    ]


def test_each_list_item_is_a_rule_with_its_nested_text() -> None:
    text = "## Testing\nThe CI has two cores.\n\n- Never mock the database.\n  It hides bugs.\n  - not once\n- Run the slow tests last.\n"
    assert titles_and_contexts(text) == [
        ("Never mock the database", "The CI has two cores."),
        ("Run the slow tests last", "The CI has two cores."),
    ]


def test_names_in_a_list_are_one_statement() -> None:
    assert titles_and_contexts("## Stack\n- Node 20\n- Postgres 16\n- Redis\n") == [
        ("Stack: Node 20, Postgres 16, Redis", "")
    ]


def test_a_procedure_stays_together() -> None:
    assert titles_and_contexts(
        "## Release a version\n1. Tag it.\n2. Push it.\n\n```sh\nmake publish\n```\n"
    ) == [("Release a version", "")]


def test_a_heading_that_names_a_document_is_no_title_alone() -> None:
    assert titles_and_contexts("# Kiosk.md - a guide\nA small shop.\n") == [
        ("Kiosk.md - a guide: A small shop", "")
    ]


def test_a_list_in_a_code_fence_is_code() -> None:
    assert titles_and_contexts("## Config file\n```yaml\n- a: 1\n- b: 2\n```\n") == [("Config file", "")]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        pytest.param("## Do not\n- Skip tests\n- use `any`\n", ["Do not: Skip tests", "Do not: use `any`"], id="heading that negates"),
        pytest.param(
            "## Never write to $HOME on the cluster\nWrite to:\n\n- Project dir: `/projects/x/`\n- Shared dir: `/projects/y/`\n",
            ["Never write to $HOME on the cluster: Write to: Project dir: `/projects/x/`, Shared dir: `/projects/y/`"],
            id="heading that is the rule",
        ),
        pytest.param(
            "## When to stop and ask\n- A request that contradicts a pattern\n- Missing credentials\n",
            ["When to stop and ask: A request that contradicts a pattern, Missing credentials"],
            id="fragments",
        ),
        pytest.param("## Git\n- Use topic branches\n- Always sign commits\n- Two approvals\n",
                     ["Use topic branches", "Always sign commits", "Git: Two approvals"], id="fragment among rules"),
        pytest.param("The build fails because:\n- No cache is left on the runner\n- The token is missing\n",
                     ["The build fails because: No cache is left on the runner", "The build fails because: The token is missing"],
                     id="lead that needs its items"),
        pytest.param("## Anti-patterns\n- **NEVER** amend commits\n- **ALWAYS** sign commits\n- Long functions\n",
                     ["NEVER amend commits", "ALWAYS sign commits", "Anti-patterns: Long functions"], id="orders need no heading"),
        pytest.param("## Files\n- `src/main.py`\n- `src/db/session.py`\n", [], id="bare paths"),
        pytest.param("## Links\n- [Guide](https://a.test/)\n", [], id="links"),
        pytest.param("## Commands\n- Build: TBD\n- Test: TBD\n", [], id="placeholders"),
        pytest.param("## Current status\n- Auth\n- Payments\n", [], id="status"),
        pytest.param("## Planned features (later)\n### 1. Search\n- Use an index\n", [], id="plans, also below their heading"),
        pytest.param("## Data\n**Current state:**\n- Germany is done\n- France is missing\n", [], id="lead that reports progress"),
        pytest.param("## About\n**Status**: two left\n", [], id="facts about the document"),
        pytest.param("Thanks for your help!\nIt is welcome.\n", [], id="courtesy"),
        pytest.param("Welcome! We are glad.\n\nPatches need two reviews.\n", ["Patches need two reviews"], id="courtesy above a rule"),
        pytest.param("## Map\n```mermaid\ngraph TD\n  a --> b\n```\n", [], id="a diagram"),
        pytest.param("## About\nThis document describes how we release.\n", [], id="a text about the document"),
        pytest.param("## Incidents\nWho raises it is the lead. The lead has to:\n- Tell support at once\n- Take notes in the channel\n",
                     ["The lead has to: Tell support at once", "The lead has to: Take notes in the channel"], id="lead of two sentences"),
        pytest.param("## Sources\n- **Rates of the bank**: [all of them](https://a.test/)\n", [], id="names of links"),
        pytest.param("## Releases\nSee `RELEASE.md` for detailed instructions.\n", [], id="only a pointer"),
        pytest.param("## Contributing\nSee the [guide](https://a.test/b).\n", [], id="only a link to read"),
        pytest.param("## Alert B\nSame as [`A`](#a).\n", [], id="the same as another"),
        pytest.param("## Rules\n- Never push on Fridays\n- See https://a.test/rules\n- For releases, also read [the plan](plan.md)\n",
                     ["Never push on Fridays"], id="pointers among rules"),
        pytest.param("## Rules\n- Read the diff before you merge\n- See `make help` for flags, but never use `-k`\n",
                     ["Read the diff before you merge", "See `make help` for flags, but never use `-k`"], id="rules that point"),
        pytest.param("## More\n- [[Queues]] - how they fill\n- [[Retries]]\n", [], id="links between notes with remarks"),
        pytest.param("## Requests\n| Plan | Requests |\n| --- | --- |\n| free | ten a minute |\n", ["Requests"], id="a table"),
        pytest.param("## Start\n| Page | Purpose |\n|:--|--|\n| [API](api.md) | what it offers |\n| [Go](go.md) | how it runs |\n", [],
                     id="a table of pages"),
        pytest.param("## Git\n- Use topic branches\n- Never sign with the old key\n\nPull requests name an issue.\n\nIt is closed.\n",
                     ["Use topic branches", "Never sign with the old key", "Pull requests name an issue"], id="texts below rules"),
        pytest.param("## Cache\nThe cache is filled at night by a job that reads all orders of the day before. It sorts them by region,"
                     " writes them to Redis, and takes an hour or two on each of the days.\n\n- Never clear it by day\n",
                     ["The cache is filled at night by a job that reads all orders of the day before", "Never clear it by day"],
                     id="a text above rules that says something itself"),
        pytest.param("## Quick links\n- Filters: `a.ts`, `b.ts`\n- Pages: `c.ts`\n", [], id="quick links"),
        pytest.param("## What to do\n- Restart the queue\n", ["What to do: Restart the queue"], id="no list of things to do"),
        pytest.param("## Prices\nThey are binding. Errors cost money.\n\n- Every price has a currency code\n- Net before gross\n",
                     ["Every price has a currency code", "Prices: Net before gross"], id="lead that is a sentence of its own"),
        pytest.param("## Taxes\n**2021**: lower rates\n- Rates are 5 % now\n\n**2022**: new limits\n- Limits are doubled\n",
                     ["Rates are 5 % now", "Limits are doubled"], id="labels in bold between lists"),
        pytest.param("## Tests\n```py\n# Tests\ndef test_it():\n    t = 1\n\n    assert t\n```\n\n- Plain assert\n- One fixture\n",
                     ["Tests", "Tests: Plain assert, One fixture"], id="code above a list"),
        pytest.param("## Add the codes of a year\nThe constants are factors of the formula:\n- Zone 0: none\n- Zone 1: a, b\n",
                     ["Add the codes of a year: The constants are factors of the formula: Zone 0: none, Zone 1: a, b"],
                     id="list that explains a rule"),
        pytest.param("## Ports\n- 5432 - Postgres\n- 6379 - Redis\n", ["Ports: 5432 - Postgres, 6379 - Redis"], id="names"),
        pytest.param("## Rules\n- Match `**/*.py`, not `**/*.pyc` files\n", ["Match `**/*.py`, not `**/*.pyc` files"], id="marks in code"),
        pytest.param("## Rules\n- Return `Result<T, E>` from [every](a.md) `<!-- x -->` handler\n",
                     ["Return `Result<T, E>` from every `<!-- x -->` handler"], id="brackets in code"),
    ],
)  # fmt: skip
def test_a_title_says_what_its_rule_says(text: str, titles: list[str]) -> None:
    statements = [
        statement
        for section in sections(visible_text(text))
        for statement in statements_in(section, [], False, False)
    ]
    assert [statement.title for statement in statements] == titles
    for statement in statements:
        words = set(re.findall(r"\w+", statement.title))
        assert words <= set(re.findall(r"\w+", statement.text.replace("](a.md)", "")))


@pytest.mark.parametrize(
    "piece",
    [
        "{{",
        "<your",
        "[specify ",
        "[a](",
        "[a][",
        "~~a ",
        "**a",
        "<!-- ",
        "a/",
        "---\n",
        "TODO (",
        "`a\n",
        "see a",
        "Thanks\n",
        "a: [b",
        "```a\n",
        "<bad>\n",
        '<example type="bad">\n',
        "Don't do:\n```a\n",
        "{{embed ",
        "\n**a**\n",
    ],
)
def test_unfinished_marks_take_linear_time(piece: str) -> None:
    """A quadratic pattern takes two seconds and more here, a linear one a few hundredths."""
    text = piece * (30_000 // len(piece))
    start = process_time()
    without_markdown(text)
    for section in sections(visible_text(text)):
        statements_in(section, [], False, False)
    assert process_time() - start < 1
