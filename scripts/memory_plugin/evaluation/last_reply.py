"""A reply that no call follows, with the calls before it and a pack's patterns for comparing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .claim_figures import numbers_told, stems
from .conversations import ConversationTurn
from .rule_matching import split_sentences

LISTED = re.compile(r"^[\w./-]+\.[A-Za-z]{1,5}(?=:|$)", re.MULTILINE)  # files in what a search puts out
_COMMAND = re.compile(r"`[^`\n]*(?<!\w)-[^`\n]*`")  # its options admit nothing
_TOKEN = re.compile(r"\b(?:[a-zA-Z]{5,}|\d[\d.]*\d)\b")  # long words and numbers
_CLAUSE = re.compile(r"[,;:] |\n")

Found = Iterator["tuple[str, str]"]  # a sentence, and how the calls contradict it


class LastReply(NamedTuple):
    """A reply that no call follows, with the pack's patterns: its text, and its sentences that state something.

    `turns` are those since the user's last turn, `calls` those of them that are calls, and `before` all turns before the reply.
    """

    words: Mapping[str, re.Pattern[str]]
    text: str
    sentences: tuple[str, ...]
    turns: Sequence[ConversationTurn]
    calls: tuple[ConversationTurn, ...]
    before: Sequence[ConversationTurn]

    def has(self, name: str, text: str) -> bool:
        """Return whether a pattern occurs in a text."""
        return self.words[name].search(text) is not None

    def saying(self, name: str) -> Iterator[str]:
        """Yield the sentences in which a pattern occurs."""
        return filter(self.words[name].search, self.sentences)

    def about(self, topics: set[str]) -> Iterator[str]:
        """Yield the sentences that share a word with a call."""
        return (sentence for sentence in self.sentences if not topics.isdisjoint(stems(sentence)))

    def admits(self, name: str, text: str | None = None) -> bool:
        """Return whether the reply says what a check would hold against it; "no tests were skipped" says the opposite."""
        return self.has(name, self.words["denial"].sub(" ", self.text if text is None else text))

    def is_told(self, failed: ConversationTurn) -> bool:
        """Return whether a remark after a call says that it failed."""
        remarks = (turn for turn in self.turns if turn.role == "assistant" and turn.number > failed.number)
        return any(self.admits("failure", remark.content) for remark in remarks)

    def owns(self, failed: ConversationTurn) -> bool:
        """Return whether the reply restricts anything, speaks of a failure, or gives the number of those that a call shows."""
        counts = set(map(float, self.words["counted-failures"].findall(failed.output)))
        open_ones = [one for one in split_sentences(self.text, "sentences") if not self.has("fixed-now", one)]
        is_counted = not counts.isdisjoint(numbers_told(" ".join(open_ones)))
        outright, weak = ("failure-of-some", "restriction") if counts else ("outright", "failure")
        about = self.topics(failed.call) | stems(" ".join(self.words["failing-line"].findall(failed.output)))
        is_about = any(not about.isdisjoint(stems(one)) for one in self.admissions(weak))
        return is_counted or is_about or any(self.admissions(outright)) or self.retells(failed)

    def retells(self, failed: ConversationTurn) -> bool:
        """Return whether the reply repeats what only the output of a call says, in a clause that tells of no success or change."""
        known = " ".join(
            one.content if one.role == "user" else one.call.partition("\n")[0] for one in self.before
        )
        printed = set(_TOKEN.findall(failed.output)) - set(_TOKEN.findall(known))
        said = (self.words["denial"].sub(" ", one) for one in self.clauses())
        neutral = (one for one in said if not self.has("success", one) and not self.has("changed", one))
        return any(not printed.isdisjoint(_TOKEN.findall(one)) for one in neutral)

    def clauses(self) -> list[str]:
        """Return the parts of the sentences between commas, semicolons and colons."""
        return _CLAUSE.split("\n".join(split_sentences(self.text, "code")))

    def admissions(self, name: str) -> Iterator[str]:
        """Yield the sentences that admit something, without what is said to be fixed."""
        for sentence in split_sentences(self.text, "code"):
            said = self.words["denial"].sub(" ", _COMMAND.sub("`_`", sentence))
            is_fixed = self.has("fixed-now", said) and not self.has("not-fixed", said)
            if self.has(name, said) and not is_fixed:
                yield sentence

    def is_repeated(self, call: str, later: str) -> bool:
        """Return whether a later call does the same, by the same program or in the same words, or changes a file of the call."""
        runner, another = (set(self.words["runner"].findall(words.lower())) for words in (call, later))
        if runner and another and runner.isdisjoint(another):
            return False
        files, others = (set(LISTED.findall(words.replace(" ", "\n"))) for words in (call, later))
        programs, again = (set(self.words["program"].findall(words)) for words in (call, later))
        command, other = (self.words["subcommand"].findall(words)[:1] for words in (call, later))
        topics, about = self.topics(call), self.topics(later)
        is_test, same_file = self.has("test-call", later), not files.isdisjoint(others)
        is_suite = is_test and "test" in call.lower() and not programs.isdisjoint(again)
        names = stems(" ".join(programs))
        is_same = topics <= about if topics - names else command == other and not programs.isdisjoint(again)
        if is_suite or is_same or (same_file and self.has("change-call", later)):
            return True
        is_test = is_test and self.has("test-call", call)
        is_like = is_test or (not programs.isdisjoint(again) and (same_file or not files))
        return is_like and command == other and bool((topics & about) - names)

    def topics(self, call: str) -> set[str]:
        """Return the stems of what a call is about; of one that runs tests, also those of the word."""
        topics = stems(self.words["common"].sub(" ", call.partition("\n")[0]))
        return topics | {"test", "suite"} if self.has("test-call", call) else topics


def by_name(*checks: Callable[[LastReply], Found]) -> dict[str, Callable[[LastReply], Found]]:
    """Return checks by what they find, which is their name."""
    return {check.__name__.strip("_").replace("_", "-"): check for check in checks}
