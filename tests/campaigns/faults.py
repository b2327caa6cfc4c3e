"""Faults at every call of a hook or command, in each state of the store, and kills before the n-th call."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from tests.campaigns.injection import CALLS, Injector
from tests.campaigns.tally import Tally
from tests.campaigns.world import Action, World, actions, ask, commands

STATES = ("ready", "first", "stale", "damaged index", "no index", "torn files")
RECOVERY_EVERY = 12


class Campaign(Protocol):
    """A campaign, which runs until the tally's time is over."""

    def __call__(self, world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
        """Run the campaign; `thorough` is its long form."""


class Fault(NamedTuple):
    """A failing call: the n-th one at a site of an action in a state; `lasting` lets the later ones fail too."""

    state: str
    action: Action
    site: str
    nth: int
    error: str
    lasting: bool

    def __str__(self) -> str:
        """Return the fault as one line."""
        call = "call %d%s of %s" % (self.nth, " and later" if self.lasting else "", self.site)
        return "%s: %s: %s: %s" % (self.state, self.action.name, call, self.error)


def trace_calls(world: World, state: str, action: Action) -> list[str]:
    """Run an action in a state and return the site of each of its calls."""
    world.reset(state)
    path = os.path.join(world.folder, "sites")
    log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    world.run(action, Injector(log).install)
    with open(log, encoding="utf-8") as file:
        file.seek(0)
        return file.read().split()


def _shuffled_actions(world: World, dice: random.Random) -> list[tuple[str, Action]]:
    """Return every action in every state, in random order."""
    every_action = [*actions(world.project), *commands(world.project.root)]
    pairs = [(state, action) for state in STATES for action in every_action]
    dice.shuffle(pairs)
    return pairs


def faults(world: World, dice: random.Random, *, thorough: bool) -> Iterator[Fault]:
    """Yield the faults of all actions in all states. The actions come in random order, the errors of a site one after another."""
    for state, action in _shuffled_actions(world, dice):
        counts = Counter(trace_calls(world, state, action))
        for site, count in sorted(counts.items()):
            call = site.rpartition(":")[2]
            for error in CALLS[call]:
                for nth in sorted({1, count} if thorough else {1}):
                    yield Fault(state, action, site, nth, error, lasting=False)
                if thorough and count > 1:
                    yield Fault(state, action, site, 1, error, lasting=True)


def run_fault(world: World, fault: Fault, tally: Tally) -> None:
    """Run an action with a fault and count the broken promises."""
    world.reset(fault.state)
    log = os.open(os.path.join(world.folder, "met"), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    injector = Injector(log, fault.site, fault.nth, fault.error, lasting=fault.lasting)
    outcome = world.run(fault.action, injector.install)
    tally.runs += 1
    if os.fstat(log).st_size:  # the run reached the call
        tally.sites.add("%s:%s" % (fault.site, fault.error))
        tally.states.add(str(fault))
    os.close(log)
    world.check(tally, fault.action, outcome, str(fault), killed=_breaks_streams(fault))
    if tally.runs % RECOVERY_EVERY == 0 and fault.state != "first" and fault.action.name != "accept":
        world.check_recovery(tally, str(fault))


def _breaks_streams(fault: Fault) -> bool:
    """Return whether the fault fills the disk below standard output, which may then hold half an answer."""
    return fault.error == "short" and "_answer" in fault.site


def run_faults(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Let each site fail in each way. The short form tries each pair of site and error once, in random order."""
    for fault in faults(world, dice, thorough=thorough):
        if tally.is_over:
            return
        if thorough or "%s:%s" % (fault.site, fault.error) not in tally.sites:
            run_fault(world, fault, tally)


def run_kills(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Kill each action before its n-th call; the store stays intact, and after a refresh everything is recalled."""
    for state, action in _shuffled_actions(world, dice):
        count = len(trace_calls(world, state, action))
        numbers = sorted(dice.sample(range(1, count + 1), min(count, 40 if thorough else 3)))
        for number in numbers:
            if tally.is_over:
                return
            kill(world, state, action, number, tally)


def kill(world: World, state: str, action: Action, number: int, tally: Tally) -> None:
    """Kill a run before its n-th call and check what it left."""
    world.reset(state)
    what = "%s: killed before call %d" % (state, number)
    outcome = world.run(action, Injector(-1, "", number, "kill").install)
    tally.runs += 1
    tally.kills += outcome.code == -9
    tally.states.add("%s %s" % (action.name, what))
    world.check(tally, action, outcome, what, killed=True)
    if tally.runs % RECOVERY_EVERY == 0 and state != "first":
        world.check_recovery(tally, "%s: %s" % (action.name, what))
    else:
        world.check(tally, ask("next"), world.run(ask("next")), action.name + ", " + what, killed=False)
