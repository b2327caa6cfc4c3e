"""Run every writing command once per system call, and let the n-th call fail or kill the process. A separate program, because it forks.

`python faults.py FOLDER COMMAND FAULT WORD` prints one JSON object: how many runs there were, and what went wrong in which of them.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import sys
from typing import Any, Callable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))

from memory_plugin.cli.command_line import main
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.grants import grant
from memory_plugin.memories.memory_files import StoredMemory, all_memories, project_store
from memory_plugin.memories.memory_text import text_digests
from memory_plugin.memories.trust import TRUSTED, Trust
from memory_plugin.recall import index_refresh
from memory_plugin.recall.store_refresh import RefreshReport

WRITES = ("write", "fsync", "replace", "unlink", "mkdir", "ftruncate")
SESSION = "faults"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAVE = ["save", "--category", "decision", "--title"]
ASKED = ("save", "supersede", "import", "interview")  # what a request to save may cover
TAKEN_APART = {"interview": ["interview", "finish", "--confirm", "--json"]}
COMMANDS: dict[str, list[str]] = {
    "save": [*SAVE, "New", "--body", "A text."],
    "edit": ["edit", "mine", "--title", "Changed"],
    "edit of a pending one": ["edit", "theirs", "--title", "Changed"],
    "supersede": [*SAVE, "New", "--body", "A text.", "--supersedes", "mine"],
    "import": ["import", "ROOT/notes.md"],
    "restore": ["restore", "gone"],
    "accept": ["accept", "theirs"],
    "accept all": ["accept", "--all"],
    "reject": ["reject", "theirs"],
    "archive": ["forget", "--keep", "mine"],
    "promote": ["import", "promote", "MEMORY.md#1"],
    "scan fix": ["check", "secrets", "--fix"],
    "forget": ["forget", "mine"],
    "forget now": ["forget", "mine", "--now"],
    "forget of a pending one": ["forget", "theirs"],
    **TAKEN_APART,
}
_true: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in ("open", "scandir", *WRITES)}


def install(wanted: int, fault: str, folder: str) -> list[int]:
    """Let the n-th counted call fail; return a list that holds the number of calls so far.

    Calls that change something are counted, because a kill before a read is the same as one after the previous change. For the fault
    `broken`, calls that open a file or list a folder of the project or of the state folder are counted.
    """
    calls = [0]

    def counted(name: str) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:  # noqa: ANN401
            writes = name in WRITES or (name == "open" and bool(args[1] & os.O_CREAT))
            reads = not writes and str(args[0]).startswith(folder)
            if not (reads if fault == "broken" else writes):
                return _true[name](*args, **more)
            calls[0] += 1
            if calls[0] == wanted and fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if calls[0] == wanted:
                number = errno.ENOSPC if fault == "full" else errno.EIO
                raise OSError(number, os.strerror(number))
            return _true[name](*args, **more)

        return call

    for name in _true:
        setattr(os, name, counted(name))
    return calls


def run(argv: list[str], root: str) -> int:
    """Run a command in this process, silently."""
    return main([*argv, "--root", root])


def memories(paths: Paths) -> dict[str, StoredMemory]:
    return {stored.memory.id: stored for stored in all_memories(project_store(paths))}


def trusted(paths: Paths) -> set[str]:
    """Return the digests of all texts in the store that are trusted."""
    trust = Trust(paths)
    return {
        text_digests(one.memory).full for one in memories(paths).values() if trust.state_of(one) == TRUSTED
    }


def prepare(folder: str, command: str) -> str:
    """Make a project with a trusted, a pending and a forgotten memory; return its root."""
    root = os.path.join(folder, "project")
    os.makedirs(os.path.join(root, ".git"))
    for title in ("Mine", "Kept", "Gone"):
        assert run([*SAVE, title, "--body", "The text of %s." % title], root) == 0
    assert run(["forget", "gone"], root) == 0
    os.environ["CLAUDECODE"], os.environ["CLAUDE_CODE_SESSION_ID"] = "1", SESSION
    for title in ("Theirs", "Other"):
        assert run([*SAVE, title, "--body", "The text of %s." % title], root) == 0
    with open(os.path.join(root, "notes.md"), "w", encoding="utf-8") as file:
        file.write("## First rule\n\nAlways do it.\n\n## Second rule\n\nNever do it.\n")
    if command == "promote":
        note(folder, root)
    if command == "scan fix":
        path = memories(Paths(root))["mine"].path
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("The text of Mine.", SECRET))
        Trust(Paths(root)).accept([memories(Paths(root))["mine"]], "accept")
    if command in TAKEN_APART:
        answer = {"answer": "It takes a minute at most", "concepts": [
            {"text": "export within a minute", "type": "constraint", "stance": 1, "quote": "a minute at most"}
        ]}  # fmt: skip
        assert run(["interview", "start", "billing export", "--json"], root) == 0
        assert with_input(json.dumps(answer), ["interview", "answer", "--json"], root) == 0
    return root


def note(folder: str, root: str) -> None:
    """Leave a note of Claude Code's own memory for the project."""
    path = os.path.join(folder, "home", ".claude", "projects", re.sub(r"[^A-Za-z0-9]", "-", root))
    os.makedirs(os.path.join(path, "memory"))
    with open(os.path.join(path, "memory", "MEMORY.md"), "w", encoding="utf-8") as file:
        file.write("# A note\n\nThe text of the note.\n")
    with open(os.path.join(path, "session.jsonl"), "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "cwd": root}) + "\n")


def with_input(text: str, argv: list[str], root: str) -> int:
    """Run a command with a text as its standard input."""
    reading, writing = os.pipe()
    _true["write"](writing, text.encode())
    os.close(writing)
    before, sys.stdin = sys.stdin, open(reading, encoding="utf-8")  # noqa: SIM115
    try:
        return run(argv, root)
    finally:
        sys.stdin.close()
        sys.stdin = before


def words_of(command: str, root: str) -> list[str]:
    """Return the command line under test."""
    return [*(word.replace("ROOT", root) for word in COMMANDS[command]), "--root", root]


def act(command: str, root: str, word: bool) -> int:
    """Run the command under test. If it is asked for, those that a request to Claude does not cover are the user's own."""
    if word and command not in ASKED:
        os.environ.pop("CLAUDECODE", None)
        os.environ.pop("CLAUDE_CODE_SESSION_ID", None)
    if command in TAKEN_APART:
        chosen = "memory: n1\ntitle: The export takes a minute\n"
        return with_input(chosen, COMMANDS[command], root)
    return main(words_of(command, root))


def in_child(command: str, root: str, word: bool, wanted: int, fault: str) -> tuple[int, bool]:
    """Return the exit code of one run, -9 if it was killed, and whether it reached the call that fails."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            calls = install(wanted, fault, os.path.dirname(root))
            code = act(command, root, word)
            code += 100 * (calls[0] < wanted)
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    code = os.waitstatus_to_exitcode(status)
    return (code - 100, False) if code >= 100 else (code, True)


class Campaign:
    """The runs of one command with one fault."""

    def __init__(self, folder: str, command: str, fault: str, word: bool) -> None:
        self.command, self.fault, self.word = command, fault, word
        self.folder, self.start = folder, os.path.join(folder, "start")
        self.root = prepare(folder, command)
        self.paths = Paths(self.root)
        if word:
            self.ask()
        os.makedirs(self.start)
        for name in ("project", "home"):
            shutil.copytree(os.path.join(folder, name), os.path.join(self.start, name))
        self.before = trusted(self.paths)
        with open(self.paths.state("trust", "trusted.jsonl"), "rb") as file:
            self.record = file.read()
        act(command, self.root, word)
        self.after = trusted(self.paths)

    def ask(self) -> None:
        """Let the user ask Claude to save something."""
        path = os.path.join(self.folder, "home", "session.jsonl")
        row = {
            "type": "user",
            "promptId": "p",
            "promptSource": "typed",
            "origin": {"kind": "human"},
            "message": {},
        }
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        grant(self.paths, SESSION, "p", path)

    def again(self) -> None:
        """Restore the state before the command."""
        for name in ("project", "home"):
            shutil.rmtree(os.path.join(self.folder, name))
            shutil.copytree(os.path.join(self.start, name), os.path.join(self.folder, name))

    def runs(self) -> dict[str, Any]:
        """Let each call fail in turn."""
        wrong: list[str] = []
        number, reached = 0, True
        while reached and number < 500:
            number += 1
            self.again()
            code, reached = in_child(self.command, self.root, self.word, number, self.fault)
            wrong += ["call %d, exit %d: %s" % (number, code, why) for why in self.problems(code)]
        expected = "with" if self.after - self.before else "without"
        return {
            "runs": number,
            "wrong": wrong,
            "trusts": expected,
            "distrusts": bool(self.before - self.after),
        }

    def problems(self, code: int) -> list[str]:
        """Return the guarantees that one run violated."""
        found = []
        now = trusted(self.paths)
        if now - self.before - self.after:
            found.append("trusts what the whole command does not")
        if not self.word and now - self.before:
            found.append("trusts without the user's word")
        # If the grant cannot be read, nothing is approved, and the command reports it.
        grant_unread = self.fault == "broken" and (now < self.after or now == self.before)
        if code == 0 and now != self.after and not grant_unread:
            found.append("done, but another trust than that of the whole command")
        stored = memories(self.paths)
        if text_digests(stored["kept"].memory).full not in now:
            found.append("another memory lost its trust")
        with open(self.paths.state("trust", "trusted.jsonl"), "rb") as file:
            if not file.read().startswith(self.record) and self.command != "forget now":
                found.append("a record is lost")
        Trust(self.paths).accept([stored["other"]], "accept")
        if {text_digests(stored[name].memory).full for name in ("kept", "other")} - trusted(self.paths):
            found.append("the next record is lost")
        return found


if __name__ == "__main__":
    setattr(index_refresh, "refresh_index", lambda *_, **__: RefreshReport())  # noqa: B010
    setattr(os, "fsync", lambda _: None)  # noqa: B010
    _true["fsync"] = os.fsync
    out = sys.stdout
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    report = Campaign(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "word").runs()
    print(json.dumps(report), file=out)
