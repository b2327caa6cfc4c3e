"""How much a sentence reads like one that is meant to last: weights of words, of cues and of rules, added up.

The weights of `config/capture/weights.json` were fitted to labeled prompts by `benchmarks/capture_train.py`. The end of every turn asks
`most_worth`, so nothing here uses `re`.
"""

from __future__ import annotations

from ..kernel.data import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__ = [
    "RULE",
    "SEPARATOR",
    "all_hints",
    "all_weights",
    "cue_feature",
    "least_worth",
    "most_worth",
    "word_features",
    "word_scale",
    "worth",
]

SEPARATOR = "|"  # between the features of one weight: parsing a list of them would cost the end of a turn a millisecond
RULE = "a rule"  # the feature of a sentence that a rule of statements.json finds
_CUE = "cue "
_LEAST = (
    0.25,
    0.75,
    1.0,
    1.25,
    1.5,
)  # worth from which a sentence is proposed, of a prompt of so many sentences
_USUAL_FEATURES = 10  # of a sentence: the words of longer ones count less each
_MARKS = ".,;:!?()[]\"'`*"
_LONG_WORD = 3
_FILES = (
    ".json",
    ".yaml",
    ".yml",
    ".toml",
    ".env",
    ".md",
    ".py",
    ".ts",
    ".js",
    ".go",
    ".lock",
    ".sql",
    ".csv",
)

_loaded: list[dict[str, Any]] = []


def least_worth(sentences: int) -> float:
    """Return the worth from which a sentence is proposed: who writes many sentences mostly tells what is at hand."""
    return _LEAST[max(0, min(sentences, len(_LEAST)) - 1)]


def worth(sentence: str, cues: Iterable[str], *, is_ruled: bool) -> float:
    """Return how much speaks for a sentence, with the ids of the cues that it holds; below zero where more speaks against it."""
    weights = _model()["weights"]
    told: float = sum(weights.get(cue_feature(cue), 0.0) for cue in cues)
    return _of_words(sentence) + told + (float(weights.get(RULE, 0.0)) if is_ruled else 0.0)


def all_weights() -> dict[str, float]:
    """Return the weight of each feature."""
    weights: dict[str, float] = _model()["weights"]
    return weights


def all_hints() -> dict[str, Any]:
    """Return `config/capture/hints.json`."""
    hints: dict[str, Any] = _model()["hints"]
    return hints


def most_worth(sentence: str, *, is_ruled: bool) -> float:
    """Return the most that `worth` could return, told by substrings alone."""
    piece = " %s " % sentence.lower()
    model = _model()
    told: float = sum(weight for weight, hints in model["hinted"] if any(hint in piece for hint in hints))
    return (
        _of_words(sentence) + told + (max(0.0, float(model["weights"].get(RULE, 0.0))) if is_ruled else 0.0)
    )


def cue_feature(cue: str) -> str:
    """Return the name under which the weight of a cue is kept."""
    return _CUE + cue


def word_features(sentence: str) -> list[str]:
    """Return the words of a sentence and their pairs, each once; paths and numbers stand for their kind, some endings for themselves."""
    tokens = ["^"]
    for word in sentence.lower().replace("\u2019", "'").split():
        tokens += _tokens(word)
    tokens.append("$")
    found = dict.fromkeys(tokens[1:-1])
    found.update(dict.fromkeys(map("%s %s".__mod__, zip(tokens, tokens[1:]))))
    for ending in ("s", "ing", "ed"):
        if any(len(word) > _LONG_WORD and word.endswith(ending) for word in tokens):
            found["-" + ending] = None
    return list(found)


def word_scale(features: list[str]) -> float:
    """Return how much each word of a sentence counts, at most 1."""
    return min(1.0, (_USUAL_FEATURES / len(features)) ** 0.5) if features else 1.0


def _tokens(word: str) -> list[str]:
    bare = word.strip(_MARKS)
    marks = [mark for mark in "?,:" if mark in word[-2:]]
    if not bare:
        return marks
    if "/" in bare or bare.endswith(_FILES):
        bare = "<path>"
    elif bare[0].isdigit() or (bare[0] == "v" and bare[1:2].isdigit()):
        bare = "<number>"
    return [bare, *marks]


def _of_words(sentence: str) -> float:
    model = _model()
    features = word_features(sentence)
    weights = model["weights"]
    return float(model["bias"] + word_scale(features) * sum(weights.get(one, 0.0) for one in features))


def _model() -> dict[str, Any]:
    """Return the weights, and those of the cues that speak for a sentence with the substrings that hint at each."""
    if not _loaded:
        table = load_data("capture", "weights")
        hints = load_data("capture", "hints")
        weights: dict[str, float] = {}
        for weight, names in table["weights"].items():
            weights.update(dict.fromkeys(names.split(SEPARATOR), float(weight)))
        told = [(weights.get(cue_feature(cue), 0.0), of_cue[1:]) for cue, of_cue in hints["cues"].items()]
        hinted = [(weight, of_cue) for weight, of_cue in told if weight > 0]
        _loaded.append({"bias": table["bias"], "weights": weights, "hinted": hinted, "hints": hints})
    return _loaded[0]
