"""Fit the weights by which a prompt asks about past sessions, and measure them.

    past_train.py --data DIR --data DIR [--others FILE]           cross-validate: measure each set with a fit on the others
    past_train.py --data DIR --data DIR [--others FILE] --write   fit on all sets and write the weights to `config/sessions/past.json`

The projects of `benchmarks/past`, with sessions, asks and other prompts, are always one set. A folder DIR of one author holds one folder a
project: project.json {now, cwd}, sessions/*.jsonl, asks.jsonl {text, sessions} and others.jsonl {text}. FILE has the prompts of ordinary
days, one {text, asks, match} a line: whether it asks, and `match_signs` with the sessions before it. They are many, so they get less
weight. With --write, weights are held near the present ones, which know sets that are not here.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import sys
import tempfile
from calendar import timegm
from math import exp
from time import strptime
from typing import Any, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_train_sets import solve
from memory_plugin.kernel.paths import Paths, data_path
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.sessions import past_index
from memory_plugin.sessions.past import Exchange, answer, find, index_path, match_signs, read_index
from memory_plugin.sessions.past_ask import Ask, ask_of, forms_data, may_ask

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "past")
MATCH = ("share", "lead", "one_word", "no_subject", "dated")
OTHERS_WEIGHT = 0.5
RIDGE = 0.5
SHIFT = 0.2  # of the odds: to tell nothing costs more than to tell too much
REACH = 4.4  # log odds that a match may add to those of the form
RULES = 1


class Row(NamedTuple):
    """A prompt: the signs of its form and of its match, whether it asks, whether the best match is right, and what was told first."""

    text: str
    asks: bool
    form: set[str]
    match: dict[str, float]
    is_found: bool = False
    told: str = ""
    is_right: bool = False


def lines(path: str) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file; none if it is missing."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def transcript(session: str, title: str, said: list[list[Any]], root: str) -> list[dict[str, Any]]:
    """Return the rows of a made session: each exchange is time, prompt, reply, edited files, and commands with whether they failed."""
    rows: list[dict[str, Any]] = []
    for number, (time, prompt, reply, files, commands) in enumerate(said):
        common = {"timestamp": time, "sessionId": session, "cwd": root, "gitBranch": "main"}
        user = {"type": "user", "origin": {"kind": "human"}, "promptSource": "typed", **common}
        rows.append({**user, "message": {"role": "user", "content": prompt}})
        tools = [("Edit", {"file_path": os.path.join(root, name)}, False) for name in files]
        tools += [("Bash", {"command": command}, failed) for command, failed in commands]
        for at, (tool, given, failed) in enumerate(tools):
            key = "%s-%d-%d" % (session, number, at)
            call = {"type": "tool_use", "id": key, "name": tool, "input": given}
            result = {"type": "tool_result", "tool_use_id": key, "content": "ok", "is_error": failed}
            rows.append(_reply("m" + key, call, common))
            rows.append({"type": "user", **common, "message": {"role": "user", "content": [result]}})
        rows.append(_reply("m%s-%d" % (session, number), {"type": "text", "text": reply}, common))
    return [*rows, {"type": "ai-title", "aiTitle": title, "sessionId": session}]


def _reply(name: str, block: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "assistant",
        **common,
        "message": {"id": name, "role": "assistant", "content": [block]},
    }


def made_projects() -> list[tuple[float, dict[str, str], list[dict[str, Any]], str]]:
    """Return the projects of `benchmarks/past`: the time, sessions as text, prompts, and the folder in them."""
    projects = []
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="utf-8") as file:
            about = json.load(file)
        sessions = {
            name: "".join(json.dumps(row) + "\n" for row in transcript(name, title, said, "/made"))
            for name, (title, said) in about["sessions"].items()
        }
        prompts = [{"text": text, "sessions": right} for text, _, right in about["asks"]]
        prompts += [{"text": text} for text in about["others"]]
        projects.append((seconds(about["now"]), sessions, prompts, "/made"))
    return projects


def seconds(time: str) -> float:
    """Return a time such as 2026-11-20T09:30:00Z in seconds since 1970."""
    return float(timegm(strptime(time.rstrip("Z"), "%Y-%m-%dT%H:%M:%S")))


def kit_projects(folder: str) -> list[tuple[float, dict[str, str], list[dict[str, Any]], str]]:
    """Return the projects of one author's folder in the same form."""
    projects = []
    for path in sorted(glob.glob(os.path.join(folder, "*", "project.json"))):
        with open(path, encoding="utf-8") as file:
            about = json.load(file)
        home = os.path.dirname(path)
        sessions = {}
        for name in glob.glob(os.path.join(home, "sessions", "*.jsonl")):
            with open(name, encoding="utf-8") as file:
                sessions[os.path.basename(name)[: -len(".jsonl")]] = file.read()
        prompts = lines(os.path.join(home, "asks.jsonl")) + lines(os.path.join(home, "others.jsonl"))
        projects.append((seconds(about["now"]), sessions, prompts, about["cwd"]))
    return projects


