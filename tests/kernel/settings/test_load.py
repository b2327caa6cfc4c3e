"""Which settings files are read and how, and that none of them can do harm."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel import settings as settings_module
from memory_plugin.kernel.settings import Settings, SettingsFileError, decoded, shipped
from memory_plugin.kernel.settings import schema as schema_module
from memory_plugin.kernel.settings.load import load
from memory_plugin.kernel.settings.schema import apply
from tests.kernel.settings.files import LOCAL, PROJECT, USER, Box, block

KEY = "retrieval.max_inject"


def test_defaults_alone() -> None:
    settings = load(None, None)
    assert (settings.integer(KEY), settings.origin(KEY), settings.files, settings.problems) == (
        3,
        "default",
        {},
        [],
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({USER: 5}, (5, USER), id="the user's file over the defaults"),
        pytest.param({USER: 5, PROJECT: 2}, (2, PROJECT), id="the project's over the user's"),
        pytest.param({USER: 5, PROJECT: 1, LOCAL: 2}, (2, LOCAL), id="the local one over the project's"),
        pytest.param({PROJECT: 2}, (2, PROJECT), id="a project without a user's file"),
        pytest.param({LOCAL: 1}, (1, LOCAL), id="a local file alone"),
    ],
)
def test_later_layers_win(box: Box, values: dict[str, int], expected: tuple[int, str]) -> None:
    paths = {layer: box.write(layer, block(KEY, value)) for layer, value in values.items()}
    settings = box.load()
    assert (settings.integer(KEY), settings.origin(KEY)) == expected
    assert (settings.files, settings.problems) == (paths, [])


def test_top_level_keys_are_read_and_the_memory_block_wins(box: Box) -> None:
    box.write(USER, {"retrieval": {"max_inject": 1, "max_tokens": 500}, **block(KEY, 2)})
    settings = box.load()
    assert (settings.integer(KEY), settings.integer("retrieval.max_tokens")) == (2, 500)


def options(**values: object) -> dict[str, object]:
    """Return the block in which Claude Code keeps the plugin's options."""
    return {"pluginConfigs": {"memory@memory-plugin": {"options": values}}}


def test_options_of_the_plugin_count_in_the_users_file_below_its_own_keys(box: Box) -> None:
    box.write(
        USER, {**options(recall=False, receipts="off", other=1), **block("retrieval.receipt", "injected")}
    )
    settings = box.load()
    assert (settings.flag("retrieval.enabled"), settings.text("retrieval.receipt")) == (False, "injected")
    assert settings.problems == []


@pytest.mark.parametrize(
    ("layer", "content", "problems"),
    [
        pytest.param(USER, options(receipts="never"), 1, id="a wrong value"),
        pytest.param(PROJECT, options(recall=False), 0, id="a project's file"),
        pytest.param(USER, {"pluginConfigs": {"memory@memory-plugin": 3}}, 0, id="no block"),
        pytest.param(
            USER, {"pluginConfigs": {"memory@other": {"options": {"recall": False}}}}, 0, id="another plugin"
        ),
    ],
)
def test_other_options_change_nothing(
    box: Box, layer: str, content: dict[str, object], problems: int
) -> None:
    box.write(layer, content)
    settings = box.load()
    assert (settings.flag("retrieval.enabled"), settings.text("retrieval.receipt")) == (True, "all")
    assert len(settings.problems) == problems


def test_other_top_level_blocks_belong_to_the_client(box: Box) -> None:
    box.write(
        USER, {"trust": {"accept_from": ["/"]}, "judge": 3, "env": {"A": "b"}, "scoring": {"mode": "hybrid"}}
    )
    settings = box.load()
    assert (settings.texts("trust.accept_from"), settings.problems) == ([], [])


UNUSABLE: list[Any] = [
    pytest.param(b"{", "JSON", id="broken"),
    pytest.param(b"[]", "a JSON object", id="no object"),
    pytest.param(b'{"a": NaN}', "JSON", id="not a number"),
    pytest.param(b'{"a": "\xff"}', "text in UTF-8", id="other encoding"),
    pytest.param(b"[" * 100_000, "JSON", id="nested deeply"),
    pytest.param(b'{"a":' * 100_000, "JSON", id="nested deeply in objects"),
    pytest.param(b" " * 1_000_001, "a readable file of at most 1000000 bytes", id="huge"),
    pytest.param(b"\x00" * 10, "JSON", id="NULs"),
    pytest.param(b'{"a": 1' + b"0" * 10_000 + b"x}", "JSON", id="a long number"),
]


@pytest.mark.parametrize("layer", [USER, PROJECT, LOCAL])
@pytest.mark.parametrize(("data", "expected"), UNUSABLE)
def test_an_unusable_file_is_a_problem_and_changes_nothing(
    box: Box, layer: str, data: bytes, expected: str
) -> None:
    path = box.write(layer, data)
    settings = box.load()
    (problem,) = settings.problems
    assert (problem.kind, problem.file, problem.path, problem.expected) == ("file", path, (), expected)
    assert [settings.get(key) for key in settings.all_keys()] == [
        load(None, None).get(key) for key in settings.all_keys()
    ]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \n", id="blank"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
    ],
)
def test_an_empty_file_says_nothing(box: Box, data: bytes) -> None:
    box.write(USER, data)
    assert box.load().problems == []


@pytest.mark.parametrize("layer", [USER, PROJECT])
@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_an_irregular_settings_file_is_reported_at_once(box: Box, layer: str, kind: str) -> None:
    (os.mkfifo if kind == "pipe" else os.mkdir)(box.path(layer))
    begin = time.monotonic()
    (problem,) = box.load().problems
    assert (problem.kind, time.monotonic() - begin < 10) == ("file", True)


def test_the_users_file_may_be_a_link(box: Box) -> None:
    target = os.path.join(box.folder, "dotfiles.json")
    os.rename(box.write(USER, block(KEY, 1)), target)
    os.symlink(target, box.path(USER))
    assert (box.load().integer(KEY), box.load().problems) == (1, [])


@pytest.mark.parametrize("layer", [PROJECT, LOCAL])
def test_a_projects_file_may_not_be_a_link(box: Box, layer: str) -> None:
    target = os.path.join(box.folder, "elsewhere.json")
    os.rename(box.write(layer, block(KEY, 1)), target)
    os.symlink(target, box.path(layer))
    settings = box.load()
    assert (settings.integer(KEY), [problem.file for problem in settings.problems]) == (3, [box.path(layer)])


def test_a_projects_folder_may_not_be_a_link(box: Box) -> None:
    box.write(PROJECT, block(KEY, 1))
    os.rename(os.path.join(box.project, ".claude"), os.path.join(box.folder, "elsewhere"))
    os.symlink(os.path.join(box.folder, "elsewhere"), os.path.join(box.project, ".claude"))
    settings = box.load()
    assert [problem.expected for problem in settings.problems] == ["a folder"]
    assert settings.integer(KEY) == 3


def test_in_the_home_folder_the_users_file_is_not_the_projects(box: Box) -> None:
    config = os.path.join(box.project, ".claude")
    box.write(PROJECT, {"memory": {"trust": {"accept_from": ["/"]}, "retrieval": {"max_inject": 5}}})
    settings = load(config, box.project)
    assert (settings.texts("trust.accept_from"), settings.origin(KEY), settings.problems) == (["/"], USER, [])


@pytest.mark.parametrize("path", ["/no/such/folder", "with\0nul", "", "a" * 5000])
def test_folders_that_cannot_be(path: str) -> None:
    assert load(path, path).integer(KEY) == 3


def test_typed_getters_never_raise() -> None:
    settings = Settings({"a": True, "b": 2, "c": 0.5, "d": "x", "e": ["y", 1], "f": None})
    table = [
        (settings.flag(k), settings.integer(k), settings.number(k), settings.text(k), settings.texts(k))
        for k in "abcdefg"
    ]
    assert table == [
        (True, 0, 0.0, "", []),
        (False, 2, 2.0, "", []),
        (False, 0, 0.5, "", []),
        (False, 0, 0.0, "x", []),
        (False, 0, 0.0, "", ["y"]),
        (False, 0, 0.0, "", []),
        (False, 0, 0.0, "", []),
    ]


def test_a_damaged_installation_is_silent(monkeypatch: pytest.MonkeyPatch, box: Box) -> None:
    monkeypatch.setattr(settings_module, "data_path", lambda *parts: os.path.join(box.folder, "gone", *parts))
    settings = box.load()
    assert (settings.flag("retrieval.enabled"), settings.integer(KEY), len(settings.problems)) == (
        False,
        0,
        1,
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["retrieval", "judge", "max_inject", "memory", "x"]), inner)
    ),
    max_leaves=12,
)


@given(content=st.dictionaries(st.sampled_from(["memory", "retrieval", "scoring"]), JSON))
def test_any_json_in_a_projects_file_leaves_every_key_with_a_value_of_its_type(
    content: dict[str, Any],
) -> None:
    settings = Settings(shipped("defaults.json"))
    before = {key: settings.get(key) for key in settings.all_keys()}
    apply(settings, [(USER, "u", {}), (PROJECT, "p", content)])
    for key, value in before.items():
        assert type(settings.get(key)) is type(value) or isinstance(value, float)
    assert not settings.is_judge_enabled("retrieval")
    assert settings.integer(KEY) <= 3


@given(data=st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_named_error(data: bytes) -> None:
    with suppress(SettingsFileError):
        assert isinstance(decoded(data), dict)


def test_loading_a_file_of_ten_kilobytes_takes_half_a_millisecond(box: Box) -> None:
    box.write(USER, {"env": {"NAME_%d" % i: "v" * 30 for i in range(220)}, **block(KEY, 2)})
    box.write(PROJECT, block(KEY, 1))
    assert os.path.getsize(box.path(USER)) > 10_000
    best = min(_seconds(box) for _ in range(200))
    assert best < 0.002


def _seconds(box: Box) -> float:
    begin = time.perf_counter()
    box.load()
    return time.perf_counter() - begin


def test_a_hostile_file_of_many_wrong_keys_costs_little(box: Box) -> None:
    box.write(PROJECT, json.dumps({"memory": {"k%d" % i: 1 for i in range(70_000)}}, separators=(",", ":")))
    begin = time.perf_counter()
    settings = box.load()
    assert (len(settings.problems), time.perf_counter() - begin < 5) == (100, True)


@pytest.mark.parametrize("bug", [TypeError, ValueError, KeyError])
def test_a_bug_is_no_invalid_setting(box: Box, monkeypatch: pytest.MonkeyPatch, bug: type[Exception]) -> None:
    def fail(*_: object) -> None:
        raise bug("a bug")

    box.write(USER, block(KEY, 2))
    monkeypatch.setattr(schema_module, "mismatch", fail)
    with pytest.raises(bug, match="a bug"):
        box.load()
