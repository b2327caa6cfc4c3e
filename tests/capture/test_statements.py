"""Lasting statements: each rule finds exactly its examples, and only in text that the user typed."""

from __future__ import annotations

import json
import os
import re
from itertools import combinations

import pytest

from memory_plugin.capture.statements import (
    features,
    find_statements,
    own_sentences,
    patterns,
    rules_in,
)
from memory_plugin.kernel.paths import load_data

TABLE = load_data("capture", "statements")
OWN = load_data("capture", "own_words")
CLASSES = load_data("capture", "classes")["classes"]
RULES = TABLE["certain"] + TABLE["rules"]


def test_a_rule_finds_exactly_its_examples() -> None:
    for entry in RULES:
        assert [text for text in entry["hit"] if not find_statements(text)] == [], entry["id"]
        assert [text for text in entry["miss"] if find_statements(text)] == [], entry["id"]
        assert min(len(entry["hit"]), len(entry["miss"])) >= 2, entry["id"]


def test_the_pattern_of_a_rule_matches_its_examples() -> None:
    for rule, entry in zip(patterns("certain") + patterns("rules"), RULES):
        assert rule.id == entry["id"]
        assert [text for text in entry["hit"] if not rule.pattern.search(text)] == [], rule.id


def test_a_sentence_that_belongs_to_the_one_before_is_known() -> None:
    for one, entry in zip(patterns("leaning"), TABLE["leaning"]):
        assert [text for text in entry["hit"] if not one.matches(text)] == [], one.id
        assert [text for text in entry["miss"] if one.matches(text)] == [], one.id


def test_of_a_long_sentence_with_a_certain_fact_only_the_fact_is_kept() -> None:
    task = ", and i want to move the settings out of the old file and then read the keys from the one in my home folder"
    assert [found.text for found in find_statements("okay my name is Nathan" + task)] == ["my name is Nathan"]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        pytest.param("the staging cluster is read only", "fact", id="what is"),
        pytest.param("I want to use redis", "rule", id="what is used"),
        pytest.param("we want everything in postgres", "decision", id="what is wanted"),
    ],
)
def test_words_alone_can_make_a_statement(sentence: str, kind: str) -> None:
    found = find_statements(sentence)[0]
    assert 0.5 <= found.strength <= 0.75
    assert found[:2] == (sentence, kind)
    assert rules_in(sentence) == []


@pytest.mark.parametrize("sentence", ["only the second one", "the staging cluster is down since monday"])
def test_one_word_that_speaks_for_a_statement_makes_none(sentence: str) -> None:
    assert find_statements(sentence) == []


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        pytest.param("let's go with postgres", True, id="likely words"),
        pytest.param(
            "always log the body in that handler so i can see what comes in", False, id="unlikely words"
        ),
        pytest.param(
            "先跑一下测试。\n记住: 所有的脚本都放在 tools 目录",
            True,
            id="a script that the model has not learned",
        ),
    ],
)
def test_a_rule_alone_is_not_enough_for_the_model(prompt: str, found: bool) -> None:
    assert any(map(rules_in, own_sentences(prompt)))
    assert bool(find_statements(prompt)) == found


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        pytest.param(
            "Edit src/a.py?", ["edit", "<path>", "?", "^ edit", "edit <path>", "<path> ?", "? $"], id="path"
        ),
        pytest.param(
            "12 files", ["<number>", "files", "^ <number>", "<number> files", "files $"], id="number"
        ),
        pytest.param("", ["^ $"], id="empty"),
    ],
)
def test_the_words_of_a_sentence(sentence: str, words: list[str]) -> None:
    found = features(sentence, has_rule=False)
    assert [name for name in found if not name.startswith("=")] == words


@pytest.mark.parametrize(
    ("sentence", "classes"),
    [
        pytest.param("We never use jest", ["not", "tool", "use", "we"], id="each word"),
        pytest.param("不要用 redis", ["not", "tool", "use"], id="without spaces"),
        pytest.param("blue", [], id="none"),
    ],
)
def test_the_classes_of_a_sentence_and_their_pairs(sentence: str, classes: list[str]) -> None:
    found = [name for name in features(sentence, has_rule=False) if name.startswith("=")]
    assert found == ["=" + name for name in classes] + ["=%s=%s" % pair for pair in combinations(classes, 2)]


def test_a_word_counts_less_in_a_long_sentence() -> None:
    short = features("we use pnpm", has_rule=True)
    long = features("we use pnpm word a b c d e f g h", has_rule=True)
    assert short["pnpm"] == 1.0 > long["pnpm"] > 0
    assert short["a rule"] == long["a rule"] == 1.0


def test_a_word_has_one_class() -> None:
    words = [word for words in CLASSES.values() for word in words.split()]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("entry", TABLE["vetoes"], ids=lambda entry: str(entry["id"]))
def test_a_veto_excludes_exactly_its_examples(entry: dict[str, list[str]]) -> None:
    assert [text for text in entry["hit"] if find_statements(text)] == []
    assert [text for text in entry["miss"] if not find_statements(text)] == []


@pytest.mark.parametrize("part", ["pasted", "announcing", "briefs", "listing"])
def test_patterns_for_other_peoples_text_match_exactly_their_examples(part: str) -> None:
    for entry in OWN[part]:
        pattern = re.compile(entry["pattern"], re.IGNORECASE | re.MULTILINE)
        assert [text for text in entry["hit"] if not pattern.search(text)] == [], entry["id"]
        assert [text for text in entry["miss"] if pattern.search(text)] == [], entry["id"]


