"""Markdown: front matter, sections below headings, and code that looks like a heading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories.markdown import Section, front_matter, sections


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
        pytest.param("???\n: x", {}, id="lines that are no fields"),
        pytest.param("", {}, id="nothing"),
    ],
)
def test_fields_at_the_head(head: str, fields: dict[str, object]) -> None:
    assert front_matter("---\n%s\n---\nrest\n" % head) == (fields, "rest\n", head.count("\n") + 3)


@pytest.mark.parametrize("text", ["", "no head", "---\nnever closed: 1\n", "text\n---\na: b\n---\n"])
def test_no_head(text: str) -> None:
    assert front_matter(text) == ({}, text, 0)


def test_sections_with_their_lines_and_headings_above() -> None:
    text = "before\n\n# Doc\nintro\n## Deploy ##\n### Staging\nrun a\n\n### Production\nrun b\n## Empty\n## Last\nend\n\n"
    assert sections(text) == [
        Section("", "", "before", 1, 1),
        Section("Doc", "", "intro", 3, 4),
        Section("Staging", "Deploy", "run a", 6, 7),
        Section("Production", "Deploy", "run b", 9, 10),
        Section("Last", "", "end", 12, 13),
    ]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "  ```"])
def test_a_heading_inside_a_code_fence_is_code(fence: str) -> None:
    text = "# A\n%s sh\n# not a heading\n%s\n# B\nend" % (fence, fence)
    assert [section.heading for section in sections(text)] == ["A", "B"]


def test_a_shorter_or_other_fence_closes_nothing() -> None:
    assert len(sections("# A\n````\n```\n~~~~\n# code\n````\n# B\nb")) == 2


@pytest.mark.parametrize(
    "line", ["#no space", "####### seven", "    # indented code", "\\# escaped", "text # inside"]
)
def test_lines_that_are_not_headings(line: str) -> None:
    assert [section.heading for section in sections(line + "\ntext")] == [""]


@given(st.text(alphabet=st.sampled_from("#`~ \n-:ab[]'\"\t"), max_size=200))
def test_any_text_is_read_and_every_word_is_kept(text: str) -> None:
    _, rest, _ = front_matter(text)
    text_of_sections = "".join(section.heading + section.text for section in sections(rest))
    headings = "".join(line for line in rest.splitlines() if line.lstrip().startswith("#"))
    assert all(letter in text_of_sections + headings for letter in rest if letter in "ab")
