"""Hits, and a server that plays the judges, for tests of judging."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Union

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.recall.decision import Limits, choose
from memory_plugin.recall.history import RecallHistory
from memory_plugin.recall.judging import AUTO, SEARCH, Judged, judge_candidates
from memory_plugin.recall.ranking import Hit
from tests.kernel.judge.bench import SESSION, Bench, payload
from tests.kernel.judge.server import Act, Seen, Server, answer, by_request
from tests.recall import memories

Choice = Union[list[str], Act]
PROMPT = "Fix the login bug, the token is refreshed twice"
SURE, UNSURE, WEAK = 0.7, 0.4, 0.05


def hit(key: str, confidence: float, title: str = "", tags: list[str] | None = None) -> Hit:
    """Return a ranked memory whose body must never be sent; its title is worth a line from a lower confidence on."""
    written = json.dumps(tags or ["auth"])
    text = "the body of " + key
    return memories.hit(key, confidence, confidence + 0.2, title=title, tags=written, text=text)


HITS = [
    hit("s1", 0.9),
    hit("s2", 0.8),
    hit("s3", SURE),
    hit("u1", UNSURE),
    hit("u2", UNSURE),
    hit("w1", WEAK),
]
SURES, UNSURES = HITS[:3], HITS[3:5]


class JudgeRequest(NamedTuple):
    """The request that one judge received."""

    kind: str
    system: str
    data: dict[str, Any]


def parse_request(seen: Seen) -> JudgeRequest:
    """Return a parsed request."""
    text: str = seen.body["messages"][0]["content"]
    data = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])
    kinds = {"relevant": "relevance", "useful": "usefulness", "keep": "combined"}
    kind = next(kinds[key] for key in kinds if '{"%s"' % key in text)
    return JudgeRequest(kind, seen.body["system"], data)


KEYS = {"relevance": "relevant", "usefulness": "useful", "combined": "keep"}


def judges(**choices: Choice) -> Act:
    """Return judges that choose these memories, or act in a given way."""

    def choose(seen: Seen) -> Act:
        request = parse_request(seen)
        choice = choices[request.kind]
        if not isinstance(choice, list):
            return choice
        titles = [note["title"] for note in request.data["notes"]]
        indices = [at for at, title in enumerate(titles) if title.rpartition(" ")[2] in choice]
        return answer(payload("anthropic", json.dumps({KEYS[request.kind]: indices})))

    return by_request(choose)


class Trial:
    """A bench with hits."""

    def __init__(self, bench: Bench, api: Server) -> None:
        self.bench = bench
        self.api = api

    def run(
        self,
        hits: list[Hit],
        mode: str = AUTO,
        prompt: str = PROMPT,
        before: str = "",
        *,
        taint: bool = False,
    ) -> Judged:
        """Return the judged hits."""
        bench = self.bench
        settings = bench.settings()
        context = Context(bench.paths, settings, Deadline(5), SESSION)
        return judge_candidates(prompt, hits, mode, context, previous_turn=before, judges_off=taint)

    def search_keys(self, hits: list[Hit]) -> list[str]:
        """Return the keys of the hits that a search shows."""
        return [hit.key for hit in self.run(hits, SEARCH).search_hits]

    def chosen_keys(self, hits: list[Hit], judged: Judged | None = None) -> tuple[list[str], list[str]]:
        """Return the keys that a prompt gets in full, and those with a pointer."""
        judged = judged or self.run(hits)
        if judged.silenced:
            return [], []
        limits = Limits(self.bench.settings(), 9500)
        limits.max_inject = min(limits.max_inject, judged.max_inject)
        history = RecallHistory(self.bench.paths, "")
        choice = choose(hits, judged.approvals, limits, history)
        return [hit.key for hit in choice.full], [hit.key for hit in choice.pointers]


MakeTrial = Callable[[Act], Trial]
BROKEN = answer({}, 500)
