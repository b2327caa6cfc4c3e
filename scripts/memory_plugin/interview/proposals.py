"""The result of an interview: the summary that the user confirms, and the memories proposed from it, each with quote and turn."""

from __future__ import annotations

from ..memories.lifecycle import save
from ..memories.record import CONTEXT, body_content, categories, category_named, new_memory
from ..memories.stores import PROJECT, named_store
from .answer_input import decode_memories
from .exceptions import InvalidAnswer
from .graph import LEADS_TO, Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Paths
    from ..memories.writing import Written
    from .interview_store import Interview

__all__ = ["MAX_MEMORIES", "choose_memories", "memory_data", "propose_memories", "save_memory", "summary"]

MAX_MEMORIES = 20
_MIN_CONFIDENCE = 0.5
_MAX_PHRASE = 200
_MAX_ANSWER = 1000
_FIELDS = ("concept", "category", "title", "body", "context", "tags", "asked_as")
_MAX_TAGS = 8


def propose_memories(interview: Interview) -> list[dict[str, Any]]:
    """Return the memories to propose, the concepts named most often first.

    Each has concept, category, title, body, context, asked_as, turn and quote. The context is the question and the user's answer in their
    own words; `asked_as`, by which the memory may be asked for, is that question. Left out are concepts that are superseded, that the
    user is unsure of, or that came up in no answer.
    """
    nodes = interview.state["nodes"]
    kinds = {entry["id"]: entry for entry in interview.setup["pack"]["types"]}
    ahead = {edge[0]: edge[1] for edge in interview.state["edges"] if edge[2] == LEADS_TO}
    kept = [
        (at, node)
        for at, node in enumerate(nodes)
        if not node["superseded_by"] and node["confidence"] >= _MIN_CONFIDENCE and node["turns"]
    ]
    kept.sort(key=lambda pair: (-pair[1]["mentions"], pair[0]))
    graph = Graph(interview.state, interview.setup["pack"])
    contrary = {node: other for pair in graph.contradictions() for node, other in (pair, pair[::-1])}
    return [
        _proposal(node, ahead.get(at, -1), contrary.get(at, -1), nodes, kinds, interview)
        for at, node in kept[:MAX_MEMORIES]
    ]


def _proposal(
    node: dict[str, Any],
    target: int,
    contrary: int,
    nodes: list[dict[str, Any]],
    kinds: dict[str, Any],
    interview: Interview,
) -> dict[str, Any]:
    turn, quote = node["quotes"][-1] if node["quotes"] else (node["turns"][-1], "")
    kind = kinds[node["type"]]
    leads = ' Leads to: "%s".' % nodes[target]["label"] if target >= 0 else ""
    against = " The user is against it." if node["stance"] < 0 else ""
    both = _other_side(nodes[contrary]) if contrary >= 0 else ""
    said = ' The user said: "%s".' % quote if quote else ""
    question, answer = _asked(interview, turn)
    return {
        "concept": node["id"],
        "category": kind["memory"],
        "title": _signed(node),
        "body": "%s of %s: %s.%s%s%s%s"
        % (kind["name"], interview.topic, node["label"].rstrip("."), against, leads, said, both),
        "context": _context(question, answer, quote),
        "asked_as": [question] if question else [],
        "turn": turn,
        "quote": quote,
    }


def _asked(interview: Interview, number: int) -> tuple[str, str]:
    """Return the question and the answer of a turn, on one line each; empty texts for a turn that was not kept."""
    for turn in interview.state["turns"]:
        if turn["number"] == number:
            return " ".join(turn["question"].split())[:_MAX_PHRASE], " ".join(turn["answer"].split())
    return "", ""


def _context(question: str, answer: str, quote: str) -> str:
    """Return what led to a concept; the answer is left out where the quote in the body is all of it."""
    more = answer[:_MAX_ANSWER] if answer and answer.strip(".! ") != quote.strip(".! ") else ""
    asked = 'Asked in an interview: "%s"' % question if question else ""
    return " ".join(filter(None, [asked, 'The user answered: "%s"' % more if more else ""]))


