"""Build the result of an interview: the summary that the user confirms, and the proposed memories, each with quote and turn."""

from __future__ import annotations

from ..memories.lifecycle import save
from ..memories.record import CONTEXT, body_content, categories, category_named, new_memory
from ..memories.stores import PROJECT, named_store
from .answer_input import decode_memories
from .exceptions import InvalidAnswer
from .graph import Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Paths
    from ..memories.writing import Written
    from .interview_store import Interview

MAX_MEMORIES = 20
_MIN_CONFIDENCE = 0.5
_MAX_PHRASE = 200
_MAX_ANSWER = 1000
_FIELDS = ("concept", "category", "title", "body", "context", "tags", "asked_as")
_MAX_TAGS = 8


def propose_memories(interview: Interview) -> list[dict[str, Any]]:
    """Return the memories to propose, the most mentioned concepts first.

    Each has concept, category, title, body, context, asked_as, turn and quote. The context is the question and the user's own answer.
    `asked_as` is that question, by which recall may find the memory. Superseded concepts, those of low confidence, and those without an
    answer are left out.
    """
    nodes = interview.state["nodes"]
    graph = Graph(interview.state, interview.setup["pack"])
    opposed = {node: other for pair in graph.contradictions() for node, other in (pair, pair[::-1])}
    indexes = [
        index
        for index, node in enumerate(nodes)
        if not node["superseded_by"] and node["confidence"] >= _MIN_CONFIDENCE and node["turns"]
    ]
    indexes.sort(key=lambda index: -nodes[index]["mentions"])
    proposals = []
    for index in indexes[:MAX_MEMORIES]:
        targets = graph.targets(index)
        target = nodes[targets[-1]] if targets else None
        other = nodes[opposed[index]] if index in opposed else None
        proposals.append(_proposal(interview, nodes[index], target, other))
    return proposals


def _proposal(
    interview: Interview,
    node: dict[str, Any],
    target: dict[str, Any] | None,
    opposed: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the memory for a node; `target` is the node that it leads to, `opposed` the one that contradicts it."""
    concept_type = next(entry for entry in interview.setup["pack"]["types"] if entry["id"] == node["type"])
    turn, quote = _last_quote(node)
    question, answer = _question_and_answer(interview, turn)
    sentences = ["%s of %s: %s." % (concept_type["name"], interview.topic, node["label"].rstrip("."))]
    if node["stance"] < 0:
        sentences.append("The user is against it.")
    if target:
        sentences.append('Leads to: "%s".' % target["label"])
    if quote:
        sentences.append('The user said: "%s".' % quote)
    if opposed:
        sentences.append(_opposed_sentence(opposed))
    return {
        "concept": node["id"],
        "category": concept_type["memory"],
        "title": _title(node),
        "body": " ".join(sentences),
        "context": _context(question, answer, quote),
        "asked_as": [question] if question else [],
        "turn": turn,
        "quote": quote,
    }


def _last_quote(node: dict[str, Any]) -> tuple[int, str]:
    """Return the last quoted turn of a node and its quote; without a quote, its last turn and an empty text."""
    turn, quote = node["quotes"][-1] if node["quotes"] else (node["turns"][-1], "")
    return turn, quote


def _question_and_answer(interview: Interview, number: int) -> tuple[str, str]:
    """Return the question and the answer of a turn, each on one line; empty texts for an unknown turn."""
    turn = next((turn for turn in interview.state["turns"] if turn["number"] == number), None)
    if turn is None:
        return "", ""
    return " ".join(turn["question"].split())[:_MAX_PHRASE], " ".join(turn["answer"].split())


def _context(question: str, answer: str, quote: str) -> str:
    """Return the question and the answer that led to a concept, without an answer that is the same as the quote."""
    sentences = ['Asked in an interview: "%s"' % question] if question else []
    if answer and answer.strip(".! ") != quote.strip(".! "):
        sentences.append('The user answered: "%s"' % answer[:_MAX_ANSWER])
    return " ".join(sentences)


def _title(node: dict[str, Any]) -> str:
    """Return a concept's label, with a mark if the user is against it, because the label alone would say the opposite."""
    return str(("Against: %s" if node["stance"] < 0 else "%s") % node["label"])


def _opposed_sentence(node: dict[str, Any]) -> str:
    turn, quote = _last_quote(node)
    stance = "for" if node["stance"] > 0 else "against"
    return 'In answer %d the user spoke %s it: "%s".' % (turn, stance, quote or node["label"])


def summary(interview: Interview) -> dict[str, Any]:
    """Return the learned concepts by type and the covered and open elements, for the user to confirm."""
    state, elements = interview.state, interview.setup["elements"]
    type_names = {entry["id"]: entry["name"] for entry in interview.setup["pack"]["types"]}
    learned: dict[str, list[str]] = {}
    for node in state["nodes"]:
        if not node["superseded_by"]:
            learned.setdefault(type_names[node["type"]], []).append(_title(node))
    return {
        "interview": interview.id,
        "topic": interview.topic,
        "asked": len(state["turns"]),
        "learnt": learned,
        "covered": [element["label"] for element in elements if element["id"] in state["covered"]],
        "open": [element["label"] for element in elements if element["id"] not in state["covered"]],
    }


def choose_memories(text: str, proposed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the proposed memories that `text` (standard input) selects, with its changes; all of them for an empty text.

    Raises InvalidAnswer.
    """
    if not text.strip():
        return proposed
    chosen = decode_memories(text)
    if len(chosen) > MAX_MEMORIES:
        raise InvalidAnswer("memories: expected at most %d, got %d" % (MAX_MEMORIES, len(chosen)))
    by_concept = {memory["concept"]: memory for memory in proposed}
    return [_with_changes(entry, by_concept) for entry in chosen]


def _with_changes(entry: object, by_concept: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the proposed memory of an entry with the entry's fields in it. Raises InvalidAnswer."""
    if not isinstance(entry, dict) or any(name not in _FIELDS for name in entry):
        raise InvalidAnswer("memories: expected objects with %s" % ", ".join(_FIELDS))
    if entry.get("concept") not in by_concept:
        raise InvalidAnswer("memories: concept: expected one of %s" % ", ".join(by_concept))
    memory = dict(by_concept[entry["concept"]])
    for name in ("category", "title", "body", "context"):
        if name in entry:
            if not isinstance(entry[name], str) or not entry[name].strip():
                raise InvalidAnswer("memories: %s: expected a text" % name)
            memory[name] = entry[name]
    for name in ("tags", "asked_as"):
        value = entry.get(name, memory.get(name, []))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidAnswer("memories: %s: expected a list of texts" % name)
        memory[name] = value[:_MAX_TAGS]
    category_named(memory["category"])  # raises InvalidMemory for an unknown category
    return memory


def memory_data(interview: Interview, chosen: dict[str, Any]) -> dict[str, Any]:
    """Return a chosen memory as the data of its file."""
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
    """Write a chosen memory to the project's store; return what was written, and a record of it for JSON output."""
    data = memory_data(interview, chosen)
    written = save(paths, named_store(paths, PROJECT), data, approved, how="interview")
    return written, {
        "id": written.stored.memory.id,
        "category": data["category"],
        "created": written.created,
        "trusted": approved,
        "redacted": [redaction._asdict() for redaction in written.redacted],
    }
