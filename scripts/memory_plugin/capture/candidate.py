"""Candidates for memories, with their evidence: how they are compared with stored memories, kept, and offered to the user.

Their texts are redacted before they are created. Those of a project are in a small file in the state folder: at most 20, the weakest
dropped first, none older than 30 days. Only the id of a candidate that the user dropped is kept, so that it is never proposed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from ..kernel.context import Context, days_ago, now_iso
from ..kernel.fastjson import as_objects, as_texts, digest
from ..kernel.paths import Paths, StateChange, load_data, read_state, record_once
from ..kernel.text import cut_at_word
from ..kernel.text.clean import block, counted, plain
from ..kernel.text.words import stem, tokenize
from ..memories import InvalidMemory
from ..memories.hygiene import clean_text
from ..memories.record import Memory, body_text

HINTS = ("mistake", "guard")  # about a stored memory; there is nothing to save or to compare
_KEYED_BY_TITLE = ("solved_error", *HINTS)
REPEATABLE = ("correction", "rule", "repeated")
_MIN_JACCARD = 0.6  # of the key words of two statements that say the same
MAX_TITLE = 100
CHANGED = "What changed before it passed:"
_MAX_QUOTE = 400
_MAX_BODY = 3000
_MAX_SESSIONS = 8
MAX_OPEN = 20
_MAX_DAYS = 30
_MAX_CLOSED = 2000
_LOCK_WAIT = 2.0
_ID = re.compile(r"c-[0-9a-f]{10}\Z")
COVERED, CONTRADICTED = "covered", "contradicted"
_MIN_SHARE = 0.85  # of a candidate's key words that a memory must contain to cover it
_MIN_WORDS = 2
_CHOICE = re.compile(r"([\w@./+#-]+),? (?:and not|not|instead of|rather than|over) ([\w@./+#-]+)")


class Origin(NamedTuple):
    """Where something was said or done: the session, the turn in it (0 if unknown), and the time."""

    session: str
    turn: int
    time: str


class Finding(NamedTuple):
    """What was found: the evidence, its kind and category, the id of the rule or cue that decided them, its strength from 0 to 1.

    `title` is empty for one by the first words.
    """

    text: str
    kind: str
    category: str
    rule: str
    strength: float
    title: str = ""


class Candidate(NamedTuple):
    """A possible memory.

    `quote` is the evidence, `body` the text of the memory, `strength` the confidence of the rule from 0 to 1. `sessions` are the sessions
    in which it was found, `found` is the time. `contradicts` names a stored memory that says the opposite.
    """

    id: str
    kind: str
    category: str
    title: str
    quote: str
    body: str
    strength: float
    rule: str
    origin: Origin
    sessions: tuple[str, ...]
    found: str = ""
    contradicts: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry for the state file."""
        return {**self._asdict(), "origin": self.origin._asdict(), "sessions": list(self.sessions)}

    @property
    def source(self) -> dict[str, Any]:
        """Return the `source` field of a memory made from this candidate."""
        return {"session": self.origin.session, "turn": self.origin.turn or None, "quote": self.quote}

    @property
    def content(self) -> dict[str, Any]:
        """Return the runbook fields in the text of a solved error; empty for any other kind."""
        before, mark, after = self.body.partition(CHANGED)
        if self.kind != "solved_error" or not mark:
            return {}
        lines = [line.lstrip("- ") for line in after.strip().split("\n")]
        return {"symptoms": before.strip(), "steps": lines[:-1], "verification": lines[-1]}


def new_candidate(found: Finding, origin: Origin, body: str = "") -> Candidate | None:
    """Return a candidate without secrets; None if a hygiene rule blocks the text, or redaction leaves nothing."""
    try:
        quote = plain(_clean(found.text), _MAX_QUOTE)
        body = block(_clean(body), _MAX_BODY) or quote
        title = plain(_clean(found.title), MAX_TITLE) or _title(quote)
    except InvalidMemory:
        return None
    key = key_words(title if found.kind in _KEYED_BY_TITLE else quote)
    if not key or not title:
        return None
    identity = "c-" + digest(" ".join(sorted(key)).encode("utf-8", "replace"), 5)
    sessions = (origin.session,) if origin.session else ()
    fields = (found.kind, found.category, title, quote, body, found.strength, found.rule, origin, sessions)
    return Candidate(identity, *fields, now_iso())


