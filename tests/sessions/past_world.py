"""A project with past sessions, and what a prompt in it is answered with."""

from __future__ import annotations

import os
from pathlib import Path

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.sessions import past
from memory_plugin.sessions.past import Exchange, ShownSessions, answer
from memory_plugin.sessions.past_ask import ask_of, may_ask
from memory_plugin.sessions.past_index import refresh
from tests.project import write_repository
from tests.sessions.past_rows import (
    NOW,
    Said,
    rows_of,
    write_rows,
    write_sessions,
)

RULES = 7


class World:
    """A project with transcripts, indexed in this process."""

    def __init__(self, folder: Path) -> None:
        self.config, self.root = str(folder / ".claude"), str(folder / "p")
        os.makedirs(self.root)
        write_repository(self.root)
        self.paths = Paths(self.root)
        self.files = write_sessions(self.config, self.root)

    def index(self, days: int = 365, rules: int = RULES) -> list[str]:
        """Index, and return the problems."""
        return refresh(self.paths, days, rules)

    def exchanges(self, name: str = "", rules: int = RULES) -> list[Exchange]:
        """Return what is indexed."""
        return (
            past.read_index(past.index_path(self.paths), rules, lambda index: past.exchanges(index, name))
            or []
        )

    def say(self, session: str, *said: Said) -> str:
        """Write a session that says this."""
        return write_rows(
            self.config, self.root, session, rows_of(session, "", list(said), self.paths.project_root)
        )

    def told(self, text: str, session: str = "") -> str:
        """Return the block for a prompt."""
        shown = self.answer(text, session) if may_ask(text) else None
        return shown.block if shown else ""

    def answer(self, text: str, session: str = "") -> ShownSessions | None:
        """Return what an ask is answered with."""

        def read(index: Connection) -> ShownSessions | None:
            return answer(index, ask_of(text, NOW), NOW, session)

        return past.read_index(past.index_path(self.paths), RULES, read)
