"""A project for a test: a git repository and a home folder, in which the plugin's programs run in forks or as processes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, NamedTuple

import pytest

from tests import forks
from tests.events import PLUGIN_ROOT, SCRIPTS, SESSION
from tests.saving import fields_of, has_plain_settings, save_here

__all__ = ["PLUGIN_ROOT", "SESSION", "Project", "Run"]

IS_WINDOWS = os.name == "nt"
INSIDE: dict[str, Any] = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": SESSION,
}  # as the client's Bash tool sets them
HAS_PROC = not IS_WINDOWS and os.path.isdir("/proc/self")
_GIT_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
)


def answered(call: str, by: str) -> list[dict[str, object]]:
    """Return the rows that the client writes about a call whose dialog `user`, `hook` (as old clients do) or another source answered."""
    use = {"type": "tool_use", "id": call, "name": "Bash", "input": {}}
    rows: list[dict[str, object]] = [{"type": "assistant", "message": {"content": [use]}}]
    if by == "hook":
        decision = {"type": "hook_permission_decision", "hookEvent": "PermissionRequest", "toolUseID": call}
        rows.append({"type": "attachment", "attachment": {**decision, "decision": "allow"}})
    result = {"type": "tool_result", "tool_use_id": call, "content": "noted"}
    row: dict[str, object] = {"type": "user", "message": {"content": [result]}, "entrypoint": "cli"}
    if by not in ("user", "hook"):
        row["permissionDecision"] = {"decision": "accept", "source": by}
    return rows if by == "nobody" else [*rows, row]


def posix(reason: str) -> pytest.MarkDecorator:
    """Return the mark of a test that Windows skips, with what the test needs of POSIX."""
    return pytest.mark.skipif(IS_WINDOWS, reason=reason)


class Run(NamedTuple):
    """Exit code and output of a process that ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:  # noqa: ANN401 (a test knows the shape)
        """Return the parsed standard output, or None if it is empty. Raises ValueError if it is not one JSON value."""
        return json.loads(self.stdout) if self.stdout.strip() else None

    @property
    def context(self) -> str:
        """Return the text that a hook gives Claude, or ""."""
        output = self.json or {}
        return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def message(self) -> str:
        """Return the lines that a hook shows the user, or ""."""
        return str((self.json or {}).get("systemMessage", ""))


def write_repository(folder: str) -> None:
    """Write the `.git` folder of a new repository as `git init` does, without the time that starting git takes."""
    for name in ("info", "objects/info", "objects/pack", "refs/heads", "refs/tags"):
        os.makedirs(os.path.join(folder, ".git", name))
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", _GIT_CONFIG)):
        with open(os.path.join(folder, ".git", name), "w", encoding="utf-8") as file:
            file.write(text)


