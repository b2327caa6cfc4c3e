"""`memory demo`: run recall in a small sample project and show what Claude would see, and why. Nothing is kept."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...hooks.entry import Event
from ...hooks.prompt import handle
from ...host.environment import Taint
from ...kernel.context import Deadline
from ...kernel.fastjson import loads
from ...kernel.paths import Paths, data_path, locate
from ...kernel.settings.load import load
from ...memories.lifecycle import save
from ...memories.memory_files import project_store
from ...memories.record import category_named, new_memory
from ...recall.explain import find_decision, sentence
from ...recall.index_refresh import refresh_index
from ..command_context import CommandContext
from ..console import Console

HELP = "run recall in a small sample project: what Claude would see, and why"
EXAMPLES = """\
  memory demo
  memory demo --json          includes each text exactly as Claude receives it
"""
_SECONDS = 5.0
_MARK = re.compile(r"</?memory(?:-context|-titles)?(?: [^>]*)?>")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Send five prompts through the real hook, in a temporary folder."""
    with open(data_path("demo", "lantern.json"), encoding="utf-8") as file:
        story: Any = loads(file.read())
    with tempfile.TemporaryDirectory(prefix="memory-demo-") as folder, _home_in(folder):
        paths = _project(folder, story)
        shown = [_answer(paths, number, prompt) for number, prompt in enumerate(story["prompts"], 1)]
    if arguments.json:
        facts = {"project": story["project"], "memories": len(story["memories"])}
        context.console.json({**facts, "prompts": shown})
    else:
        _show(context.console, story, shown)


@contextmanager
def _home_in(folder: str) -> Iterator[None]:
    """Use a home folder inside `folder`, so that the demo neither reads nor changes the user's own memories."""
    before, home = dict(os.environ), os.path.join(folder, "home")
    os.environ.update(HOME=home, CLAUDE_CONFIG_DIR=os.path.join(home, ".claude"))
    os.makedirs(os.environ["CLAUDE_CONFIG_DIR"])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _project(folder: str, story: dict[str, Any]) -> Paths:
    root = os.path.join(folder, "lantern")
    os.makedirs(os.path.join(root, ".git"))
    paths = locate(root)
    for memory in story["memories"]:
        extra = {name: memory[name] for name in ("tags", "related_files", "asked_as") if name in memory}
        category = category_named(memory["category"])
        new = new_memory(category, "", memory["title"], memory["content"], extra)
        save(paths, project_store(paths), new, approved=True)
    refresh_index(paths, load(paths.config_dir, paths.project_root))
    return paths


def _answer(paths: Paths, number: int, prompt: str) -> dict[str, Any]:
    """Return the hook's response to one prompt, and the decision in its ledger."""
    event: dict[str, object] = {"prompt": prompt, "session_id": "demo", "prompt_id": "demo-%d" % number}
    output: Any = handle(Event("UserPromptSubmit", event, paths, Taint(), Deadline(_SECONDS)))
    row = find_decision(paths, "demo-%d" % number) or {}
    return {
        "prompt": prompt,
        "told": output["hookSpecificOutput"]["additionalContext"] if output else "",
        "why": sentence(row),
        "candidates": row.get("candidates", []),
        "receipt": output.get("systemMessage", "") if output else "",
        **{name: row.get(name) for name in ("inject_threshold", "pointer_threshold", "ms")},
    }


def _show(console: Console, story: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    text = "%s: %d memories, five prompts, and what Claude sees with each:"
    console.line(text % (story["project"], len(story["memories"])))
    for row in shown:
        console.lines("", console.style("> " + row["prompt"], "bold"))
        for line in _without_marks(row["told"]) or ["(nothing)"]:
            console.paragraph(line, "    ", 4, "green" if row["told"] else "dim")
        console.paragraph("%s; %s, %s ms" % (row["why"], _best(row), row["ms"]), "  ", 2, "dim")
    console.lines("", "Nothing was saved. No key, network or model was needed.")


def _without_marks(text: str) -> list[str]:
    """Return the lines that Claude sees, without the tags that mark where a memory begins and ends."""
    return [line for line in text.splitlines() if not _MARK.fullmatch(line)]


def _best(row: dict[str, Any]) -> str:
    candidates = row["candidates"]
    if not candidates:
        return "no memory was looked up" if row["inject_threshold"] is None else "no match"
    return "best match %.2f, %.2f needed" % (candidates[0]["confidence"], row["inject_threshold"])
