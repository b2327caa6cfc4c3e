"""Changes to the user's settings file: what is written, kept and refused."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from memory_plugin.kernel.files import replace_file
from memory_plugin.kernel.settings import user_file
from memory_plugin.kernel.settings.user_file import EditError, WrongValueError
from tests.kernel.settings.files import USER, Box, set_value

KEY = "retrieval.max_inject"
BEFORE = """{
    "theme": "dark",
    "memory": {
        "retrieval": {
            "max_tokens": 5
        }
    },
    "x": "\u00e9"
}"""


def test_everything_else_in_the_file_stays(box: Box) -> None:
    box.write(USER, BEFORE)
    change = set_value(box.config, KEY, 2)
    expected = BEFORE.replace(": 5", ': 5,\n            "max_inject": 2')
    assert (box.read(), change.changed, change.path) == (expected, True, os.path.realpath(box.path(USER)))
    assert box.load().integer(KEY) == 2
    assert set_value(box.config, KEY, None).changed
    assert box.read() == BEFORE


@pytest.mark.parametrize("depth", ["memory", "top"])
def test_an_existing_key_is_changed_in_place(box: Box, depth: str) -> None:
    block = {"retrieval": {"max_inject": 1}}
    box.write(USER, json.dumps({"memory": block, "retrieval": {}} if depth == "memory" else block))
    set_value(box.config, KEY, 2)
    changed = {"retrieval": {"max_inject": 2}}
    assert json.loads(box.read()) == ({"memory": changed, "retrieval": {}} if depth == "memory" else changed)


def test_the_old_content_lies_beside_the_file(box: Box) -> None:
    box.write(USER, BEFORE)
    backup = set_value(box.config, KEY, 2).backup
    assert backup == os.path.realpath(box.path(USER)) + ".memory-backup"
    with open(backup, encoding="utf-8") as file:
        assert file.read() == BEFORE
    assert stat.S_IMODE(os.stat(backup).st_mode) == 0o600


def test_a_new_file_is_the_users_alone(box: Box) -> None:
    config = os.path.join(box.folder, "new", "folder")
    change = set_value(config, KEY, 2)
    with open(os.path.join(config, "settings.json"), encoding="utf-8") as file:
        assert json.load(file) == {"memory": {"retrieval": {"max_inject": 2}}}
    assert (change.backup, stat.S_IMODE(os.stat(change.path).st_mode)) == (None, 0o600)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664], ids=oct)
def test_the_mode_is_kept(box: Box, mode: int) -> None:
    os.chmod(box.write(USER, BEFORE), mode)
    set_value(box.config, KEY, 2)
    assert stat.S_IMODE(os.stat(box.path(USER)).st_mode) == mode


def test_a_link_stays_and_its_target_is_written(box: Box) -> None:
    target = os.path.join(box.folder, "dotfiles", "settings.json")
    os.mkdir(os.path.dirname(target))
    os.rename(box.write(USER, BEFORE), target)
    os.symlink(target, box.path(USER))
    change = set_value(box.config, KEY, 2)
    assert (os.readlink(box.path(USER)), change.path) == (target, os.path.realpath(target))
    assert '"max_inject": 2' in box.read()


def test_a_key_is_changed_in_place(box: Box) -> None:
    box.write(USER, '{"retrieval": {"max_inject": 1}}')
    set_value(box.config, KEY, 2)
    assert box.read() == '{"retrieval": {"max_inject": 2}}'


@pytest.mark.parametrize("blanks", ["", " \n", "\x0c", "\u2028\n"])
def test_a_file_of_blanks_gets_the_key(box: Box, blanks: str) -> None:
    box.write(USER, blanks)
    set_value(box.config, KEY, 2)
    assert json.loads(box.read()) == {"memory": {"retrieval": {"max_inject": 2}}}


def test_unset_takes_a_key_out_of_both_forms_and_leaves_no_empty_block(box: Box) -> None:
    box.write(USER, '{"a": 1, "retrieval": {"max_inject": 1}, "memory": {"retrieval": {"max_inject": 2}}}')
    set_value(box.config, KEY, None)
    assert box.read() == '{"a": 1}'


def test_unset_takes_whole_blocks_and_keys_that_do_not_exist(box: Box) -> None:
    box.write(USER, '{"memory": {"retrieval": {"max_injct": 1}, "ledger": {"keep_text": []}, "trust": {}}}')
    set_value(box.config, "retrieval.max_injct", None)
    set_value(box.config, "ledger", None)
    assert box.read() == '{"memory": {"trust": {}}}'


def test_unset_of_what_is_not_there_writes_nothing(box: Box) -> None:
    box.write(USER, BEFORE)
    assert not set_value(box.config, KEY, None).changed
    assert not set_value(box.config, "retrieval.max_injct", None).changed
    assert sorted(os.listdir(box.config)) == ["lcars", "settings.json"]


def test_the_same_value_again_writes_nothing(box: Box) -> None:
    set_value(box.config, KEY, 2)
    assert not set_value(box.config, KEY, 2).changed


@pytest.mark.parametrize(
    "before", ["{}", '{"memory": {"retrieval": {"max_inject": 2}}}', '{"retrieval": {}}']
)
def test_another_key_of_a_judges_block_does_not_switch_the_judge_on(box: Box, before: str) -> None:
    box.write(USER, before)
    set_value(box.config, "retrieval.judge.model", "m")
    settings = box.load()
    assert (settings.text("retrieval.judge.model"), settings.is_judge_enabled("retrieval")) == ("m", False)


@pytest.mark.parametrize(
    "before", ['{"memory": {"retrieval": {"judge": {}}}}', '{"retrieval": {"judge": {"enabled": true}}}']
)
def test_a_judge_that_is_on_stays_on(box: Box, before: str) -> None:
    box.write(USER, before)
    set_value(box.config, "retrieval.judge.model", "m")
    assert box.load().is_judge_enabled("retrieval")
    set_value(box.config, "retrieval.judge.model", None)
    assert (box.read(), box.load().is_judge_enabled("retrieval")) == (before, True)


def test_the_switch_itself_switches(box: Box) -> None:
    set_value(box.config, "retrieval.judge.enabled", value=True)
    assert box.load().is_judge_enabled("retrieval")
    set_value(box.config, "retrieval.judge", None)
    assert not box.load().is_judge_enabled("retrieval")


def test_a_value_that_does_not_fit_is_refused_before_the_file_is_read(box: Box) -> None:
    box.write(USER, "{broken")
    with pytest.raises(WrongValueError, match="expected a whole number from 0 to 10, got 11"):
        set_value(box.config, KEY, 11)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{broken", "expected JSON", id="broken"),
        pytest.param("[]", "expected a JSON object", id="no object"),
        pytest.param(b'{"a": "\xff"}', "expected text in UTF-8", id="other encoding"),
        pytest.param('{"memory": true}', "not a block of keys: memory", id="the block is a value"),
        pytest.param(
            '{"memory": {"retrieval": 1}}', "not a block of keys: memory.retrieval", id="a value inside"
        ),
        pytest.param(b" " * 1_000_001, "at most 1000000", id="huge"),
    ],
)
def test_an_unusable_file_is_not_changed(box: Box, content: str | bytes, message: str) -> None:
    path = box.write(USER, content)
    size = os.path.getsize(path)
    with pytest.raises(EditError, match=message):
        set_value(box.config, KEY, 2)
    assert (os.path.getsize(path), os.path.exists(path + ".memory-backup")) == (size, False)


def test_without_a_config_folder_nothing_can_be_written() -> None:
    with pytest.raises(EditError, match="no home folder"):
        set_value(None, KEY, 2)


def test_a_link_into_nowhere_is_named(box: Box) -> None:
    os.symlink(os.path.join(box.folder, "gone", "settings.json"), box.path(USER))
    with pytest.raises(EditError, match="gone"):
        set_value(box.config, KEY, 2)


def test_a_change_made_meanwhile_is_kept_and_ours_refused(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.write(USER, BEFORE)

    def change_and_replace(path: str, data: bytes, mode: int = 0o600) -> None:
        if path.endswith(".memory-backup"):
            box.write(USER, BEFORE.replace("dark", "light"))
        replace_file(path, data, mode)

    monkeypatch.setattr(user_file, "replace_file", change_and_replace)
    with pytest.raises(EditError, match="another program has just changed it"):
        set_value(box.config, KEY, 2)
    assert "light" in box.read()


def test_two_writers_lose_nothing(box: Box) -> None:
    names = [
        "retrieval.max_inject",
        "interview.max_turns",
        "memories.grace_period_days",
        "retrieval.max_tokens",
    ]
    threads = [threading.Thread(target=set_value, args=(box.config, name, 7 * 20)) for name in names[2:]]
    threads += [threading.Thread(target=set_value, args=(box.config, name, 7)) for name in names[:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [box.load().integer(name) for name in names] == [7, 7, 140, 140]
