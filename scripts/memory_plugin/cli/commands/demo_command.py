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
from ...kernel.paths import Paths, data_path
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
"""
_SECONDS = 5.0
_MARK = re.compile(r"</?memory(?:-context|-titles)?(?: [^>]*)?>")


def _run(arguments: Namespace, context: CommandContext) -> None:
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
    paths = Paths(root)
    for memory in memories:
        extra = {name: memory[name] for name in ("tags", "related_files", "asked_as") if name in memory}
        new = new_memory(category_named(memory["category"]), "", memory["title"], memory["content"], extra)
        save(paths, project_store(paths), new, approved=True)
    refresh_index(paths, load(paths.config_dir, paths.project_root))
    return paths


class _Shown(NamedTuple):
    """A prompt, what Claude is told with it, and why."""

    prompt: str
    told: str
    why: str


def _answer(paths: Paths, number: int, prompt: str) -> _Shown:
    """Return the hook's response to one prompt, with the decision in its ledger."""
    event: dict[str, object] = {"prompt": prompt, "session_id": "demo", "prompt_id": "demo-%d" % number}
    output: Any = handle(Event("UserPromptSubmit", event, paths, Taint(), Deadline(_SECONDS))) or {}
    row: Any = find_decision(paths, "demo-%d" % number) or {}
    told = output["hookSpecificOutput"]["additionalContext"] if output else ""
    return _Shown(prompt, told, "%s; %s, %s ms" % (sentence(row), _best(row), row.get("ms")))


def _best(row: dict[str, Any]) -> str:
    if row.get("candidates"):
        best, needed = percent(row["candidates"][0]["confidence"]), percent(row["inject_threshold"])
        return "best match %s (the full text needs %s)" % (best, needed)
    return "no match" if row.get("inject_threshold") else "no memory was looked up"


def _show(console: Console, shown: _Shown) -> None:
    """Print a prompt, the lines that Claude sees without the tags that mark where a memory begins and ends, and why."""
    console.lines("", console.style("> " + shown.prompt, "bold"))
    lines = [line for line in shown.told.splitlines() if not _MARK.fullmatch(line)]
    for line in lines or ["(nothing)"]:
        console.paragraph(line, "    ", 4, "green" if shown.told else "dim")
    console.paragraph(shown.why, "  ", 2, "dim")


HANDLERS = {"demo": Handler(_TEXT, _run)}
