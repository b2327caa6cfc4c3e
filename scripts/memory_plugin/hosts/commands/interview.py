"""`memory interview`: the strategist of an interview; Claude asks, this says what to ask next, and why, and when it is enough.

Each action lives in a module of its own in `hosts/interviewing/` and is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

__all__ = ["ACTIONS", "EXAMPLES", "HELP", "configure", "run"]

HELP = "interview the user: the next best question, why, and when to stop"
EXAMPLES = """\
  memory interview start 'billing export' --pack requirements --json
  memory interview answer --session ID --json < answer.txt
  memory interview check-question 'Who will use the export?' --session ID     (or on standard input)
  memory interview status
  memory interview explain 3 --session ID
  memory interview finish --session ID             what would be written; then again with --confirm
  memory interview export --session ID --format mermaid
  memory interview discard --session ID
  memory interview pack check my-pack.json

answer reads the bare text, JSON, or lines with names (a line without one goes on with the value above it):
  question: as it was asked
  answer: as it was given
  concept: type | text | stance -1, 0, 1 | confidence | quote
  relation: concept | concept that it leads to
  signal: uncertainty | type=knowledge_gap | severity=0.8
  covered: element, element
  wish: skip, deeper or stop
finish --confirm reads `memory: n1` lines, each with title, body, category, tags and asked_as where they change; nothing: all.
"""
ACTIONS = {
    "start": ("talk", "begin an interview on a topic"),
    "answer": ("talk", "hand over an answer, read from standard input; the next question comes back"),
    "check-question": ("talk", "whether the question that is to be asked repeats an earlier one"),
    "skip": ("talk", "leave this question out"),
    "deeper": ("talk", "go deeper into what was just said"),
    "wrap-up": ("talk", "end here; what is open is listed"),
    "resume": ("talk", "go on: the question that waits, or a new one after the end"),
    "status": ("reading", "the interviews of this project, or one of them"),
    "explain": ("reading", "why a question was chosen: every score, signal, veto and alternative"),
    "replay": ("reading", "decide everything once more and compare"),
    "export": ("reading", "the value map (mermaid, json) or the transcript (markdown)"),
    "pack": ("reading", "check a pack, or list the packs there are"),
    "finish": ("ending", "the summary and the memories it would write; with --confirm they are written"),
    "discard": ("ending", "delete an interview, its answers and all"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions; only the one that is asked for is built in full."""
    parser.add_argument("action", choices=list(ACTIONS), metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="topic, question, turn, or `check FILE`; right after the action",
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        default="",
        help="the interview (default: the one that is open; discard has no default)",
    )
    parser.add_argument("--pack", metavar="NAME|FILE", default="requirements", help="start: what it is about")
    parser.add_argument(
        "--setup", action="store_true", help="start: read elements and what is covered from standard input"
    )
    parser.add_argument(
        "--covered", metavar="a=SOURCE,b", default="", help="start: elements that are known already"
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="start: most questions")
    parser.add_argument(
        "--more", type=int, metavar="N", default=5, help="resume: questions more (default: 5)"
    )
    parser.add_argument("--format", choices=("mermaid", "json", "markdown"), default="mermaid", help="export")
    parser.add_argument(
        "--confirm", action="store_true", help="finish: the user confirmed, write the memories"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Do one action."""
    module = import_module("..interviewing." + ACTIONS[arguments.action][0], __package__)
    result: int = module.DEEDS[arguments.action](arguments, session)
    return result
