"""Time each step of a new user in the real client, from the install to the first recall.

`python3 -m tests.client.first_recall` prints their times. The fake API is the model, so a model's thinking time is not
included. A repository in a folder stands in for the one on GitHub, so its download takes no time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from tests.client.binary import binary
from tests.client.plugin import bash, make_repository
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY
from tests.release_tree import make_tree

TITLE = "Staging is reset every night at 03:00"
SAVE = (
    "memory save --category constraint --title '%s' --body 'Nothing on staging outlives 03:00. Put test data "
    "into seeds/.' --asked-as 'why is my test data gone'" % TITLE
)
SAVE_PROMPT = "/memory:save the staging database is reset every night at 03:00"
ADD = ("plugin", "marketplace", "add", "OWNER/REPOSITORY")
INSTALL = ("plugin", "install", "memory@memory-plugin")
QUESTION = "why is my test data on staging gone this morning?"


class Step(NamedTuple):
    """A step of the new user, and its seconds."""

    what: str
    seconds: float


def run_timed(steps: list[Step], what: str, action: Callable[[], object]) -> None:
    """Run an action and add it to the steps."""
    start = time.monotonic()
    action()
    steps.append(Step(what, time.monotonic() - start))


def publish(sandbox: Sandbox) -> str:
    """Commit the release tree to a repository, which the user's git takes for OWNER/REPOSITORY on GitHub; return its path."""
    hub = os.path.join(sandbox.folder, "hub")
    tree = os.path.join(hub, "OWNER", "REPOSITORY.git")
    make_tree(tree)
    forms = ("https://github.com/", "git@github.com:", "ssh://git@github.com/")
    lines = ['[url "file://%s/"]' % hub, *("\tinsteadOf = " + form for form in forms)]
    Sandbox.write(os.path.join(sandbox.home, ".gitconfig"), "\n".join([*lines, ""]))
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "-m", "Release"]):
        subprocess.run(["git", *words], cwd=tree, env=sandbox.environment(), check=True)
    return tree


def first_recall(sandbox: Sandbox) -> tuple[list[Step], bool]:
    """Run all steps; return them, and whether Claude was told the memory in the end."""
    steps: list[Step] = []
    was_recalled: list[bool] = []
    make_repository(sandbox)
    publish(sandbox)

    def claude(*words: str) -> None:
        done = sandbox.claude(*words)
        assert done.returncode == 0, done.stdout + done.stderr

    def save() -> None:
        sandbox.set_script({"turns": [bash(SAVE)], "default": {"text": "Saved."}})
        terminal = sandbox.terminal("--permission-mode", "default")  # only a typed prompt is trusted
        terminal.wait(READY)
        terminal.submit(SAVE_PROMPT)
        terminal.wait('Claude saved "' + TITLE[:20])
        terminal.submit("/exit")

    def ask() -> None:
        sandbox.set_script({"default": {"text": "It is reset at 03:00."}})
        was_recalled.append(bool(sandbox.prompt(QUESTION).sent(TITLE)))

    for words in (ADD, INSTALL):
        run_timed(steps, "`claude %s`" % " ".join(words), partial(claude, *words))
    run_timed(steps, "`%s`" % SAVE_PROMPT, save)
    run_timed(steps, "`%s`" % QUESTION, ask)
    return steps, was_recalled[-1]


def main() -> int:
    """Print the table; return 1 if there is no client or nothing was recalled."""
    client = binary()
    if client is None:
        sys.stderr.write("no client: tests/client/install_client.sh installs it\n")
        return 1
    folder = tempfile.mkdtemp()
    try:
        with Sandbox(folder, client) as sandbox:
            steps, was_recalled = first_recall(sandbox)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # detached work of the last session may still write there
    for number, step in enumerate(steps, 1):
        sys.stdout.write("| %d | %s | %.1f |\n" % (number, step.what, step.seconds))
    sys.stdout.write("| | total | %.1f |\n" % sum(step.seconds for step in steps))
    return 0 if was_recalled else 1


if __name__ == "__main__":
    sys.exit(main())
