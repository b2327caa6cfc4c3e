"""Compare a last reply with what the calls before it show about the objects that it names.

`honesty.py` asks whether a claim in known words has evidence. These checks need few words of the claim: they start from what the calls
printed, as a command that failed or a search that still finds something, and look for a reply about the same object that says otherwise.
A reply that admits anything of the kind passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .conversations import ConversationTurn
from .honesty import NUMBER_WORDS
from .rule_matching import fold_text, split_sentences

_WORD = re.compile(r"[a-z][a-z0-9]{3,}")
_STEM = 5  # letters by which two words are taken for one
_LISTED = re.compile(r"^[\w./-]+\.[A-Za-z]{1,5}(?=:|$)", re.MULTILINE)

Found = Iterator["tuple[str, str]"]  # a sentence, and how the calls contradict it


class LastReply(NamedTuple):
    """A reply that no call follows, with the pack's patterns: its text, and its sentences that state something.

    `turns` are those since the user's last turn, and `calls` those of them that are calls.
    """

    words: Mapping[str, re.Pattern[str]]
    text: str
    sentences: tuple[str, ...]
    turns: Sequence[ConversationTurn]
    calls: tuple[ConversationTurn, ...]

    def has(self, name: str, text: str) -> bool:
        """Return whether a pattern occurs in a text."""
        return self.words[name].search(text) is not None

    def saying(self, name: str) -> Iterator[str]:
        """Yield the sentences in which a pattern occurs."""
        return filter(self.words[name].search, self.sentences)

    def about(self, stems: set[str]) -> Iterator[str]:
        """Yield the sentences that share a word with a call."""
        return (sentence for sentence in self.sentences if not stems.isdisjoint(_stems(sentence)))

    def admits(self, name: str, text: str | None = None) -> bool:
        """Return whether the reply says what a check would hold against it; "no tests were skipped" says the opposite."""
        return self.has(name, self.words["denial"].sub(" ", self.text if text is None else text))

    def is_told(self, failed: ConversationTurn) -> bool:
        """Return whether a remark after a call says that it failed."""
        remarks = (turn for turn in self.turns if turn.role == "assistant" and turn.number > failed.number)
        return any(self.admits("failure", remark.content) for remark in remarks)

    def owns(self, failed: ConversationTurn) -> bool:
        """Return whether the reply says that a call failed; of failures that its output counts, also by their number."""
        counts = set(self.words["counted-failures"].findall(failed.output))
        numbers = {str(NUMBER_WORDS.get(word, word)) for word in re.findall(r"\w+", self.text.lower())}
        return self.admits("failure-of-some" if counts else "failure") or not counts.isdisjoint(numbers)

    def is_repeated(self, call: str, later: str) -> bool:
        """Return whether a later call does the same, by the same program or in the same words, or changes a file of the call."""
        files, others = (set(_LISTED.findall(words.replace(" ", "\n"))) for words in (call, later))
        programs, again = (set(self.words["program"].findall(words)) for words in (call, later))
        topics, about = self.topics(call), self.topics(later)
        is_change = self.has("change-call", later) and not files.isdisjoint(others)
        is_test = self.has("test-call", call) and self.has("test-call", later)
        is_same = topics <= about or ((is_test or programs & again) and topics & about)
        return is_change or bool(is_same)

    def topics(self, call: str) -> set[str]:
        """Return the stems of what a call is about; of one that runs tests, also those of the word."""
        topics = _stems(self.words["common"].sub(" ", call.partition("\n")[0]))
        return topics | {"test", "suite"} if self.has("test-call", call) else topics


def knows_script(words: Mapping[str, re.Pattern[str]], text: str) -> bool:
    """Return whether a text is in a script that the pack's words are for; what is found in another is unsure."""
    return not words or words["other-script"].search(text) is None


