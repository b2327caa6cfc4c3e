"""A fast check whether a prompt may hold a lasting statement, by substrings alone.

The Stop hook runs it on every turn, so it does not import `re`. It may miss a statement that the rules would find; the end of a session
reads all prompts without it.
"""

from __future__ import annotations

from .statement_model import RULE_THRESHOLD, hint_table, threshold, upper_bound

MIN_PROMPT = 12  # characters; a shorter prompt states nothing lasting
LONG_PROMPT = 2000  # characters; of a longer prompt, only the first and last paragraphs count: the rest is mostly pasted
MIN_SENTENCE = 8  # characters
_QUESTION_STARTS = (
    " what ", " which ", " who ", " where ", " when ", " is ", " are ", " was ", " does ", " did ", " do ", " has ", " have ", " should ",
)  # fmt: skip
_END = 600  # characters at either end of a long prompt: more than a paragraph that counts


def may_hold_statement(prompt: str) -> bool:
    """Return whether a rule or the statement model could find a statement in a prompt."""
    if len(prompt) < MIN_PROMPT:
        return False
    sentences = _rough_sentences(_ends(prompt).replace("\u2019", "'"))
    if not sentences or (len(sentences) == 1 and _is_question(sentences[0])):
        return False
    text = "".join(sentences)
    hints = [hint for hints in hint_table()["rules"].values() for hint in hints if contains_hint(text, hint)]
    min_log_odds = threshold(len(sentences))
    for sentence in sentences:
        has_rule = any(contains_hint(sentence, hint) for hint in hints)
        if upper_bound(sentence, has_rule=has_rule) >= (RULE_THRESHOLD if has_rule else min_log_odds):
            return True
    return False


def contains_hint(text: str, hint: str) -> bool:
    """Return whether a lowercase text contains all parts of a hint, which `+` separates."""
    return hint in text if "+" not in hint else all(part in text for part in hint.split("+"))


def _is_question(sentence: str) -> bool:
    return sentence.startswith(_QUESTION_STARTS) and sentence.endswith("? ")


def _ends(prompt: str) -> str:
    """Return the prompt, or the beginning and end of a long one."""
    return prompt if len(prompt) <= LONG_PROMPT else "%s\n%s" % (prompt[:_END], prompt[-_END:])


def _rough_sentences(text: str) -> list[str]:
    """Return the lowercase sentences of a text, each between two spaces so that hints can match whole words."""
    text = text.lower()
    for stop in ".!?":
        text = text.replace(stop + " ", stop + "\n")
    return [" %s " % " ".join(line.split()) for line in text.split("\n") if len(line) >= MIN_SENTENCE]
