"""Build the result of an interview: the summary that the user confirms, the proposed memories with quote and turn, and the export."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..kernel.paths import Paths
from ..memories.record import CONTEXT, body_content, categories, category_named, new_memory
from . import Reminder
from .graph import LEADS_TO, Graph
from .inputs import InvalidAnswer, decode_memories
from .interview_store import FINISHED, Interview, InterviewError, InterviewStore, Node

MAX_MEMORIES = 20
_MIN_CONFIDENCE = 0.5
_MAX_PHRASE, _MAX_ANSWER, _MAX_LABEL = 200, 1000, 60
_MAX_TAGS = 8


class Proposal(NamedTuple):
    """A memory about a concept. The context is the question and the user's own answer; phrases are for Claude to write."""

    concept: str
    category: str
    title: str
    body: str
    context: str
    turn: int
    quote: str
    asked_as: list[str]
    tags: list[str]

    def memory(self, interview: Interview) -> dict[str, Any]:
        """Return the memory as the data of its file. Raises InvalidMemory for an unknown category."""
        category = categories()[category_named(self.category).name]
        content = body_content(category, self.body)
        if self.context:
            content[CONTEXT] = self.context
        source = {"interview": interview.id, "turn": self.turn, "quote": self.quote}
        extra: dict[str, object] = {"tags": self.tags[:_MAX_TAGS], "source": source}
        if self.asked_as:
            extra["asked_as"] = self.asked_as[:_MAX_TAGS]
        return new_memory(category, "", self.title, content, extra)


def propose_memories(interview: Interview) -> list[Proposal]:
    """Return the memories to propose, the most mentioned concepts first.

    Superseded concepts, those of low confidence, and those without an answer are left out.
    """
    graph = Graph(interview.state, interview.setup["pack"])
    indexes = [
        index
        for index, node in enumerate(graph.nodes)
        if not node["superseded_by"] and node["confidence"] >= _MIN_CONFIDENCE and node["turns"]
    ]
    indexes.sort(key=lambda index: -graph.nodes[index]["mentions"])
    return [_proposal(interview, graph, index) for index in indexes[:MAX_MEMORIES]]


def _proposal(interview: Interview, graph: Graph, index: int) -> Proposal:
    """Return the memory for a node of the graph."""
    node, targets = graph.nodes[index], graph.targets(index)[-1:]
    concept_type = next(entry for entry in interview.setup["pack"]["types"] if entry["id"] == node["type"])
    number, quote = node["quotes"][-1] if node["quotes"] else (node["turns"][-1], "")
    asked = next(turn for turn in interview.state["turns"] if turn["number"] == number)
    question, answer = (" ".join(text.split()) for text in (asked["question"], asked["answer"]))
    context = ['Asked in an interview: "%s"' % question[:_MAX_PHRASE]] if question else []
    if answer and answer.strip(".! ") != quote.strip(".! "):
        context.append('The user answered: "%s"' % answer[:_MAX_ANSWER])
    sentences = ["%s of %s: %s." % (concept_type["name"], interview.topic, node["label"].rstrip("."))]
    sentences += ["The user is against it."] if node["stance"] < 0 else []
    sentences += ['Leads to: "%s".' % graph.nodes[target]["label"] for target in targets]
    sentences += ['The user said: "%s".' % quote] if quote else []
    body, category = " ".join(sentences), concept_type["memory"]
    title, tags = _title(node), ["interview"]
    return Proposal(node["id"], category, title, body, " ".join(context), number, quote, [], tags)


def _title(node: Node) -> str:
    """Return a concept's label, with a mark if the user is against it, because the label alone would say the opposite."""
    return ("Against: %s" if node["stance"] < 0 else "%s") % node["label"]


def summary(interview: Interview) -> dict[str, Any]:
    """Return what an interview has shown so far, for the user to confirm: the learned concepts by type, covered and open elements."""
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


def choose_memories(text: str, proposed: list[Proposal]) -> list[Proposal]:
    """Return the proposed memories that `text` (standard input) selects, with its changes; all of them for an empty text.

    Raises InvalidAnswer.
    """
    if not text.strip():
        return proposed
    by_concept = {memory.concept: memory for memory in proposed}
    chosen = {}
    for entry in decode_memories(text):
        concept = entry["concept"]
        if concept not in by_concept:
            raise InvalidAnswer("memories: concept: expected one of %s" % ", ".join(by_concept))
        chosen[concept] = by_concept[concept]._replace(**entry)
    return list(chosen.values())


def unfinished(interview: Interview) -> Interview:
    """Return the interview. Raises InterviewError if its memories are written."""
    if interview.status == FINISHED:
        raise InterviewError("%s is already finished; its memories are written" % interview.id)
    return interview


def finish(interview: Interview, store: InterviewStore, paths: Paths) -> None:
    """Close an interview whose memories are written."""
    interview.status = FINISHED
    interview.state["next"] = None
    store.save(interview)
    if interview.session:
        Reminder(paths, interview.session).delete()


def as_record(interview: Interview) -> dict[str, object]:
    """Return an interview as one JSON object: concepts with stance and sources, edges by node id, coverage and turns."""
    state = interview.state
    edges = [
        {"source": "n%d" % (source + 1), "target": "n%d" % (target + 1), "kind": kind, "turn": turn}
        for source, target, kind, turn in state["edges"]
    ]
    return {
        **summary(interview),
        "pack": interview.setup["pack"]["id"],
        "status": interview.status,
        "covered": state["covered"],
        "concepts": state["nodes"],
        "edges": edges,
        "turns": state["turns"],
    }


def as_markdown(interview: Interview) -> str:
    """Return an interview as Markdown: the value map as a Mermaid diagram, then the questions, and the answers as quotations."""
    lines = ["# Interview: %s" % interview.topic, "", "```mermaid", *_mermaid(interview), "```", ""]
    for turn in interview.state["turns"]:
        lines += ["**%d. %s** (%s)" % (turn["number"], turn["question"], turn["strategy"]), ""]
        lines += ["> " + (turn["answer"] or "(skipped)"), ""]
    return "\n".join(lines[:-1])


def _mermaid(interview: Interview) -> list[str]:
    """Return one box per concept, grouped by type, with arrows along the ladder and dotted arrows for revisions."""
    lines = ["flowchart BT"]
    for number, entry in enumerate(interview.setup["pack"]["types"]):
        members = [node for node in interview.state["nodes"] if node["type"] == entry["id"]]
        if members:
            lines.append('  subgraph t%d["%s"]' % (number, _escaped(entry["name"])))
            lines += ['    %s["%s"]' % (node["id"], _escaped(_title(node))) for node in members]
            lines.append("  end")
    for source, target, kind, _ in interview.state["edges"]:
        arrow = "-->" if kind == LEADS_TO else "-. revises .->"
        lines.append("  n%d %s n%d" % (source + 1, arrow, target + 1))
    return lines


def _escaped(label: str) -> str:
    """Return a label with Mermaid's special characters as its entities (mermaid.js.org, "Entity codes to escape characters")."""
    short = label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "\u2026"
    return "".join(
        char if char.isalnum() or char in " ,.'-_/\u2026" else "#%d;" % ord(char) for char in short
    )
