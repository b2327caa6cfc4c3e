"""The packs of an evaluation."""

from __future__ import annotations

from ..evaluation import EvaluationError
from ..evaluation.packs import check_pack, load_pack, pack_names
from ..evaluation.rule_matching import RulePack


def chosen_packs(names: list[str]) -> list[RulePack]:
    """Return the packs to use. Raises EvaluationError for a pack with errors, or one without gates, which would pass everything."""
    packs = []
    for name in names:
        if name not in pack_names() and check_pack(name).faults:
            raise EvaluationError("%s has errors; see: memory evaluate rules check %s" % (name, name))
        packs.append(load_pack(name))
        if not packs[-1].gates:
            why = "it is only a base for other packs; see: memory evaluate rules list"
            raise EvaluationError("%s has no gates: %s" % (name, why))
    return packs
