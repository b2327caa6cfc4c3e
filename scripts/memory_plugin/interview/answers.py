"""Apply one answer to the state of an interview: concepts become nodes and edges, elements become covered, a turn is added."""

from __future__ import annotations

from .answer_signals import check_signals, is_terminal, sentiment, signals_by_rule
from .graph import LEADS_TO, REVISES, Graph
from .wording import contains_phrase, contains_run, content_stems, count_phrases, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]

__all__ = ["apply_answer", "new_state"]

_BY_ANSWER, _BY_NAME = "answered", "named"
_EXCLUDING = ("apart from", "besides", "other than", "except", "aside from", "beyond")


def new_state(covered: dict[str, str]) -> State:
    """Return the state of an interview before its first question; `covered` maps elements that are known already to their source."""
    known = {name: {"turn": 0, "by": source} for name, source in covered.items()}
    return {
        "nodes": [],
        "edges": [],
        "turns": [],
        "covered": known,
        "skipped": [],
        "rate": 1.0,
        "more": 0,
        "next": None,
    }


def apply_answer(state: State, setup: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Apply an answer to the question in `state["next"]` to the state, which is changed; return what was dropped, in words."""
    number = len(state["turns"]) + 1
    asked = state["next"]
    graph = Graph(state, setup["pack"])
    found, dropped = check_signals(given["signals"], setup["signals"])
    by_rule = signals_by_rule(given["answer"], setup["patterns"], said_something=bool(given["concepts"]))
    signals = dict(by_rule, **found)
    idle = frozenset(setup["redundancy"]["function_words"])
    numbers, new = _take_concepts(graph, given, signals, number, idle)
    notes = ["signals.%s: not of the expected form" % name for name in dropped]
    _why_edges(graph, asked, numbers, number)
    notes += _relate(graph, given["relations"], number, idle)
    turn = _turn(given, asked, setup, number)
    turn.update(signals=signals, by_rule=by_rule, terminal=is_terminal(signals))
    turn["sentiment"] = sentiment(signals, setup["signals"])
    turn.update(concepts=["n%d" % (at + 1) for at in numbers], new=new)
    turn["unanswered"] = not numbers and signals.get("uncertainty", {}).get("type") == "conceptual_clarity"
    turn["low"] = (
        not new
        and turn["words"] <= setup["scoring"]["stop"]["low_words"]
        and not turn["terminal"]
        and not turn["unanswered"]
        and turn["wish"] != "skip"
    )
    if turn["wish"] == "skip":
        state["skipped"].append(asked["focus"]["key"])
    _cover(state, setup, given, asked, turn, graph, idle)
    weight = setup["scoring"]["stop"]["rate_weight"]
    state["rate"] = round((1 - weight) * state["rate"] + weight * new, 6)
    state["turns"].append(turn)
    return notes


def _turn(given: dict[str, Any], asked: dict[str, Any], setup: dict[str, Any], number: int) -> dict[str, Any]:
    said = normalize(given["answer"])
    patterns = setup["patterns"]
    return {
        "number": number,
        "strategy": asked["strategy"],
        "focus": asked["focus"],
        "question": given["question"] or asked.get("question") or asked["probe"],
        "answer": given["answer"],
        "words": len(said.split()),
        "elaborations": count_phrases(said, patterns["elaboration"]),
        "enthusiasm": count_phrases(said, patterns["enthusiasm"]),
        "hedges": count_phrases(said, patterns["hedge"]),
        "wish": given["wish"],
    }


def _take_concepts(
    graph: Graph, given: dict[str, Any], signals: dict[str, Any], turn: int, idle: frozenset[str]
) -> tuple[list[int], int]:
    """Add the concepts of an answer to the graph; return their nodes, and how many of them are new."""
    numbers: list[int] = []
    new = 0
    for concept in given["concepts"]:
        stems = content_stems(concept["text"], idle)
        at = graph.find(stems, concept["stance"])
        if at < 0:
            opposed = graph.find_opposite(stems, concept["stance"])
            at = graph.add(concept["text"], concept["type"], stems, concept["stance"], concept["confidence"])
            new += 1
            _revise(graph, at, opposed, concept, signals, turn, idle)
        elif not graph.nodes[at]["stance"]:
            graph.nodes[at]["stance"] = concept["stance"]
        for alias in concept["aliases"]:
            graph.add_name(at, content_stems(alias, idle))
        if at not in numbers:
            graph.mention(at, turn, concept["quote"], concept["confidence"])
            numbers.append(at)
    return numbers, new


def _revise(
    graph: Graph,
    at: int,
    opposed: int,
    concept: dict[str, Any],
    signals: dict[str, Any],
    turn: int,
    idle: frozenset[str],
) -> None:
    """Link a concept to the one it revises, and mark that one superseded where the user took it back."""
    earlier = opposed
    if concept["revises"]:
        earlier = graph.find(content_stems(concept["revises"], idle), 0)
    contradiction = signals.get("contradiction", {})
    taken_back = contradiction.get("present") and contradiction.get("kind", "") == "stance_reversal"
    if 0 <= earlier != at:
        graph.link(at, earlier, REVISES, turn)
        if concept["revises"] or taken_back:
            graph.nodes[earlier]["superseded_by"] = graph.nodes[at]["id"]


def _why_edges(graph: Graph, asked: dict[str, Any], numbers: list[int], turn: int) -> None:
    """Link the concept that was asked about to the answer: "why does X matter?" answered with Y means that X leads to Y."""
    if asked["strategy"] != "deepen":
        return
    source = int(asked["focus"]["key"][1:]) - 1
    for target in numbers:
        if target != source and graph.climbs(source, target, len(graph.ladder)):
            graph.link(source, target, LEADS_TO, turn)


def _relate(graph: Graph, relations: list[list[str]], turn: int, idle: frozenset[str]) -> list[str]:
    notes = []
    for at, ends in enumerate(relations):
        source, target = (graph.find(content_stems(end, idle), 0) for end in ends)
        if source < 0 or target < 0:
            notes.append("relations.%d: no such concept" % at)
        elif not graph.climbs(source, target):
            notes.append("relations.%d: not one step up the ladder" % at)
        else:
            graph.link(source, target, LEADS_TO, turn)
    return notes


def _named(setup: dict[str, Any], stems: list[str]) -> list[str]:
    """Return the elements that a text names."""
    return [e["id"] for e in setup["elements"] if any(contains_run(part, stems) for part in e["stems"])]


def _asked_for(setup: dict[str, Any], question: str, probe: str, idle: frozenset[str]) -> list[str]:
    """Return the elements that Claude's own question names, without those that the topic names or the question excludes."""
    if not question or question == probe or contains_phrase(normalize(question), _EXCLUDING):
        return []
    always = _named(setup, content_stems(setup["topic"], idle))
    return [name for name in _named(setup, content_stems(question, idle)) if name not in always]


def _cover(
    state: State,
    setup: dict[str, Any],
    given: dict[str, Any],
    asked: dict[str, Any],
    turn: dict[str, Any],
    graph: Graph,
    idle: frozenset[str],
) -> None:
    """Mark elements as covered: asked about and answered, settled by Claude, or named in the answer."""
    named = _named(setup, content_stems(given["answer"], idle))
    settled = list(given["covered"])
    if turn["concepts"] and not turn["terminal"] and not turn["wish"]:
        settled += [e["id"] for e in setup["elements"] if e["id"] == turn["focus"]["key"]]
        settled += _asked_for(setup, given["question"], asked["probe"], idle)
    for name in settled:
        state["covered"].setdefault(name, {"turn": turn["number"], "by": _BY_ANSWER})
    if not turn["terminal"] and not turn["unanswered"]:
        for name in named:
            state["covered"].setdefault(name, {"turn": turn["number"], "by": _BY_NAME})
    turn["elements"] = sorted({*named, *given["covered"]})
    about = turn["elements"] + ([turn["focus"]["key"]] if turn["focus"]["kind"] == "uncovered" else [])
    for name in turn["concepts"]:
        node = graph.nodes[int(name[1:]) - 1]
        node["elements"] = sorted({*node["elements"], *_elements_of(node, setup, about)})


def _elements_of(node: dict[str, Any], setup: dict[str, Any], about: list[str]) -> list[str]:
    """Return the elements that a node belongs to: those in its name, else the one that the turn was about."""
    named = [
        element["id"]
        for element in setup["elements"]
        if any(contains_run(part, name) for part in element["stems"] for name in node["names"])
    ]
    return named or about[:1]
