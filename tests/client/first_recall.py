"""What a new user does in the real client, from a clone to the first recall, with a clock at each step.

Run as a script, it prints the table of docs/first-recall.md. The model is the fake API, so its thinking time is not in it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.client.binary import binary
from tests.client.plugin import bash, repository
from tests.client.sandbox import Sandbox
from tests.release_tree import copy_plugin

TITLE = "Staging is reset every night at 03:00"
SAVE = (
    "memory save --category constraint --title '%s' --body 'Nothing on staging outlives 03:00. Put test data "
    "into seeds/.' --asked-as 'why is my test data gone'" % TITLE
)
TYPED = "/memory:save the staging database is reset every night at 03:00"
ASKED = "why is my test data on staging gone this morning?"


class Step(NamedTuple):
    """What the newcomer does, and the seconds that it took."""

    what: str
    seconds: float


def timed(steps: list[Step], what: str, action: Callable[[], object]) -> None:
    """Do something and add it to the steps."""
    start = time.monotonic()
    action()
    steps.append(Step(what, time.monotonic() - start))


def first_recall(box: Sandbox) -> tuple[list[Step], bool]:
    """Return the steps, and whether Claude was told the memory in the end."""
    steps: list[Step] = []
    told: list[bool] = []
    repository(box)
    clone = copy_plugin(os.path.join(box.folder, "clone"))

    def claude(*words: str) -> None:
        done = box.claude(*words)
        assert done.returncode == 0, done.stdout + done.stderr

    def save() -> None:
        box.say({"turns": [bash(SAVE)], "default": {"text": "Saved."}})
        turn = box.prompt(TYPED)
        assert turn.text == "Saved.", turn.stdout

    def ask() -> None:
        box.say({"default": {"text": "It is reset at 03:00."}})
        told.append(bool(box.prompt(ASKED).sent(TITLE)))

    timed(steps, "`claude plugin marketplace add ./`", lambda: claude("plugin", "marketplace", "add", clone))
    install = ("plugin", "install", "memory@memory-plugin")
    timed(steps, "`claude plugin install memory@memory-plugin`", lambda: claude(*install))
    timed(steps, "`%s`" % TYPED, save)
    timed(steps, "`%s`" % ASKED, ask)
    return steps, told[-1]


def main() -> int:
    """Print the table; 1 if there is no client or nothing was recalled."""
    client = binary()
    if client is None:
        sys.stderr.write("no client: tests/client/install_client.sh installs it\n")
        return 1
    with tempfile.TemporaryDirectory() as folder, Sandbox(folder, client) as box:
        steps, told = first_recall(box)
    for number, step in enumerate(steps, 1):
        sys.stdout.write("| %d | %s | %.1f |\n" % (number, step.what, step.seconds))
    sys.stdout.write("| | total | %.1f |\n" % sum(step.seconds for step in steps))
    return 0 if told else 1


if __name__ == "__main__":
    sys.exit(main())
