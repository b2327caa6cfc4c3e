"""The numbers of the status line, counted after a change or refresh of the stores."""

from __future__ import annotations

import os

from ..kernel.data import write_state
from ..memories.record import ACTIVE
from ..memories.survey import life_cycle_state
from ..memories.trust import TRUSTED
from .context import WorkContext
from .status_line import FOLDER, counts_path


def prepare_counts(context: WorkContext) -> None:
    """Write the counts of this project if the status line is installed. Raises OSError and TrustUnreadable."""
    paths = context.paths
    if paths.state_dir is None or not os.path.isdir(paths.state(FOLDER)):
        return
    write_state(counts_path(paths), current_counts(context))


def current_counts(context: WorkContext) -> dict[str, object]:
    """Return how many memories of this project are active and pending, and whether recall is on. Raises TrustUnreadable."""
    items = context.overview().items
    return {
        "memories": sum(life_cycle_state(item) == ACTIVE and item.trust == TRUSTED for item in items),
        "pending": sum(item.waits for item in items),
        "recall": context.settings.flag("retrieval.enabled"),
    }