def rows_of(projects: list[tuple[float, dict[str, str], list[dict[str, Any]], str]]) -> list[Row]:
    """Index each project in a home of its own, and return its prompts with their signs."""
    rows: list[Row] = []
    for now, sessions, prompts, cwd in projects:
        with tempfile.TemporaryDirectory() as home:
            root = os.path.realpath(os.path.join(home, "project"))
            os.makedirs(os.path.join(root, ".git"))
            os.environ.update(HOME=home, CLAUDE_CONFIG_DIR=os.path.join(home, ".claude"))
            paths = Paths(root)
            folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in root)
            target = os.path.join(home, ".claude", "projects", folder)
            os.makedirs(target)
            for name, text in sessions.items():
                with open(os.path.join(target, name + ".jsonl"), "w", encoding="utf-8") as file:
                    file.write(text.replace(json.dumps(cwd)[1:-1], json.dumps(root)[1:-1]))
            past_index.refresh(paths, 36500, RULES)
            rows += [_row(each, now, paths) for each in prompts]
    return rows


def _row(prompt: dict[str, Any], now: float, paths: Paths) -> Row:
    text, right = prompt["text"], prompt.get("sessions", [])

    def read(index: Connection) -> tuple[Ask, list[Exchange], list[tuple[str, str]]]:
        ask = ask_of(text, now)
        shown = answer(index, ask, now, "") if may_ask(text) else None
        return ask, find(index, ask, now), shown.sessions if shown else []

    ask, found, sessions = read_index(index_path(paths), RULES, read) or (None, [], [])
    assert ask is not None
    first = sessions[0][0] if sessions else ""
    return Row(
        text,
        bool(right),
        Ask(text).signs,
        match_signs(ask, found) if found else {},
        bool(found) and found[0].session in right,
        first,
        first in right,
    )


def vector(row: Row, names: list[str]) -> list[float]:
    """Return the signs of a row as numbers, the first one 1."""
    return [1.0, *(float(name in row.form) for name in names), *(row.match.get(name, 0.0) for name in MATCH)]


def fit(rows: list[tuple[Row, float]], names: list[str], near: list[float] | None = None) -> list[float]:
    """Return the weights of a logistic model with a ridge around `near`, else around 0; rows come with their weights."""
    points = [(vector(row, names), float(row.asks), weight) for row, weight in rows]
    size = len(points[0][0])
    center = near or [0.0] * size
    beta = list(center)
    for _ in range(12):
        slope = [RIDGE * (center[at] - value) if at else 0.0 for at, value in enumerate(beta)]
        curve = [[RIDGE * (at == to and at > 0) for to in range(size)] for at in range(size)]
        for point, label, weight in points:
            filled = [at for at in range(size) if point[at]]
            guess = 1 / (1 + exp(-max(-30.0, min(30.0, sum(beta[at] * point[at] for at in filled)))))
            for at in filled:
                slope[at] += weight * (label - guess) * point[at]
                for to in filled:
                    curve[at][to] += weight * guess * (1 - guess) * point[at] * point[to]
        beta = [value + step for value, step in zip(beta, solve(curve, slope))]
    return beta


def report(title: str, rows: list[Row], weights: list[float], names: list[str]) -> None:
    """Print how many asks are told with the right session first, and how many other prompts get something."""
    odds = {row.text: SHIFT + sum(w * x for w, x in zip(weights, vector(row, names))) for row in rows}
    asks, others = [row for row in rows if row.asks], [row for row in rows if not row.asks]
    right = sum(odds[row.text] >= 0 and row.is_found for row in asks)
    false = sum(odds[row.text] >= 0 for row in others)
    print("%-40s told %d of %d, something on %d of %d others" % (title, right, len(asks), false, len(others)))


def present(names: list[str]) -> list[float]:
    """Return the weights in the data file."""
    weights = forms_data()["weights"]
    form = [weights["form"][name] for name in names]
    return [weights["form"]["bias"] - SHIFT, *form, *(weights["match"][name] for name in MATCH)]


def write(weights: list[float], names: list[str]) -> None:
    """Write the weights into the data file."""
    path = data_path("sessions", "past") + ".json"
    with open(path, encoding="utf-8") as file:
        head, _, _ = file.read().partition('  "weights": ')
    form = {"bias": round(weights[0] + SHIFT, 2), **dict(zip(names, (round(w, 2) for w in weights[1:])))}
    match = dict(zip(MATCH, (round(weight, 2) for weight in weights[1 + len(names) :])))
    text = json.dumps({"form": form, "match": match, "reach": REACH})
    with open(path, "w", encoding="utf-8") as file:
        file.write('%s  "weights": %s\n}\n' % (head, text))


def main() -> None:
    """Read the sets, cross-validate, and write if that was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="append", default=[], metavar="DIR")
    parser.add_argument("--others", action="append", default=[], metavar="FILE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    names = [name for name in forms_data()["weights"]["form"] if name != "bias"]
    sets = {folder: rows_of(kit_projects(folder)) for folder in options.data}
    sets["made"] = rows_of(made_projects())
    ordinary = [
        (Row(each["text"], each["asks"], Ask(each["text"]).signs, each["match"]), OTHERS_WEIGHT)
        for path in options.others
        for each in lines(path)
    ]
    for left_out, rows in sets.items():
        others = [(row, 1.0) for name, each in sets.items() if name != left_out for row in each]
        if others:
            report(left_out, rows, fit(others + ordinary, names), names)
    if options.write:
        every = [(row, 1.0) for rows in sets.values() for row in rows]
        write(fit(every + ordinary, names, present(names)), names)


if __name__ == "__main__":
    main()
