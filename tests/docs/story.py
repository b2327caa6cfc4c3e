"""Run a documentation page as a story: one reader types its `sh` blocks in order, with a fresh home, a project and a clone."""

from __future__ import annotations

import os
import re
import sys

from tests.docs.pages import Fence
from tests.kernel.transcript.rows import lines
from tests.project import PLUGIN_ROOT, SESSION, Project, Run
from tests.release_tree import SHIPPED, copy_entries
from tests.sessions.bench import work

# Lines that no test of the documentation runs, with the reason or what runs them instead.
NOT_RUN = {
    r"claude ": "needs the real client: tests/client/test_readme.py runs these lines literally",
    r"python3 -m venv .* -m pytest -q -n auto$": "installs from the package index: .ci/run runs it in a fresh clone",
    r"\S*python3? -m pytest\b": "is the test run itself",
    r"memory judge ": "asks a model: tests/cli/commands/test_judge_command.py runs it with a scripted one",
    r"memory session score ": "asks a model: tests/cli/commands/test_session_command.py runs it with a scripted one",
    r"memory session (langfuse|calibrate)\b": "needs a server or a person: tests/cli/commands/test_session_command.py plays both",
    r"python3 benchmarks/": "measures for minutes, on a machine at rest",
    r"\.ci/run$": "is all of CI",
    r"tests/client/install_client\.sh": "downloads the client: .ci/run runs it",
    r"(\. )?\.\./memory-venv/bin/": "is a check of the code that .ci/run runs",
}
# A block that names a file of this repository is typed in the clone, every other block in the reader's own project.
CLONE = re.compile(r"(^|[\s\"])(\./|\$PWD/bin/|scripts/|benchmarks/|tests/|\.ci/)", re.MULTILINE)


def runnable(fence: Fence) -> str:
    """Return the lines of a block that a test can run."""
    lines = fence.text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(re.match(pattern, line) for pattern in NOT_RUN))


class Reader:
    """A reader who types what a page says, in a project with an `origin` to pull from."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = os.path.dirname(project.root)
        self.bin = os.path.join(self.folder, "bin")
        os.makedirs(self.bin)
        for name in ("python3", "python"):
            os.symlink(os.path.realpath(sys.executable), os.path.join(self.bin, name))
        os.symlink(os.path.join(PLUGIN_ROOT, "bin", "memory"), os.path.join(self.bin, "memory"))
        project.write("CLAUDE.md", "# Conventions\n\n## Style\n\nIndent Go code with tabs.\n")
        project.write("docs/adr/0001-postgres.md", "# Decision: Postgres\n\nBilling runs on Postgres 16.\n")
        self._write_transcript()
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "Begin")
        project.git("clone", "-q", "--bare", ".", os.path.join(self.folder, "origin.git"))
        project.git("remote", "add", "origin", os.path.join(self.folder, "origin.git"))
        project.git("fetch", "-q", "origin")
        project.git("branch", "-q", "--set-upstream-to=origin/main")
        self._push_as_teammate()
        project.prompt("Which database does billing run on?")

    def _write_transcript(self) -> None:
        """Write the transcript of a session where the client keeps it."""
        name = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(self.project.root))
        folder = os.path.join(self.project.config, "projects", name)
        os.makedirs(folder)
        rows = [{**row, "sessionId": SESSION, "cwd": self.project.root} for row in work("one")]
        with open(os.path.join(folder, SESSION + ".jsonl"), "wb") as file:
            file.write(lines(*rows))

    def _push_as_teammate(self) -> None:
        """Push a memory of a teammate to `origin`."""
        content = {"topic": "package manager", "value": "Install packages with pnpm, never with npm."}
        memory = {"schema_version": "1.0", "title": "Use pnpm, never npm", "content": content}
        other = os.path.join(self.folder, "teammate")
        self.project.git("clone", "-q", os.path.join(self.folder, "origin.git"), other)
        path = os.path.join(other, ".claude", "memory", "preferences", "pnpm-only.json")
        self.project.write(path, memory)
        self.project.git("-C", other, "add", "-A")
        self.project.git("-C", other, "commit", "-q", "-m", "Remember the package manager")
        self.project.git("-C", other, "push", "-q")

    def clone(self) -> str:
        """Return the folder of a copy of this repository, made on first use."""
        folder = os.path.join(self.folder, "clone")
        if not os.path.isdir(folder):
            copy_entries((*SHIPPED, "tests"), folder)
        return folder

    def run(self, text: str) -> Run:
        """Run a block in a shell, up to the first command that fails."""
        path = os.pathsep.join([self.bin, os.environ.get("PATH", os.defpath)])
        folder = self.clone() if CLONE.search(text) else self.project.root
        script = "cd %r\n%s" % (folder, text)
        return self.project.process(
            ["bash", "-euo", "pipefail", "-c", script], PATH=path, CLAUDE_CONFIG_DIR=None
        )
