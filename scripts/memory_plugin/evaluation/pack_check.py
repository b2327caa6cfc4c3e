"""Check a rule pack: its examples match as stated, and its patterns take bounded time."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import contextmanager
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .evaluation_gates import GATES
from .packs import load_pack
from .rule_matching import MAX_SENTENCE, find_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from .packs import RulePack

_Text = TypeVar("_Text")

_MAX_MS = 50.0  # for one pattern on the worst sentence, which has at most 600 characters
_MORE_TRIES = 2
_GIVE_UP_SECONDS = 2.0
_SEEDS = (
    "a", "0", " ", "a ", "you have ", "not ", "your mother ", "!", "(", '"', "-", "'", "ab1 ", "i have been ", "the the ",
    "stop taking ", "very ", "all tests ", "x" * 9 + " ", "\u00e9", "kill myself ", "want to ", "aA0_-. ",
)  # fmt: skip


class PackReport(NamedTuple):
    """The result of a check; a pack with faults must not be used."""

    pack: str
    rules: int
    examples: int
    slowest: str
    slowest_ms: float
    faults: list[str]


class _TooSlow(Exception):
    """A pattern did not end in time."""


def check_pack(name: str) -> PackReport:
    """Check one pack. Raises EvaluationError for a pack that cannot be read."""
    pack = load_pack(name)
    faults = [
        "gates: %s: expected one of %s" % (gate, ", ".join(GATES)) for gate in pack.gates if gate not in GATES
    ]
    patterns = _patterns(pack)
    nested = [where for where, pattern in patterns if has_nested_repetition(pattern.pattern)]
    faults += ["%s: an unbounded repetition inside another one can take forever" % where for where in nested]
    timed = [
        (where, _worst_ms(pattern.search, _hostile(pattern)))
        for where, pattern in patterns
        if where not in nested
    ]
    timed += _frame_times(pack)
    slowest, slowest_ms = "", 0.0
    for where, ms in timed:
        if ms > slowest_ms:
            slowest, slowest_ms = where, ms
        if ms > _MAX_MS:
            faults.append("%s: %.0f ms on %d characters, at most %.0f" % (where, ms, MAX_SENTENCE, _MAX_MS))
    if not faults:
        faults += _example_faults(pack)
    examples = sum(len(rule.hits) + len(rule.misses) for rule in pack.rules)
    return PackReport(pack.id, len(pack.rules), examples, slowest, round(slowest_ms, 2), faults)


def _example_faults(pack: RulePack) -> list[str]:
    faults = []
    for rule in pack.rules:
        faults += [
            "%s: not found: %s" % (rule.id, text)
            for text in rule.hits
            if not find_matches(pack, [rule], text)
        ]
        faults += [
            "%s: a false alarm: %s" % (rule.id, text)
            for text in rule.misses
            if find_matches(pack, [rule], text)
        ]
    return faults


def _patterns(pack: RulePack) -> list[tuple[str, re.Pattern[str]]]:
    patterns = [(rule.id, rule.pattern) for rule in pack.rules]
    exceptions = {unless.id: unless.pattern for rule in pack.rules for unless in rule.unless}
    patterns += [("unless " + name, pattern) for name, pattern in exceptions.items()]
    patterns += [("answers " + name, pattern) for name, pattern in pack.answers.items()]
    patterns += [("disclosure", pack.disclosure[1]), ("neutral", pack.neutral), ("contrast", pack.contrast)]
    for name, evidence in pack.evidence.items():
        parts = (evidence.call, evidence.output, evidence.against, evidence.stale_after, evidence.passed_over)
        patterns += [("evidence " + name, part) for part in parts]
    return [(where, pattern) for where, pattern in patterns if pattern is not None]


def _hostile(pattern: re.Pattern[str]) -> list[str]:
    """Return the longest sentences that repeat common words, or words of the pattern itself."""
    words = re.findall(r"[a-z']{2,}", pattern.pattern)
    seeds = [*_SEEDS, *(" ".join(words[at : at + 3]) + " " for at in range(0, min(len(words), 60), 3))]
    return [_repeated(seed) for seed in seeds]


def _repeated(seed: str) -> str:
    return (seed * (MAX_SENTENCE // len(seed) + 1))[: MAX_SENTENCE - 1] + "\x00"


def _frame_times(pack: RulePack) -> list[tuple[str, float]]:
    """Return the milliseconds of each frame on its rule's examples, each repeated up to the maximum length."""
    times = []
    for rule in pack.rules:
        if not rule.frames:
            continue
        tagged = [pack.lexicon.tag(_repeated(example.strip(".!?") + " ")) for example in rule.hits]
        times += [
            ("%s: %s" % (rule.id, frame.source), _worst_ms(frame.find, tagged)) for frame in rule.frames
        ]
    return times


def _worst_ms(search: Callable[[_Text], object], texts: Sequence[_Text]) -> float:
    """Return the milliseconds on the slowest of some hostile sentences; 2,000 for a pattern that does not end."""
    worst = 0.0
    for text in texts:
        # The first try compiles the pattern, and garbage collection can disturb any try, so a slow one is repeated.
        best = _ms(search, text)
        for _ in range(_MORE_TRIES):
            if _MAX_MS < best < _GIVE_UP_SECONDS * 1000:
                best = min(best, _ms(search, text))
        worst = max(worst, best)
    return worst


def _ms(search: Callable[[_Text], object], text: _Text) -> float:
    started = process_time()
    try:
        with _bounded():
            search(text)
    except _TooSlow:
        return _GIVE_UP_SECONDS * 1000
    return (process_time() - started) * 1000


@contextmanager
def _bounded() -> Iterator[None]:
    """Raise _TooSlow in the block after two seconds of processor time, if the system has such alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _GIVE_UP_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def has_nested_repetition(pattern: str) -> bool:
    """Return whether an unbounded repetition contains another one, as in `(a+)+`, which can take exponential time."""
    if sys.version_info >= (3, 11):
        from re import _parser as parser  # type: ignore[attr-defined]
    else:
        import sre_parse as parser
    return _nested(parser.parse(pattern), inside=False, unbounded=parser.MAXREPEAT)


def _nested(tree: Any, *, inside: bool, unbounded: object) -> bool:  # noqa: ANN401  (the parser's tree)
    for operation, argument in tree:
        repeats = str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] is unbounded
        if repeats and inside:
            return True
        subpatterns = _subpatterns(argument)
        if any(_nested(part, inside=inside or repeats, unbounded=unbounded) for part in subpatterns):
            return True
    return False


def _subpatterns(argument: Any) -> list[Any]:  # noqa: ANN401
    """Return the subpatterns in an operation's argument."""
    if hasattr(argument, "data"):
        return [argument]
    if not isinstance(argument, (list, tuple)):
        return []
    return [tree for item in argument for tree in _subpatterns(item)]
