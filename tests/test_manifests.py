"""The manifests: one plugin, told the same way to every reader, with nothing an older client refuses."""

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
# Fields that client 2.1.197 knows and `claude plugin validate --strict` accepts.
KNOWN = {"name", "version", "description", "author", "license", "keywords", "homepage", "repository"}
# Events that this client knows.
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


def text(name: str) -> str:
    """Return the text of a file of the plugin."""
    with open(os.path.join(PLUGIN_ROOT, name), encoding="utf-8", newline="") as file:
        return file.read()


def hooks() -> dict[str, list[dict[str, Any]]]:
    """Return the events of hooks.json."""
    value: dict[str, list[dict[str, Any]]] = json.loads(text("hooks/hooks.json"))["hooks"]
    return value


def test_both_copies_are_the_same_to_the_byte() -> None:
    assert text("plugin.json") == text(MANIFEST)


def test_the_manifest_has_our_name_our_version_and_known_fields() -> None:
    manifest = json.loads(text(MANIFEST))
    assert manifest["name"] == "memory"
    assert manifest["version"] == memory_plugin.VERSION
    assert set(manifest) <= KNOWN


def test_the_marketplace_offers_this_folder() -> None:
    market = json.loads(text(".claude-plugin/marketplace.json"))
    assert market["name"] == "memory-plugin"
    assert [(plugin["name"], plugin["source"]) for plugin in market["plugins"]] == [("memory", "./")]
    assert market["plugins"][0]["description"] == json.loads(text(MANIFEST))["description"]


def test_only_events_that_every_client_knows() -> None:
    """One unknown event makes client 2.1.197 refuse the whole file."""
    assert set(hooks()) <= KNOWN_EVENTS


@pytest.mark.parametrize(
    ("event", "matcher", "seconds"),
    [
        ("UserPromptSubmit", None, 15),
        ("SessionStart", "startup|resume|clear|compact|fork", 10),
        ("SubagentStart", "^(?!(Explore|Plan)$|memory:).*", 5),
        ("PreToolUse", "Bash|Read|Edit|Write|NotebookEdit", 5),
        ("PostToolUseFailure", "Bash", 10),
        ("Stop", None, 10),
        ("SessionEnd", None, 5),
    ],
)
def test_one_command_an_event_in_time(event: str, matcher: str | None, seconds: int) -> None:
    (group,) = hooks()[event]
    (hook,) = group["hooks"]
    assert group.get("matcher") == matcher
    assert (hook["type"], hook["timeout"]) == ("command", seconds)


def test_each_event_has_a_handler_and_each_handler_an_event() -> None:
    assert set(hooks()) == set(HANDLERS)


@pytest.mark.parametrize("event", hooks())
def test_a_command_is_isolated_quoted_and_ends_well(event: str) -> None:
    command = hooks()[event][0]["hooks"][0]["command"]
    script = r'"\$\{CLAUDE_PLUGIN_ROOT\}/hooks/(\w+\.py)"'
    end = (
        r"echo '\{[^'$`\\]+\}'" if event == "SessionStart" else "exit 0"
    )  # hooks that cannot run are said once a session
    form = r"python3 -I -S %s \|\| python -I -S %s \|\| %s" % (script, script, end)
    found = re.fullmatch(form, command)
    assert found
    assert found.group(1) == found.group(2)
    assert os.path.isfile(os.path.join(PLUGIN_ROOT, "hooks", found.group(1)))


def test_the_command_of_the_bash_tool_can_be_run() -> None:
    assert os.access(os.path.join(PLUGIN_ROOT, "bin", "memory"), os.X_OK)


def test_the_licence_is_the_one_the_manifest_names() -> None:
    assert text("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 the memory authors\n")
    assert json.loads(text(MANIFEST))["license"] == "MIT"


@pytest.mark.parametrize("skill", sorted(os.listdir(os.path.join(PLUGIN_ROOT, "skills"))))
def test_a_skill_is_described_for_people_in_a_few_words(skill: str) -> None:
    """The slash menu cuts what is longer; what the model needs to know is in `when_to_use`."""
    head = text("skills/%s/SKILL.md" % skill).split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert len(fields["description"]) <= 60
    assert fields["when_to_use"].startswith("When the user ")