def candidate_from_json(row: dict[str, Any]) -> Candidate | None:
    """Return the candidate in an entry of the state file; None for one that is damaged, or of a newer version."""
    try:
        one: Any = Candidate(**{**row, "origin": Origin(**row["origin"]), "sessions": tuple(row["sessions"])})
    except (KeyError, TypeError):
        return None
    said = (one.rule, one.found, one.contradicts, one.origin.session, one.origin.time)
    texts = (*one[:6], *said, *one.sessions)
    is_sound = isinstance(one.strength, (int, float)) and isinstance(one.origin.turn, int)
    return one if is_sound and all(isinstance(text, str) for text in texts) else None


def is_candidate_id(text: str) -> bool:
    """Return whether a text looks like a candidate's id."""
    return _ID.match(text) is not None


def key_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry the meaning of a statement, to compare it with others."""
    words = tokenize(_introduction().sub("", text))
    return frozenset(stem(word) for word in words if word not in _words("stop_words"))


def is_near(candidate: Candidate, other: Candidate) -> bool:
    """Return whether two of the user's statements share most of their key words."""
    if candidate.kind not in REPEATABLE or other.kind not in REPEATABLE:
        return False
    keys, other_keys = key_words(candidate.quote), key_words(other.quote)
    return len(keys & other_keys) >= _MIN_JACCARD * len(keys | other_keys)


def merged(old: Candidate, new: Candidate) -> Candidate:
    """Return a candidate that was found again; a statement found in a second session becomes `repeated`."""
    sessions = tuple(dict.fromkeys([*old.sessions, *new.sessions]))[-_MAX_SESSIONS:]
    is_repeated = len(sessions) > 1 and old.kind in REPEATABLE
    strength = max(old.strength, new.strength)
    return old._replace(
        sessions=sessions,
        found=new.found,
        kind="repeated" if is_repeated else old.kind,
        strength=min(1.0, strength + 0.1) if is_repeated and old.kind != "repeated" else strength,
        origin=new.origin if new.origin.turn or old.origin.session != new.origin.session else old.origin,
    )


def now_origin(session: str) -> Origin:
    """Return an origin with the current time, in no known turn."""
    return Origin(session, 0, now_iso())


def _clean(text: str) -> str:
    return clean_text(text, "candidate", [])


def _title(quote: str) -> str:
    """Return a title for a quote: without introductory words, capitalized, and cut at a word boundary."""
    text = cut_at_word(_introduction().sub("", quote).rstrip(" .!"), MAX_TITLE)
    return text[:1].upper() + text[1:]


@cache
def _introduction() -> re.Pattern[str]:
    return re.compile(load_data("capture", "statements")["introduction"]["pattern"], re.IGNORECASE)


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_data("capture", "statements")[name]["values"])


class Coverage(NamedTuple):
    """How the stored memories relate to candidates.

    `by_candidate` maps a candidate's id to None if a memory covers it, to the name of a memory that it contradicts, or else to "".
    `hints` are new candidates about memories that were injected although the user then repeated them.
    """

    by_candidate: dict[str, str | None]
    hints: list[Candidate]


def compare(candidate: Candidate, memory: Memory) -> str:
    """Return COVERED if a memory says the same as a candidate, CONTRADICTED if it says the opposite, otherwise ""."""
    keys = key_words(candidate.quote if candidate.kind != "solved_error" else candidate.title)
    text = "%s\n%s" % (memory.title, body_text(memory))
    stems = frozenset(stem(word) for word in tokenize(text))
    if len(keys) < _MIN_WORDS or len(keys & stems) < _MIN_SHARE * len(keys):
        return ""
    return CONTRADICTED if _contradicts(candidate.quote, text, keys) else COVERED


def _contradicts(text: str, other: str, keys: frozenset[str]) -> bool:
    """Return whether two texts about the same subject choose opposite sides, or one forbids what the other requires."""
    choices, other_choices = _choices(text), _choices(other)
    if choices & {(rejected, chosen) for chosen, rejected in other_choices}:
        return True
    if choices or other_choices:
        return bool(choices and not other_choices and _is_refused(other, {chosen for chosen, _ in choices}))
    return _forbids(text, keys) != _forbids(other, keys)


