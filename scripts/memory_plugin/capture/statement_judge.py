"""Ask a judge which sentences of a turn's prompts are worth remembering, where rules are unsure.

Rules know words such as "always"; most lasting statements hold none. The judge sees all sentences of the user's that may be lasting and
decides on them; statements that a strong rule found stay whatever it says. On any failure the rules decide alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional

from ..kernel.judge.question import Question, load_rubric, one_line
from .statement_model import log_odds
from .statements import MAX_SENTENCE, Statement, cues_in, find_statements, own_sentences, possible_rules

Values = dict[str, Any]
Ask = Callable[[Question], Optional[Values]]  # the judge's answer; None if there is none

RUBRIC = "capture/statements"
_MIN_LOG_ODDS = -2.5  # below, a sentence is hardly ever lasting; about one prompt in three has one above
_SURE = 0.85  # strength of a rule from which its statement needs no judge
_MAX_SENTENCES = 12
_MAX_TITLE = 100
# Kind -> category, where no rule knows a better one.
_CATEGORIES = {
    "rule": "preference", "correction": "preference", "decision": "decision", "fact": "constraint",
}  # fmt: skip


def unsure_sentences(prompts: Sequence[str]) -> list[str]:
    """Return the user's sentences that may be lasting and that no strong rule found, at most 12, the likeliest first."""
    found = (statement for prompt in prompts for statement in find_statements(prompt))
    sure = [statement.text for statement in found if statement.strength >= _SURE]
    texts = (text for prompt in prompts for text in own_sentences(prompt))
    odds = {text: _odds(text) for text in texts if not any(known.endswith(text) for known in sure)}
    likely = sorted(
        (text for text in odds if odds[text] >= _MIN_LOG_ODDS), key=odds.__getitem__, reverse=True
    )
    return likely[:_MAX_SENTENCES]


def _odds(sentence: str) -> float:
    has_rule = any(rule.matches(sentence) for rule in possible_rules(sentence))
    return log_odds(sentence, [cue.id for cue in cues_in(sentence)], has_rule=has_rule)


def judge_statements(prompts: Sequence[str], ask: Ask | None) -> list[Statement]:
    """Return the statements of a turn's prompts as the judge sees them, with at most one question; without an answer, as rules do."""
    found = [statement for prompt in prompts for statement in find_statements(prompt)]
    sentences = unsure_sentences(prompts) if ask else []
    values = ask(statements_question(sentences)) if ask and sentences else None
    if values is None:
        return found
    kept = [statement for statement in found if not statement.text.endswith(tuple(sentences))]
    for at, kind, quote, title in values["keep"]:
        category = next((by.category for by in found if by.text.endswith(sentences[at])), _CATEGORIES[kind])
        kept.append(Statement(quote, kind, category, "judge", _SURE, title))
    return kept


def statements_question(sentences: Sequence[str]) -> Question:
    """Return the question about some sentences; its values: `keep`, a list of [index, kind, quote, title]."""
    shown = [one_line(sentence, MAX_SENTENCE) for sentence in sentences]

    def read(value: Values) -> Values | None:
        items = value.get("keep")
        if not isinstance(items, list):
            return None
        return {"keep": list(filter(None, (_picked(item, sentences) for item in items[:_MAX_SENTENCES])))}

    data = {"sentences": [{"index": at, "text": text} for at, text in enumerate(shown)]}
    return Question(load_rubric(RUBRIC), data, read)


def _picked(item: object, sentences: Sequence[str]) -> list[object] | None:
    """Return index, kind, quote and title of an item of the answer; None if it names no sentence or no kind.

    A quote that the sentence does not contain becomes the sentence: the evidence is always the user's own words.
    """
    fields = item if isinstance(item, dict) else {}
    index, kind, quote, title = (fields.get(name) for name in ("index", "kind", "quote", "title"))
    if type(index) is not int or not 0 <= index < len(sentences) or kind not in _CATEGORIES:
        return None
    is_quoted = isinstance(quote, str) and quote.strip() and quote.strip() in sentences[index]
    return [
        index,
        kind,
        str(quote).strip() if is_quoted else sentences[index],
        one_line(title, _MAX_TITLE) if isinstance(title, str) else "",
    ]
