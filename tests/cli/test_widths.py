"""The help and the typical output of every command in terminals of 80 and 120 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from threading import Event
from time import sleep

import pytest

from memory_plugin.cli.command_line import handler_of, main
from memory_plugin.cli.console import columns
from memory_plugin.host.commands import COMMANDS
from tests.project import Project

STYLE = re.compile(r"\033\[[0-9;]*[mK]")
LONG = (
    "Nothing on staging outlives 03:00, so test data belongs into seeds/, which every deployment loads again; "
    "ask in #platform before you keep anything longer than one night."
)
# Commands on a store with a few memories, in an order that leaves something to see for the next.
USUAL = (
    "save the nightly job that copies production to staging takes two hours and must not overlap with the backup",
    "save",
    "save --category decision --title x",
    "list",
    "list --status all --notes",
    "search staging reset nightly test data gone",
    "search nothing like this is there",
    "show staging",
    "show no-such-memory-with-a-rather-long-name-that-somebody-typed-from-memory-on-a-monday-morning",
    "edit staging --asked-as 'where did all the test data that I put on staging yesterday evening go this morning'",
    "review",
    "accept --all",
    "reject staging-is-reset-every-night-at-03-00",
    "guards",
    "import --dry-run CLAUDE.md",
    "import CLAUDE.md",
    "capture",
    "capture --dry-run",
    "import promote nothing",
    "check",
    "check secrets",
    "check text",
    "status",
    "why",
    "why --verbose",
    "report --text",
    "report",
    "feedback useful staging",
    "feedback wrong staging",
    "feedback",
    "report replay",
    "doctor",
    "doctor --verbose",
    "demo",
    "replies score 'Great question! I would be happy to help you with that. Let me know if you have any other questions.'",
    "replies history",
    "replies history --effect",
    "replies tune",
    "session list",
    "session show",
    "session calibrate",
    "session langfuse push",
    "interview list",
    "interview start",
    "interview status",
    "evaluate",
    "evaluate rules",
    "config show",
    "config get retrieval.enabled",
    "config set retrieval.inject_threshold 7",
    "config set no.such.key 1",
    "judge status",
    "judge on",
    "config statusline",
    "config statusline install",
    "config statusline remove",
    "forget staging --keep",
    "restore staging",
    "forget staging",
    "lst",
    "list --lmit 3",
    "list --status lost",
)


@pytest.fixture
def store(project: Project) -> Project:
    """Return a project with memories, one of them pending, a guide to import, and one prompt with a recall decision."""
    project.save("Staging is reset every night at 03:00", LONG, "--asked-as", "why is my test data gone")
    project.save(
        "A title of nearly the longest kind that people write when they put the whole fact into it", LONG
    )
    project.write(
        "CLAUDE.md", "# Guide\n\n## Tests\n\n%s\n\n## Releases\n\n- %s\n- Tag after CI.\n" % (LONG, LONG)
    )
    project.write("notes/long.txt", "%s\n" % LONG)
    project.git("add", ".")
    assert project.prompt("why is my test data on staging gone this morning?").returncode == 0
    pending = {
        "category": "policy",
        "title": "Written by somebody else: " + LONG[:90],
        "content": {"body": LONG},
    }
    project.write(
        ".claude/memory/policies/by-somebody-else.json",
        {"schema": 1, "id": "policy/by-somebody-else", **pending},
    )
    return project


def in_terminal(project: Project, width: int, words: list[str]) -> str:
    """Return what a command prints to a terminal of that width, run in a fork of this process."""
    sys.stdout.flush()
    child, handle = pty.fork()
    if not child:  # pragma: no cover (measured in the parent only)
        code = 70
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
            os.environ.clear()
            os.environ.update(project.environment(TERM="xterm"))
            os.chdir(project.root)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(at, mode, encoding="utf-8") for at, mode in enumerate(("r", "w", "w"))
            )
            sys.argv[0] = "memory"
            code = main(words)
        finally:
            os._exit(code)
    seen = b""
    os.write(handle, b"\x04")  # a command that reads its input finds the end
    while True:
        try:
            piece = os.read(handle, 1 << 16)
        except OSError:  # the command has ended
            break
        if not piece:
            break
        seen += piece
    os.close(handle)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in range(4), (words, seen)
    return seen.decode("utf-8", "replace").replace("^D\b\b", "").replace("\r\n", "\n")


def too_wide(text: str, width: int) -> list[str]:
    """Return the lines that are wider than the terminal; a word, such as a path, or a command may be."""
    lines = [STYLE.sub("", line.rpartition("\r")[2]) for line in text.split("\n")]
    wide = (line.strip() for line in lines if columns(line) > width)
    return [line for line in wide if " " in line and not line.startswith(("memory ", "--"))]


def split(command: str) -> list[str]:
    """Return the words of a command; single quotes keep a text together."""
    return [quoted or word for quoted, word in re.findall(r"'([^']*)'|(\S+)", command)]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(store: Project, width: int) -> None:
    for name in COMMANDS:
        handler_of(name)
    helps = [[], ["--help"], *([*name.split(), "--help"] for name in COMMANDS)]
    runs = [*helps, *map(split, USUAL)]
    found = {}
    for words in runs:
        seen = in_terminal(store, width, words)
        assert seen.strip(), words
        assert "a bug in memory" not in seen, seen
        wide = too_wide(seen, width)
        if wide:
            found[" ".join(words)] = wide
    assert found == {}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
class LingeringEvent(Event):
    """An event that is set a little later, which leaves time for a heartbeat in a command of few milliseconds."""

    def set(self) -> None:
        """Set it after 50 ms."""
        sleep(0.05)
        super().set()


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["list", "--status", "all"], "list"),
        (["check", "secrets"], "check secrets"),
        (["import", "--dry-run", "CLAUDE.md"], "reading"),
        (["import", "--yes", "CLAUDE.md"], "storing 3 memories"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_slow_commands_show_progress(
    store: Project, words: list[str], label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_plugin.cli.console._BEAT", 0.0005)
    monkeypatch.setattr("threading.Event", LingeringEvent)
    seen = in_terminal(store, 80, words)
    assert "\r\033[K%s: 0 s" % label in seen
    shown = [line.rpartition("\033[K")[2] for line in seen.split("\n")]
    assert not any(line.startswith(label + ": 0 s") for line in shown), (
        "it is cleared before anything is printed"
    )
