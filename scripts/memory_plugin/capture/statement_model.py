"""Logistic regression over the words, cues and rules of a sentence: the log-odds that it states something lasting.

`benchmarks/capture_train.py` fits the weights of `config/capture/weights.json` to labeled prompts. The Stop hook calls
`may_hold_statement` on every turn, so this module does not import `re`. That check uses substrings alone and may miss a statement that
the rules would find; the end of a session reads all prompts without it.
"""

from __future__ import annotations

from ..kernel.paths import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SEPARATOR = "|"  # between features that share a weight: one string parses a millisecond faster than a list, on every turn
RULE = "a rule"  # the feature of a sentence that matches a rule of statements.json
_CUE = "cue "
# Log-odds from which a sentence without a rule is proposed: of a prompt that is one sentence, and of any other.
_THRESHOLDS = -0.5, 0.4
RULE_THRESHOLD = -1.75  # log-odds below which even a sentence that matches a rule is rejected
_USUAL_FEATURES = 10  # a sentence with more features gives each of them less weight
_MARKS = ".,;:!?()[]\"'`*"
_LONG_WORD = 3
_FILE_SUFFIXES = (
    ".json", ".yaml", ".yml", ".toml", ".env", ".md", ".py", ".ts", ".js", ".go", ".lock", ".sql", ".csv",
)  # fmt: skip
_MIN_PROMPT = 12  # characters; a shorter prompt states nothing lasting
LONG_PROMPT = 2000  # characters; of a longer prompt, only the first and last paragraphs count: the rest is mostly pasted
MIN_SENTENCE = 8  # characters
_END = 600  # characters at either end of a long prompt: more than a paragraph that counts
_loaded: list[dict[str, Any]] = []


def may_hold_statement(prompt: str) -> bool:
    """Return whether a rule or the statement model could find a statement in a prompt."""
    if len(prompt) < _MIN_PROMPT:
        return False
    if len(prompt) > LONG_PROMPT:
        prompt = "%s\n%s" % (prompt[:_END], prompt[-_END:])
    sentences = _rough_sentences(prompt.replace("\u2019", "'"))
    text = "".join(sentences)
    rules = _model()["hints"]["rules"].values()
    hints = [hint for hints in rules for hint in hints if contains_hint(text, hint)]
    min_log_odds = threshold(len(sentences))
    for sentence in sentences:
        has_rule = any(contains_hint(sentence, hint) for hint in hints)
        if upper_bound(sentence, has_rule=has_rule) >= (RULE_THRESHOLD if has_rule else min_log_odds):
            return True
    return False


def contains_hint(text: str, hint: str) -> bool:
    """Return whether a lowercase text contains all parts of a hint, which `+` separates."""
    return hint in text if "+" not in hint else all(part in text for part in hint.split("+"))


def _rough_sentences(text: str) -> list[str]:
    """Return the lowercase sentences of a text, each between two spaces so that hints can match whole words."""
    text = text.lower()
    for stop in ".!?":
        text = text.replace(stop + " ", stop + "\n")
    return [" %s " % " ".join(line.split()) for line in text.split("\n") if len(line) >= MIN_SENTENCE]


def threshold(sentences: int) -> float:
    """Return the log-odds from which a sentence without a rule is proposed: of several, most describe one task."""
    return _THRESHOLDS[sentences > 1]


def log_odds(sentence: str, cues: Iterable[str], *, has_rule: bool) -> float:
    """Return the log-odds of a sentence, given the ids of its cues and whether it matches a rule."""
    weights = _model()["weights"]
    cue_weights: float = sum(weights.get(cue_feature(cue), 0.0) for cue in cues)
    return _word_log_odds(sentence) + cue_weights + (float(weights.get(RULE, 0.0)) if has_rule else 0.0)


def upper_bound(sentence: str, *, has_rule: bool) -> float:
    """Return an upper bound of `log_odds`, found by substrings alone: cues that lower it are left out."""
    piece = " %s " % sentence.lower()
    model = _model()
    found = (weight for weight, hints in model["hinted"] if any(hint in piece for hint in hints))
    cue_weights = float(sum(found))
    rule_weight = max(0.0, float(model["weights"].get(RULE, 0.0))) if has_rule else 0.0
    return _word_log_odds(sentence) + cue_weights + rule_weight


def cue_feature(cue: str) -> str:
    """Return the feature name of a cue."""
    return _CUE + cue


def word_features(sentence: str) -> list[str]:
    """Return the words and word pairs of a sentence, without duplicates; `<path>` and `<number>` stand for any path or number."""
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
    """Return the value of each word feature of a sentence, at most 1; long sentences do not score higher just for their length."""
    return min(1.0, (_USUAL_FEATURES / len(features)) ** 0.5) if features else 1.0


def _tokens(word: str) -> list[str]:
    bare = word.strip(_MARKS)
    marks = [mark for mark in "?,:" if mark in word[-2:]]
    if not bare:
        return marks
    if "/" in bare or bare.endswith(_FILE_SUFFIXES):
        bare = "<path>"
    elif bare[0].isdigit() or (bare[0] == "v" and bare[1:2].isdigit()):
        bare = "<number>"
    return [bare, *marks]


def _word_log_odds(sentence: str) -> float:
    model = _model()
    features = word_features(sentence)
    weights = model["weights"]
    found = sum(weights.get(feature, 0.0) for feature in features)
    return float(model["bias"] + word_scale(features) * found)


def _model() -> dict[str, Any]:
    """Return the loaded model: bias, weights, hints, and `hinted`, the cues of positive weight as pairs of weight and substrings."""
    if not _loaded:
        table = load_data("capture", "weights")
        hints = load_data("capture", "hints")
        weights: dict[str, float] = {}
        for weight, names in table["weights"].items():
            weights.update(dict.fromkeys(names.split(SEPARATOR), float(weight)))
        cue_hints = [(weights.get(cue_feature(cue), 0.0), row[1:]) for cue, row in hints["cues"].items()]
        hinted = [(weight, substrings) for weight, substrings in cue_hints if weight > 0]
        _loaded.append({"bias": table["bias"], "weights": weights, "hinted": hinted, "hints": hints})
    return _loaded[0]
