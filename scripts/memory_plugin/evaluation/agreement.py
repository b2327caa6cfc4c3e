"""How far two raters agree beyond chance, and how many of each class one of them finds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["agreement", "cohen_kappa", "jury_kappa", "weighted_kappa"]


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa (1960) of two raters' labels; None without pairs, or when chance alone explains all of it."""
    if not pairs:
        return None
    count = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum(a == b for a, b in pairs) / count
    chance = sum(first[label] * second[label] for label in first) / count**2
    return None if chance >= 1 else round((seen - chance) / (1 - chance), 4)


def weighted_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa with quadratic weights (1968), for scores on a scale; None as above."""
    if not pairs:
        return None
    count = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum((a - b) ** 2 for a, b in pairs) / count
    chance = sum((a - b) ** 2 * first[a] * second[b] for a in first for b in second) / count**2
    return None if not chance else round(1 - seen / chance, 4)


def jury_kappa(scores: Sequence[Sequence[int | None]]) -> float | None:
    """The mean of the weighted kappas of all pairs of judges; `scores` has a row for each thing that was scored."""
    judges = max((len(row) for row in scores), default=0)
    kappas = []
    for a, b in combinations(range(judges), 2):
        pairs = [(row[a], row[b]) for row in scores if len(row) > b]
        kappa = weighted_kappa([(x, y) for x, y in pairs if x is not None and y is not None])
        if kappa is not None:
            kappas.append(kappa)
    return round(sum(kappas) / len(kappas), 4) if kappas else None


def agreement(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Kappa, share of equal labels, and per class recall and precision; pairs are (human's label, ours)."""
    classes = sorted({label for pair in pairs for label in pair})
    table = {}
    for label in classes:
        hit = sum(a == b == label for a, b in pairs)
        human, ours = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        table[label] = {
            "human": human,
            "ours": ours,
            "recall": round(hit / human, 4) if human else None,
            "precision": round(hit / ours, 4) if ours else None,
        }
    equal = sum(a == b for a, b in pairs) / len(pairs) if pairs else None
    return {"n": len(pairs), "equal": equal, "kappa": cohen_kappa(pairs), "classes": table}
