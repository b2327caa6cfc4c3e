"""Settings that are objects: the user's changes to a shipped table, and values of which a file names only some."""

from __future__ import annotations

from typing import Any

import pytest

from memory_plugin.interview.inputs import check_pack, new_setup
from memory_plugin.kernel.paths import load_data
from memory_plugin.kernel.settings import Settings, merged
from memory_plugin.kernel.settings.schema import find_key, keys, mismatch
from memory_plugin.kernel.settings.user_file import WrongValueError, value_of
from tests.kernel.settings.files import PROJECT, USER, Box, block, set_value
from tests.project import Project

SCORING, PROMPT, WEIGHTS = "interview.scoring", "sessions.prompt", "sessions.weights"
WEIGHT = SCORING + ".scorers.novelty.weight"
CHANGES = {
    "a weight": (WEIGHT, 0.4),
    "a phase": (SCORING + ".phases.focused.turns", 9),
    "a window": (SCORING + ".vetoes.element_exhausted.params.lookback", 6),
    "a strategy's text": (SCORING + ".strategies.deepen.intent", "Ask why."),
    "a multiplier": (SCORING + ".multipliers.closing.ease", 2.5),
    "the share at which to end": (SCORING + ".stop.coverage", 0.5),
    "the prompt's end": (PROMPT + ".closing", ["Be strict.", ""]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_takes_its_place_and_changes_nothing_else(box: Box, name: str) -> None:
    key, value = CHANGES[name]
    set_value(box.config, key, value)
    settings = box.load()
    assert (settings.problems, settings.origin(key)) == ([], USER)
    assert (value_at(key, settings), value_at(key, None) == value) == (value, False)
    setting = key[: len(SCORING)] if key.startswith(SCORING) else PROMPT
    table = load_data(*keys()[setting].table)
    changed = merged(table, settings.block(setting))
    assert changed != table
    assert changed.keys() == table.keys()
    undone = merged(changed, _at(settings.block(setting), value_at(setting, None)))
    assert undone == table


def value_at(name: str, settings: Settings | None) -> Any:  # noqa: ANN401 (any JSON)
    """Return the value of a key, with the changes of these settings, or as shipped."""
    key = find_key(name)
    assert key is not None
    return value_of(key, settings)


def _at(changes: Any, shipped: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return the shipped values of what was changed."""
    return (
        {name: _at(value, shipped[name]) for name, value in changes.items()}
        if isinstance(changes, dict)
        else shipped
    )


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        pytest.param(SCORING + ".scorers", {"noveltie": {"weight": 1}}, ["scorers.noveltie: ", "nearest: novelty"], id="a name"),
        pytest.param(SCORING, {"scorer": {}}, ["interview.scoring.scorer: ", "nearest: scorers"], id="a part"),
        pytest.param(WEIGHT, 9, [WEIGHT + ": expected a number from 0 to 5, got 9"], id="a range"),
        pytest.param(WEIGHT, True, ["a number from 0 to 5, got true"], id="true for a number"),
        pytest.param(SCORING + ".phases.focused.turns", 2.5, ["a whole number from 1 to 200"], id="a fraction"),
        pytest.param(SCORING + ".strategies.deepen", {"focus": "x"}, ["strategies.deepen.focus: "], id="not to be changed"),
        pytest.param(SCORING + ".phases", [], ["expected a block with exploratory, focused, closing, got an empty list"], id="a list"),
        pytest.param(WEIGHTS, {"goal_achievement": 0.4}, [WEIGHTS + ": expected numbers that add up to 1, got a sum of 1.1"], id="a sum"),
        pytest.param(WEIGHTS + ".goal_achievement", 0.4, ["add up to 1"], id="one weight"),
        pytest.param(PROMPT + ".system", "one text", ["expected a list of texts"], id="a text for lines"),
        pytest.param(PROMPT + ".system", [], ["expected a list of texts"], id="no line"),
    ],
)  # fmt: skip
def test_a_change_that_does_not_fit_is_refused_and_not_used(
    box: Box, key: str, value: object, words: list[str]
) -> None:
    found = find_key(key)
    assert found is not None
    with pytest.raises(WrongValueError) as error:
        set_value(box.config, key, value)
    for word in words:
        assert word in str(error.value)
    box.write(USER, block(key, value))
    settings = box.load()
    (problem,) = settings.problems
    assert (problem.kind, settings.origin(found.setting.name)) == ("value", "default")
    assert problem.key.startswith(found.setting.name)


def test_one_invalid_entry_keeps_the_whole_object_from_being_used(box: Box) -> None:
    box.write(
        USER, block(SCORING, {"phases": {"focused": {"turns": 9}}, "scorers": {"novelty": {"weight": 9}}})
    )
    assert box.load().block(SCORING) == {}


def test_weights_are_set_together(box: Box) -> None:
    set_value(box.config, WEIGHTS, {"goal_achievement": 0.4, "tool_efficiency": 0.1})
    set_value(box.config, WEIGHTS + ".tool_efficiency", 0.1)
    assert list(box.load().block(WEIGHTS).values()) == [0.4, 0.1, 0.2, 0.15, 0.1, 0.05]


@pytest.mark.parametrize("key", [SCORING, PROMPT])
def test_everything_that_can_be_changed_may_be_set_to_what_is_shipped(key: str) -> None:
    shipped = value_at(key, None)
    assert mismatch(keys()[key], shipped) is None
    assert merged(load_data(*keys()[key].table), shipped) == load_data(*keys()[key].table)


def test_a_project_changes_no_table(box: Box) -> None:
    box.write(PROJECT, block(WEIGHT, 0.4))
    settings = box.load()
    assert ([problem.kind for problem in settings.problems], settings.block(SCORING)) == (["refused"], {})


def test_a_setup_has_the_changes() -> None:
    pack = {"id": "p", "name": "p", "reason": "r", "types": [{"id": "t", "name": "t", "memory": "decision"}],
            "ladder": ["t"], "terminal": ["t"], "elements": []}  # fmt: skip
    changes = {"stop": {"coverage": 0.4}, "strategies": {"deepen": {"enabled": False}}}
    setup = new_setup("x", check_pack(pack, "p.json"), 20, changes)
    assert setup["scoring"]["stop"]["coverage"] == 0.4
    assert [entry["id"] for entry in setup["scoring"]["strategies"] if not entry["enabled"]] == ["deepen"]


def test_commands_name_an_invalid_change(project: Project) -> None:
    project.write_settings(interview={"scoring": {"scorers": {"noveltie": {"weight": 1}}}})
    for command, code in (
        (["config", "check"], 1),
        (["doctor"], 1),
        (["interview", "start", "billing export"], 0),
    ):
        run = project.cli(*command)
        assert "nearest: novelty" in " ".join((run.stdout + run.stderr).split()), command
        assert run.returncode == code, command


def test_a_change_is_named_shown_and_used(project: Project) -> None:
    shipped = project.cli("interview", "start", "billing export", "--json").json
    project.cli("interview", "wrap-up")
    key = SCORING + ".strategies.broaden.enabled"
    assert "now false (was true, the default)" in project.cli("config", "set", key, "false").stdout
    changed = project.cli("interview", "start", "ledger import", "--json").json
    assert (shipped["strategy"], changed["strategy"] != "broaden") == ("broaden", True)
    assert "changed by you: interview.scoring" in project.cli("config", "check").stdout
    assert project.cli("config", "get", key).stdout == "false\n"
    assert "default: true" in project.cli("config", "show", key).stdout
    assert project.cli("config", "get", PROMPT + ".closing", "--json").json["value"][0].startswith("Grade")
    project.cli("config", "unset", key)
    assert project.cli("config", "get", key).stdout == "true\n"
