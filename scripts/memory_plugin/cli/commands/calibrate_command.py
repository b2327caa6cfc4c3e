"""`memory calibrate`: measure how well the scorer agrees with a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...sessions.calibration import UnreadableLabels, compare, read_labels, with_overall
from ...sessions.score_rows import LABEL, latest_rows
from ..command_context import CommandError, require_existing
from ..console import counted

if TYPE_CHECKING:
    import argparse

    from ...kernel.stats import Estimate
    from ...sessions.calibration import Agreement
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE = 0
HELP = "compare the stored scores with those of a person: agreement, kappa, error, rank correlation"
EXAMPLES = """\
  memory calibrate              with the labels that `memory label` stored
  memory calibrate labels.csv   a header line with session and the dimensions, then a line per session
  memory calibrate labels.json --json
"""
_FEW = 20  # sessions; fewer are too few to speak of calibration


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the scores of a person: JSON, JSON lines or CSV (default: those of memory label)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Compare the scores and print the figures."""
    require_existing(*filter(None, [arguments.file]))
    ours = {name: with_overall(row) for name, row in latest_rows(context.places, context.settings).items()}
    try:
        theirs = read_labels(arguments.file) if arguments.file else _kept(context)
    except UnreadableLabels as error:
        raise CommandError(str(error)) from None
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise CommandError(
            "no session is both scored and labeled: %d scored (memory session score), %d labeled (memory label)"
            % (len(ours), len(theirs))
        )
    found = compare(ours, theirs)
    if arguments.json:
        context.console.json({"sessions": len(shared), "dimensions": [_record(one) for one in found]})
        return DONE
    context.console.line(
        "%s scored by both%s"
        % (
            counted(len(shared), "session"),
            "; fewer than %d are too few for a conclusion" % _FEW if len(shared) < _FEW else "",
        )
    )
    rows = [
        [one.dimension, str(one.n), name, _figure(figure)]
        for one in found
        for name, figure in one.figures.items()
    ]
    context.console.table(["dimension", "n", "figure", "value and 95 % interval"], rows)
    return DONE


def _kept(context: CommandContext) -> dict[str, dict[str, float]]:
    return {
        name: with_overall(row) for name, row in latest_rows(context.places, context.settings, LABEL).items()
    }


def _record(one: Agreement) -> dict[str, Any]:
    figures = {
        name: {key: _rounded(value) for key, value in figure._asdict().items()}
        for name, figure in one.figures.items()
    }
    return {"dimension": one.dimension, "n": one.n, **figures}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _figure(figure: Estimate) -> str:
    if figure.value is None:
        return "not determined"
    interval = (
        "" if figure.low is None or figure.high is None else "  [%.2f, %.2f]" % (figure.low, figure.high)
    )
    return "%.2f%s" % (figure.value, interval)
