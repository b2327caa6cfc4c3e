"""The events and their scripts, read from hooks.json so that a new event is tested like the others."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

PLUGIN_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLI = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
PROMPT_HOOK = os.path.join(PLUGIN_ROOT, "hooks", "user_prompt_submit.py")
SESSION = "0d1ec0de-0000-4000-8000-000000000001"


def _scripts() -> dict[str, str]:
    """Return the script of each event; an event with no or several scripts is an error."""
    with open(os.path.join(PLUGIN_ROOT, "hooks", "hooks.json"), encoding="utf-8") as file:
        hooks = json.load(file)["hooks"]
    scripts = {}
    for event, groups in hooks.items():
        (script,) = {
            name for group in groups for hook in group["hooks"] for name in _script_names(hook["command"])
        }
        scripts[event] = script
    return scripts


def _script_names(command: str) -> list[str]:
    return re.findall(r"hooks/(\w+\.py)", command)


SCRIPTS = _scripts()
EVENTS = list(SCRIPTS)


def events_slow_except(*fast: str) -> list[Any]:
    """Return every event as a parameter; those that are not `fast` are marked slow."""
    return [event if event in fast else pytest.param(event, marks=pytest.mark.slow) for event in EVENTS]
