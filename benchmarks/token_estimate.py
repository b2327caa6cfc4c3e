"""Measure the error of the token estimate on transcripts: `python3 benchmarks/token_estimate.py FILE...`.

A transcript records the context size of each call. From one call to the next it grows by the reply, its tool results and the messages in
between; this growth is compared with the estimate for the same texts. Turns with thinking are excluded because its text is not in the
transcript, and so are turns after which the context shrank.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from typing import IO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.text import tokens_of
from memory_plugin.kernel.transcript.reader import Reader, Row, open_transcript
from memory_plugin.kernel.transcript.turn import Turn

LEAST = 500  # tokens; on small steps the client's own hidden reminders are most of the growth


def main(paths: list[str]) -> int:
    """Print, as JSON, steps, sessions and the ratio of the estimated to the recorded tokens."""
    steps: list[tuple[float, float]] = []
    sessions: list[tuple[float, float]] = []
    for path in paths:
        found = list(growth(path))
        steps += [step for step in found if step[1] >= LEAST]
        whole = sum(step[0] for step in found), sum(step[1] for step in found)
        if whole[1] >= 5000:
            sessions.append(whole)
    print(json.dumps({"steps": figures(steps), "sessions": figures(sessions)}, indent=2))
    return 0


class ThinkingReader(Reader):
    """A reader that notes the numbers of the turns with thinking."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self.thinking: set[int] = set()

    def _block(self, turn: Turn, block: Row) -> None:
        if block.get("type") == "thinking" and block.get("thinking"):
            self.thinking.add(turn.number)
        super()._block(turn, block)


def growth(path: str) -> list[tuple[float, float]]:
    """Return pairs of estimated and recorded tokens, one per step of the session."""
    pairs: list[tuple[float, float]] = []
    before: Turn | None = None
    with open_transcript(path) as file:
        reader = ThinkingReader(file)
        for turn in reader:
            if (
                before is not None
                and before.usage
                and turn.usage
                and before.number not in reader.thinking
                and before.model == turn.model
            ):
                grown = context(turn.usage) - context(before.usage)
                if 0 < grown < 60_000:
                    said = sum(tokens_of(said.text) for said in turn.user_texts)
                    pairs.append((answered(before) + said, grown))
            before = turn
    return pairs


def answered(turn: Turn) -> float:
    """Return the estimated tokens of a reply, its tool calls and their results."""
    calls = [text for call in turn.calls for text in (dumps(call.input), call.result or "")]
    return sum(map(tokens_of, [*turn.texts, *calls]))


def context(usage: dict[str, int]) -> int:
    """Return the input tokens of one call."""
    return sum(usage.values()) - usage["output_tokens"]


def figures(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Return the count, the ratio of the sums, and the spread of the single ratios."""
    if len(pairs) < 2:
        return {"n": len(pairs)}
    ratios = sorted(estimated / recorded for estimated, recorded in pairs)
    tenths = statistics.quantiles(ratios, n=10)
    return {
        "n": len(pairs),
        "estimated": round(sum(pair[0] for pair in pairs)),
        "recorded": round(sum(pair[1] for pair in pairs)),
        "ratio": round(sum(pair[0] for pair in pairs) / sum(pair[1] for pair in pairs), 3),
        "median": round(statistics.median(ratios), 3),
        "tenth": round(tenths[0], 3),
        "ninetieth": round(tenths[-1], 3),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
