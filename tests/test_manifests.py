"""The manifests agree with each other and with the code, and hold nothing that an older client refuses."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

import memory_plugin
from memory_plugin.hooks.entry import HANDLERS
from tests.project import PLUGIN_ROOT

MANIFEST = ".claude-plugin/plugin.json"
# Manifest fields that client 2.1.197 knows and `claude plugin validate --strict` accepts.
KNOWN_FIELDS = {
    "name",
    "version",
    "description",
    "author",
    "license",
    "keywords",
    "homepage",
    "repository",
    "userConfig",
}
# Hook events that this client knows.
KNOWN_EVENTS = {
    "PreToolUse",
    "PostToolUseFailure",
    "PostToolUse",
    "Notification",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
}


def read_text(name: str) -> str:
    """Return the text of one of the plugin's files."""
    with open(os.path.join(PLUGIN_ROOT, name), encoding="utf-8", newline="") as file:
        return file.read()


def hooks() -> dict[str, list[dict[str, Any]]]:
    """Return the events of hooks.json."""
    value: dict[str, list[dict[str, Any]]] = json.loads(read_text("hooks/hooks.json"))["hooks"]
    return value


def test_both_copies_of_the_manifest_are_identical() -> None:
    assert read_text("plugin.json") == read_text(MANIFEST)


def test_each_option_is_a_setting_with_the_same_default() -> None:
    keys = json.loads(read_text("config/settings.schema.json"))["x-options"]
    defaults = json.loads(read_text("config/defaults.json"))
    options = json.loads(read_text(MANIFEST))["userConfig"]
    assert {name: option["default"] for name, option in options.items()} == {
        name: defaults[key] for name, key in keys.items()
    }


def test_the_manifest_for_codex_differs_only_in_its_hooks() -> None:
    manifest = json.loads(read_text(".codex-plugin/plugin.json"))
    assert manifest.pop("hooks") == "./hooks/codex.json"
    expected = json.loads(read_text(MANIFEST))
    assert manifest == {name: value for name, value in expected.items() if name != "userConfig"}


def test_the_manifest_has_the_name_the_version_and_known_fields() -> None:
    manifest = json.loads(read_text(MANIFEST))
    assert manifest["name"] == "memory"
    assert manifest["version"] == memory_plugin.VERSION
    assert set(manifest) <= KNOWN_FIELDS


def test_the_marketplace_offers_this_folder() -> None:
    market = json.loads(read_text(".claude-plugin/marketplace.json"))
    assert market["name"] == "memory-plugin"
    assert [(plugin["name"], plugin["source"]) for plugin in market["plugins"]] == [("memory", "./")]
    assert market["plugins"][0]["description"] == json.loads(read_text(MANIFEST))["description"]


def test_hooks_json_has_only_events_that_every_client_knows() -> None:
    """Client 2.1.197 refuses the whole file for one unknown event."""
    assert set(hooks()) <= KNOWN_EVENTS


@pytest.mark.parametrize(
    ("event", "matcher", "seconds"),
    [
        ("UserPromptSubmit", None, 15),
        ("SessionStart", "startup|resume|clear|compact|fork", 10),
        ("SubagentStart", None, 5),
        ("PreToolUse", "Bash|PowerShell|Monitor|Read|Edit|Write|NotebookEdit", 10),
        ("PostToolUseFailure", "Bash|PowerShell", 10),
        ("Stop", None, 10),
        ("SessionEnd", None, 3),
    ],
)
def test_an_event_has_one_command_with_a_timeout(event: str, matcher: str | None, seconds: int) -> None:
    (group,) = hooks()[event]
    (hook,) = group["hooks"]
    assert group.get("matcher") == matcher
    assert (hook["type"], hook["timeout"]) == ("command", seconds)


def test_no_matcher_looks_around() -> None:
    """Codex reads matchers with a regular expression engine that has no look-around, and drops the hook."""
    assert "(?" not in json.dumps(
        [group.get("matcher", "") for groups in hooks().values() for group in groups]
    )


def test_events_and_handlers_match() -> None:
    assert set(hooks()) == set(HANDLERS)


@pytest.mark.parametrize("event", hooks())
def test_a_hook_command_is_isolated_and_quoted_and_always_succeeds(event: str) -> None:
    command = hooks()[event][0]["hooks"][0]["command"]
    script = r'"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/(\w+\.py)"'
    # A session start reports that hooks cannot run; the other events stay silent.
    end = r"echo '\{[^'$`\\]+\}'" if event == "SessionStart" else "exit 0"
    form = r"python3 -I -S %s \|\| python -I -S %s \|\| %s" % (script, script, end)
    match = re.fullmatch(form, command)
    assert match
    assert match.group(1) == match.group(2)
    assert os.path.isfile(os.path.join(PLUGIN_ROOT, "hooks", match.group(1)))


def test_the_command_for_the_bash_tool_is_executable() -> None:
    assert os.access(os.path.join(PLUGIN_ROOT, "bin", "memory"), os.X_OK)


def test_the_license_is_the_one_that_the_manifest_names() -> None:
    assert read_text("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 the memory authors\n")
    assert json.loads(read_text(MANIFEST))["license"] == "MIT"


CHOSEN = {"save", "search", "forget", "review", "status"}  # by Claude; all others are typed only


@pytest.mark.parametrize("skill", sorted(os.listdir(os.path.join(PLUGIN_ROOT, "skills"))))
def test_a_skill_has_one_short_description(skill: str) -> None:
    """The slash menu cuts longer ones, and each session pays for those of CHOSEN, which Claude may start itself."""
    head = read_text("skills/%s/SKILL.md" % skill).split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert not any(": " in value for value in fields.values())  # client 2.1.197 then drops all fields
    assert len(fields["description"]) <= 60
    assert "when_to_use" not in fields
    assert (fields.get("disable-model-invocation") == "true") == (skill not in CHOSEN)


# A prefix that is allowed without a question must not cover these.
NEEDS_APPROVAL = (
    *("accept", "reject", "promote", "judge on", "config set", "config unset", "feedback reset", "useful", "wrong"),
    *("import promote", "feedback useful", "feedback wrong", "replies tune --apply"),
    *("check phrases --judge", "session langfuse push", "config statusline install"),
    *("tune --apply", "session score --current --yes"),
    *("capture clear", "langfuse push", "statusline install", "report --out", "evaluate --report"),
)  # fmt: skip


@pytest.mark.parametrize("skill", sorted(os.listdir(os.path.join(PLUGIN_ROOT, "skills"))))
def test_no_skill_allows_a_command_that_needs_approval(skill: str) -> None:
    found = re.search(r"^allowed-tools: (.*)$", read_text("skills/%s/SKILL.md" % skill), re.MULTILINE)
    rules = re.findall(r"Bash\(memory ([^)]*)\)", found.group(1)) if found else []
    for command in NEEDS_APPROVAL:
        for rule in rules:
            prefix, any_end, _ = rule.partition(":*")
            is_allowed = command == prefix or (any_end and (command + " ").startswith(prefix + " "))
            assert not is_allowed, rule


def test_every_skill_lists_only_commands_that_exist() -> None:
    from memory_plugin.host.commands import COMMANDS

    for skill in os.listdir(os.path.join(PLUGIN_ROOT, "skills")):
        rules = re.findall(r"Bash\(memory ([a-z]+)", read_text("skills/%s/SKILL.md" % skill))
        assert set(rules) <= COMMANDS.keys(), skill
