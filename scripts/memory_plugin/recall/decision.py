"""Choose what Claude gets for each hit (its full text, a pointer, or nothing, with the reason), and render the block.

`choose` and `render` are pure functions of the ranking, the judges' answers, the limits and the session's history, so every case can be a
row in a test. A block has full texts, best first, as many as fit into the budget, and then titles to look up.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import digest
from ..kernel.files import read_regular
from ..kernel.text import cut_at_word, escape_content, shown_tokens
from .history import Feedback, RecallHistory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.context import Context
    from ..kernel.settings import Settings
    from .gate import Answer
    from .ranking import Hit, Hits

_NOTES = "native"  # the scope of Claude Code's own notes, as stored in indexes and ledgers
_MIN_THRESHOLD, _MAX_THRESHOLD = 0.2, 0.98  # of a memory with feedback
_MIN_SHARE = 0.4  # of the best hit's score, for a pointer: a prompt that wants one memory lifts the pointer confidence of all its matches
_OPEN, _CLOSE = "<memory-context>\n", "</memory-context>"
_HEADER = "Saved by the user. Follow a constraint or preference; check anything else against the code.\n"
_TITLES_OPEN = "<memory-titles>\nPossibly related: memory show ID or TITLE\n"
_TITLES_CLOSE = "</memory-titles>\n"
# Estimates for Claude's tokenizers: a token is about 4 characters of English, and about 1.5 characters of other scripts.
_MAX_CHARACTERS = 9000  # the client cuts a hook's output at 10,000
_POINT_AGAIN_AFTER = 5  # turns; a title that came up on another subject says nothing by then
_MAX_RECEIPT_TITLES = 2
_MAX_SHORT_TITLE = 52  # characters of a title in a receipt, if several do not fit whole
_MAX_WHOLE_TITLES = 120  # characters of all titles in a receipt that shows them whole
_MAX_POINTER = MAX_RULE_LENGTH = 200  # characters
_MAX_FILE = 512 * 1024  # bytes
_ENDS = (".", "!", "?", ":", "\u3002")
_SENTENCE_ENDS = (". ", "! ", "? ", "\u3002")
_AFTER_TEXT = ("Files: ", "More: ", "</memory>")  # the lines that may follow the text in a memory's element
# The prefix of a memory's key in a session's history, if the session catalog lists its title.
LISTED = "catalog "


class Limits:
    """The limits of one prompt, from the settings; judges may lower `max_inject`."""

    def __init__(self, settings: Settings, room: int) -> None:
        """`room`: characters left in the hook's output."""
        self.inject_threshold = settings.number("retrieval.inject_threshold")
        self.pointer_threshold = settings.number("retrieval.pointer_threshold")
        self.max_inject = settings.integer("retrieval.max_inject")
        self.max_pointers = settings.integer("retrieval.max_pointers")
        self.max_tokens = settings.integer("retrieval.max_tokens")
        self.max_characters = min(_MAX_CHARACTERS, room)


class Choice:
    """The choice for a prompt: the hits in full, those with a pointer and their lines by key, and the reason for every other hit by key.

    `stated` has the keys of the pointers that say all that their memories say.
    `reason` is why the best hit above a threshold was withheld; it matters only if Claude gets nothing at all.
    """

    def __init__(self, limits: Limits, history: RecallHistory) -> None:
        self.full: Hits = []
        self.pointers: Hits = []
        self.lines: dict[str, str] = {}
        self.stated: set[str] = set()
        self.withheld: dict[str, str] = {}
        self.reason = ""
        self._limits, self._history = limits, history
        self._budget = Budget(limits.max_tokens, limits.max_characters, with_header=not history.has_header)

    def inject(self, hit: Hit) -> None:
        """Choose a hit in full, or withhold it with the reason."""
        reason = self._why_not(hit, "", len(self.full) < self._limits.max_inject)
        reason = reason or ("" if self._budget.take(hit.injection_text) else "over_budget")
        if reason:
            self.withheld[hit.key] = reason
        else:
            self.full.append(hit)

    def point(self, hit: Hit) -> None:
        """Choose a hit as a pointer, or withhold it with the reason."""
        is_listed = self._history.was_pointed(LISTED + hit.key, one_line(hit.title))
        line, is_all = pointer_line(hit, is_listed=is_listed)
        # Claude Code lists its notes at the start of a session, and `memory show` cannot show them.
        has_place = len(self.pointers) < self._limits.max_pointers
        reason = "note" if hit.scope == _NOTES else self._why_not(hit, line, has_place)
        reason = reason or ("" if self._budget.take_pointer(line) else "over_budget")
        if reason:
            self.withheld[hit.key] = reason
        else:
            self.lines[hit.key] = line
            if is_all:
                self.stated.add(hit.key)
            self.withheld.pop(hit.key, None)
            self.pointers.append(hit)

    def _why_not(self, hit: Hit, line: str, has_place: bool) -> str:
        """Return why a hit gets neither its text nor, if there is a `line`, its pointer; usually empty."""
        if self._history.was_injected(hit.key, hit.injection_text):
            return "already_injected"
        if line and self._history.was_pointed(hit.key, line, _POINT_AGAIN_AFTER):
            return "already_pointed"
        if not has_place:
            return "over_limit"
        return "" if is_current(hit) else "edited"


