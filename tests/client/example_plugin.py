"""A plugin for tests of the harness: a hook that calls the API, a hook that writes a line, and a skill."""

from __future__ import annotations

import json
import os

HOOK = """
import json, os, sys, urllib.request
data = json.load(sys.stdin)
if sys.argv[1] == "prompt":
    body = {"system": "EXAMPLE-JUDGE", "messages": [{"role": "user", "content": data["prompt"]}]}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=2) as answer:
            verdict = json.load(answer)["content"][0]["text"]
    except Exception as error:
        verdict = "fallback: " + type(error).__name__
    print("<example-context>%s</example-context>" % verdict)
else:
    with open(os.path.expanduser("~/.claude/example.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps({"text": data["last_assistant_message"]}) + "\\n")
"""
SKILL = """---
name: search
description: The example skill of the harness.
---
EXAMPLE-SKILL query: $ARGUMENTS
"""


def make_plugin(folder: str) -> str:
    """Write the plugin `example` into a folder; return the folder."""
    command = 'python3 "${CLAUDE_PLUGIN_ROOT}/hooks/hook.py" %s'
    events = {"UserPromptSubmit": "prompt", "Stop": "stop"}
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command % word, "timeout": 15}]}]
        for event, word in events.items()
    }
    manifest = {
        "name": "example",
        "version": "0.0.1",
        "description": "An example",
        "author": {"name": "tests"},
    }
    files = {
        ".claude-plugin/plugin.json": json.dumps(manifest),
        "hooks/hooks.json": json.dumps({"hooks": hooks}),
        "hooks/hook.py": HOOK,
        "skills/search/SKILL.md": SKILL,
    }
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder
