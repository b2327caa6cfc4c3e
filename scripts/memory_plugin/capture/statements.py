"""Find lasting statements in the user's own sentences: corrections, rules, decisions, and facts about the project.

Pasted, quoted, fenced, tagged and private text is left out, rather too much than too little: a page that the user pastes may say "always"
too. In the rest, the statement model decides, from the words, their classes, and whether a rule of `statements.json` matches. A rule alone
is not enough, because most sentences of real sessions that look like one are about a task; only the certain ones decide alone. A statement
without a rule ranks below the others.

The model is a logistic regression over the words of a sentence, their classes and its rules: the log-odds that it states something lasting.
`benchmarks/capture_train.py` fits the weights of `config/capture/weights.json` to labeled prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import NamedTuple

from ..kernel.context import Context
from ..kernel.paths import load_data, read_state, session_file, write_state
from ..kernel.text import without_private
from .candidate import REPEATABLE, Finding

SEPARATOR = "|"  # between features that share a weight: one string parses a millisecond faster than a list, on every turn
RULE = "a rule"  # the feature of a sentence that matches a rule of statements.json
_CLASS, _CLASSES = "=%s", "=%s=%s"
THRESHOLD = -0.3  # log-odds from which a sentence is proposed, also by a rule
_CLEAR = 0.8  # strength of a rule about which Claude may ask, if `capture.mode` is `ask`
# Of scripts of which the model has learned few words: there a rule decides alone.
_UNLEARNED = re.compile("[\u0400-\u04ff\u2e80-\uffff]")
_UNSPACED = re.compile("[\u2e80-\uffff]")
_USUAL_WORDS, _USUAL_CLASSES = 10, 8  # a sentence with more features gives each of them less weight
# Kinds and the classes of words that speak for them, the first that applies.
_KINDS = (
    ("rule", {"must", "memory"}),
    ("fact", {"is", "has"}),
    ("rule", {"not", "always", "use"}),
    ("decision", {"want", "will"}),
)
# Kind -> category, unless a rule names another.
CATEGORIES = {"rule": "preference", "correction": "preference", "decision": "decision", "fact": "constraint"}
_MARKS = ".,;:!?()[]\"'`*_~"
_FILE_SUFFIXES = (
    ".json", ".yaml", ".yml", ".toml", ".env", ".md", ".py", ".ts", ".js", ".go", ".lock", ".sql", ".csv",
)  # fmt: skip
LONG_PROMPT = 2000  # characters; of a longer prompt, only the first and last paragraphs count: the rest is mostly pasted
MIN_SENTENCE = 8  # characters
_MAX_PROMPT = 20_000
_MAX_PARAGRAPH = 900
MAX_SENTENCE = 320
_LONG_FACT = 120  # of a longer sentence that states a certain fact, only the fact is kept
_MAX_LIST_ITEMS = 12
_FENCED = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|\"{3}.*?(?:\"{3}|\Z)")
_TAGGED = re.compile(r"<([a-zA-Z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_CLOSING = re.compile(r"</([a-zA-Z][\w:-]*)\s*>")
_INSIDE_LINE = re.compile(r"(?<=[^\s>])( ?)<([a-zA-Z][\w:-]*)>|<([a-zA-Z][\w:-]*)>(?=[\w.:_/-])")
_NAMED = str.maketrans("\1\2", "<>")
# Of the client, for what is shown elsewhere.
_PLACEHOLDER = re.compile(r"\[(?:image|pasted text)\b[^\]\n]{0,40}\]?", re.IGNORECASE)
_WHOLE = re.compile(r".*(?:[.!?](?=\s|\Z)|\n)", re.DOTALL)
# Of several sentences, with the gap before a new sentence.
_PASSAGE = re.compile(
    r"(?<![^\s(:,])(?:\"[^\"\n]+[.!?] [^\"\n]+\"|[\u201c\u201e][^\u201c-\u201e\n]+[.!?] [^\u201c-\u201e\n]+[\u201c\u201d])(?!\w)"
    r"(?: (?=[A-Z]))?"
)
_QUOTED = re.compile(r"\"[^\"\n]{25,}\"|\u201c[^\u201d\n]{25,}\u201d|`[^`\n]{60,}`")
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_CORRECTS = re.compile(r"(?:no+|nope|nein|non|n\u00e3o|wrong|that's wrong|actually)\b[,:.!]", re.IGNORECASE)
_ANSWERS = re.compile(r"\s*\d{1,2}[.)]")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')]*\s+(?=[^\s])|(?<=[\u3002\uff01\uff1f])|\n+|\s+(?:\u2014|--|-)\s+(?=(?:we|always|never|use|don't|do not)\b)"
)
# A line that a terminal wrapped: copied from what Claude wrote.
_WRAPPED = re.compile(r"[^\n]{60,}\n {2}(?![-*+\u2022\d ])\S")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|cf)\.$", re.IGNORECASE)
_MAX_STATEMENTS = 4  # of one prompt; a prompt with more rules is a document
# Strength of a statement without a rule, from its log-odds above the threshold.
_MIN_STRENGTH, _MAX_STRENGTH, _STRENGTH_STEP = 0.5, 0.75, 0.05
_NOTE = (
    "<memory-capture>The user's message may contain a lasting rule. Ask whether to save it as a memory;"
    " save it only if they say yes.</memory-capture>"
)


class SentencePattern(NamedTuple):
    """A rule: a pattern that a sentence has to match, and optionally one that it must not match; `strength` is from 0 to 1."""

    id: str
    kind: str
    category: str
    strength: float
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None

    def matches(self, sentence: str) -> bool:
        """Return whether the pattern matches a sentence and the exception does not."""
        return bool(self.pattern.search(sentence)) and not (self.unless and self.unless.search(sentence))


def find_statements(prompt: str) -> list[Finding]:
    """Return the lasting statements of a typed prompt in order, at most four."""
    sentences = own_sentences(prompt)
    statements: list[Finding] = []
    for before, sentence in zip(["", *sentences], sentences):
        statement = _statement(sentence)
        if statement and _CORRECTS.match(sentence) and statement.kind in ("rule", "fact"):
            statement = statement._replace(kind="correction")
        if before and _is_any("leaning", sentence):
            whole = "%s %s" % (before, sentence)
            is_known = bool(statements) and statements[-1].text.endswith(before)
            known = statements.pop() if is_known else None
            found = statement or known
            statement = found._replace(text=whole) if found else _certain_statement(whole)
        statements += [statement] if statement else []
    return statements[:_MAX_STATEMENTS]


def _certain_statement(sentence: str) -> Finding | None:
    """Return the statement that a certain rule finds."""
    certain = next((rule for rule in patterns("certain") if rule.matches(sentence)), None)
    if certain:
        fact = certain.pattern.search(sentence) if certain.kind == "fact" else None
        text = fact[0] if fact and (len(sentence) > _LONG_FACT or sentence[-1] in "?\uff1f") else sentence
        return Finding(text, certain.kind, certain.category, certain.id, certain.strength)
    return None


def _statement(sentence: str) -> Finding | None:
    """Return the statement that a sentence makes; None if it is only about the task at hand."""
    certain = _certain_statement(sentence)
    if certain:
        return certain
    rules = rules_in(sentence)
    if _is_any("vetoes", sentence) or (sentence[-1] in "?\uff1f" and not rules):
        return None
    value = log_odds(sentence, rules)
    best = max(rules, key=lambda rule: rule.strength, default=None)
    if value < THRESHOLD and not (rules and _UNLEARNED.search(sentence)):
        return None
    if best:
        return Finding(sentence, best.kind, best.category, best.id, best.strength)
    strength = min(_MAX_STRENGTH, _MIN_STRENGTH + _STRENGTH_STEP * (value - THRESHOLD))
    kind = _kind(sentence)
    return Finding(sentence, kind, CATEGORIES[kind], "words", strength)


def _kind(sentence: str) -> str:
    """Return the kind of a statement that no rule names, by the classes of its words."""
    classes = classes_of(sentence, words_and_marks(sentence))
    return next((kind for kind, names in _KINDS if not names.isdisjoint(classes)), "fact")


def _is_any(name: str, sentence: str) -> bool:
    return any(one.matches(sentence) for one in patterns(name))


def rules_in(sentence: str) -> list[SentencePattern]:
    """Return the rules that match a sentence."""
    return [rule for rule in patterns("rules") if rule.matches(sentence)]


@cache
def patterns(name: str) -> tuple[SentencePattern, ...]:
    """Return the rules of a list of `statements.json`, such as `certain` or `vetoes`; in them `{name}` stands for one of its `parts`."""
    table = load_data("capture", "statements")
    found = []
    for entry in table[name]:
        sources = [entry["pattern"], entry.get("unless", "")]
        for part, text in table["parts"].items():
            sources = [source.replace("{%s}" % part, "(?:%s)" % text) for source in sources]
        pattern, unless = (re.compile(source, re.IGNORECASE) if source else None for source in sources)
        kind, category = entry.get("kind", ""), entry.get("category", "")
        assert pattern is not None
        found.append(SentencePattern(entry["id"], kind, category, entry.get("strength", 0), pattern, unless))
    return tuple(found)


def own_sentences(prompt: str) -> list[str]:
    """Return the user's own sentences in order, each on one line; empty if the whole prompt seems pasted."""
    text = without_private(prompt[:_MAX_PROMPT]).replace("\r\n", "\n").replace("\\\n", "\n")
    text = _FENCED.sub("\n", _PLACEHOLDER.sub("", text.replace("\u2019", "'")))
    if _others_text("briefs").search(text):
        return []
    *before, text = _TAGGED.sub("\0", _with_names(text)).split("\0")
    text = "\n".join([*map(_whole_sentences, before), text])
    paragraphs = [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    if len(prompt) > LONG_PROMPT:
        ends = dict.fromkeys([*paragraphs[:1], *paragraphs[-1:]])
        paragraphs = [part for part in ends if len(part) <= _MAX_PARAGRAPH // 2 and not _BULLET.match(part)]
    sentences: list[str] = []
    for paragraph in paragraphs:
        lines, continues = _own_lines(paragraph, lists_own=bool(_ANSWERS.match(text)))
        sentences += _sentences("\n".join(lines))
        if not continues:
            break
    return sentences


def _with_names(text: str) -> str:
    """Return a text in which `<name>` is marked as a word of the user's, no tag: inside a line, and nothing closes it."""
    closed = set(_CLOSING.findall(text))

    def mark(tag: re.Match[str]) -> str:
        name = tag[2] or tag[3]
        return tag[0] if name in closed else "%s\1%s\2" % (tag[1] or "", name)

    return _INSIDE_LINE.sub(mark, text)


def _own_lines(paragraph: str, *, lists_own: bool) -> tuple[list[str], bool]:
    """Return the lines of a paragraph that the user wrote, and whether the next paragraphs may be theirs too.

    Items of a list are the user's only if a line introduces them as rules, or with `lists_own`, if they answer questions. A line such as
    "Address these comments:" introduces other people's text, so everything after it is left out.
    """
    if len(paragraph) > _MAX_PARAGRAPH or _WRAPPED.search(paragraph):
        return [], True
    own: list[str] = []
    lists_rules = lists_own
    for line in paragraph.split("\n"):
        if _others_text("pasted").search(line):
            continue
        if _BULLET.match(line):
            if lists_rules and len(own) < _MAX_LIST_ITEMS:
                own.append(_BULLET.sub("", line))
            continue
        lists_rules = lists_own or bool(_others_text("listing").search(line))
        announcement = None if lists_rules else _others_text("announcing").search(line)
        if announcement:
            return [*own, _whole_sentences(line[: announcement.start()])], False
        own.append(line)
    return own, True


def _whole_sentences(text: str) -> str:
    """Return a text that was cut without its unfinished last sentence."""
    found = _WHOLE.match(text)
    return found[0] if found else ""


def _sentences(text: str) -> list[str]:
    pieces: list[str] = []
    text = _PASSAGE.sub(lambda quote: '"\u2026"' + "\n" * quote[0].endswith(" "), text.translate(_NAMED))
    for piece in _SENTENCE_END.split(text):
        if pieces and _ABBREVIATED.search(pieces[-1]):
            pieces[-1] += " " + piece
        else:
            pieces.append(piece)
    quoted = (_QUOTED.sub('"..."', piece).replace('"\u2026"', '"..."') for piece in pieces)
    sentences = (" ".join(piece.split()) for piece in quoted)
    return [sentence for sentence in sentences if MIN_SENTENCE <= len(sentence) <= MAX_SENTENCE]


@cache
def _others_text(name: str) -> re.Pattern[str]:
    entries = load_data("capture", "own_words")[name]
    return re.compile("(?im)" + "|".join("(?:%s)" % entry["pattern"] for entry in entries))


def log_odds(sentence: str, rules: list[SentencePattern]) -> float:
    """Return the log-odds that a sentence, which matches these rules, states something lasting."""
    bias, weights = _model()
    values = features(sentence, has_rule=bool(rules))
    return bias + sum(weights.get(name, 0.0) * value for name, value in values.items())


def features(sentence: str, *, has_rule: bool) -> dict[str, float]:
    """Return the features of a sentence with their values, at most 1: its words, pairs of words, classes, and pairs of classes.

    `<path>` and `<number>` stand for any path or number. Long sentences do not score higher just for their length.
    """
    tokens = words_and_marks(sentence)
    words = dict.fromkeys([*tokens, *map("%s %s".__mod__, zip(["^", *tokens], [*tokens, "$"]))])
    values = dict.fromkeys(words, _value(len(words), _USUAL_WORDS))
    classes = classes_of(sentence, tokens)
    value = _value(len(classes), _USUAL_CLASSES) / 2
    values.update(dict.fromkeys(map(_CLASS.__mod__, classes), value))
    values.update(dict.fromkeys(map(_CLASSES.__mod__, combinations(classes, 2)), value / 2))
    return {**values, RULE: 1.0} if has_rule else values


def _value(number: int, usual: int) -> float:
    return min(1.0, (usual / number) ** 0.5) if number else 1.0


def classes_of(sentence: str, tokens: Iterable[str]) -> list[str]:
    """Return the classes of the words of a sentence, in alphabetical order."""
    classes, unspaced = _classes()
    found = {classes[token] for token in tokens if token in classes}
    if _UNLEARNED.search(sentence):
        found.update(classes[word] for word in unspaced if word in sentence)
    return sorted(found)


def words_and_marks(sentence: str) -> list[str]:
    """Return the words of a sentence and its question marks, commas and colons, in order."""
    return [token for word in sentence.lower().replace("\u2019", "'").split() for token in _tokens(word)]


@cache
def _classes() -> tuple[dict[str, str], list[str]]:
    """Return the class of each word, and the words of scripts that write no spaces."""
    table = load_data("capture", "classes")["classes"]
    classes = {word: name for name, words in table.items() for word in words.split()}
    return classes, [word for word in classes if _UNSPACED.search(word)]


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


@cache
def _model() -> tuple[float, dict[str, float]]:
    """Return the bias of the model, and its weights by feature."""
    table = load_data("capture", "weights")
    weights: dict[str, float] = {}
    for weight, names in table["weights"].items():
        weights.update(dict.fromkeys(names.split(SEPARATOR), float(weight)))
    return table["bias"], weights


def ask_about(prompt: str, context: Context) -> str:
    """Return the note for Claude if a prompt contains a clear correction or rule, once per session; otherwise "".

    Raises:
        OSError: The session's state cannot be written.
    """
    if not context.session:
        return ""
    path = session_file(context.paths, context.session, "asked")
    if read_state(path):
        return ""
    if not any(one.kind in REPEATABLE and one.strength >= _CLEAR for one in find_statements(prompt)):
        return ""
    write_state(path, {"asked": True})
    return _NOTE
