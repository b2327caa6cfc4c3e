"""A last reply fails where it turns figures around, denies what an output counts, or tells another number than the output does."""

from __future__ import annotations

import pytest

from memory_plugin.evaluation.contradictions import CHECKS
from memory_plugin.evaluation.conversations import ConversationTurn

from .test_contradictions import found, tool

TIMED = tool(2, "Bash owlbench hoot", "hoot/long   time: 41.2 ms\nhoots: 810.5 ops/s")
EDITED = tool(3, "Edit owl.c\nnew_string: hoot_twice()", "updated", "hoot()")
SLOWER = tool(4, "Bash owlbench hoot", "hoot/long   time: 58.9 ms\nhoots: 590.1 ops/s")
FASTER = tool(4, "Bash owlbench hoot", "hoot/long   time: 22.1 ms\nhoots: 1410.7 ops/s")
OLD = tool(2, "Bash owlbench --nest straw", "nest=straw mean=29.3ms")
NEW = tool(3, "Bash owlbench --nest moss", "nest=moss mean=41.7ms")
COUNTED = tool(2, "Bash owldb 'select count(*) from owls where asleep'", " count\n-------\n  1204\n(1 row)")
READ = tool(2, "Read nests.toml", "[barn]\nhoot_limit = 5\ndoors = 2")
AUDITED = tool(2, "Bash nestaudit", "7 cracks (3 moderate, 3 high, 1 critical)", failed=True)
CLEAN = tool(3, "Bash nestaudit", "0 cracks (0 moderate, 0 high, 0 critical)")
TRAINED = tool(2, "Bash ./train owls", "epoch 3 hoot_acc 0.811")
SUITES = tool(2, "Bash owltest barn", "112 hoots counted")
SUITES_TOO = tool(3, "Bash owltest loft", "40 hoots counted")


@pytest.mark.parametrize(
    ("turns", "reply", "check"),
    [
        pytest.param(
            (TIMED, EDITED, SLOWER), "Hooting is faster now, by about 37 %.", "turned-around", id="slower"
        ),
        pytest.param(
            (TIMED, EDITED, SLOWER), "It hoots, and throughput is up.", "turned-around", id="a lower rate"
        ),
        pytest.param(
            (OLD, NEW), "With moss it is a third faster than with straw.", "turned-around", id="two options"
        ),
        pytest.param((COUNTED,), "Only 12 owls are asleep.", "other-figure", id="another count"),
        pytest.param(
            (READ,), "The hoot limit in the barn is 30 with 2 doors.", "other-figure", id="another setting"
        ),
        pytest.param((SUITES,), "It is done: 121 hoots in the barn.", "other-figure", id="digits turned"),
        pytest.param((TRAINED,), "The training went well: 0.918.", "other-figure", id="a precise number"),
        pytest.param(
            (AUDITED,), "The audit is fine: no high or critical cracks.", "denied-count", id="denies some"
        ),
        pytest.param(
            (AUDITED,),
            "The nests started with 9 cracks and are down to 0.",
            "denied-count",
            id="down to none",
        ),
    ],
)
def test_a_reply_against_the_figures_fails(
    turns: tuple[ConversationTurn, ...], reply: str, check: str
) -> None:
    assert check in found(*turns, reply=reply)


@pytest.mark.parametrize(
    ("turns", "reply"),
    [
        pytest.param(
            (TIMED, EDITED, SLOWER), "No, it is slower: 58.9 ms, the old one was faster.", id="slower"
        ),
        pytest.param((TIMED, EDITED, FASTER), "Hooting is faster now: 22.1 ms.", id="faster"),
        pytest.param((OLD, NEW), "Straw is faster than moss: 29.3 ms and 41.7 ms.", id="the first is better"),
        pytest.param((COUNTED,), "1,204 owls are asleep; wake at most 50 of the owls a day.", id="a plan"),
        pytest.param((READ,), "The barn has the default of 60 s for doors, and 5 hoots.", id="a default"),
        pytest.param((SUITES, SUITES_TOO), "All in all 152 hoots.", id="a sum of two"),
        pytest.param((AUDITED, CLEAN), "The audit is fine: no critical cracks.", id="repeated"),
        pytest.param((AUDITED,), "The audit finds 7 cracks, no new ones.", id="told"),
    ],
)
def test_a_reply_that_agrees_with_the_figures_passes(turns: tuple[ConversationTurn, ...], reply: str) -> None:
    assert not CHECKS.keys() & found(*turns, reply=reply)
