"""`memory interview`: choose the questions of an interview. Claude asks; this says what to ask next, why, and when to stop.

The actions are in the modules of `cli/interviewing/`, imported when they are used.
"""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ..command_context import Session

__all__ = ["ACTIONS", "EXAMPLES", "HELP", "configure", "run"]

HELP = "interview the user: the next best question, why, and when to stop"
EXAMPLES = """\
  memory interview start 'billing export' --pack requirements --json
  memory interview answer --session ID --json < answer.txt
  memory interview check-question 'Who will use the export?' --session ID     (or on standard input)
  memory interview status
  memory interview explain 3 --session ID
  memory interview finish --session ID             shows what would be written; then again with --confirm
  memory interview export --session ID --format mermaid
  memory interview discard --session ID
  memory interview pack check my-pack.json

answer reads the bare text, JSON, or lines with names (a line without one continues the value above it):
  question: as it was asked
  answer: as it was given
  concept: type | text | stance -1, 0, 1 | confidence | quote
  relation: concept | the concept it leads to
  signal: uncertainty | type=knowledge_gap | severity=0.8
  covered: element, element
  wish: skip, deeper or stop
finish --confirm writes all proposed memories, or those named by lines `memory: n1`, followed by lines with changed
title, body, context, category, tags or asked_as.
"""
ACTIONS = {
    "start": ("turns", "start an interview on a topic"),
    "answer": ("turns", "read an answer from standard input; print the next question"),
    "check-question": ("turns", "check whether a question repeats an earlier one"),
    "skip": ("turns", "skip this question"),
    "deeper": ("turns", "ask more about what was just said"),
    "wrap-up": ("turns", "end here; list what is still open"),
    "resume": ("turns", "continue with the pending question, or with a new one after the end"),
    "status": ("reports", "list the interviews of this project, or show one"),
    "explain": ("reports", "show why a question was chosen: scores, signals, vetoes, alternatives"),
    "replay": ("reports", "decide everything again and compare"),
    "export": ("reports", "print the value map (mermaid, json) or the transcript (markdown)"),
    "pack": ("reports", "check a pack, or list all packs"),
    "finish": ("finish", "show the summary and the proposed memories; with --confirm write them"),
    "discard": ("finish", "delete an interview with its answers"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
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
        help="the interview (default: the open one; discard has no default)",
    )
    parser.add_argument("--pack", metavar="NAME|FILE", default="requirements", help="start: what it is about")
    parser.add_argument(
        "--setup", action="store_true", help="start: read elements and covered elements from standard input"
    )
    parser.add_argument(
        "--covered",
        metavar="a=SOURCE,b",
        default="",
        help="start: elements that are known already, with their source",
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="start: maximum number of questions")
    parser.add_argument(
        "--more", type=int, metavar="N", default=5, help="resume: additional questions (default: 5)"
    )
    parser.add_argument("--format", choices=("mermaid", "json", "markdown"), default="mermaid", help="export")
    parser.add_argument(
        "--confirm", action="store_true", help="finish: the user has confirmed, write the memories"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Run one action."""
    gc.disable()  # Claude waits for each answer, and the process ends before there is anything worth collecting
    module = import_module("..interviewing." + ACTIONS[arguments.action][0], __package__)
    result: int = module.ACTIONS[arguments.action](arguments, session)
    return result
