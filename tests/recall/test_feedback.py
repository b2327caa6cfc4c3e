"""Ratings of memories move their own thresholds, within bounds, and can be reset; the uses by replies are detected."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from memory_plugin.kernel import paths as state_files
from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.files import Unreadable
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall import history
from memory_plugin.recall.decision import shifted_threshold
from memory_plugin.recall.history import (
    USED,
    USEFUL,
    WRONG,
    Feedback,
    record_feedback,
    reset_feedback,
)
from memory_plugin.recall.recall_rows import find_uses, injected_in_session
from tests.project import SESSION, Project
from tests.recall.store_files import ASK, BODY, TITLE, at_home, no_threshold
from tests.replies.builders import assistant_record, call_record, user_record, write_transcript

KEY, OTHER = "project:decision/use-postgres-for-the-billing-database", "project:decision/use-redis"


@pytest.mark.parametrize(
    ("said", "shift"),
    [
        pytest.param([], 0.0, id="nothing"),
        pytest.param([USED] * 5, 0.0, id="used alone moves nothing"),
        pytest.param([USEFUL], -0.1, id="useful once"),
        pytest.param([USEFUL] * 9, -0.2, id="useful often: the lower bound"),
        pytest.param([WRONG], 0.15, id="wrong once"),
        pytest.param([WRONG] * 9, 0.45, id="wrong often: the upper bound"),
        pytest.param([WRONG, USEFUL], 0.05, id="wrong weighs more"),
    ],
)
def test_a_shift_follows_the_ratings(project: Project, said: list[str], shift: float) -> None:
    with at_home(project) as paths:
        for kind in said:
            record_feedback(paths, [KEY], kind)
        assert Feedback(paths).shift(KEY) == pytest.approx(shift)
        assert Feedback(paths).shift(OTHER) == 0.0


def test_an_own_threshold_stays_within_bounds() -> None:
    cases = [
        (0.5, 0.0, 0.5),
        (0.5, -0.2, 0.3),
        (0.5, 0.45, 0.95),
        (0.3, -0.2, 0.2),
        (0.9, 0.45, 0.98),
        (0.1, -0.2, 0.1),
        (0.99, 0.45, 0.99),
        (0.0, 0.15, 0.2),
    ]
    assert [
        (threshold, shift, own)
        for threshold, shift, own in cases
        if shifted_threshold(threshold, shift) != pytest.approx(own)
    ] == []


def test_feedback_belongs_to_a_project_unless_the_memory_is_the_users(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY, "user:preference/short"], WRONG)
        elsewhere = SimpleNamespace(project_key="another", state=paths.state)
        found = Feedback(elsewhere)  # type: ignore[arg-type]
        assert (found.shift(KEY), found.shift("user:preference/short")) == (0.0, 0.15)


def test_a_reset_forgets_the_named_ones_or_all(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY, OTHER], USEFUL)
        assert (reset_feedback(paths, [KEY, "project:decision/none"]), reset_feedback(paths, [KEY])) == (
            1,
            0,
        )
        assert (Feedback(paths).shift(KEY), Feedback(paths).shift(OTHER)) == (0.0, -0.1)
        assert reset_feedback(paths, None) == 1
        assert Feedback(paths).counts(OTHER) == {USEFUL: 0, WRONG: 0, USED: 0}


def test_the_feedback_changed_longest_ago_goes_first(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MAX_ENTRIES", 2)
    with at_home(project) as paths:
        for key in ("project:decision/a", OTHER, "project:decision/a", KEY):
            record_feedback(paths, [key], WRONG)
        counts = [Feedback(paths).counts(key)[WRONG] for key in ("project:decision/a", OTHER, KEY)]
        assert counts == [2, 0, 1]


def test_no_id_is_written_in_clear(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY], USEFUL)
        with open(paths.state("feedback.json"), encoding="utf-8") as file:
            assert "postgres" not in file.read()


def _damage(paths: Paths, content: str) -> str:
    path = paths.state("feedback.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"memories": 5}', '{"memories": {"x": 5}}', '{"memories": {"x": {"useful": "many"}}}'],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(project: Project, content: str) -> None:
    with at_home(project) as paths:
        path = _damage(paths, content)
        assert Feedback(paths).shift(KEY) == 0.0
        record_feedback(paths, [KEY], USEFUL)
        assert Feedback(paths).shift(KEY) == -0.1
        assert os.path.exists(path + ".damaged") == (content in ("", "{"))


def test_a_file_that_cannot_be_read_now_is_not_replaced(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise Unreadable("an error of the disk")

    with at_home(project) as paths:
        record_feedback(paths, [KEY], WRONG)
        with monkeypatch.context() as patch:
            patch.setattr(state_files, "read_regular", unreadable)
            with pytest.raises(Unreadable):
                record_feedback(paths, [OTHER], WRONG)
        assert Feedback(paths).shift(KEY) == 0.15


@pytest.fixture
def session(project: Project) -> Project:
    """Return a project in whose session one memory was injected."""
    no_threshold(project)
    project.save(TITLE, BODY, "--file", "billing/schema.sql")
    project.save("Deploy on Tuesdays only", "The ops team is small.")
    assert "Postgres 15" in project.prompt(ASK).context
    return project


@pytest.mark.parametrize(
    ("reply", "calls", "used"),
    [
        pytest.param("It stores its invoices in Postgres 15.", [], True, id="rare words in the reply"),
        pytest.param(
            "Done.", [("Edit", {"file_path": "/x/billing/schema.sql"})], True, id="its path in a call"
        ),
        pytest.param(
            "Done.",
            [("Bash", {"command": "psql -c 'select invoices' # postgres"})],
            True,
            id="rare words in a call",
        ),
        pytest.param(
            "Which database do we use for the billing service?", [], False, id="only the prompt's words"
        ),
        pytest.param("I renamed the file and ran the tests.", [], False, id="other words"),
        pytest.param("Postgres.", [], False, id="one rare word is not enough"),
        pytest.param("", [], False, id="no text"),
    ],
)
def test_a_use_is_detected_by_rare_words_and_paths(
    session: Project, reply: str, calls: list[tuple[str, dict[str, str]]], used: bool
) -> None:
    rows = [
        user_record(ASK),
        *(call_record(name, arguments) for name, arguments in calls),
        assistant_record(reply),
    ]
    path = write_transcript(os.path.join(session.config, "projects", "p", SESSION + ".jsonl"), *rows)
    with at_home(session) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), SESSION)
        assert list(injected_in_session(context)) == [KEY]
        assert find_uses(reply, path, "", context) == ([KEY] if used else [])


def test_the_end_of_a_reply_records_the_use(session: Project) -> None:
    event = session.event("Stop", last_assistant_message="Its invoices are in Postgres 15.", prompt_id="p1")
    run = session.hook("Stop", event)
    assert (run.returncode, run.stdout) == (0, "")
    with at_home(session) as paths:
        assert Feedback(paths).counts(KEY)["used"] == 1
    (row,) = session.ledger("feedback")
    assert (row["kind"], row["memories"], row["prompt_id"]) == ("used", [KEY], "p1")


@pytest.mark.parametrize("setting", ["off", "another session", "nothing told"])
def test_nothing_is_recorded_without_a_reason(session: Project, setting: str) -> None:
    event = session.event("Stop", last_assistant_message="Its invoices are in Postgres 15.", prompt_id="p1")
    if setting == "off":
        no_threshold(session, feedback=False)
    elif setting == "another session":
        event["session_id"] = "another"
    else:
        os.unlink(os.path.join(session.state, "recalls.jsonl"))
    assert session.hook("Stop", event).returncode == 0
    assert session.ledger("feedback") == []


def test_odd_lines_of_the_ledger_are_skipped(session: Project) -> None:
    cases: list[bytes] = [
        b"{",
        b"[]",
        b'{"session": 5, "injected": ["x"]}',
        b'{"injected": "x"}',
        b"\xff\xfe",
    ]
    for line in cases:
        with open(os.path.join(session.state, "recalls.jsonl"), "ab") as file:
            file.write(line.replace(b"}", b', "also": "%s"}' % SESSION.encode()) + b"\n")
        with at_home(session) as paths:
            context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), SESSION)
            assert list(injected_in_session(context)) == [KEY]


def test_a_missing_index_or_transcript_is_no_use(session: Project) -> None:
    with at_home(session) as paths:
        context = Context(paths, load(paths.config_dir, paths.project_root), Deadline(60), SESSION)
        assert find_uses("invoices in Postgres 15", "/no/such/file", "", context) == [KEY]
        for name in os.listdir(paths.state("index")):
            os.unlink(paths.state("index", name))
        assert find_uses("invoices in Postgres 15", "", "", context) == []


def call(project: Project, tool: str, call_id: str, prompt_id: str = "p1", **arguments: str) -> None:
    """Run the hook before a tool call."""
    event = {"tool_name": tool, "tool_input": arguments, "tool_use_id": call_id, "prompt_id": prompt_id}
    assert project.hook("PreToolUse", project.event("PreToolUse", **event)).returncode == 0


def stop(project: Project, prompt_id: str = "p1", reply: str = "Done.") -> list[list[str]]:
    """End the reply and return the memories of each line of feedback."""
    event = project.event("Stop", last_assistant_message=reply, prompt_id=prompt_id)
    assert project.hook("Stop", event).returncode == 0
    return [row["memories"] for row in project.ledger("feedback")]


def test_a_guard_was_used_if_claude_did_something_else_instead(project: Project) -> None:
    project.save("Never force-push", "Ask.", "--guard-command", "git push --force")
    call(project, "Bash", "t1", command="git push --force")
    key = "project:decision/never-force-push"
    assert stop(project) == [[key]]
    assert stop(project, "p2") == [[key]]  # it was about the prompt before


def test_a_guard_whose_call_was_made_again_may_have_been_used_or_not(project: Project) -> None:
    project.save("Never force-push", "Ask.", "--guard-command", "git push --force")
    for call_id in ("t1", "t2"):
        call(project, "Bash", call_id, command="git push --force")
    assert stop(project) == []


@pytest.mark.parametrize(
    ("later", "used"),
    [
        pytest.param([], False, id="only read"),
        pytest.param([("Edit", {"file_path": "/x/billing/schema.sql"})], False, id="edited later"),
        pytest.param([("Bash", {"command": "psql postgres -c 'select invoices'"})], True, id="rare words"),
    ],
)
def test_the_call_at_which_a_memory_was_injected_is_no_use(
    project: Project, later: list[tuple[str, dict[str, str]]], used: bool
) -> None:
    project.save(TITLE, BODY, "--file", "billing/schema.sql")
    project.save("Deploy on Tuesdays only", "The ops team is small.")
    file = os.path.join(project.root, "billing/schema.sql")
    first = call_record("Read", {"file_path": file})
    call(project, "Read", first["message"]["content"][0]["id"], file_path=file)
    rows = [
        user_record("Go on."),
        first,
        *(call_record(*one, "t2") for one in later),
        assistant_record("Done."),
    ]
    write_transcript(os.path.join(project.config, "projects", "p", SESSION + ".jsonl"), *rows)
    assert bool(stop(project)) == used


@pytest.mark.parametrize(
    ("edits", "used"),
    [
        pytest.param(1, True, id="the edit was not repeated, so the guard was followed"),
        pytest.param(2, False, id="the edit went through"),
    ],
)
def test_a_guard_does_not_replace_the_record_of_an_injection_at_a_file(
    project: Project, edits: int, used: bool
) -> None:
    """Otherwise the path in the edit would count as a use."""
    project.save(TITLE, BODY, "--file", "billing/schema.sql", "--guard-file", "billing/*.sql")
    file = os.path.join(project.root, "billing/schema.sql")
    rows = [user_record("Go on.")]
    for number, tool in enumerate(["Read"] + ["Edit"] * edits):
        call(project, tool, "t%d" % number, file_path=file)
        rows.append(call_record(tool, {"file_path": file}, "t%d" % number))
    rows.append(assistant_record("Done."))
    write_transcript(os.path.join(project.config, "projects", "p", SESSION + ".jsonl"), *rows)
    assert bool(stop(project)) == used
