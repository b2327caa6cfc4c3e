"""A test bench for the judge: a home with settings, a question, and the answers of each backend."""

from __future__ import annotations

import json
import os
from typing import Any

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.judge.credentials import ServerAccess
from memory_plugin.kernel.judge.question import Question, Verdict, chosen_indices, load_rubric
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings import Settings
from memory_plugin.kernel.settings.load import load

KEY = "sk-made-up-0123456789abcdef"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
NETWORK = tuple(KEYS)
GOOD = '{"relevant": [0, 2]}'
CHOSEN = {"chosen": [0, 2], "dropped": 0}
SESSION = "session-1"


def payload(
    backend: str, text: str = GOOD, stop: str = "", tokens: tuple[int, int] = (600, 12)
) -> dict[str, Any]:
    """Return an answer of a backend's server; `stop` is "", "length" or "refusal"."""
    if backend == "anthropic":
        reason = {"": "end_turn", "length": "max_tokens", "refusal": "refusal"}[stop]
        blocks = [{"type": "thinking", "thinking": "{}"}, {"type": "text", "text": text}]
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        return {
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "stop_reason": reason,
            "usage": usage,
        }
    if backend == "openai":
        reason = {"": "stop", "length": "length", "refusal": "content_filter"}[stop]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        return {"object": "chat.completion", "choices": [choice], "usage": usage}
    reason = {"": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[stop]
    parts = [{"text": "hm", "thought": True}, {"text": text}]
    usage = {"promptTokenCount": tokens[0], "candidatesTokenCount": tokens[1] - 2, "thoughtsTokenCount": 2}
    return {"candidates": [{"content": {"parts": parts}, "finishReason": reason}], "usageMetadata": usage}


def question(offered: int = 3, rubric: str = "relevance", data: object = "x") -> Question:
    """Return a question about some things of which a few are to be chosen."""
    key = {"relevance": "relevant", "usefulness": "useful", "combined": "keep"}[rubric]

    def read(value: dict[str, Any]) -> dict[str, Any] | None:
        return chosen_indices(value, key, offered)

    return Question(load_rubric(rubric), data, read)


def access_of(judge: Judge) -> ServerAccess:
    """Return the access that a judge uses. Raises JudgeError."""
    judge._prepare(anyway=False)
    assert judge._access is not None
    return judge._access


class Bench:
    """A config folder whose settings switch a judge on, and a project."""

    def __init__(self, folder: str, backend: str = "anthropic", url: str = "", **judge: object) -> None:
        self.config = os.path.join(folder, "config")
        self.project = os.path.join(folder, "project")
        self.backend = backend
        for made in (self.config, self.project):
            os.makedirs(made, exist_ok=True)
        self.env = {KEYS[backend]: KEY} if backend in KEYS else {}
        self.judge: dict[str, object] = {"backend": backend, "base_url": url, **judge}
        self.retrieval: dict[str, object] = {}
        self.more: dict[str, object] = {}
        self.top_level = False

    def settings(self) -> Settings:
        """Return the settings, written to the user's file and read again."""
        memory: dict[str, object] = {"judge": self.judge}
        more = dict(self.more)
        (more if self.top_level else memory)["retrieval"] = {"judge": self.retrieval}
        with open(os.path.join(self.config, "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"env": self.env, "memory": memory, **more}, file)
        settings = load(self.config, self.project)
        assert settings.problems == []
        return settings

    def project_says(self, memory: dict[str, object]) -> None:
        """Write the block `memory` of the project's own settings."""
        os.makedirs(os.path.join(self.project, ".claude"), exist_ok=True)
        with open(os.path.join(self.project, ".claude", "settings.json"), "w", encoding="utf-8") as file:
            json.dump({"memory": memory}, file)

    @property
    def paths(self) -> Paths:
        """Return the paths of the project."""
        return Paths(self.project)

    def asker(self, session: str = SESSION, off: str = "", *, waits: bool = True) -> Judge:
        """Return a judge, by default for a prompt that waits."""
        settings = self.settings()
        context = Context(self.paths, settings, Deadline(60), session)
        return Judge("retrieval", context, off=off, waits=waits)

    def ask(
        self, seconds: float = 20.0, session: str = SESSION, *, waits: bool = True, data: object = "x"
    ) -> Verdict:
        """Return one verdict of a new judge."""
        return self.asker(session, waits=waits).ask(question(data=data), Deadline(seconds))

    def script(self, *replies: dict[str, object]) -> None:
        """Set what the scripted backend answers."""
        folder = self.paths.state("judge")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "script.json"), "w", encoding="utf-8") as file:
            json.dump({"replies": replies}, file)

    def calls(self) -> list[dict[str, Any]]:
        """Return the lines of judge-calls.jsonl."""
        path = os.path.join(self.paths.state(), "judge-calls.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def written(self) -> str:
        """Return the content of the state folder as one text."""
        found = []
        for folder, _, names in os.walk(self.paths.state()):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    found.append(file.read())
        return "\n".join(found)