def _environment(process: str) -> bytes:
    """Return the environment that a process was started with; empty if it is gone or belongs to another user."""
    try:
        with open("/proc/%s/environ" % process, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _folder(process: str) -> str:
    """Return the folder that a process runs in; "" if it is gone or belongs to another user."""
    try:
        return os.readlink("/proc/%s/cwd" % process)
    except OSError:
        return ""


def _has_program(process: str) -> bool:
    """Return whether a process runs a program: false for threads of the kernel and for processes that ended."""
    try:
        return bool(os.readlink("/proc/%s/exe" % process))
    except OSError:
        return False


class Project:
    """A git repository at `root` with a home folder of its own."""

    def __init__(
        self,
        folder: str,
        *,
        plugin_root: str = PLUGIN_ROOT,
        python: str = sys.executable,
        is_cold: bool = False,
    ) -> None:
        self.root = os.path.join(folder, "project")
        self.home = os.path.join(folder, "home")
        self.config = os.path.join(self.home, ".claude")
        self.state = os.path.join(self.config, "lcars", "memory")
        self.plugin_root, self.python, self.is_cold = plugin_root, python, is_cold
        for path in (self.root, self.config, os.path.join(folder, "tmp")):
            os.makedirs(path)
        write_repository(self.root)

    def environment(self, **extra: str | None) -> dict[str, str]:
        """Return the complete environment of a process in this project; a value of None removes a name."""
        values: dict[str, str | None] = {
            # The client puts the plugin's own folder first; a virtual environment may hold another `memory`.
            "PATH": os.pathsep.join(
                [os.path.join(self.plugin_root, "bin"), os.environ.get("PATH", os.defpath)]
            ),
            "HOME": self.home,  # on Windows, Git's shell sets it, which runs the hooks
            "CLAUDE_CONFIG_DIR": self.config,
            "TMPDIR": os.path.join(os.path.dirname(self.root), "tmp"),
            "LANG": "C.UTF-8",
            "SYSTEMROOT": os.environ.get(
                "SYSTEMROOT"
            ),  # Windows has no random numbers and no sockets without it
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "PYTHONWARNDEFAULTENCODING": os.environ.get("PYTHONWARNDEFAULTENCODING"),
            **extra,
        }
        return {name: value for name, value in values.items() if value is not None}

    def process(self, command: list[str], stdin: bytes = b"", **env: str | None) -> Run:
        """Run a command in the project, for a minute at most."""
        if IS_WINDOWS and os.path.basename(command[0]) == "sh":
            pytest.skip("needs a POSIX shell")
        full = self.environment(**env)
        done = subprocess.run(  # noqa: PLW1510 (the exit code is what a test looks at)
            command, input=stdin, capture_output=True, cwd=self.root, timeout=60, env=full
        )
        errors = done.stderr.replace(b"\r\n", b"\n").decode("utf-8", "replace")
        return Run(done.returncode, done.stdout.decode("utf-8"), errors)

    def script(self, options: tuple[str, ...], words: list[str], stdin: bytes, **env: str | None) -> Run:
        """Run one of the plugin's scripts: in a fork if that behaves like a process, else as a process."""
        full = self.environment(**env)
        is_ours = self.python == sys.executable and self.plugin_root == PLUGIN_ROOT
        if self.is_cold or not is_ours or not forks.is_like_a_process(full):
            return self.process([self.python, *options, *words], stdin, **env)
        done = forks.server(PLUGIN_ROOT, options).run(words, stdin, self.root, full, 60)
        return Run(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace"))

    def git(self, *args: str) -> str:
        """Run a git command that has to work; return its output. Without git, skip the test."""
        if shutil.which("git") is None:
            pytest.skip("needs git")
        run = self.process(["git", *args])
        assert run.returncode == 0, run.stderr
        return run.stdout

    def write(self, name: str, content: object) -> str:
        """Write a project file, as JSON unless it is text, and return its path."""
        path = os.path.join(self.root, name.replace("/", os.sep))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path

    @property
    def settings_path(self) -> str:
        """Return the path of the user's own settings."""
        return os.path.join(self.config, "settings.json")

    def write_settings(self, env: dict[str, str] | None = None, **memory: object) -> str:
        """Write the user's own settings: the blocks of `memory`, and `env` if given; return the path."""
        settings = {**({} if env is None else {"env": env}), **({"memory": memory} if memory else {})}
        with open(self.settings_path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        return self.settings_path

    def script_judge(self, *replies: dict[str, Any]) -> None:
        """Write the replies of the scripted judge."""
        folder = os.path.join(self.state, "judge")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "script.json"), "w", encoding="utf-8") as file:
            json.dump({"replies": list(replies)}, file)

    def event(self, name: str, **fields: object) -> dict[str, object]:
        """Return a hook's input as the host sends it."""
        common = {"session_id": SESSION, "cwd": self.root, "hook_event_name": name}
        transcript = os.path.join(self.config, "projects", "p", SESSION + ".jsonl")
        return {**common, "transcript_path": transcript, **fields}

    def hook(self, name: str, event: dict[str, object] | bytes, **env: str | None) -> Run:
        """Run a hook with an event as its standard input; bytes are sent as they are."""
        stdin = event if isinstance(event, bytes) else json.dumps(event).encode()
        script = os.path.join(self.plugin_root, "hooks", SCRIPTS[name])
        env = {"CLAUDE_PROJECT_DIR": self.root, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION, **env}
        run = self.script(("-I", "-S"), [script], stdin, **env)
        if name == "Stop":  # what it starts is looked at next
            self.wait_for_background()
        return run

    def prompt(self, text: str, prompt_id: str = "p1", **fields: object) -> Run:
        """Run the UserPromptSubmit hook on a prompt."""
        fields = {"prompt": text, "prompt_id": prompt_id, "permission_mode": "default", **fields}
        return self.hook("UserPromptSubmit", self.event("UserPromptSubmit", **fields))

    def user_types(self, text: str, prompt_id: str = "p1", session: str = SESSION) -> Run:
        """Write the transcript's row of a prompt that the user typed, and run its hook."""
        path = self.write_typed(text, prompt_id, session)
        return self.prompt(text, prompt_id, session_id=session, transcript_path=path)

    def write_typed(self, text: str, prompt_id: str = "p1", session: str = SESSION) -> str:
        """Write the transcript's row of a prompt that the user typed; return the transcript's path."""
        is_command = text.startswith("/")
        marks: dict[str, object] = {"turnOrigin": "human"}
        if not is_command:
            marks.update(promptSource="typed", origin={"kind": "human"})
        name, _, words = text.partition(" ")
        command = "<command-message>%s</command-message>\n<command-name>%s</command-name>\n<command-args>%s</command-args>"
        content = command % (name[1:], name, words) if is_command else text
        row = {
            "type": "user",
            "promptId": prompt_id,
            "message": {"role": "user", "content": content},
            **marks,
        }
        path = os.path.join(self.home, session + ".jsonl")
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return path

    def dialog(self, *args: str, **fields: object) -> dict[str, Any]:
        """Return what the hook answers when Claude wants to run this command; empty for nothing."""
        line = shlex.join(["memory", *args, "--root", self.root])
        call = {"tool_name": "Bash", "tool_input": {"command": line}, "cwd": self.root, **fields}
        run = self.hook("PreToolUse", self.event("PreToolUse", **call))
        output: dict[str, Any] = run.json["hookSpecificOutput"] if run.stdout else {}
        return output

    def run_in_dialog(self, *args: str, by: str = "user") -> Run:
        """Run a command as Claude does, after the client's dialog was answered with yes; write who did that to the transcript."""
        call, path = "toolu_" + os.urandom(4).hex(), os.path.join(self.home, SESSION + ".jsonl")
        output = self.dialog(*args, tool_use_id=call, transcript_path=path)
        run = self.memory(*shlex.split(output["updatedInput"]["command"])[1:], **INSIDE)
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in answered(call, by)))
        return run

    def cli_allowed(self, *args: str, stdin: str = "") -> Run:
        """Run a command as Claude does, after the user allowed it in the client's dialog, and carry it out."""
        run = self.run_in_dialog(*args)
        return run if run.returncode else self.cli("settle", inside=True, stdin=stdin)

    def start(self, source: str = "startup") -> Run:
        """Run the SessionStart hook."""
        return self.hook("SessionStart", self.event("SessionStart", source=source))

    def cli(self, *args: str, inside: bool = False, stdin: str = "", **env: str | None) -> Run:
        """Run the command line for this project; `inside` runs it as the client's Bash tool does."""
        if inside:
            env = {**INSIDE, **env}
        return self.memory(*args, "--root", self.root, stdin=stdin.encode(), **env)

    def memory(self, *words: str, stdin: bytes = b"", **env: str | None) -> Run:
        """Run the command line with just these words, in the project's folder."""
        script = os.path.join(self.plugin_root, "scripts", "memory.py")
        return self.script((), [script, *words], stdin, **env)

    def candidates(self) -> list[dict[str, Any]]:
        """Return the open candidates that no memory covers."""
        groups = self.cli("review", "--json").json["groups"]
        entries = [entry for group in groups for entry in group["entries"]]
        return [entry["candidate"] for entry in entries if entry["kind"] == "candidate"]

    def memories(self, *options: str) -> list[dict[str, Any]]:
        """Return the memories that `memory list` prints as JSON with these options."""
        rows: list[dict[str, Any]] = self.cli("list", *options, "--json").json["memories"]
        return rows

    def save(
        self, title: str, body: str, *more: str, category: str = "decision", inside: bool = False
    ) -> str:
        """Save a memory as `memory save` does and return its id."""
        words = ("--category", category, "--title", title, "--body", body, *more, "--json")
        is_ours = (self.python, self.plugin_root, self.is_cold) == (sys.executable, PLUGIN_ROOT, False)
        fields = fields_of(more)
        if (
            is_ours
            and not inside
            and fields is not None
            and has_plain_settings(self.root, self.settings_path)
        ):
            return save_here(self.root, self.config, category, (title, body), fields)
        run = self.cli("save", *words, inside=inside)
        assert run.returncode == 0, run.stderr
        return str(run.json["id"])

    def wait_for_background(self) -> None:
        """Wait until no process of this project is left, for half a minute at most. Without /proc, wait for two seconds."""
        end = time.monotonic() + 30
        if not HAS_PROC:
            time.sleep(0.5 if IS_WINDOWS else 2)
        while self._is_running() and time.monotonic() < end:
            time.sleep(0.04)  # each look reads the environments of all processes

    def remove(self, folder: str) -> None:
        """Delete a folder once no refresh writes into it."""
        self.wait_for_background()
        shutil.rmtree(folder)

    def _is_running(self) -> bool:
        """Return whether a process has this project's home, or runs in its folder as forks do.

        Looks twice, because a process may start another one and end meanwhile, and again while a process is starting a program: it has no
        environment then. Windows renames no folder in which a process runs.
        """
        if IS_WINDOWS:
            try:
                os.rename(self.root, self.root + ".moved")
                os.rename(self.root + ".moved", self.root)
            except PermissionError:
                return True
        if not HAS_PROC:
            return False
        for look in range(7):
            pids = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
            if any(_folder(name).startswith(os.path.dirname(self.root) + os.sep) for name in pids):
                return True
            environments = {name: _environment(name) for name in pids}
            if any(self.home.encode() in environment for environment in environments.values()):
                return True
            is_starting = any(_has_program(name) for name in pids if not environments[name])
            if look and not is_starting:
                break
            time.sleep(0.005 * bool(look))
        return False

    def ledger(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a ledger, such as "recalls"; none if there is no such file."""
        path = os.path.join(self.state, name + ".jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