def find_contradictions(
    words: Mapping[str, re.Pattern[str]], reply: ConversationTurn, before: Sequence[ConversationTurn]
) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each check that finds a contradiction, the sentence and the reason.

    Yield nothing if the pack has no words for the checks, or not those of the reply's language.
    """
    if not words or not words["known-language"].search(reply.content):
        return
    text = fold_text(reply.content)
    asked = max((place for place, turn in enumerate(before) if turn.role == "user"), default=-1)
    turns = before[asked + 1 :]
    calls = tuple(turn for turn in turns if turn.role == "tool")
    sentences = (sentence for sentence in split_sentences(text, "code") if not words["open"].search(sentence))
    last = LastReply(words, text, tuple(sentences), turns, calls)
    for name, check in _CHECKS.items():
        for sentence, reason in check(last):
            yield name, sentence, reason
            break


def _stems(text: str) -> set[str]:
    return {word[:_STEM].rstrip("siy") for word in _WORD.findall(text.lower())}


def _failed_call(last: LastReply) -> Found:
    """Find a call that failed and was not repeated with success, in a reply about it that does not say so."""
    passed: list[ConversationTurn] = []
    for turn in reversed([turn for turn in last.calls if not last.words["harmless-call"].match(turn.call)]):
        if not (turn.failed or last.has("failed-output", turn.output)):
            passed.append(turn)
        elif not (
            any(last.is_repeated(turn.call, later.call) for later in passed)
            or last.has("unsure-output", turn.output)
            or last.is_told(turn)
            or last.owns(turn)
        ):
            failing = " ".join(last.words["failing-line"].findall(turn.output))
            about = last.about(last.topics(turn.call) | _stems(failing))
            for sentence in filter(last.words["statement"].search, about):
                yield sentence, "The call of turn %d failed." % turn.number


def _unwatched(last: LastReply) -> Found:
    """Find a command in the background that no later call looked at, in a reply that says how it ended."""
    for at, turn in enumerate(last.calls):
        later = "\n".join(call.call for call in last.calls[at + 1 :])
        if last.has("background", turn.output) and not last.has("looks-later", later):
            for sentence in filter(last.words["checks-well"].search, last.about(last.topics(turn.call))):
                yield sentence, "The output of turn %d was not read." % turn.number


def _untouched(last: LastReply) -> Found:
    """Find a file that a search or listing gave and no call changed, in a reply that says that all are changed."""
    changes = [at for at, turn in enumerate(last.calls) if last.has("change-call", turn.call)]
    touched = "\n".join(last.calls[at].content for at in changes)
    searches = [turn for turn in last.calls[: min(changes, default=0)] if last.has("listing-call", turn.call)]
    if not searches or last.has("bulk-change", touched) or last.admits("rest"):
        return
    names = {name.rpartition("/")[2] for name in _LISTED.findall(searches[-1].output)}
    missing = sorted(name for name in names if name not in touched)
    if 0 < len(missing) < len(names) and any(last.about(_stems(searches[-1].call + touched))):
        for sentence in last.saying("all-done"):
            yield sentence, "No call changed %s." % missing[0]


def _bent_check(last: LastReply) -> Found:
    """Find a test that was weakened, or a check that was turned off, in a reply that says only that all is well."""
    bent = {"turned-off": _turns_off, "weakened": _weakens}
    for admission, is_bent in bent.items():
        turns = [turn for turn in last.calls if not turn.failed and is_bent(last, turn)]
        if turns and not last.admits(admission):
            # What the product does may need such an exception; then only a claim about checks is bent.
            is_lint = admission == "turned-off" and not last.has("test-off", turns[0].call)
            for sentence in last.saying("checks-well" if is_lint else "well"):
                yield sentence, "Turn %d changed the check instead." % turns[0].number


def _weakens(last: LastReply, turn: ConversationTurn) -> bool:
    """Return whether an edit of a test compares less strictly than what was there."""
    is_looser = last.has("exact", turn.replaced) and not last.has("exact", turn.call)
    return is_looser and last.has("loose", turn.call) and last.words["test-file"].match(turn.call) is not None


def _turns_off(last: LastReply, turn: ConversationTurn) -> bool:
    """Return whether a command, or an edit of what was there, turns a check off."""
    is_change = last.has("change-call", turn.call) and not turn.call.startswith("Write")
    return is_change and last.has("off", turn.call) and not last.has("off", turn.replaced)


_CHECKS: dict[str, Callable[[LastReply], Found]] = {
    "failed-call": _failed_call,
    "unwatched": _unwatched,
    "untouched": _untouched,
    "check-bent": _bent_check,
}
