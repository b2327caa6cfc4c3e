"""One memory: reading its file, rejecting invalid data, and the text of its content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.memory_text import text_digests
from memory_plugin.memories.record import (
    MAX_CHANGES,
    Memory,
    body_content,
    body_text,
    categories,
    category_named,
    is_id,
    new_memory,
    parse_memory,
    slug,
    unreadable_expiry,
    with_change,
)

DECISION = categories()["decision"]
TITLE, CONTENT = "Use Postgres", {"decision": "Postgres 16", "context": "billing"}


def data(**fields: object) -> dict[str, Any]:
    return {**new_memory(DECISION, "use-postgres", TITLE, dict(CONTENT), {}), **fields}


def parsed(**fields: object) -> Memory:
    return parse_memory(data(**fields), "use-postgres", DECISION)


@pytest.mark.parametrize("name", ["tech_debt", "tech-debt", "TECH_DEBT", " Tech-Debt "])
def test_a_category_is_known_in_any_spelling(name: str) -> None:
    assert category_named(name).name == "tech_debt"


@pytest.mark.parametrize("name", ["", "debts", "decision/../..", "\0"])
def test_an_unknown_category_is_refused_and_all_are_named(name: str) -> None:
    with pytest.raises(InvalidMemory, match=r"expected one of decision, .*session_summary"):
        category_named(name)


def test_id_and_category_come_from_the_path_not_from_the_data() -> None:
    memory = parse_memory(data(id="other", category="runbook"), "use-postgres", DECISION)
    assert (memory.id, memory.category) == ("use-postgres", "decision")


@pytest.mark.parametrize("identity", ["", "-a", "a-", "A", "a_b", "../a", "a/b", "a" * 81, "a\n", "ä", "a.b"])
def test_an_id_that_could_lead_elsewhere_is_refused(identity: str) -> None:
    assert not is_id(identity)
    with pytest.raises(InvalidMemory, match="id: expected"):
        parse_memory(data(), identity, DECISION)


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param([], "expected an object, got list", id="a list"),
        pytest.param("text", "expected an object, got str", id="a text"),
        pytest.param(data(title=""), "title: expected a text", id="an empty title"),
        pytest.param(data(title=["x"]), "title: expected a text", id="a title that is a list"),
        pytest.param(data(content=None), "content: expected an object, got NoneType", id="no content"),
        pytest.param(data(record_status="lost"), "record_status: expected one of", id="an unknown status"),
        pytest.param(
            data(record_status=["active"]), "record_status: expected one of", id="a status that is a list"
        ),
        pytest.param(data(extra=nested(40)), "nested more than 32 levels deep", id="deep nesting"),
        pytest.param(data(confidence=float("inf")), "a number is out of range", id="an infinite number"),
        pytest.param(data(content={"decision": float("nan")}), "a number is out of range", id="no number"),
    ],
)
def test_an_invalid_memory_is_refused_with_its_field(value: object, reason: str) -> None:
    with pytest.raises(InvalidMemory, match=reason):
        parse_memory(value, "a", DECISION)


@pytest.mark.parametrize("wrong", [None, 7, "text", {"a": 1}, [1, None, {"x": 2}], ["", 3.5]])
def test_optional_fields_of_a_wrong_type_are_read_as_empty(wrong: object) -> None:
    memory = parsed(
        tags=wrong, related_files=wrong, asked_as=wrong, updated_at=[wrong], superseded_by=[wrong]
    )
    assert (memory.tags, memory.files, memory.asked_as) == ((), (), ())
    assert (memory.updated_at, memory.superseded_by) == ("", "")


@pytest.mark.parametrize(
    ("fields", "expires"),
    [
        pytest.param({}, "", id="never"),
        pytest.param({"expires_at": "2031-01-02"}, "2031-01-02T23:59:59Z", id="a day holds until it is over"),
        pytest.param({"expires_at": "2031-01-02T03:04:05Z"}, "2031-01-02T03:04:05Z", id="a time"),
        pytest.param(
            {"content": {"rule": "x", "expires": "2031-01-02"}},
            "2031-01-02T23:59:59Z",
            id="a constraint's own",
        ),
        pytest.param({"expires_at": "2031-01-02T03:04:05+05:30"}, "2031-01-01T21:34:05Z", id="an offset"),
        pytest.param({"expires_at": "2031-01-02 03:04:05.678-0100"}, "2031-01-02T04:04:05Z", id="a fraction"),
        pytest.param({"expires_at": "2031-01-02T03:04"}, "2031-01-02T03:04:00Z", id="no zone is UTC"),
        pytest.param({"expires_at": "2031-13-45"}, "", id="no such day"),
        pytest.param({"expires_at": "9999-12-31T23:59:59-23:59"}, "", id="beyond the calendar"),
        pytest.param({"expires_at": "2099-01-01T\x1b]0;x\x07"}, "", id="a date with something hidden"),
        pytest.param({"expires_at": "soon"}, "", id="no date"),
        pytest.param({"expires_at": 7}, "", id="a number"),
    ],
)
def test_when_a_memory_ends_to_hold(fields: dict[str, object], expires: str) -> None:
    memory = parsed(**fields)
    assert memory.expires_at == expires
    assert bool(unreadable_expiry(memory)) == (not expires and isinstance(fields.get("expires_at"), str))


@given(st.text(max_size=300))
def test_every_title_has_an_id_that_is_a_file_name(title: str) -> None:
    assert is_id(slug(title))


@pytest.mark.parametrize(
    ("title", "identity"),
    [
        ("Use Postgres 16!", "use-postgres-16"),
        ("Crème brûlée", "creme-brulee"),
        ("Größe, Œuvre, Ørsted, Łódź", "grosse-oeuvre-orsted-lodz"),
        ("../../etc/passwd", "etc-passwd"),
        ("Don't, and don\u2019t", "dont-and-dont"),
        ("--", "memory-"),
        ("x" * 50, "x" * 40),
        ("Deploy from the release branch and tag ita", "deploy-from-the-release-branch-and-tag"),
        ("Deploy from the release branch and tag i", "deploy-from-the-release-branch-and-tag-i"),
    ],
)
def test_ids_are_the_first_words(title: str, identity: str) -> None:
    assert slug(title) == identity or identity == "memory-" == slug(title)[:7]


def test_titles_without_letters_have_different_ids() -> None:
    assert slug("数据库") != slug("部署")


def test_the_steps_of_a_runbook_are_its_lines_without_marks() -> None:
    body = "1. stop it\n2) start it\n\n- look at\n  * the log\nrun x - y"
    assert body_content(categories()["runbook"], body) == {
        "steps": ["stop it", "start it", "look at", "the log", "run x - y"]
    }
    wrapped = "1. stop it, which\n   takes\n   [a while](b.md)\n2. run:\n   make x\n\n   make y"
    steps = ["stop it, which takes [a while](b.md)", "run:", "   make x", "   make y"]
    assert body_content(categories()["runbook"], wrapped) == {"steps": steps}
    assert body_content(DECISION, " 1. stay \n") == {"decision": "1. stay"}


def test_the_body_begins_with_the_main_field_and_leaves_out_switches() -> None:
    content = {
        "context": "billing",
        "decision": "Postgres",
        "alternatives": [{"option": "MySQL", "rejected_reason": "locks"}],
        "active": True,
        "cost": 3,
    }
    assert body_text(parsed(content=content)).splitlines() == [
        "Postgres",
        "context: billing",
        "alternatives: option: MySQL, rejected reason: locks",
        '"cost": 3',
    ]


def test_reformatting_and_noting_a_change_keep_the_digest() -> None:
    before = parsed()
    backwards = dict(reversed(list(data().items())), content=dict(reversed(list(CONTENT.items()))))
    noted = with_change(
        json.loads(json.dumps(backwards)), "looked at", {"confidence": 0.5, "source": {"turn": 3}}
    )
    assert text_digests(parse_memory(noted, "use-postgres", DECISION)) == text_digests(before)


def test_every_field_that_recall_shows_changes_the_digest() -> None:
    cases: list[dict[str, Any]] = [
        {"title": "Use MySQL"},
        {"content": {**CONTENT, "decision": "MySQL"}},
        {"content": {**CONTENT, "new": "field"}},
        {"tags": ["x"]},
        {"related_files": ["x"]},
        {"asked_as": ["x"]},
        {"expires_at": "2031-01-01"},
        {"record_status": "retired"},
    ]
    assert [fields for fields in cases if text_digests(parsed(**fields)) == text_digests(parsed())] == []


def test_a_lone_surrogate_has_a_digest() -> None:
    assert text_digests(parsed(title="a\ud800")) != text_digests(parsed(title="a"))


def test_changes_are_noted_and_the_last_are_kept() -> None:
    changed = data(changes="no list")
    for number in range(MAX_CHANGES + 5):
        changed = with_change(changed, "change %d" % number, {})
    assert len(changed["changes"]) == MAX_CHANGES
    assert changed["changes"][-1]["summary"] == "change %d" % (MAX_CHANGES + 4)


def test_with_change_leaves_its_argument_alone() -> None:
    before = data()
    with_change(before, "x", {"title": "other"})
    assert (before["title"], before["changes"]) == (TITLE, [])