def test_every_entry_has_a_reason_and_a_unique_id() -> None:
    entries = [
        *TABLE["rules"],
        *TABLE["vetoes"],
        *(entry for part in ("pasted", "announcing", "briefs", "listing") for entry in OWN[part]),
    ]
    assert all(len(entry["reason"]) > 10 for entry in entries)
    assert len({entry["id"] for entry in entries}) == len(entries)


def test_other_peoples_text_is_no_statement() -> None:
    cases = [
        "<private>From now on we never mock the database.</private> Fix the test.",  # private
        "What does this say?\n\n> We never mock the database.",  # quoted as a mail
        'The README says "we never mock the database in any of the tests".',  # quoted
        '"We never mock the database. Always use Postgres." (the old wiki, page 3)',  # quoted, of several sentences
        "```\nWe never mock the database.\n```\nfix it",  # fenced
        'Set this text:\n"""Be kind.\nWe never mock the database."""',  # of a program
        "<page>We never mock the database.</page> summarize",  # tagged
        "Address these review comments:\n\nWe never mock the database.",  # announced
        "Fix it:\n1. We never mock the database.\n2. We use pnpm, not npm.",  # listed
        "    We never mock the database.\nwhy?",  # indented
        "Should we never mock the database?",  # a question
        "All orders must carry the totals in <xml>a</xml> as text",  # cut by a tag
        "Our tests never touch the network and I got this error: none",  # cut by what it announces
        "We use the account of the project to sign in there, and we never share the key,\n  so we use pnpm here, not npm",  # wrapped
        "[Pasted text #2 +40 lines]",  # what the client shows elsewhere
        "You are a senior tester. Never mock the database.",  # a brief
        "# Goal\n\nWe use pnpm, not npm.\n\n# Steps\n\nNever mock the database.",  # a document
    ]
    assert [prompt for prompt in cases if find_statements(prompt) != []] == []


def test_a_list_counts_if_the_user_introduces_it_as_rules() -> None:
    found = find_statements(
        "Some rules for this repo:\n- never mock the database\n- use pnpm, not npm\n- be nice"
    )
    assert [statement.text for statement in found] == ["never mock the database", "use pnpm, not npm"]


def test_only_the_ends_of_a_long_prompt_count() -> None:
    pasted = "\n\n".join("Line %d of a page. We never mock the database." % number for number in range(80))
    assert (
        find_statements("We use pnpm here, not npm.\n\n" + pasted + "\n\nthanks")[0].text
        == "We use pnpm here, not npm."
    )
    assert len(find_statements("look at this\n\n" + pasted + "\n\nthanks")) == 0


def test_sentences_end_at_punctuation_and_line_breaks() -> None:
    text = "no, use pnpm here. It is e.g. faster!\nAnd stop adding comments"
    assert own_sentences(text) == ["no, use pnpm here.", "It is e.g. faster!", "And stop adding comments"]


@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        pytest.param("We name branches feature/<ticket>-title.", ["We name branches feature/<ticket>-title."], id="in a word"),
        pytest.param("<date>-name is our form", ["<date>-name is our form"], id="first in a word"),
        pytest.param("It is <type>: <subject>, always", ["It is <type>: <subject>, always"], id="words"),
        pytest.param("Summarize this <page>We never mock.</page>", [], id="a tag that closes"),
        pytest.param("Summarize:\n<page>\nWe never mock.", ["Summarize:"], id="a tag on a line of its own"),
        pytest.param('It said "Mock it. Never." We never mock.', ['It said "..."', "We never mock."], id="after a passage"),
        pytest.param('the 5" one. we never use the 6" one.', ['the 5" one.', 'we never use the 6" one.'], id="inches"),
    ],
)  # fmt: skip
def test_placeholders_are_words_and_a_quoted_passage_is_not_the_users(prompt: str, own: list[str]) -> None:
    assert own_sentences(prompt) == own


def test_hostile_prompts_take_linear_time() -> None:
    for text in (
        "we " * 6000,
        "never " * 3000,
        "<a" * 9000,
        "- always\n" * 2000,
        '"' * 20_000,
        "no, " * 5000,
    ):
        find_statements(text)


def test_the_rules_generalize_beyond_their_examples() -> None:
    with open(os.path.join(os.path.dirname(__file__), "made_prompts.json"), encoding="utf-8") as file:
        made = json.load(file)
    found = [text for text in made["lasting"] if find_statements(text)]
    wrong = [text for text in made["passing"] if find_statements(text)]
    assert len(found) >= 0.9 * len(made["lasting"])
    assert wrong == []


@pytest.mark.parametrize(
    ("prompt", "quote"),
    [
        pytest.param(
            "We have a gateway for the warehouse. Never go around it.",
            "We have a gateway for the warehouse. Never go around it.",
            id="it",
        ),
        pytest.param(
            "No tabs here. Because we want one style in all files.",
            "No tabs here. Because we want one style in all files.",
            id="because",
        ),
        pytest.param(
            "We use pnpm here, not npm.\\\nThanks", "We use pnpm here, not npm.", id="a line that goes on"
        ),
        pytest.param("Fine. We never mock the database.", "We never mock the database.", id="stands alone"),
        pytest.param(
            "Read the limits before each upload. Bake this into CLAUDE.md",
            "Read the limits before each upload. Bake this into CLAUDE.md",
            id="to be written down",
        ),
        pytest.param(
            "우리회사는 Jira를 사용하는데 Linear와 뭐가 달라?",
            "우리회사는 Jira를 사용하는데 Linear와 뭐가 달라",
            id="a fact in a question",
        ),
    ],
)
def test_a_statement_that_leans_on_the_sentence_before_takes_it_along(prompt: str, quote: str) -> None:
    assert [statement.text for statement in find_statements(prompt)] == [quote]
