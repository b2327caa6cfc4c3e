"""`memory why`: how recall decided about a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...recall.explain import find_decision, sentence

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

HELP = "explain what recall did on a prompt: candidates, scores, floor, and what was injected"
EXAMPLES = """\
  memory why
  memory why a2fc9ec1 --json
"""


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
        session.console.error(
            "no decision is written down for %s in this project; the ledger begins with the first prompt"
            % arguments.prompt
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
    console.table(
        ["told", "confidence", "score", "memory", "parts"],
        [_cells(item, row.get("injected")) for item in shown],
    )


def _cells(item: dict[str, Any], injected: object) -> list[str]:
    told = isinstance(injected, list) and item.get("key") in injected
    return [
        "yes" if told else "",
        _number(item.get("confidence"), 3),
        _number(item.get("score"), 2),
        str(item.get("key")),
        _parts(item),
    ]


def _number(value: object, digits: int) -> str:
    return "%.*f" % (digits, value) if isinstance(value, (int, float)) else ""


def _parts(item: dict[str, Any]) -> str:
    parts = item.get("parts")
    return " ".join("%s=%s" % pair for pair in parts.items()) if isinstance(parts, dict) else ""
