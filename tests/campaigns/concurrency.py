"""Many processes at once: hooks and commands on one store, and writers of one ledger, some killed, that rotates meanwhile."""

from __future__ import annotations

import os
import random
import signal
import time

from memory_plugin.kernel import context as ledger_module
from memory_plugin.kernel.context import Ledger
from memory_plugin.kernel.records import Form, Records
from tests.campaigns.injection import prevent_refresh
from tests.campaigns.tally import Tally
from tests.campaigns.world import REFRESH, Action, World, actions, ask, command

WRITERS, RECORDS = 8, 25
PAYLOAD = "x" * 200


def run_crowd(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Start hooks, saves and a refresh at once; all succeed, each save is kept and each prompt is in the ledger once."""
    size = 24 if thorough else 10
    while not tally.is_over:
        world.reset(dice.choice(("ready", "stale", "no index")))
        before = len(world.project.ledger("recalls"))
        prompts = [ask("crowd-%d" % number) for number in range(size // 3)]
        saves = [_save(number) for number in range(size // 4)]
        crowd = [*prompts, *saves, REFRESH, *dice.choices(actions(world.project)[2:], k=size // 4)]
        dice.shuffle(crowd)
        children = [world.start(action, prevent_refresh, number) for number, action in enumerate(crowd, 1)]
        for number, (action, child) in enumerate(zip(crowd, children), 1):
            tally.runs += 1
            world.check(tally, action, world.wait(child, number), "in a crowd")
        for action in saves:
            if not _is_kept(world, action.words[4]):
                tally.fail("record", "a save in a crowd is lost: %s" % action.words[4])
        sessions = [str(row["session"]) for row in world.project.ledger("recalls")[before:]]
        expected = ["crowd-%d" % number for number in range(len(prompts))]
        if sorted(session for session in sessions if session.startswith("crowd-")) != sorted(expected):
            tally.fail("record", "prompts in a crowd are not each in the ledger once: %s" % sessions)
        world.check_recovery(tally, "after a crowd")
        tally.states.add("crowd %d" % tally.runs)


def _save(number: int) -> Action:
    words = ("save", "--category", "decision", "--title", "Crowd %d" % number, "--body", "Body %d." % number)
    return command(*words)


def _is_kept(world: World, title: str) -> bool:
    name = title.lower().replace(" ", "-") + ".json"
    return os.path.exists(os.path.join(world.project.root, ".claude", "memory", "decisions", name))


def run_rotation(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Let writers append to a small ledger and kill some; each record that `append` reported as written is there once."""
    ledger_module._PARTS = 400  # so that every record is found
    while not tally.is_over:
        folder = os.path.join(world.folder, "ledger-%d" % tally.runs)
        os.mkdir(folder)
        ledger = Ledger(folder, "crowd", max_bytes=dice.choice((500, 3000, 20_000)))
        children = [_fork_writer(ledger, folder, number) for number in range(WRITERS)]
        killed = set(dice.sample(children, 3 if thorough else 2))
        for child in killed:
            time.sleep(dice.random() * 0.02)
            os.kill(child, signal.SIGKILL)
        for child in children:
            tally.kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        _check_rows(ledger, folder, tally, len(killed))
        tally.runs += WRITERS
        tally.states.add("ledger %d" % tally.runs)


def _fork_writer(ledger: Ledger, folder: str, number: int) -> int:
    """Fork a writer that logs the id of each record that `append` reported as written; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        handle = os.open(os.path.join(folder, "written-%d" % number), os.O_WRONLY | os.O_CREAT, 0o600)
        for record in range(RECORDS):
            if ledger.append("s", "p", {"id": "%d-%d" % (number, record), "payload": PAYLOAD}) is None:
                os.write(handle, b"%d-%d\n" % (number, record))
    finally:
        os._exit(0)


def _check_rows(ledger: Ledger, folder: str, tally: Tally, killed: int) -> None:
    rows = Records(ledger.folder, Form(ledger.name, {}))
    found = [str(row["id"]) for row in rows]
    written: list[str] = []
    for number in range(WRITERS):
        path = os.path.join(folder, "written-%d" % number)
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                written += file.read().split()
    lost = set(written) - set(found)
    if lost or len(set(found)) != len(found):
        tally.fail(
            "record",
            "ledger: lost %s of %d, %d twice"
            % (sorted(lost)[:5], len(written), len(found) - len(set(found))),
        )
    if rows.skipped > killed:
        tally.fail("record", "ledger: %d torn lines after %d kills" % (rows.skipped, killed))
    tally.extra["records"] += len(written)