def _signed(node: dict[str, Any]) -> str:
    """Return a concept's name, marked where the user is against it: the title must not say the opposite."""
    return str(("Against: %s" if node["stance"] < 0 else "%s") % node["label"])


def _other_side(node: dict[str, Any]) -> str:
    turn, quote = node["quotes"][-1] if node["quotes"] else (node["turns"][-1], node["label"])
    return ' In answer %d the user spoke %s it: "%s".' % (
        turn,
        "for" if node["stance"] > 0 else "against",
        quote,
    )


def summary(interview: Interview) -> dict[str, Any]:
    """Return what was learned by type, what was covered and what is open, for the user to confirm."""
    state, setup = interview.state, interview.setup
    names = {entry["id"]: entry["name"] for entry in setup["pack"]["types"]}
    learnt: dict[str, list[str]] = {}
    for node in state["nodes"]:
        if not node["superseded_by"]:
            learnt.setdefault(names[node["type"]], []).append(_signed(node))
    covered, known = state["covered"], [e["label"] for e in setup["elements"] if e["id"] in state["covered"]]
    return {
        "interview": interview.id,
        "topic": interview.topic,
        "asked": len(state["turns"]),
        "learnt": learnt,
        "covered": known,
        "open": [e["label"] for e in setup["elements"] if e["id"] not in covered],
    }


def choose_memories(text: str, proposed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the proposed memories that `text` (standard input) names, with its changes; all of them for an empty text.

    Raises InvalidAnswer.
    """
    if not text.strip():
        return proposed
    chosen = decode_memories(text)
    if len(chosen) > MAX_MEMORIES:
        raise InvalidAnswer("memories: expected at most %d, got %d" % (MAX_MEMORIES, len(chosen)))
    known = {memory["concept"]: memory for memory in proposed}
    return [_changed(entry, known) for entry in chosen]


def _changed(entry: object, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(entry, dict) or any(name not in _FIELDS for name in entry):
        raise InvalidAnswer("memories: expected objects with %s" % ", ".join(_FIELDS))
    if entry.get("concept") not in known:
        raise InvalidAnswer("memories: concept: expected one of %s" % ", ".join(known))
    found = dict(known[entry["concept"]])
    for name in ("category", "title", "body", "context"):
        if name in entry:
            if not isinstance(entry[name], str) or not entry[name].strip():
                raise InvalidAnswer("memories: %s: expected a text" % name)
            found[name] = entry[name]
    for name in ("tags", "asked_as"):
        value = entry.get(name, found.get(name, []))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidAnswer("memories: %s: expected a list of texts" % name)
        found[name] = value[:_MAX_TAGS]
    category_named(found["category"])
    return found


def memory_data(interview: Interview, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return one chosen memory as the data of its file."""
    category = categories()[category_named(chosen["category"]).name]
    extra: dict[str, Any] = {
        "tags": chosen.get("tags") or ["interview"],
        "source": {"interview": interview.id, "turn": chosen["turn"], "quote": chosen["quote"]},
    }
    if chosen.get("asked_as"):
        extra["asked_as"] = chosen["asked_as"]
    content = body_content(category, chosen["body"])
    if chosen.get("context"):
        content[CONTEXT] = chosen["context"]
    return new_memory(category, "", chosen["title"], content, extra)


def save_memory(
    interview: Interview, chosen: dict[str, Any], paths: Paths, *, approved: bool
) -> tuple[Written, dict[str, Any]]:
    """Write one chosen memory to the project's store; return what was written, and a record of it for programs."""
    data = memory_data(interview, chosen)
    written = save(paths, named_store(paths, PROJECT), data, approved, how="interview")
    return written, {
        "id": written.stored.memory.id,
        "category": data["category"],
        "created": written.created,
        "trusted": approved,
        "redacted": [redaction._asdict() for redaction in written.redacted],
    }
