"""`memory interview` as a process: the dialog, the memories it writes, and errors."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import sys
from contextlib import closing
from typing import Any

import pytest

from memory_plugin.kernel.paths import data_path
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.project import SESSION, Project

FAST = {"text": "export within a minute", "type": "constraint", "stance": 1, "quote": "a minute at most"}
CLERKS = {"text": "clerks need not wait", "type": "decision", "stance": 1, "quote": "nobody should wait"}


def talk(project: Project, *args: str, data: Any = "", inside: bool = False) -> Any:  # noqa: ANN401 (JSON)
    """Return what an action prints."""
    stdin = data if isinstance(data, str) else json.dumps(data)
    run = project.cli("interview", *args, "--json", stdin=stdin, inside=inside)
    assert run.returncode == 0, run.stderr
    return run.json


def begin(project: Project, *more: str, inside: bool = False) -> str:
    """Return the id of a new interview."""
    return str(talk(project, "start", "billing export", *more, inside=inside)["interview"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_person_is_told_that_an_answer_is_awaited(project: Project) -> None:
    begin(project)
    run = PseudoTerminal(project, "interview", "answer")
    run.until("reading standard input; to end it, press Ctrl-D on an empty line")
    run.type("Clerks export the bills.\n\x04")
    run.until(", turn 2, ")
    assert run.end() == 0


def test_a_talk_from_start_to_memories(project: Project) -> None:
    first = talk(project, "start", "billing export", "--covered", "data,users")
    name = first["interview"]
    assert (first["turn"], first["stop"], first["progress"]["gaps"]) == (1, False, 10)
    assert first["elements"][:2] == ["goal", "main_flow"]
    second = talk(
        project, "answer", "--session", name,
        data={"question": "What must it do?", "answer": "It takes a minute at most", "concepts": [FAST]},
    )  # fmt: skip
    assert second["avoid"] == ["What must it do?"]
    run = project.cli("interview", "check-question", "What must it do for you?", "--json")
    assert (run.returncode, run.json["ok"]) == (1, False)
    deeper = talk(project, "deeper")
    assert (deeper["strategy"], deeper["focus"]["key"]) == ("deepen", "n1")
    assert talk(project, "check-question", data="Who reads it?")["ok"] is True
    third = talk(project, "answer", data={"answer": "Because nobody should wait", "concepts": [CLERKS]})
    assert third["avoid"][-1].startswith("Why does")
    assert talk(project, "export")["edges"] == [
        {"source": "n1", "target": "n2", "kind": "leads_to", "turn": 2}
    ]
    over = talk(project, "answer", data="Nothing else, thanks.")
    assert (over["stop"], over["reason"]) == (True, "asked")
    proposed = talk(project, "finish")
    assert [memory["title"] for memory in proposed["memories"]] == [FAST["text"], CLERKS["text"]]
    chosen = "memory: n1\ntitle: The export takes a minute at most\n"
    written = talk(project, "finish", "--confirm", data=chosen)["memories"]
    assert [memory["trusted"] for memory in written] == [True]
    with open(
        os.path.join(project.root, ".claude", "memory", "constraints", written[0]["id"] + ".json"),
        encoding="utf-8",
    ) as file:
        stored = json.load(file)
    assert stored["source"] == {"interview": name, "turn": 1, "quote": "a minute at most"}
    assert (
        "export takes a minute" in project.prompt("How long may the billing export take, a minute?").context
    )
    assert project.cli("interview", "finish", "--session", name).returncode == 1


def test_the_state_is_the_users_alone_and_a_kill_loses_nothing(project: Project) -> None:
    name = begin(project)
    talk(project, "answer", data="It is for the clerks")
    path = os.path.join(project.state, "interviews.sqlite")
    modes = [
        stat.S_IMODE(os.stat(path + end).st_mode) for end in ("", "-journal") if os.path.exists(path + end)
    ]
    assert set(modes) == {0o600}
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE interviews SET state = '{}'")  # killed before it was committed
    assert talk(project, "resume", "--session", name)["turn"] == 2
    assert len(talk(project, "export")["turns"]) == 1


def test_several_interviews_at_once(project: Project) -> None:
    names = [begin(project), begin(project)]
    for name in reversed(names):
        assert talk(project, "answer", "--session", name, data="for clerks")["turn"] == 2
    assert {row["id"] for row in talk(project, "status")["interviews"]} == set(names)
    talk(project, "wrap-up", "--session", names[0])
    assert talk(project, "skip")["interview"] == names[1]
    talk(project, "discard", "--session", names[1])
    assert talk(project, "resume")["interview"] == names[0]


def test_secrets_never_reach_the_state(project: Project) -> None:
    begin(project)
    key = "AKIA" + "Q7JZ5XNMRP2LTWVB"
    text = "our key is %s and <private>my wife is ill</private> the rest is fine" % key
    talk(project, "answer", data={"answer": text, "concepts": [dict(FAST, quote=text)]})
    content = b""
    for folder, _, files in os.walk(project.state):
        for file in files:
            with open(os.path.join(folder, file), "rb") as handle:
                content += handle.read()
    assert key.encode() not in content
    assert b"my wife" not in content
    assert b"the rest is fine" in content


def test_a_person_is_told_the_next_command(project: Project) -> None:
    text = project.cli("interview", "start", "billing export").stdout
    name = text.partition(",")[0]
    assert "memory interview answer --session %s\n" % name in text
    finish = project.cli("interview", "finish").stdout
    assert finish.startswith("billing export: 0 questions\n")
    confirmed = project.cli("interview", "finish", "--confirm")
    assert confirmed.stdout == "The interview is finished; no memory was written.\n"


def test_the_reminder_comes_once_after_start_and_compaction(project: Project) -> None:
    assert project.prompt("Tell me about the weather of today").context == ""
    project.prompt("/memory:interview billing export")
    name = begin(project, inside=True)
    assert name in project.prompt("It is for our clerks in accounting").context
    assert project.prompt("They need it every month").context == ""
    assert project.prompt("And another session?", session_id="other").context == ""
    project.start("compact")
    assert name in project.prompt("What was the question?").context
    talk(project, "wrap-up", inside=True)
    assert project.prompt("Well then, what now?").context == ""


def test_memories_of_an_interview_are_pending_until_the_user_allows_them(project: Project) -> None:
    project.user_types("/memory:interview billing export")
    begin(project, inside=True)
    talk(project, "answer", data={"answer": "a minute at most", "concepts": [FAST]}, inside=True)
    (written,) = talk(project, "finish", "--confirm", inside=True)["memories"]
    assert written["trusted"] is False
    assert project.cli_allowed("accept", written["id"]).returncode == 0
    assert [row["trust"] for row in project.memories()] == ["trusted"]


def test_the_ledger_holds_no_text(project: Project) -> None:
    begin(project)
    talk(project, "answer", data="Xylophones matter most to our clerks")
    rows = project.ledger("interviews")
    assert [row["turn"] for row in rows] == [1, 2]
    assert "ylophone" not in json.dumps(rows)


@pytest.mark.parametrize(
    ("args", "stdin", "words"),
    [
        (["start"], "", "expected a topic"),
        (["start", "x", "--pack", "magic"], "", "requirements, means_end_chain, or a .json file"),
        (["start", "x", "--covered", "magic"], "", "covered: expected one of constraints"),
        (["answer"], "x", "no interview is open"),
        (["finish", "--session", "magic"], "", "no interview 'magic'"),
        (["start", "x", "--pack", "nowhere.json"], "", "nowhere.json: no such file or folder"),
        (["magic"], "", "got 'magic'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_are_one_line(project: Project, args: list[str], stdin: str, words: str) -> None:
    run = project.cli("interview", *args, stdin=stdin)
    assert run.returncode in (1, 2)
    assert words in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "stdin", ["", "{", '{"answer": 3}', '{"magic": 1}', '{"answer": "x", "wish": "magic"}']
)
def test_a_bad_answer_changes_nothing(project: Project, stdin: str) -> None:
    begin(project)
    run = project.cli("interview", "answer", "--json", stdin=stdin)
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert talk(project, "export")["turns"] == []


def test_a_damaged_file_is_named(project: Project) -> None:
    begin(project)
    path = os.path.join(project.state, "interviews.sqlite")
    with open(path, "r+b") as file:
        file.write(b"not a database at all")
    run = project.cli("interview", "answer", "--json", stdin="x")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert "interviews.sqlite" in run.stderr


def test_the_output_for_people(project: Project) -> None:
    begin(project)
    run = project.cli("interview", "answer", stdin="clerks use it")
    assert "why:" in run.stdout
    assert "asked 1" in run.stdout
    assert "coverage_gap" in project.cli("interview", "explain").stdout
    assert "flowchart BT" in project.cli("interview", "export").stdout
    assert "> clerks use it" in project.cli("interview", "export").stdout
    assert SESSION not in run.stdout


def test_the_memories_keep_the_question_and_need_a_title_of_their_own(project: Project) -> None:
    old = project.save(
        "export within a minute",
        "Another text.",
        category="constraint",
    )
    begin(project)
    answer = {
        "question": "How fast must it be?",
        "answer": "We lost a client, so a minute at most",
        "concepts": [FAST],
    }
    talk(project, "answer", data=answer)
    talk(project, "finish")
    refused = project.cli("interview", "finish", "--confirm")
    assert refused.returncode == 1
    assert "%s already has this title" % old in refused.stderr
    lines = "memory: n1\ntitle: An export takes a minute at most\n"
    (written,) = talk(project, "finish", "--confirm", data=lines)["memories"]
    shown = project.cli("show", written["id"], "--json").json
    assert shown["asked_as"] == []
    assert "We lost a client" in shown["content"]["context"]


def test_the_user_changes_context_and_phrases_of_what_is_written(project: Project) -> None:
    begin(project)
    talk(project, "answer", data={"question": "How fast?", "answer": "a minute at most", "concepts": [FAST]})
    lines = "memory: n1\ncontext: Clerks wait for it.\nasked_as: slow export; export speed\n"
    (written,) = talk(project, "finish", "--confirm", data=lines)["memories"]
    shown = project.cli("show", written["id"], "--json").json
    assert shown["content"]["context"] == "Clerks wait for it."
    assert shown["asked_as"] == ["slow export", "export speed"]


SOURCE_SIGNALS = {
    "cluster_saturation": {"saturation_pct", "predicted_species", "is_saturated"},
    "contrast_opportunity": {"has_opposite_stance", "local_cluster_density", "opportunity_checked"},
    "peripheral_readiness": {"peripheral_count", "local_cluster_density", "peripheral_checked"},
}


def test_a_decision_holds_the_signals_of_each_scorer_by_name(project: Project) -> None:
    begin(project)
    talk(
        project,
        "answer",
        data={"question": "What?", "answer": "It is fast, not slow", "concepts": [FAST, CLERKS]},
    )
    explained = project.cli("interview", "explain", "--json").json
    scorers = {row["id"]: row["signals"] for row in explained["chosen"]["scorers"]}
    for name in ("cluster_saturation", "peripheral_readiness"):
        assert set(scorers[name]) == SOURCE_SIGNALS[name]
    assert scorers["cluster_saturation"]["predicted_species"] > 2
    assert set(scorers["novelty"]) == {"recent_mentions"}
    assert scorers["contrast_opportunity"] == {"opportunity_checked": False}


FACTORS = re.compile(r"^(?:next: )?cover_element on .*: ([0-9.]+) = ([0-9.]+) x ([0-9.]+)$", re.MULTILINE)


@pytest.mark.parametrize("multiplier", [1.0, 1.12, 1.125])
def test_the_factors_that_are_shown_make_the_score(project: Project, multiplier: float) -> None:
    with open(data_path("interview", "packs", "requirements.json"), encoding="utf-8") as file:
        pack = json.load(file)
    pack["multipliers"] = {"exploratory": {"cover_element": multiplier}}
    path = project.write("pack.json", pack)
    assert project.cli("interview", "start", "billing export", "--pack", path).returncode == 0
    shown = FACTORS.findall(project.cli("interview", "explain").stdout)
    assert len(shown) > 1
    for score, total, factor in shown:
        assert float(factor) == multiplier
        assert float(score) == pytest.approx(float(total) * multiplier, abs=0.0011)


def test_one_gap_is_not_several(project: Project) -> None:
    project.cli("interview", "start", "billing export")
    assert re.search(r"[ \t]1 gap$", project.cli("interview", "explain").stdout, re.MULTILINE)


def test_discard_needs_the_id_of_an_interview(project: Project) -> None:
    name = project.cli("interview", "start", "billing export", "--json").json["interview"]
    run = project.cli("interview", "discard")
    assert (run.returncode, run.stderr) == (
        2,
        "memory: discard: expected --session ID; to list the ids: memory interview status\n",
    )
    assert "discard has no default" in " ".join(project.cli("interview", "--help").stdout.split())
    assert name in project.cli("interview", "status").stdout
    assert project.cli("interview", "discard", "--session", name).stdout == "deleted %s\n" % name
    assert "No interviews" in project.cli("interview", "status").stdout


def test_explain_all_shows_every_candidate(project: Project) -> None:
    project.cli("interview", "start", "billing export")
    best = project.cli("interview", "explain", "--json").json
    every = project.cli("interview", "explain", "--all", "--json").json
    others = every["runners_up"]
    assert others[: len(best["runners_up"])] == best["runners_up"]
    assert len(others) > len(best["runners_up"])
    assert {**every, "runners_up": []} == {**best, "runners_up": []}
    assert project.cli("interview", "explain", "--all").stdout.count("\nnext: ") == len(others)
