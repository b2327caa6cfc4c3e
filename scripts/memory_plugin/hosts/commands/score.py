"""`memory score`: what the rules say about a text, a reply, or many of them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.files import read_regular
from ...kernel.text.clean import block
from ...replies.pipeline import Scorer
from ...replies.query_type import AMBIGUOUS, QUERY_TYPES, load_query_types
from ..wrong_use import must_exist

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ...replies.pipeline import Score
    from ...replies.signals import Signals
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2

HELP = "score a reply: filler phrases, words before the answer, density, and what the gate would do"
EXAMPLES = """\
  memory score reply.md
  pbpaste | memory score - --user "Why does the build hang?"
  memory score --last                  the last reply of this project
  memory score --last --deep           with a judge, on all eight dimensions
  memory score --jsonl < replies.jsonl > scores.jsonl
"""
_MAX_BYTES = 32 << 20
_SHOWN = 20_000


class Asked(NamedTuple):
    """A text to score: its id, the message before it, the text, and the tools called in between."""

    id: Any
    user: str
    response: str
    calls: Sequence[str] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    """What to score, and how."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a file with one reply; - reads it from standard input"
    )
    parser.add_argument(
        "--last", action="store_true", help="the last scored reply of this project, out of its transcript"
    )
    parser.add_argument("--user", default="", metavar="TEXT", help="the message that the reply answers")
    parser.add_argument(
        "--type", choices=QUERY_TYPES, help="the kind of that message (default: told from --user)"
    )
    parser.add_argument(
        "--jsonl",
        action="store_true",
        help='lines {"id", "user", "response"} in, one line of scores each out',
    )
    parser.add_argument(
        "--deep", action="store_true", help="ask the judge for all eight dimensions of the rubric"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Score what was asked for."""
    if arguments.jsonl:
        return _score_lines(arguments, session)
    if (arguments.file is None) != arguments.last:
        session.console.error("expected one of FILE, - and --last; `memory score --help` shows how")
        return USAGE
    asked = _last(session) if arguments.last else Asked(None, arguments.user, _read(arguments.file))
    if asked is None:
        session.console.error(
            "no reply of this project can be read again: none was scored, or its transcript is gone"
        )
        return FAILED
    score = _score(asked, arguments.type, _scorer(session))
    if arguments.deep:
        from ..deep_score import deep_score, show_deep

        found = deep_score(asked.user, asked.response, asked.calls, score.signals, session)
        return show_deep(found, session, as_json=arguments.json)
    if arguments.json:
        session.console.json(as_record(asked.id, asked.response, score))
    else:
        _show(asked.response, score, session)
    return DONE


def _read(name: str) -> str:
    """The text of a file, or of standard input for `-`. Raises WrongUse for a file that is not there, OSError for one that is none."""
    if name == "-":
        return sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace")
    must_exist(name)
    return read_regular(name, _MAX_BYTES, follow=True)[0].decode("utf-8", "replace")


def _last(session: Session) -> Asked | None:
    from ...replies.reread import last_scored

    found = last_scored(session.places)
    return None if found is None else Asked(found.id, found.prompt, found.text, found.calls)


def _scorer(session: Session) -> Scorer:
    scorer = Scorer(session.settings, session.places.state_dir)
    if scorer.trouble:
        session.console.error(scorer.trouble)
    return scorer


def _score(asked: Asked, kind: str | None, scorer: Scorer) -> Score:
    told, drafting = load_query_types().classify(asked.user) if asked.user else (AMBIGUOUS, False)
    return scorer.score(asked.response, kind or told, drafting)


def _score_lines(arguments: argparse.Namespace, session: Session) -> int:
    """Score line by line; a line that is none gets an error of its own on the error stream."""
    bad = 0
    scorer = _scorer(session)
    for number, asked in _lines():
        if asked is None:
            bad += 1
            session.console.error('line %d: expected an object with a text under "response"' % number)
            continue
        score = _score(asked, arguments.type, scorer)
        session.console.line(json.dumps(as_record(asked.id, asked.response, score)))
    return FAILED if bad else DONE


def _lines() -> Iterator[tuple[int, Asked | None]]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            row = None
        response = row.get("response") if isinstance(row, dict) else None
        user = row.get("user") if isinstance(row, dict) else None
        yield (
            number,
            Asked(row.get("id"), user if isinstance(user, str) else "", response)
            if isinstance(response, str)
            else None,
        )


def as_record(given_id: object, text: str, score: Score) -> dict[str, Any]:
    """A score for programs; offsets count characters of the text as it was given."""
    signals = score.signals
    return {
        "id": given_id,
        "padding_count": signals.padding,
        "filler_spans": [
            [match.start, match.end, text[match.start : match.end], match.rule.id]
            for match in signals.matches
        ],
        "preamble_words": signals.preamble,
        "density": signals.density,
        "query_type": score.query_type,
        "threshold": score.threshold / 1000,
        "gate": score.decision.row,
        "escalate": score.decision.escalate,
        "drift": score.drift.categories if score.drift else [],
    }


def _show(text: str, score: Score, session: Session) -> None:
    console, signals = session.console, score.signals
    console.line(block(_marked(text, signals), _SHOWN))
    console.line()
    density = (
        "not measured (%s)" % signals.unscored.replace("_", " ")
        if signals.density is None
        else "%.3f, threshold %.3f"
        % (
            signals.density,
            score.threshold / 1000,
        )
    )
    rows = [
        [
            "filler phrases",
            str(signals.padding) + "".join(", %s" % match.rule.id for match in signals.matches[:10]),
        ],
        ["words before the answer", str(signals.preamble)],
        ["density", density],
        ["message", score.query_type],
        [
            "gate",
            "%s: %s"
            % (score.decision.row, "a judge should see it" if score.decision.escalate else "no judge needed"),
        ],
        [
            "drift",
            " and ".join(score.drift.categories) + ", " + score.drift.severity if score.drift else "none",
        ],
    ]
    if signals.cut:
        rows.append(["cut", "only the first 300,000 characters were looked at"])
    console.table(["measure", "value"], rows)


def _marked(text: str, signals: Signals) -> str:
    """The text with each filler phrase between brackets, followed by its rule."""
    parts: list[str] = []
    done = 0
    for match in signals.matches:
        phrase = text[match.start : match.end]
        parts += [text[done : match.start], "[[%s]]" % phrase, "{%s}" % match.rule.id]
        done = match.end
    return "".join([*parts, text[done:]])
