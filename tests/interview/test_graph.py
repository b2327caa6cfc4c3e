"""The concept graph: canonical concepts, edges, chains with and without cycles, and its measures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.interview.graph import (
    LEADS_TO,
    REVISES,
    Graph,
    apply_answer,
    chao1,
    measure_chains,
    new_state,
)
from tests.interview.respondents import setup_for

PACK = {"ladder": ["a", "b", "c", "d"], "terminal": ["d"]}


def graph(types: str, *edges: tuple[int, int]) -> Graph:
    """Return a graph with one node per type, and edges by index."""
    built = Graph(new_state({}), PACK)
    for number, kind in enumerate(types):
        built.mention(built.add("node %d" % number, kind, 0), 1, "", 0.8)
    for source, target in edges:
        built.link(source, target, LEADS_TO, 1)
    return built


@pytest.mark.parametrize(
    ("types", "edges", "figures"),
    [
        ("", [], (0, 0, 0.0, 0)),
        ("aaa", [], (0, 0, 0.0, 0)),
        ("abcd", [(0, 1), (1, 2), (2, 3)], (1, 3, 3.0, 1)),
        ("abb", [(0, 1), (0, 2)], (2, 1, 1.0, 0)),
        ("abcdd", [(0, 1), (1, 2), (2, 3), (0, 4)], (2, 3, 2.0, 2)),
        ("bcb", [(0, 1), (1, 2), (2, 0)], (1, 2, 2.0, 0)),
        ("abab", [(0, 1), (2, 3)], (2, 1, 1.0, 0)),
    ],
    ids=["empty", "isolated roots", "one chain", "fork", "short and long", "a cycle alone", "two chains"],
)
def test_chains(types: str, edges: list[tuple[int, int]], figures: tuple[int, int, float, int]) -> None:
    chains = measure_chains(graph(types, *edges))
    assert tuple(chains[name] for name in ("number", "longest", "average", "complete")) == figures


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_any_graph_is_measured(edges: list[tuple[int, int]]) -> None:
    built = graph("abcdabcd", *edges)
    chains = measure_chains(built)
    assert 0 <= chains["complete"] <= chains["number"]
    assert chains["longest"] <= 7
    assert all(0 <= built.density(index) <= 1 for index in range(8))
    assert all(built.neighbors[index] for index in built.peripheral())


def test_chao1() -> None:
    cases = [
        ([], 0.0),
        ([1, 1, 1], 3 / 6),
        ([1, 1, 2, 2], 4 / 5),
        ([2, 3, 4], 1.0),
        ([1, 2, 5, 5], 4 / 4.5),
        ([0], 0.0),
    ]
    assert [(mentions, share) for mentions, share in cases if chao1(mentions) != pytest.approx(share)] == []


def test_density_and_peripheral_nodes() -> None:
    built = graph("abbb", (0, 1), (0, 2), (1, 2), (0, 3))
    assert built.density(1) == 1.0
    assert built.density(0) == pytest.approx(4 / 6)
    assert built.density(3) == 1.0
    assert built.peripheral() == [3]


def state_after(*answers: dict[str, Any]) -> Any:  # noqa: ANN401 (JSON)
    """Return the state after answers to an open question."""
    setup, state = setup_for(), new_state({})
    for answer in answers:
        focus = {"kind": "open", "key": "open", "label": "it"}
        state["next"] = answer.pop("asked", {"strategy": "broaden", "focus": focus, "probe": "What?"})
        given: Any = {
            "question": "",
            "relations": [],
            "signals": None,
            "covered": [],
            "wish": "",
            "concepts": [],
            **answer,
        }
        apply_answer(state, setup, given)
    return state


def concept(text: str, kind: str = "behaviour", stance: int = 0) -> dict[str, Any]:
    """Return a concept as `parse_answer` gives it."""
    return {"text": text, "type": kind, "stance": stance, "confidence": 0.8, "quote": text}


def test_concepts_are_canonical_and_counted() -> None:
    state = state_after(
        {"answer": "x", "concepts": [concept("retry failed uploads")]},
        {"answer": "x", "concepts": [concept("Retrying a failed upload")]},
    )
    (node,) = state["nodes"]
    assert (node["mentions"], node["turns"]) == (2, [1, 2])
    assert node["quotes"][0] == [1, "retry failed uploads"]


@pytest.mark.parametrize(
    ("signals", "superseded"),
    [(None, ""), ({"contradiction": {"present": True, "kind": "stance_reversal"}}, "n2")],
    ids=["a contrast stays", "a reversal takes back"],
)
def test_a_concept_of_the_opposite_stance_is_a_node_of_its_own(signals: Any, superseded: str) -> None:  # noqa: ANN401
    state = state_after(
        {"answer": "x", "concepts": [concept("weekly releases", stance=1)]},
        {"answer": "x", "concepts": [concept("weekly releases", stance=-1)], "signals": signals},
    )
    assert [edge[2] for edge in state["edges"]] == [REVISES]
    assert state["nodes"][0]["superseded_by"] == superseded


def test_a_why_question_links_its_concept_and_relations_climb_one_step() -> None:
    why = {"strategy": "deepen", "focus": {"kind": "recent_node", "key": "n1", "label": "x"}, "probe": "Why?"}
    state = state_after(
        {"answer": "x", "concepts": [concept("offline mode", "constraint")]},
        {
            "answer": "x",
            "concepts": [concept("work on trains", "goal"), concept("storms", "risk")],
            "asked": why,
        },
        {
            "answer": "x",
            "relations": [["offline mode", "storms"], ["storms", "offline mode"], ["storms", "trains"]],
        },
    )
    assert [(source, target) for source, target, _, _ in state["edges"]] == [(0, 1), (2, 0)]
