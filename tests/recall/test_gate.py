"""Which prompts get no memories: the examples beside the rules, and prompts that must always be let through."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import data_path
from memory_plugin.recall import opt_out
from memory_plugin.recall.gate import effective_length, load_gate, visible_text

with open(data_path("recall", "gate.json"), encoding="utf-8") as _file:
    TABLE: dict[str, Any] = json.load(_file)
with open(data_path("recall", "opt_out.json"), encoding="utf-8") as _file:
    TABLE["told_not_to"] = json.load(_file)
RULES = ["filler", "told_not_to", "not_typed"]
HITS = [(rule, text) for rule in RULES for text in TABLE[rule]["hit"]]
MISSES = [(rule, text) for rule in RULES for text in TABLE[rule]["miss"]]
LONGEST_FOLLOWUP = 60


def test_a_rule_matches_its_examples() -> None:
    assert [(rule, text) for rule, text in HITS if load_gate().refusal(text) != TABLE[rule]["id"]] == []


def test_a_rule_does_not_match_its_counterexamples() -> None:
    assert [(rule, text) for rule, text in MISSES if load_gate().refusal(text) != ""] == []


def test_every_way_to_opt_out_holds_a_hint() -> None:
    assert [
        text
        for text in TABLE["told_not_to"]["hit"]
        if not any(hint in text.lower() for hint in TABLE["opt_out"]["hints"].split())
    ] == []


def test_the_rules_for_opting_out_are_not_read_for_a_prompt_without_a_hint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_gate()
    monkeypatch.setattr(opt_out, "load_data", None)
    assert load_gate().refusal("which database does billing use? " + "x" * 3000) == ""
    with pytest.raises(TypeError):
        load_gate().refusal("what is in memory?")


def test_where_a_long_prompt_may_opt_out() -> None:
    cases = [
        ("paste " * 1000 + "\nignore memory", "told_not_to"),  # words at the end
        ("ignore memory: " + "paste " * 1000, "told_not_to"),  # words at the beginning
        ("paste " * 1000 + "ignore memory " + "paste " * 1000, ""),  # words in the middle of a paste
        ("paste " * 1000 + "#NoMem " + "paste " * 1000, "told_not_to"),  # a tag in the middle of a paste
        ("paste " * 1000 + "x#nomem " + "paste " * 1000, ""),  # part of an identifier
    ]
    assert [(text, refusal) for text, refusal in cases if load_gate().refusal(text) != refusal] == []


@pytest.mark.parametrize("tag", TABLE["told_not_to"]["tags"])
@pytest.mark.parametrize("form", ["%s which port?", "which port? %s", "which %s port", "which port (%s)?"])
def test_a_tag_counts_wherever_it_stands(tag: str, form: str) -> None:
    assert load_gate().refusal(form % tag) == "told_not_to"
    assert load_gate().refusal(form % tag.upper()) == "told_not_to"
    assert load_gate().refusal(form % ("a" + tag)) == ""
    assert load_gate().refusal(form % (tag + "2")) == ""


def test_a_prompt_that_refers_back_is_a_followup() -> None:
    assert [
        text for text in TABLE["followup"]["hit"] if not load_gate().is_followup(text, LONGEST_FOLLOWUP)
    ] == []


@pytest.mark.parametrize("text", TABLE["followup"]["miss"], ids=ascii)
def test_a_complete_prompt_is_no_followup(text: str) -> None:
    assert not load_gate().is_followup(text, LONGEST_FOLLOWUP)


@pytest.mark.parametrize(
    ("prompt", "short"),
    [
        pytest.param("fix that " + "x" * 51, True, id="sixty letters"),
        pytest.param("fix that " + "x" * 52, False, id="one more"),
        pytest.param("  fix that " + "x" * 51 + "\n\n", True, id="spaces at the ends do not count"),
        pytest.param("fix that " + "\u4e2d" * 17, True, id="seventeen characters of Chinese"),
        pytest.param("fix that " + "\u4e2d" * 18, False, id="eighteen"),
        pytest.param("fix that " + "x" * 1_000_000, False, id="a million"),
    ],
)
def test_only_a_short_prompt_is_a_followup(prompt: str, *, short: bool) -> None:
    assert load_gate().is_followup(prompt, 60) == short


@pytest.mark.parametrize("rule", [*RULES, "followup"])
def test_every_rule_has_a_reason_and_examples(rule: str) -> None:
    assert TABLE[rule]["id"]
    assert len(TABLE[rule]["reason"]) > 20
    assert len(TABLE[rule]["hit"]) >= 4
    assert len(TABLE[rule]["miss"]) >= 4


@pytest.mark.parametrize("text", ["", "  \n\t ", "\u3000"], ids=ascii)
def test_nothing_is_empty(text: str) -> None:
    assert load_gate().refusal(text) == "empty"


def test_a_slash_command_is_one() -> None:
    cases = [
        "/compact",
        "/memory:search billing database",
        "/mcp__github__list issues",
        "/model opus",
        "  /clear",
        "/über",
        "/x.y-z_1:a b",
    ]
    assert [text for text in cases if load_gate().refusal(text) != "command"] == []


def test_a_prompt_with_content_is_let_through() -> None:
    cases = [
        "/usr/bin/x fails with exit code 2",
        "/etc/nginx/nginx.conf has which port?",
        "/ is not found by the router",
        "//TODO in the parser, what was that about?",
        "/* comment */ breaks the minifier",
        "/2 of the tests fail",
        "Wie verbindet sich der Rechnungsdienst mit der Datenbank?",
        "Quelle base de données utilise la facturation ?",
        "¿Qué base de datos usa la facturación?",
        "请求的计费数据库是哪一个",
        "請求書のデータベースはどれですか",
        "결제 데이터베이스는 무엇입니까",
        "which database?",
        "TypeError: x is not a function",
        "ok so the billing tests fail on CI",
        "<T extends Foo> does not compile",
    ]
    assert [text for text in cases if load_gate().refusal(text) != ""] == []


def test_the_length_counts_a_cjk_character_three_times() -> None:
    cases = [
        ("", 0),
        ("  abc  ", 3),
        ("データ", 9),
        ("计费 ok", 9),
        ("결제", 6),
        ("\U00020000", 3),
        ("äöü", 3),
        ("😀", 1),
    ]
    assert [(text, length) for text, length in cases if effective_length(text) != length] == []


@pytest.mark.parametrize(
    ("prompt", "seen", "unseen"),
    [
        ("billing <private>secret plan</private> database", "database", "secret"),
        ("billing <PRIVATE >secret plan", "billing", "secret"),
        ("head " + "x " * 200_000 + " tail", "tail", "<private>"),
        ("head <private>" + "secret " * 50_000 + "</private> tail", "head", "secret"),
        ("head " + "x " * 99_990 + "<private>" + "secret " * 60_000 + "</private> tail", "head", "secret"),
        ("head " + "x " * 60_000 + "<private>y" + "secret " * 20_000 + "</private>", "head", "secret"),
    ],
    ids=["marked", "never closed", "long", "long and marked", "opened in the middle", "opened in the head"],
)
def test_private_passages_are_never_looked_at(prompt: str, seen: str, unseen: str) -> None:
    text = visible_text(prompt)
    assert seen in text
    assert unseen not in text
    assert len(text) <= 200_001


@given(st.text(max_size=300))
def test_any_text_gets_an_answer(text: str) -> None:
    gate = load_gate()
    assert gate.refusal(text) in ("", "empty", "command", "not_typed", "told_not_to", "confirmation")
    gate.is_followup(text, LONGEST_FOLLOWUP)
    gate.is_from_user(text)


@pytest.mark.parametrize(
    "text",
    [
        "#nomem" * 300_000,
        "x#nomem " * 20_000,
        "\u8bb0\u5fc6" * 100_000,
        "\u30e1\u30e2\u30ea" * 100_000,
        "memory " * 300_000,
        "without " * 300_000,
        "your " * 300_000 + "memory",
        "'-" * 1_000_000,
    ],
)
@pytest.mark.slow
def test_a_long_text_is_judged_soon(text: str) -> None:
    begun = time.process_time()
    load_gate().refusal(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("length", [199_999, 200_000])
def test_a_prompt_of_two_hundred_thousand_characters_is_seen_whole(length: int) -> None:
    assert visible_text("a" * length) == "a" * length


def test_of_a_longer_prompt_both_ends_are_seen() -> None:
    prompt = "a" * 100_000 + "b" + "c" * 100_000
    assert visible_text(prompt) == "a" * 100_000 + "\n" + "c" * 100_000


@pytest.mark.parametrize(("count", "refusal"), [(20, "confirmation"), (21, "")])
def test_filler_of_more_than_eighty_characters_is_no_confirmation(count: int, refusal: str) -> None:
    assert load_gate().refusal(("yes " * count).strip() + " ") == refusal
