"""Recipes of CONTRIBUTING.md as steps that a program can follow.

This module understands steps of exactly these forms:

    Create `PATH`:                          and a block with the new file's content
    Copy `PATH` to `PATH`, and there replace `OLD` with `NEW`.
    In `PATH`, after `LINE`, add:           and a block; also `before`
    In `PATH`, replace `OLD` with `NEW`.
    At the end of `PATH`, add:              and a block
    Run `COMMAND` ...

LINE is part of exactly one line of the file. The block gets that line's indentation.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap

from tests.docs.pages import page

ENTRIES = (
    "scripts", "hooks", "config", "tests", "docs", "skills", "agents", "benchmarks", "bin", ".claude-plugin", ".codex-plugin", "evals",
    "plugin.json", "pyproject.toml", "LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md",
)  # fmt: skip
_STEP = re.compile(r"^\d+\. ", re.MULTILINE)
_BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_CODE = r"(?:``\s?(.+?)\s?``|`([^`\n]+)`)"
_FORMS = {
    "create": re.compile(r"^Create CODE:".replace("CODE", _CODE)),
    "copy": re.compile(r"^Copy CODE to CODE, and there replace CODE with CODE\.".replace("CODE", _CODE)),
    "insert": re.compile(r"^In CODE, (?:after|before) CODE, add:".replace("CODE", _CODE)),
    "replace": re.compile(r"^In CODE, replace CODE with CODE\.".replace("CODE", _CODE)),
    "append": re.compile(r"^At the end of CODE, add:".replace("CODE", _CODE)),
    "run": re.compile(r"^Run CODE".replace("CODE", _CODE)),
}
_SECONDS = 300  # for one command on a busy machine


def recipes() -> dict[str, list[str]]:
    """Return the steps of each recipe by its heading, in the order of the page."""
    text = page("CONTRIBUTING.md").partition("\n## Recipes\n")[2].partition("\n## ")[0]
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    return {title: _steps(body) for title, body in zip(parts[1::2], parts[2::2])}


def _steps(body: str) -> list[str]:
    """Return the numbered steps of a recipe; the text after the last one's paragraph or block is dropped."""
    return [step.strip() for step in _STEP.split(body)[1:]]


def follow(step: str, root: str) -> None:
    """Do what a step says in the copy at `root`. Raises AssertionError if the step fits no form or does not work."""
    matches = [(name, match) for name, form in _FORMS.items() if (match := form.search(step))]
    assert len(matches) == 1, "no form of a step, or more than one: " + step
    name, match = matches[0]
    words = [first or second for first, second in zip(match.groups()[::2], match.groups()[1::2])]
    if name == "run":
        for command in re.findall(r"`([^`\n]+)`", step):
            _run(command, root)
        return
    paths = [os.path.join(root, word) for word in words]
    if name == "create":
        _write_new(paths[0], _block(step))
    elif name == "copy":
        text = _read(paths[0])
        assert words[2] in text, "%s does not hold %s" % (words[0], words[2])
        _write_new(paths[1], text.replace(words[2], words[3]))
    elif name == "insert":
        _insert(paths[0], words[1], _block(step), before="`, before `" in step.replace("``", "`"))
    elif name == "replace":
        assert _read(paths[0]).count(words[1]) == 1, "%s: not exactly once: %s" % (words[0], words[1])
        _write(paths[0], _read(paths[0]).replace(words[1], words[2]))
    else:
        _write(paths[0], _read(paths[0]) + _block(step))


def _run(command: str, root: str) -> None:
    """Run a command with this Python. Raises AssertionError with the end of its output if it fails."""
    words = shlex.split(command)
    if words[0] == "memory":
        words = ["python3", "scripts/memory.py", *words[1:]]
    if words[:3] == ["python3", "-m", "pytest"]:
        words += ["-q", "-n", "0", "-p", "no:cacheprovider"]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=root,
        env=env,  # without it each command would compile all modules
        capture_output=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, "%s\n%s\n%s" % (command, done.stdout[-3000:], done.stderr[-1000:])


def _insert(path: str, anchor: str, block: str, *, before: bool) -> None:
    lines = _read(path).splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if anchor in line]
    assert len(places) == 1, "%s: %d lines hold %s" % (path, len(places), anchor)
    (place,) = places
    line = lines[place]
    indent = line[: len(line) - len(line.lstrip(" "))]
    if not before and line.rstrip().endswith(("{", "[", "(")):
        indent += "  " if path.endswith(".json") else "    "
    lines.insert(place if before else place + 1, textwrap.indent(block, indent))
    _write(path, "".join(lines))


def _block(step: str) -> str:
    blocks = _BLOCK.findall(step)
    assert len(blocks) == 1, "a step with exactly one block was expected: " + step
    return textwrap.dedent(blocks[0])


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _write_new(path: str, text: str) -> None:
    assert not os.path.exists(path), "exists already: " + path
    _write(path, text)