def is_current(hit: Hit) -> bool:
    """Return whether the memory's file is unchanged since it was indexed."""
    try:
        return digest(read_regular(hit.path, _MAX_FILE)[0]) == hit.digest
    except OSError:
        return False


def apply_feedback(hits: Hits, context: Context) -> None:
    """Shift the thresholds of the hits that users rated; most users have no feedback file."""
    if not os.path.exists(context.paths.state("feedback.json")):
        return
    feedback = Feedback(context.paths)
    for hit in hits:
        hit.shift = feedback.shift(hit.key)


def choose(hits: Hits, approvals: dict[str, str], limits: Limits, history: RecallHistory) -> Choice:
    """Return the choice among the hits, which are sorted best first.

    `approvals` maps the key of a judged hit to "both", "one" or "none"; the thresholds decide about the others. Only the files of hits to
    be used are read.
    """
    choice = Choice(limits, history)
    # What both judges approved comes first, also as a pointer.
    hits = sorted(hits, key=lambda hit: approvals.get(hit.key) == "one") if approvals else hits
    far = _far_behind(hits)
    qualified = [(hit, *_qualifies(hit, approvals.get(hit.key, ""), limits, hit.key in far)) for hit in hits]
    for hit, for_full, _ in qualified:
        if for_full:
            choice.inject(hit)
    injected = {hit.key for hit in choice.full}
    # A hit that found no room in full may still get a pointer.
    for hit, for_full, for_pointer in qualified:
        if hit.key in injected or choice.withheld.get(hit.key) in ("already_injected", "edited"):
            continue
        if for_pointer:
            choice.point(hit)
        elif not for_full:
            is_far = hit.key in far and hit.pointer_confidence >= limits.pointer_threshold
            unsure = "far_behind" if is_far else "below_threshold"
            choice.withheld[hit.key] = "declined" if hit.key in approvals else unsure
    choice.reason = _reason(qualified, choice)
    return choice


def _far_behind(hits: Hits) -> set[str]:
    """Return the keys of the hits whose score is far below the best one's, except those that hold a rarer word of the prompt."""
    best = max(hits, key=lambda hit: hit.score, default=None)
    if best is None:
        return set()
    rarest = best.signals.get("best", 0.0)
    behind = (hit for hit in hits if hit.score < _MIN_SHARE * best.score)
    return {hit.key for hit in behind if hit.signals.get("best", 0.0) <= rarest}


def _qualifies(hit: Hit, approval: str, limits: Limits, is_far: bool) -> tuple[bool, bool]:
    """Return whether a hit qualifies for its full text, and whether for a pointer, which one far behind the best does not."""
    if approval:
        return approval == "both", approval != "none" and limits.max_pointers > 0
    full = hit.confidence >= shifted_threshold(limits.inject_threshold, hit.shift)
    pointer = hit.pointer_confidence >= shifted_threshold(limits.pointer_threshold, hit.shift)
    return full, limits.max_pointers > 0 and pointer and (full or not is_far)


def shifted_threshold(threshold: float, shift: float) -> float:
    """Return a threshold of the settings moved by a memory's shift, bounded so that the memory is neither always nor never recalled."""
    if not shift:
        return threshold
    moved = max(_MIN_THRESHOLD, min(_MAX_THRESHOLD, threshold + shift))
    return max(moved, threshold) if shift > 0 else min(moved, threshold)


