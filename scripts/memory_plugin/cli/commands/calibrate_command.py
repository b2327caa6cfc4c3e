"""`memory calibrate`: how well the scorer agrees with a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...sessions.calibration import UnreadableLabels, compare, read_labels, with_overall
from ...sessions.score_rows import LABEL, latest_rows
from ..command_context import require_existing

if TYPE_CHECKING:
    import argparse

    from ...kernel.stats import Estimate
    from ...sessions.calibration import Agreement
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED = 0, 1
HELP = "compare stored scores with a person's: agreement, kappa, error, rank correlation"
EXAMPLES = """\
  memory calibrate              with the labels that `memory label` kept
  memory calibrate labels.csv   a header with session and the dimensions, then one session per line
  memory calibrate labels.json --json
"""
_FEW = 20  # sessions; with fewer the source does not speak of calibration


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a person's scores: JSON, JSON lines or CSV (default: those of memory label)",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Compare and print."""
    require_existing(*filter(None, [arguments.file]))
    ours = {name: with_overall(row) for name, row in latest_rows(context.places, context.settings).items()}
    try:
        theirs = read_labels(arguments.file) if arguments.file else _kept(context)
    except UnreadableLabels as error:
        context.console.error(str(error))
        return FAILED
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        context.console.error(
            "no session has both: %d scored (memory session score), %d labeled (memory label)"
            % (len(ours), len(theirs))
        )
        return FAILED
    found = compare(ours, theirs)
    if arguments.json:
        context.console.json({"sessions": len(shared), "dimensions": [_record(one) for one in found]})
        return DONE
    context.console.line(
        "%d sessions scored by both%s"
        % (len(shared), "; fewer than %d say little" % _FEW if len(shared) < _FEW else "")
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
