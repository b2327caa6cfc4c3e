"""A home folder with sessions, and the scorer as the command line creates it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.sessions import langfuse
from memory_plugin.sessions.grade import GradeResult, SessionScorer, grade_session
from memory_plugin.sessions.langfuse import PushResult
from memory_plugin.sessions.langfuse_client import LangfuseClient, find_access
from memory_plugin.sessions.material import prepare
from tests.kernel.transcript.rows import answer, call, lines, result, text_block, user
from tests.sessions.grades import reply

IDS = ["0d1ec0de-0000-4000-8000-%012d" % n for n in range(30)]


def work(identity: str, turns: int = 3) -> list[dict[str, Any]]:
    """Return the rows of a short session."""
    rows = [
        user("Fix the build of %s" % identity),
        answer(identity + "a", text_block("I look."), call(identity + "c", command="make")),
        result(identity + "c"),
    ]
    return rows + [
        answer("%s%d" % (identity, n), text_block("Step %d is complete." % n)) for n in range(turns - 1)
    ]


class Bench:
    """A home below a folder, with a project and its transcripts."""

    def __init__(self, folder: Path, **sessions: Any) -> None:  # noqa: ANN401 (settings)
        self.home = folder / "home"
        self.config = self.home / ".claude"
        self.root = folder / "project"
        for new_folder in (self.config, self.root / ".git"):
            new_folder.mkdir(parents=True)
        self.settings: dict[str, Any] = {
            "judge": {"backend": "scripted"},
            "sessions": {"judge": {"when": "asked"}, **sessions},
        }

    @property
    def paths(self) -> Paths:
        """Return the paths of the project."""
        return Paths(str(self.root))

    @property
    def scorer(self) -> SessionScorer:
        """Return the context for grading, with the current settings."""
        (self.config / "settings.json").write_text(json.dumps({"memory": self.settings}), encoding="utf-8")
        return SessionScorer(self.paths, load(str(self.config), str(self.root)))

    def script(self, *texts: Any) -> None:  # noqa: ANN401 (replies)
        """Set the scripted judge's answers: replies, or failures by name."""
        replies = [
            {"failure": text} if isinstance(text, str) else {"text": json.dumps(text)}
            for text in texts or (reply(),)
        ]
        self.write("lcars/memory/judge/script.json", {"replies": replies})

    def write(self, name: str, content: object) -> None:
        """Write a JSON file below the config folder."""
        path = self.config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")

    def transcript(self, identity: str, rows: list[dict[str, Any]] | None = None) -> str:
        """Write the transcript of a session of this project; return its path."""
        folder = (
            self.config / "projects" / "".join(c if c.isalnum() else "-" for c in os.path.realpath(self.root))
        )
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (identity + ".jsonl")
        session_rows = [
            {**row, "sessionId": identity, "cwd": str(self.root)} for row in rows or work(identity[-3:])
        ]
        path.write_bytes(lines(*session_rows))
        return str(path)

    def grade(self, path: str) -> GradeResult:
        """Grade a session, and store the grade."""
        graded = grade_session(prepare(path), self.scorer)
        graded.store(self.paths)
        return graded

    def rows(self, name: str = "sessions") -> list[dict[str, Any]]:
        """Return the rows of a ledger."""
        path = self.config / "lcars" / "memory" / (name + ".jsonl")
        return (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if path.exists()
            else []
        )


def push_scores(bench: Bench, seconds: float = 20, looks: tuple[float, ...] = (0.0, 0.0)) -> PushResult:
    """Send the scores of the bench's ledger to Langfuse once."""
    scorer = bench.scorer
    client = LangfuseClient(find_access(scorer.paths, scorer.settings), Deadline(seconds))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(langfuse, "_CONFIRM_PAUSES", looks)
        return langfuse.send_scores(scorer.paths, client, lambda _: None)