def _reason(qualified: list[tuple[Hit, bool, bool]], choice: Choice) -> str:
    for hit, for_full, for_pointer in qualified:
        if for_full or for_pointer:
            return choice.withheld.get(hit.key, "")
    return "declined" if "declined" in choice.withheld.values() else "below_threshold"


def estimated_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text in Claude's context."""
    return int(shown_tokens(text)) + 1


def _units(text: str) -> int:
    """Return the length in UTF-16 units, as the host counts it: it is written in JavaScript."""
    return len(text) + sum(c > "\uffff" for c in text)


class Budget:
    """The tokens and characters left for one block."""

    def __init__(self, max_tokens: int, max_characters: int, *, with_header: bool) -> None:
        frame = _OPEN + (_HEADER if with_header else "") + _CLOSE
        self._tokens = max_tokens - estimated_tokens(frame)
        self._characters = max_characters - _units(frame)
        self._has_titles = False

    def take(self, text: str) -> bool:
        """Reserve room for a text and its line end; return False if it does not fit."""
        need, length = estimated_tokens(text), _units(text) + 1
        if need > self._tokens or length > self._characters:
            return False
        self._tokens -= need
        self._characters -= length
        return True

    def take_pointer(self, line: str) -> bool:
        """Reserve room for a pointer, and with the first one for the list's frame; return False if it does not fit."""
        frame = "" if self._has_titles else _TITLES_OPEN + _TITLES_CLOSE
        if not self.take(frame + line):
            return False
        self._has_titles = True
        return True


def pointer_line(hit: Hit, *, is_listed: bool = False) -> tuple[str, bool]:
    """Return the pointer to a memory, and whether it says all that the memory says: its title and the first sentence of its text.

    The id comes first, unless the title begins with its words. With `is_listed` Claude has the title, so id and sentence are enough.
    """
    title, (head, sentence, is_all) = one_line(hit.title), _statement(hit)
    statement = joined(head, sentence)
    if is_listed and head and sentence:
        statement = "%s: %s" % (escape_content(hit.id), sentence)
    elif not _slug(title).startswith(hit.id):
        statement = "%s: %s" % (escape_content(hit.id), statement)
    line = cut_at_word(statement, _MAX_POINTER)
    return line, is_all and line == statement


def _statement(hit: Hit) -> tuple[str, str, bool]:
    """Return a memory's title, or what its text does not repeat of it; the first sentence of its text; and whether that is all."""
    title = escape_content(one_line(hit.title))
    lines = hit.injection_text.split("\n")[1:-1]
    text = [line for line in lines if not line.startswith(_AFTER_TEXT)]
    head = text.pop(0) if text and title.startswith(text[0]) else "" if text else title
    if not text:
        return head, "", len(lines) <= 1
    # After a title that the text repeats.
    sentence = first_sentence(text[0], 0 if head else max(0, len(title) - 1))
    return head, sentence, sentence == text[0] and len(lines) == len(text) + bool(head) == 1 + bool(head)


def first_sentence(text: str, start: int = 0) -> str:
    """Return a text up to the end of its first sentence that ends at `start` or later."""
    ends = [at + 1 for mark in _SENTENCE_ENDS if (at := text.find(mark, start)) >= 0]
    return text[: min(ends)] if ends else text


def joined(title: str, text: str) -> str:
    """Return a title and a text as one line of sentences; either may be empty."""
    return title + ("" if not title or not text else " " if title.endswith(_ENDS) else ". ") + text


def rule_line(title: str, rule: str) -> str:
    """Return a standing rule as one line of at most 200 characters, without the title if the rule repeats it."""
    rule = one_line(rule)
    if not rule or title.casefold().startswith(rule.casefold()):
        return cut_at_word(title, MAX_RULE_LENGTH)
    if rule.casefold().startswith(title.casefold()):
        return cut_at_word(rule, MAX_RULE_LENGTH)
    return cut_at_word(joined(title, rule), MAX_RULE_LENGTH)


def one_line(text: str) -> str:
    """Return a text with single spaces and no line ends."""
    return " ".join(text.split())


