"""`memory replies score`, `scores` and `tune` as a person or a program uses them."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project
from tests.replies.builders import PADDED, PLAIN, assistant_record, user_record, write_transcript

KEYS = {
    "id", "padding_count", "filler_spans", "preamble_words", "density", "query_type", "threshold", "gate", "escalate", "drift",
}  # fmt: skip


def scored(project: Project, *texts: str) -> None:
    """Return replies scored by the hook, in a transcript."""
    path = str(project.event("Stop")["transcript_path"])
    rows = [
        row
        for n, text in enumerate(texts)
        for row in (user_record("Which port is it?"), assistant_record(text, uuid="r%d" % n))
    ]
    for count, text in enumerate(texts, 1):
        write_transcript(path, *rows[: 2 * count])
        event = project.event("Stop", last_assistant_message=text, prompt_id="p%d" % count)
        assert project.hook("Stop", event).returncode == 0


def test_text_output_marks_filler(project: Project) -> None:
    run = project.cli("replies", "score", "-", "--user", "Which port?", stdin=PADDED)
    assert run.returncode == 0
    assert run.stdout.startswith("[[Great question]]{praise-opening}! [[I'd be happy to]]{happy-to} help.")
    assert "clear_drift: no judge needed" in run.stdout


def test_json_output_for_a_file(project: Project) -> None:
    path = project.write("reply.md", PADDED)
    row = project.cli("replies", "score", path, "--user", "Why does `make` fail?", "--json").json
    assert row.keys() == KEYS
    assert (row["query_type"], row["padding_count"]) == ("diagnostic", 3)


def test_jsonl_output_has_offsets_into_the_original_text(project: Project) -> None:
    text = "\u200bGreat\u200b question\u2014e\u0301! " + PLAIN
    lines = [
        {"id": 7, "user": "Why?", "response": text},
        {"id": None, "response": ""},
        {"id": "x", "user": 3, "response": PLAIN},
    ]
    run = project.cli(
        "replies", "score", "--jsonl", stdin="\n".join(json.dumps(line) for line in lines) + "\n\n"
    )
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert (run.returncode, [row["id"] for row in rows]) == (0, [7, None, "x"])
    assert all(row.keys() == KEYS for row in rows)
    ((start, end, phrase, rule),) = rows[0]["filler_spans"]
    assert (text[start:end], phrase, rule) == (phrase, "Great\u200b question", "praise-opening")
    assert [row["gate"] for row in rows[1:]] == ["empty", "clean"]


def test_an_invalid_line_is_reported_and_the_others_are_scored(project: Project) -> None:
    lines = ["{", "[]", '{"id": 1}', '{"response": 3}', "[" * 5000]
    good = json.dumps({"id": 2, "response": PLAIN})
    run = project.cli("replies", "score", "--jsonl", stdin="\n".join([*lines, good]))
    assert run.returncode == 1
    said = 'memory: line %d: expected an object with a text under "response"\n'
    assert run.stderr == "".join(said % number for number in range(1, len(lines) + 1))
    assert json.loads(run.stdout)["id"] == 2


@pytest.mark.parametrize("words", [[], ["-", "--last"]])
def test_exactly_one_source_is_required(project: Project, words: list[str]) -> None:
    run = project.cli("replies", "score", *words)
    assert (run.returncode, run.stdout) == (2, "")


def test_the_last_reply(project: Project) -> None:
    assert project.cli("replies", "score", "--last").returncode == 1
    scored(project, PLAIN, PADDED)
    assert "[[Great question]]" in project.cli("replies", "score", "--last").stdout


def test_deep_without_a_judge_scores_by_rules_and_says_why(project: Project) -> None:
    run = project.cli("replies", "score", "-", "--deep", "--json", stdin=PADDED)
    assert (run.returncode, run.json["levels"], run.json["failure"]) == (1, {}, "disabled")
    assert run.json["score"]["padding_count"] == 3
    run = project.cli("replies", "score", "-", "--deep", stdin=PADDED)
    assert (run.returncode, "praise-opening" in run.stdout) == (1, True)
    assert run.stderr.startswith("memory: scored by rules alone: ")


def test_deep_asks_for_all_eight_dimensions(project: Project) -> None:
    project.write_settings(scoring={"mode": "hybrid"}, judge={"backend": "scripted"})
    levels = {"SyA": 1, "SyPr": 2, "VDet": 0, "VFmt": 0, "EPad": 3, "EpAd": 0, "Pre": 1, "Tool": 0}
    project.script_judge({"rubric": "replies/deep", "text": json.dumps(levels)})
    run = project.cli("replies", "score", "-", "--deep", stdin=PADDED)
    assert run.returncode == 0
    assert "options enumerated although one is clearly right" in run.stdout
    assert run.stdout.count("\n") == 9


def test_scores_without_and_with_replies(project: Project) -> None:
    assert "No reply was scored" in project.cli("replies", "history").stdout
    scored(project, PLAIN, PADDED)
    shown = project.cli("replies", "history").stdout
    assert shown.startswith("Replies scored: 2\nshare\treplies\nwith filler\t1 of 2, 50%")
    assert "claude-opus-5-5" in shown
    assert "praise-opening" in shown
    found = project.cli("replies", "history", "--json").json
    assert (found["replies"], found["days"][0]["padded"]["k"]) == (2, 1)
    assert project.cli("replies", "history", "--days", "0").returncode == 2


def test_scores_effect(project: Project) -> None:
    assert "Too few wordy replies" in project.cli("replies", "history", "--effect").stdout
    found = project.cli("replies", "history", "--effect", "--json").json
    assert (found["effect"], found["enough"]) == (None, False)


def write_verdicts(project: Project, count: int) -> None:
    """Append scores with verdicts of a judge that cleared the same rule each time."""
    with open(os.path.join(project.state, "scores.jsonl"), encoding="utf-8") as file:
        score = json.loads(file.readline())
    with open(os.path.join(project.state, "scores.jsonl"), "a", encoding="utf-8") as file:
        for number in range(count):
            row = {**score, "id": "j%d" % number, "escalate": True}
            verdict = {
                "kind": "judged",
                "id": row["id"],
                "time": row["time"],
                "outcome": "ok",
                "phrases": [["praise-opening", False]],
            }
            file.write(json.dumps(row) + "\n" + json.dumps(verdict) + "\n")


def test_tune_without_apply_changes_nothing(project: Project) -> None:
    scored(project, PADDED)
    write_verdicts(project, 6)
    run = project.cli("replies", "tune")
    assert run.returncode == 0
    assert '+    "praise-opening": "cleared by the judge in 6 of 6"' in run.stdout
    assert "With filler before: 1 (phrases: 3); after: 1 (phrases: 2)." in run.stdout
    assert not os.path.exists(os.path.join(project.state, "responses-rules.json"))


def test_tune_apply_writes_the_pack_with_a_backup_and_scoring_follows(project: Project) -> None:
    scored(project, PADDED)
    write_verdicts(project, 6)
    pack = os.path.join(project.state, "responses-rules.json")
    with open(pack, "w", encoding="utf-8") as file:
        json.dump({"exempt": {"thanks": "mine"}, "note": "kept"}, file)
    run = project.cli("replies", "tune", "--apply", "--json")
    assert (run.returncode, run.json["applied"]) == (0, True)
    with open(pack, encoding="utf-8") as file:
        written = json.load(file)
    assert (sorted(written["exempt"]), written["note"]) == (["praise-opening", "thanks"], "kept")
    with open(pack + ".backup", encoding="utf-8") as file:
        assert json.load(file) == {"exempt": {"thanks": "mine"}, "note": "kept"}
    assert project.cli("replies", "score", "-", "--json", stdin=PADDED).json["padding_count"] == 2
    assert project.cli("replies", "tune", "--apply", "--json").json["applied"] is False


def test_tune_apply_inside_the_client_needs_approval(project: Project) -> None:
    scored(project, PADDED)
    write_verdicts(project, 6)
    run = project.cli("replies", "tune", "--apply", inside=True)
    assert (run.returncode, "approve this: change the filler rules? Run it by itself" in run.stderr) == (
        1,
        True,
    )
    assert not os.path.exists(os.path.join(project.state, "responses-rules.json"))


WRONG_TYPES = ('{"event": ["Stop"]}', '{"event": "Stop", "session": 3}', '{"event": "Stop", "length": true}')


@pytest.mark.parametrize("data", ["", "{", "[]", "{}", '{"event": "Stopped"}', *WRONG_TYPES])
def test_background_accepts_only_a_request_of_a_hook(project: Project, data: str) -> None:
    run = project.cli("background", stdin=data)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert project.ledger("scores") == []


def test_a_score_that_cannot_be_recorded_is_an_event(project: Project) -> None:
    os.makedirs(os.path.join(project.state, "scores.jsonl"))
    assert project.cli("background", stdin=json.dumps({"event": "Stop", "session": "s"})).returncode == 0
    assert str(project.ledger("events")[-1]["what"]).startswith("scores: ")
