"""`memory demo`: run recall in a small sample project and show what Claude would see, and why. Nothing is kept."""

from __future__ import annotations

import os
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

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
from ...recall.explain import find_decision, percent, sentence
from ...recall.index_refresh import refresh_index
from ..command_context import CommandContext, Handler
from ..console import Console

_TEXT = """\
run recall in a small sample project: what Claude would see, and why
  memory demo
  memory demo --json          includes each text exactly as Claude receives it
"""
_SECONDS = 5.0
_MARK = re.compile(r"</?memory(?:-context|-titles)?(?: [^>]*)?>")


def _run(arguments: Namespace, context: CommandContext) -> None:  # noqa: ARG001  (every command has this signature)
    """Send five prompts through the real hook, in a temporary folder."""
    with open(data_path("demo", "lantern.json"), encoding="utf-8") as file:
        story: Any = loads(file.read())
    with tempfile.TemporaryDirectory(prefix="memory-demo-") as folder, _home_in(folder):
        paths = _project(folder, story["memories"])
        shown = [_answer(paths, number, prompt) for number, prompt in enumerate(story["prompts"], 1)]
    console, name, count = context.console, story["project"], len(story["memories"])
    console.result({"project": name, "memories": count, "prompts": shown})
    console.line("%s: %d memories, five prompts, and what Claude sees with each:" % (name, count))
    for each in shown:
        _show(console, each)
    console.lines("", "Nothing was saved. No key, network or model was needed.")


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


def _project(folder: str, memories: list[Any]) -> Paths:
    root = os.path.join(folder, "lantern")
    os.makedirs(os.path.join(root, ".git"))
    paths = locate(root)
    for memory in memories:
        extra = {name: memory[name] for name in ("tags", "related_files", "asked_as") if name in memory}
        category = category_named(memory["category"])
        new = new_memory(category, "", memory["title"], memory["content"], extra)
        save(paths, project_store(paths), new, approved=True)
    refresh_index(paths, load(paths.config_dir, paths.project_root))
    return paths


class _Shown(NamedTuple):
    """What Claude is told with a prompt and why, and the line that the user sees."""

    prompt: str
    told: str
    why: str
    candidates: list[Any]
    receipt: str
    inject_threshold: float | None
    pointer_threshold: float | None
    ms: float


def _answer(paths: Paths, number: int, prompt: str) -> _Shown:
    """Return the hook's response to one prompt, and the decision in its ledger."""
    event: dict[str, object] = {"prompt": prompt, "session_id": "demo", "prompt_id": "demo-%d" % number}
    output: Any = handle(Event("UserPromptSubmit", event, paths, Taint(), Deadline(_SECONDS))) or {}
    row: Any = find_decision(paths, "demo-%d" % number) or {}
    told = output["hookSpecificOutput"]["additionalContext"] if output else ""
    figures = (row.get(name) for name in ("inject_threshold", "pointer_threshold", "ms"))
    candidates, receipt = row.get("candidates", []), output.get("systemMessage", "")
    return _Shown(prompt, told, sentence(row), candidates, receipt, *figures)


def _show(console: Console, shown: _Shown) -> None:
    """Print a prompt, the lines that Claude sees without the tags that mark where a memory begins and ends, and why."""
    console.lines("", console.style("> " + shown.prompt, "bold"))
    lines = [line for line in shown.told.splitlines() if not _MARK.fullmatch(line)]
    for line in lines or ["(nothing)"]:
        console.paragraph(line, "    ", 4, "green" if shown.told else "dim")
    best = "no memory was looked up" if shown.inject_threshold is None else "no match"
    if shown.candidates:
        needed = percent(shown.inject_threshold or 0)
        best = "best match %s (the full text needs %s)" % (percent(shown.candidates[0]["confidence"]), needed)
    console.paragraph("%s; %s, %s ms" % (shown.why, best, shown.ms), "  ", 2, "dim")


HANDLERS = {"demo": Handler(_TEXT, _run)}