def _slug(title: str) -> str:
    """Return a title in the form of an id."""
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def render(full: Hits, lines: Iterable[str], *, with_header: bool) -> str:
    """Return the text to inject, with the lines of the pointers; empty for none of both."""
    pointers = [line + "\n" for line in lines]
    if not full and not pointers:
        return ""
    parts = [_OPEN, _HEADER if with_header else ""]
    parts += [hit.injection_text + "\n" for hit in full]
    if pointers:
        parts += [_TITLES_OPEN, *pointers, _TITLES_CLOSE]
    return "".join([*parts, _CLOSE])


def with_gone_files(block: str, hits: Iterable[Hit], root: str) -> str:
    """Return what Claude is shown with a mark behind those files of a project's memories that are gone; patterns are not looked at.

    The memories' own texts stay as they are: their digest says what Claude has seen.
    """
    for hit in hits:
        head, mark, rest = hit.injection_text.rpartition("\nFiles: ")
        if mark and hit.scope == "project":
            files, end, tail = rest.partition("\n")
            gone = _gone_names(files.split(", "), root)
            names = [name + " (gone)" if name in gone else name for name in files.split(", ")]
            block = block.replace(hit.injection_text, "".join((head, mark, ", ".join(names), end, tail)))
    return block


def _gone_names(names: list[str], root: str) -> set[str]:
    paths = {name: name.partition(":")[0].replace("\\", "/") for name in names}
    missing = {name: path for name, path in paths.items() if _is_missing(path, root)}
    if not missing:
        return set()
    from ..memories.repository import not_checked_out

    left_out = not_checked_out(missing.values(), root)
    return {name for name, path in missing.items() if path not in left_out}


def _is_missing(path: str, root: str) -> bool:
    is_elsewhere = path[:1] in ("", "/", "~", "!") or path.startswith("../")
    is_pattern = any(sign in path for sign in "*?[{&<>\u2026")
    return not (is_elsewhere or is_pattern or os.path.lexists(os.path.join(root, path)))


def render_answer(answer: Answer, choice: Choice, history: RecallHistory, which_receipt: str) -> None:
    """Render a choice that is not empty into an answer and its record, and add it to the session's history."""
    with_header = bool(choice.full) and not history.has_header  # a list of titles explains itself
    lines = [choice.lines[hit.key] for hit in choice.pointers]
    answer.block = render(choice.full, lines, with_header=with_header)
    answer.receipt = receipt(choice.full, choice.pointers, which_receipt)
    history.has_header = history.has_header or with_header
    for hit in choice.full:
        history.record_injected(hit.key, hit.injection_text)
    for hit in choice.pointers:
        history.record_pointer(hit.key, choice.lines[hit.key])
        if hit.key in choice.stated:
            history.record_injected(hit.key, hit.injection_text)
    answer.record.update(
        outcome="injected" if choice.full else "pointed",
        reason="",
        injected=[hit.key for hit in choice.full],
        pointed=[hit.key for hit in choice.pointers],
        tokens=estimated_tokens(answer.block),
    )


def receipt(full: Hits, pointers: Hits, which: str) -> str:
    """Return the receipt, a line for the user about what was injected; it may be empty.

    `which` is the setting `retrieval.receipt`: injected, all (with pointers) or off.
    """
    if which not in ("injected", "all"):
        return ""
    parts = []
    if full:
        parts.append(_titles(full))
    if pointers and which == "all":
        parts.append("the title%s %s" % ("" if len(pointers) == 1 else "s", _titles(pointers)))
    return "memory: showed Claude " + " and ".join(parts) if parts else ""


def _titles(hits: Hits) -> str:
    """Return the titles in quotes: the first two, cut short if they are long, and the number of the others."""
    clean = [_clean(hit.title) for hit in hits[:_MAX_RECEIPT_TITLES]]
    if len(clean) > 1 and sum(map(len, clean)) > _MAX_WHOLE_TITLES:
        clean = [cut_at_word(title, _MAX_SHORT_TITLE) for title in clean]
    quoted = ['"%s"' % title for title in clean]
    if len(hits) > _MAX_RECEIPT_TITLES:
        return "%s and %d more" % (", ".join(quoted), len(hits) - _MAX_RECEIPT_TITLES)
    return " and ".join(quoted)


def _clean(title: str) -> str:
    """Return a title for a terminal: one line, no control characters, no quote that could end it early."""
    return one_line("".join(c if c.isprintable() else " " for c in title)).replace('"', "'")
