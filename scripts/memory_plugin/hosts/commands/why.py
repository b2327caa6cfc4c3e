"""`memory why`: how recall decided about a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.text.clean import plain
from ...recall.explain import find_decision, sentence

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

HELP = "explain what recall did on a prompt: candidates, scores, floor, and what was injected"
EXAMPLES = """\
  memory why
  memory why a2fc9ec1 --json
"""
_MAX_LINE = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    """Which prompt."""
    parser.add_argument(
        "prompt",
        nargs="?",
        default="last",
        metavar="PROMPT-ID",
        help="the prompt's id, or the beginning of it (default: the last prompt)",
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Explain one decision."""
    row = find_decision(session.places, arguments.prompt)
    if row is None:
        which = "" if arguments.prompt == "last" else " for a prompt %s" % arguments.prompt
        session.console.error(
            "no decision is written down%s in this project; the ledger begins with the first prompt" % which
        )
        return 1
    if arguments.json:
        session.console.json(row)
        return 0
    _show(row, session)
    return 0


def _show(row: dict[str, Any], session: Session) -> None:
    console = session.console
    console.line(
        "%s  prompt %s, %s ms" % (row.get("time"), row.get("prompt_id") or "without an id", row.get("ms"))
    )
    console.line(console.style(sentence(row), "bold"))
    if row.get("trouble"):
        console.line("trouble: %s" % row["trouble"])
    candidates = row.get("candidates")
    shown = [item for item in candidates if isinstance(item, dict)] if isinstance(candidates, list) else []
    if not shown:
        return
    console.line(
        "answered by %s, %s found, floor %s" % (row.get("answered_by"), row.get("found"), row.get("floor"))
    )
    judge = row.get("judge")
    verdicts = judge.get("verdicts") if isinstance(judge, dict) else None
    if isinstance(judge, dict):
        console.line(plain("judges: %s %s" % (judge.get("path"), judge.get("reasons") or ""), _MAX_LINE))
    console.table(
        ["told", "confidence", "score", "relevant", "useful", "memory"],
        [_cells(item, row.get("injected"), verdicts) for item in shown],
    )
    for item in shown:
        console.line(plain("%s: %s" % (item.get("key"), _parts(item)), _MAX_LINE))


def _cells(item: dict[str, Any], injected: object, verdicts: object) -> list[str]:
    told = isinstance(injected, list) and item.get("key") in injected
    said = verdicts.get(item.get("key")) if isinstance(verdicts, dict) else None
    relevant, useful = said if isinstance(said, list) and len(said) == 2 else (None, None)
    words: dict[object, str] = {True: "yes", False: "no"}
    return [
        "yes" if told else "",
        _number(item.get("confidence"), 3),
        _number(item.get("score"), 2),
        words.get(relevant, ""),
        words.get(useful, ""),
        str(item.get("key")),
    ]


def _number(value: object, digits: int) -> str:
    return "%.*f" % (digits, value) if isinstance(value, (int, float)) else ""


def _parts(item: dict[str, Any]) -> str:
    parts = item.get("parts")
    return " ".join("%s=%s" % pair for pair in parts.items()) if isinstance(parts, dict) else ""
