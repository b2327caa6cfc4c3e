"""Which keys of a user's and of a project's file take effect."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.settings.load import load
from tests.kernel.settings.files import LOCAL, PROJECT, USER, Box, block

JUDGE = "retrieval.judge.enabled"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param("retrieval.max_inject", 2, 2, id="a limit lowered"),
        pytest.param("retrieval.max_inject", 3, 3, id="a limit repeated"),
        pytest.param("retrieval.enabled", False, False, id="a feature switched off"),
        pytest.param("native.enabled", False, False, id="native memory switched off"),
        pytest.param("scoring.judge.dimensions", ["SyA"], ["SyA"], id="fewer dimensions"),
        pytest.param("scoring.mode", "off", "off", id="no scores"),
        pytest.param("capture.mode", "quiet", "quiet", id="candidates without a word"),
        pytest.param("retrieval.inject_threshold", 0.9, 0.9, id="a threshold raised"),
        pytest.param("retrieval.pointer_threshold", 0.5, 0.5, id="a threshold repeated"),
        pytest.param("retrieval.judge.min_confidence", 0.4, 0.4, id="the judge asked less"),
        pytest.param("retrieval.max_pointers", 0, 0, id="pointers switched off"),
        pytest.param("retrieval.match_strategy", "keyword", "keyword", id="the plain strategy"),
        pytest.param("judge.caps.day_usd", 0, 0, id="a cap lowered"),
        pytest.param("retrieval.judge.timeout_per_call", 1, 1, id="a time-out lowered"),
        pytest.param("retrieval.catalog.max_tokens", 0, 0, id="no catalog"),
        pytest.param("retrieval.catalog.max_tokens", 300, 300, id="a shorter catalog"),
        pytest.param("retrieval.tool.max_per_session", 0, 0, id="nothing at tool calls"),
        pytest.param("retrieval.tool.max_per_session", 2, 2, id="less at tool calls"),
        pytest.param("retrieval.judge.modes.search.verification", "strict", "strict", id="a stricter judge"),
        pytest.param("retrieval.judge.dual_verification", False, False, id="one judge instead of two"),
        pytest.param("retrieval.judge.when", "unsure", "unsure", id="the judge only where rules are unsure"),
    ],
)
@pytest.mark.parametrize("layer", [PROJECT, LOCAL])
def test_keys_that_a_project_may_set_are_applied(
    box: Box, layer: str, key: str, value: object, expected: object
) -> None:
    box.write(layer, block(key, value))
    settings = box.load()
    assert (settings.get(key), settings.origin(key), settings.problems) == (expected, layer, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("retrieval.max_inject", 4, id="a limit raised"),
        pytest.param("retrieval.max_tokens", 2000, id="more tokens"),
        pytest.param("retrieval.inject_threshold", 0.1, id="a threshold lowered"),
        pytest.param("retrieval.pointer_threshold", 0.1, id="a threshold of pointers lowered"),
        pytest.param("retrieval.judge.min_confidence", 0, id="the judge asked more"),
        pytest.param("retrieval.max_pointers", 5, id="more pointers"),
        pytest.param("retrieval.receipt", "off", id="receipts switched off"),
        pytest.param("retrieval.receipt", "all", id="more receipts"),
        pytest.param("retrieval.catalog.max_tokens", 1600, id="a longer catalog"),
        pytest.param("retrieval.tool.max_per_session", 9, id="more at tool calls"),
        pytest.param("retrieval.judge.modes.auto.max_output", 4, id="more of what judges approve"),
        pytest.param("scoring.escalation.padding_range", [0, 1000], id="every reply in doubt"),
        pytest.param("scoring.escalation.density_margin", 0.5, id="a wider doubt"),
        pytest.param("scoring.escalation.thresholds.preamble", 5, id="every preamble in doubt"),
        pytest.param("scoring.holdout", 0, id="more corrections"),
        pytest.param("evaluation.packs", ["honesty"], id="a gate left out"),
        pytest.param("evaluation.quorum", 1, id="a smaller quorum"),
        pytest.param("judge.backend", "openai", id="a backend"),
        pytest.param("judge.backend", "anthropic", id="the same backend"),
        pytest.param("judge.base_url", "https://example.org", id="a URL"),
        pytest.param("judge.key_variable", "SOME_KEY", id="where the key is"),
        pytest.param("judge.caps.session_usd", 1, id="a session's cap raised"),
        pytest.param("judge.caps.day_usd", 1.5, id="a day's cap raised"),
        pytest.param("retrieval.judge.enabled", True, id="the judge"),
        pytest.param("retrieval.judge.model", "claude-opus-4", id="a dearer model"),
        pytest.param("retrieval.judge.candidate_pool_size", 50, id="more candidates"),
        pytest.param("retrieval.judge.modes.auto.verification", "lenient", id="a laxer judge"),
        pytest.param("trust.accept_from", ["/"], id="trust"),
        pytest.param("trust.accept_from", [], id="trust as it is"),
        pytest.param("hygiene.allow", ["aws-access-key-id"], id="secrets let through"),
        pytest.param("ledger.keep_text", ["prompts"], id="prompts written down"),
        pytest.param("sessions.weights.tool_efficiency", 0.2, id="weights"),
        pytest.param("interview.scoring.phases.focused.turns", 9, id="a longer interview"),
        pytest.param("memories.grace_period_days", 0, id="forgotten files deleted"),
    ],
)
@pytest.mark.parametrize("layer", [PROJECT, LOCAL])
def test_keys_that_a_project_may_not_set_are_refused(box: Box, layer: str, key: str, value: object) -> None:
    before = load(None, None).get(key)
    path = box.write(layer, block(key, value))
    settings = box.load()
    (problem,) = settings.problems
    assert (settings.get(key), settings.origin(key)) == (before, "default")
    assert (problem.kind, problem.file) == ("refused", path)
    assert key == problem.key or key.startswith(problem.key + ".")


def test_a_projects_limit_is_the_users_own_value_not_the_default(box: Box) -> None:
    box.write(USER, block("retrieval.max_inject", 8))
    box.write(PROJECT, block("retrieval.max_inject", 1))
    box.write(LOCAL, block("retrieval.max_inject", 6))
    settings = box.load()
    assert (settings.integer("retrieval.max_inject"), settings.problems) == (6, [])


def test_own_number_ignores_the_projects_files(box: Box) -> None:
    box.write(USER, block("retrieval.inject_threshold", 0.4))
    assert box.load().user_number("retrieval.inject_threshold") == 0.4
    box.write(PROJECT, block("retrieval.inject_threshold", 0.6))
    box.write(LOCAL, block("retrieval.inject_threshold", 0.8))
    settings = box.load()
    assert settings.number("retrieval.inject_threshold") == 0.8
    assert settings.user_number("retrieval.inject_threshold") == 0.4
    assert settings.user_number("retrieval.pointer_threshold") == 0.5
    varied = settings.with_values({"retrieval.inject_threshold": 0.7})
    assert varied.user_number("retrieval.inject_threshold") == 0.7


def test_an_object_names_only_what_differs(box: Box) -> None:
    both = {"memory": {"scoring": {"escalation": {"thresholds": {"code": 0.5}}}}}
    box.write(USER, {**both, "scoring": {"escalation": {"thresholds": {"code": 0.1, "meta": 0.9}}}})
    settings = box.load()
    found = settings.block("scoring.escalation.thresholds")
    assert (found["code"], found["meta"], found["claim"], settings.problems) == (0.5, 0.9, 0.46, [])
    assert settings.number("scoring.escalation.thresholds.meta") == 0.9
    assert settings.origin("scoring.escalation.thresholds.meta") == USER


def test_a_project_may_lower_one_value_of_an_object(box: Box) -> None:
    box.write(USER, block("judge.caps.day_usd", 5))
    box.write(PROJECT, block("judge.caps.day_usd", 4))
    box.write(LOCAL, block("judge.caps.session_usd", 0.1))
    settings = box.load()
    assert (settings.number("judge.caps.day_usd"), settings.number("judge.caps.session_usd")) == (4, 0.1)
    assert (settings.user_number("judge.caps.day_usd"), settings.problems) == (5, [])


def test_a_switch_that_the_user_turned_off_stays_off(box: Box) -> None:
    box.write(USER, block("retrieval.enabled", value=False))
    box.write(PROJECT, block("retrieval.enabled", value=True))
    settings = box.load()
    assert (settings.flag("retrieval.enabled"), [p.kind for p in settings.problems]) == (False, ["refused"])


@pytest.mark.parametrize(("user", "refused"), [("always", []), ("unsure", ["refused"])])
def test_a_project_may_set_what_the_user_has(box: Box, user: str, refused: list[str]) -> None:
    box.write(USER, block("retrieval.judge.when", user))
    box.write(PROJECT, block("retrieval.judge.when", "always"))
    assert [problem.kind for problem in box.load().problems] == refused


@pytest.mark.parametrize(
    ("user", "project", "asked"),
    [
        pytest.param({}, {}, False, id="no block"),
        pytest.param({"memory": {"retrieval": {"judge": {}}}}, {}, True, id="an empty block"),
        pytest.param(block("retrieval.judge.model", "m"), {}, True, id="a block without the switch"),
        pytest.param({"retrieval": {"judge": {"enabled": True}}}, {}, True, id="the top-level form"),
        pytest.param(block(JUDGE, value=False), {}, False, id="switched off"),
        pytest.param(
            {"retrieval": {"judge": {}}, **block(JUDGE, value=False)}, {}, False, id="off in the own block"
        ),
        pytest.param(block(JUDGE, "yes"), {}, False, id="a switch that is neither true nor false"),
        pytest.param({"memory": {"retrieval": {"judge": True}}}, {}, False, id="no block but a value"),
        pytest.param({}, block(JUDGE, value=True), False, id="a project cannot ask"),
        pytest.param({}, {"retrieval": {"judge": {}}}, False, id="a project's empty block"),
        pytest.param(
            block(JUDGE, value=True), block(JUDGE, value=False), False, id="a project may switch off"
        ),
        pytest.param(block("judge.backend", "openai"), {}, False, id="the block of all judges asks for none"),
    ],
)
def test_only_the_users_own_block_switches_a_judge_on(
    box: Box, user: dict[str, object], project: dict[str, object], *, asked: bool
) -> None:
    box.write(USER, user)
    box.write(PROJECT, project)
    settings = box.load()
    assert (settings.is_judge_enabled("retrieval"), settings.flag(JUDGE)) == (asked, asked)


@pytest.mark.parametrize(
    ("user", "project", "feature", "asked"),
    [
        pytest.param(block("scoring.mode", "hybrid"), {}, "scoring", True, id="hybrid"),
        pytest.param(block("scoring.mode", "shadow"), {}, "scoring", False, id="shadow"),
        pytest.param(block("scoring.judge.model", "m"), {}, "scoring", False, id="a block without the mode"),
        pytest.param({}, block("scoring.mode", "hybrid"), "scoring", False, id="a project's mode"),
        pytest.param(
            block("scoring.mode", "hybrid"), block("scoring.mode", "deterministic"), "scoring", False,
            id="a project may lower the mode",
        ),
        pytest.param(block("sessions.judge.when", "asked"), {}, "sessions", True, id="asked"),
        pytest.param(block("sessions.judge.when", "ended"), {}, "sessions", True, id="ended"),
        pytest.param({}, block("sessions.judge.when", "asked"), "sessions", False, id="a project's switch"),
    ],
)  # fmt: skip
def test_one_setting_switches_the_judge_of_replies_and_of_sessions(
    box: Box, user: dict[str, object], project: dict[str, object], feature: str, *, asked: bool
) -> None:
    box.write(USER, user)
    box.write(PROJECT, project)
    assert box.load().is_judge_enabled(feature) is asked


@pytest.mark.parametrize(
    ("content", "kind", "key"),
    [
        pytest.param(
            {"memory": {"retrieval": {"max_injct": 2}}}, "unknown", "retrieval.max_injct", id="a misspelt key"
        ),
        pytest.param({"memory": {"retreival": {}}}, "unknown", "retreival", id="a misspelt block"),
        pytest.param(
            {"retrieval": {"judge": {"enbled": 1}}},
            "unknown",
            "retrieval.judge.enbled",
            id="at the top level",
        ),
        pytest.param({"memory": []}, "value", "memory", id="a list for the whole block"),
        pytest.param({"memory": {"retrieval": 3}}, "value", "retrieval", id="a number for a block"),
        pytest.param(
            block("retrieval.max_inject", "3"), "value", "retrieval.max_inject", id="a text for a number"
        ),
        pytest.param(
            block("retrieval.max_inject", value=True), "value", "retrieval.max_inject", id="true for 1"
        ),
        pytest.param(block("retrieval.enabled", 1), "value", "retrieval.enabled", id="1 for true"),
        pytest.param(
            block("retrieval.inject_threshold", 1.1), "value", "retrieval.inject_threshold", id="out of range"
        ),
        pytest.param(
            block("retrieval.inject_threshold", None), "value", "retrieval.inject_threshold", id="null"
        ),
        pytest.param(block("retrieval.receipt", "yes"), "value", "retrieval.receipt", id="no such choice"),
        pytest.param(block("hygiene.allow", [1]), "value", "hygiene.allow", id="a list of numbers"),
    ],
)
def test_a_wrong_key_is_a_problem_and_the_rest_of_the_file_counts(
    box: Box, content: dict[str, object], kind: str, key: str
) -> None:
    if isinstance(content.get("memory"), dict):
        content = {"retrieval": {"max_tokens": 777}, **content}
    box.write(USER, content)
    settings = box.load()
    (problem,) = settings.problems
    assert (problem.kind, problem.key) == (kind, key)
    assert settings.integer("retrieval.max_tokens") == (
        777 if "memory" in content and key != "memory" else 1200
    )


SOURCE = {"enabled": True, "candidate_pool_size": 15}
WHEN = {
    "no judge": ({}, "always", False),
    "the source's own block": ({"retrieval": {"judge": SOURCE}}, "always", True),
    "the same in our block": ({"memory": {"retrieval": {"judge": SOURCE}}}, "always", True),
    "an empty one": ({"retrieval": {"judge": {}}}, "always", True),
    "it says when": ({"retrieval": {"judge": {"when": "unsure"}}}, "unsure", True),
    "ours says when": ({"memory": {"retrieval": {"judge": {"when": "unsure"}}}}, "unsure", True),
}


@pytest.mark.parametrize("name", WHEN)
def test_a_judge_block_means_the_same_at_the_top_level(box: Box, name: str) -> None:
    content, when, on = WHEN[name]
    box.write(USER, content)
    settings = box.load()
    assert (settings.text("retrieval.judge.when"), settings.flag(JUDGE)) == (when, on)


@pytest.mark.parametrize("layer", [PROJECT, LOCAL])
def test_a_projects_block_at_the_top_level_switches_no_judge_on(box: Box, layer: str) -> None:
    box.write(layer, {"retrieval": {"judge": {"candidate_pool_size": 5}}})
    settings = box.load()
    assert (settings.is_judge_enabled("retrieval"), settings.problems) == (False, [])
