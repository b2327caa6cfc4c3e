"""What an interview leaves: the summary that the user confirms, and the memories made of it, each with quote and turn."""

from __future__ import annotations

from .graph import LEADS_TO, Graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .store import Interview

__all__ = ["MAX_MEMORIES", "proposals", "summary"]

MAX_MEMORIES = 20
_LEAST_CONFIDENCE = 0.5
_MAX_PHRASE = 200
_MAX_ANSWER = 1000


def proposals(interview: Interview) -> list[dict[str, Any]]:
    """The memories to write, the concepts named most often first: concept, category, title, body, context, asked_as, turn and quote.

    The context is what was asked and what the user answered, in their own words; the phrase by which it may be asked for is that question.
    Concepts that were taken back, that nobody is sure of, or that came up without a word of the user's are left out.
    """
    nodes = interview.state["nodes"]
    kinds = {entry["id"]: entry for entry in interview.setup["pack"]["types"]}
    ahead = {edge[0]: edge[1] for edge in interview.state["edges"] if edge[2] == LEADS_TO}
    kept = [
        (at, node)
        for at, node in enumerate(nodes)
        if not node["superseded_by"] and node["confidence"] >= _LEAST_CONFIDENCE and node["turns"]
    ]
    kept.sort(key=lambda pair: (-pair[1]["mentions"], pair[0]))
    graph = Graph(interview.state, interview.setup["pack"])
    contrary = {one: other for pair in graph.contradictions() for one, other in (pair, pair[::-1])}
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
    """A concept's name, with what they hold of it where they are against it: a title must not say the contrary."""
    return str(("Against: %s" if node["stance"] < 0 else "%s") % node["label"])


def _other_side(node: dict[str, Any]) -> str:
    turn, quote = node["quotes"][-1] if node["quotes"] else (node["turns"][-1], node["label"])
    return ' In answer %d the user spoke %s it: "%s".' % (
        turn,
        "for" if node["stance"] > 0 else "against",
        quote,
    )


def summary(interview: Interview) -> dict[str, Any]:
    """What was learnt, by type, what was covered, what was left open, for the user to confirm."""
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
