"""Scores sent to a Langfuse server that fails at random, by senders that are killed: each arrives exactly once."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.sessions import langfuse, langfuse_client
from memory_plugin.sessions.langfuse import score_configs
from tests.campaigns.tally import Tally
from tests.campaigns.world import SECRET, World
from tests.json_server import Response
from tests.sessions.bench import IDS, Bench, push_scores, work
from tests.sessions.langfuse.server import KEYS, Langfuse

_FAILURES: tuple[Response | None, ...] = (
    (0, None, {}),
    (500, {}, {}),
    (503, "busy", {}),
    (429, {}, {"retry-after": "0"}),
    (200, "no object", {}),
    *[None] * 6,
)


def run_uploads(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Send the scores of graded sessions under failures and kills, then without; each score is on the server once."""
    while not tally.is_over:
        upload_once(Path(world.folder) / ("upload-%d" % tally.runs), tally, dice, rounds=8 if thorough else 3)


def upload_once(folder: Path, tally: Tally, dice: random.Random, *, rounds: int) -> None:
    """Grade two sessions and send their scores until all have arrived."""
    environment = dict(os.environ)
    server = Langfuse(dice.choice(("v4", "v3", "array")))
    os.environ.update(HOME=str(folder / "home"), CLAUDE_CONFIG_DIR=str(folder / "home" / ".claude"))
    os.environ.update(LANGFUSE_PUBLIC_KEY=KEYS[0], LANGFUSE_SECRET_KEY=KEYS[1])
    try:
        bench = Bench(folder, langfuse={"host": server.url})
        bench.script()
        for identity in IDS[:2]:
            rows = [{"type": "user", "message": {"role": "user", "content": "Use " + SECRET}}]
            bench.grade(bench.transcript(identity, [*rows, *work(identity[-3:])]))
        for _ in range(rounds):
            server.before = lambda *_: dice.choice(_FAILURES)
            _send_in_fork(bench, dice.uniform(0.01, 0.4), tally)
        server.before = lambda *_: None
        for _ in range(4):
            with suppress(JudgeError):  # the next push tries again
                push_scores(bench, 5)
        _check(server, folder, tally)
    finally:
        server.close()
        os.environ.clear()
        os.environ.update(environment)


def _send_in_fork(bench: Bench, seconds: float, tally: Tally) -> None:
    """Send in a fork and kill it after some seconds. The fork may report a failing server, but no other error."""
    child = os.fork()
    if not child:
        code = 9
        try:
            for module in (langfuse_client, langfuse):
                setattr(module, "sleep", lambda _: None)  # noqa: B010
            push_scores(bench, 5)
            code = 0
        except (OSError, JudgeError):
            code = 0
        finally:
            os._exit(code)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tally.runs += 1
    tally.kills += code == -signal.SIGKILL
    if code not in (0, -signal.SIGKILL):
        tally.fail("exit", "a sender ended with %d" % code)


def _check(server: Langfuse, folder: Path, tally: Tally) -> None:
    found = Counter((row["sessionId"], row["name"]) for row in server.scores.values())
    expected = Counter((identity, name) for identity in IDS[:2] for name in score_configs())
    if found != expected:
        tally.fail(
            "record", "%s: missing %s, too many %s" % (server.mode, expected - found, found - expected)
        )
    if SECRET in json.dumps(server.seen):
        tally.fail("secret", "%s: sent to the server" % server.mode)
    tally.extra["scores"] += len(server.scores)
    tally.states.add(str(folder))