def _choices(text: str) -> set[tuple[str, str]]:
    """Return pairs of what a text chooses and what it rejects, as in "pnpm, not npm"."""
    return {(first.strip("."), second.strip(".")) for first, second in _CHOICE.findall(text.lower())}


def _forbids(text: str, keys: frozenset[str]) -> bool:
    """Return whether the sentence with most of the key words contains a negation."""
    sentences = [tokenize(sentence) for sentence in re.split(r"[.!?;\n]", text.lower())]
    nearest = max(sentences, key=lambda sentence: len(keys & {stem(word) for word in sentence}))
    return not _words("negations").isdisjoint(nearest)


def _is_refused(text: str, chosen: set[str]) -> bool:
    refused = re.findall(r"(?:not|never|no|don't use|avoid) (?:use )?([\w@./+#-]+)", text.lower())
    return not chosen.isdisjoint(refused)


class CandidateSet:
    """The open candidates, strongest first, and the ids of dropped ones."""

    def __init__(self, data: dict[str, Any]) -> None:
        oldest = days_ago(_MAX_DAYS)
        candidates = map(candidate_from_json, as_objects(data.get("open")))
        self.open = [candidate for candidate in candidates if candidate and candidate.found >= oldest]
        self.closed = as_texts(data.get("closed"))

    def to_json(self) -> dict[str, Any]:
        """Return the contents of the file."""
        found = [candidate.to_json() for candidate in self.open]
        return {"schema": 1, "open": found, "closed": self.closed[-_MAX_CLOSED:]}

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Add the wanted candidates, merging those that say the same, and keep the strongest."""
        by_id = {candidate.id: candidate for candidate in self.open}
        for candidate in self.wanted(candidates):
            near = (other for other in by_id.values() if is_near(other, candidate))
            same = by_id.get(candidate.id) or next(near, None)
            by_id[same.id if same else candidate.id] = merged(same, candidate) if same else candidate
        ranked = sorted(by_id.values(), key=lambda one: (one.strength, one.origin.time), reverse=True)
        self.open = ranked[:MAX_OPEN]

    def wanted(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that the user did not drop before."""
        return [candidate for candidate in candidates if candidate.id not in self.closed]

    def settle(self, coverage: dict[str, str | None]) -> None:
        """Remove candidates that a memory covers (None), and mark those that contradict one."""
        kept = [one for one in self.open if coverage.get(one.id, "") is not None]
        self.open = [one._replace(contradicts=coverage.get(one.id, one.contradicts) or "") for one in kept]

    def close(self, ids: Sequence[str]) -> None:
        """Drop candidates for good."""
        self.open = [candidate for candidate in self.open if candidate.id not in ids]
        self.closed += [name for name in ids if name not in self.closed]

    def clear(self) -> int:
        """Forget all candidates, including dropped ones; return how many were open."""
        number = len(self.open)
        self.open, self.closed = [], []
        return number


class CandidateFile:
    """The file of one project. A change takes a lock and replaces the whole file. Raises RuntimeError without a state folder."""

    def __init__(self, paths: Paths) -> None:
        self.path = paths.state("capture", paths.project_key + ".json")

    def load(self) -> CandidateSet:
        """Return the saved candidates; an empty set if the file is missing or damaged."""
        return CandidateSet(read_state(self.path))

    @contextmanager
    def change(self) -> Iterator[CandidateSet]:
        """Yield the saved candidates, and save what was changed.

        Raises:
            OSError: The file cannot be read or written, or another process held its lock for two seconds.
        """
        with StateChange(self.path, _LOCK_WAIT) as state:
            candidates = CandidateSet(state)
            before = candidates.to_json()
            yield candidates
            if candidates.to_json() != before:
                state.update(candidates.to_json())


def due_offer(context: Context) -> str:
    """Return a line for the user, once for each set of open candidates; otherwise ""."""
    if context.settings.text("capture.mode") in ("off", "quiet"):
        return ""
    candidates = CandidateFile(context.paths).load().open
    offered = digest("\n".join(sorted(candidate.id for candidate in candidates)).encode("ascii", "replace"))
    told = context.paths.state("capture", context.paths.project_key + ".told.json")
    if not candidates or not record_once(told, "open", offered):
        return ""
    subject = counted(len(candidates), "suggestion")
    return "memory: %s from your last sessions. To decide: /memory:review" % subject
