"""Measure how much of each store the session catalog contains, using the real hook.

    catalog_reach.py --data DIR [--only a,b] [--tokens 1500] [--show]

A store is a folder with corpus.jsonl {id, category, title, body, tags, files, created_at, supersedes?}; `benchmarks/made` holds some. Each
is written to a temporary project and accepted, and the SessionStart hook runs once. The columns are the memories (without superseded ones),
the standing rules and how many of them are in the catalog, the other titles and how many of them are (shortened ones count, and are also
listed separately), the estimated tokens, and the tokens of the rules that a sub-agent gets.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.memories.record import categories
from memory_plugin.recall.decision import estimated_tokens

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES = ("preference", "constraint")
SHORTENED = "\u2026"
SHORTEST = 60  # characters of a shortened title that still tell it from others


class Reach(NamedTuple):
    """The figures of one store."""

    store: str
    memories: int
    rules: int
    rules_told: int
    titles: int
    titles_told: int
    shortened: int
    tokens: int
    subagent_tokens: int


def make_project(folder: str, corpus: list[dict[str, object]], tokens: int) -> dict[str, str]:
    """Write a home and a project with the accepted memories of a corpus; return the environment of its hooks."""
    home, project = os.path.join(folder, "home"), os.path.join(folder, "project")
    os.makedirs(os.path.join(home, ".claude"))
    os.makedirs(os.path.join(project, ".git"))
    settings = {"memory": {"retrieval": {"catalog": {"max_tokens": tokens}}}}
    with open(os.path.join(home, ".claude", "settings.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    newer = {str(one["supersedes"]): str(one["id"]) for one in corpus if one.get("supersedes")}
    for one in corpus:
        write_memory(os.path.join(project, ".claude", "memory"), one, newer.get(str(one["id"]), ""))
    environment = {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude"),
        "CLAUDE_PROJECT_DIR": project,
        "PATH": os.environ["PATH"],
    }
    command = [sys.executable, os.path.join(ROOT, "scripts", "memory.py")]
    for arguments in (["accept", "--all"], ["refresh"]):
        subprocess.run(
            [*command, *arguments, "--root", project], env=environment, check=True, capture_output=True
        )
    return environment


def write_memory(store: str, record: dict[str, object], successor: str) -> None:
    """Write one memory of a corpus as its file."""
    category = categories()[str(record["category"])]
    body = str(record["body"])
    stamp = str(record.get("created_at", "2026-06-01"))[:10] + "T09:00:00Z"
    data = {
        "schema_version": "1.0", "category": category.name, "id": record["id"], "title": str(record["title"])[:120],
        "created_at": stamp, "updated_at": stamp, "tags": record.get("tags", []), "related_files": record.get("files", []),
        "record_status": "active", "content": {category.primary: body.split("\n") if category.name == "runbook" else body},
    }  # fmt: skip
    if successor:
        data["superseded_by"] = successor
    os.makedirs(os.path.join(store, category.folder), exist_ok=True)
    with open(os.path.join(store, category.folder, "%s.json" % record["id"]), "w", encoding="utf-8") as file:
        json.dump(data, file)


def context_of(event: str, environment: dict[str, str], **fields: str) -> str:
    """Return the context that a hook gives Claude."""
    script = {"SessionStart": "session_start.py", "SubagentStart": "subagent_start.py"}[event]
    done = subprocess.run(
        [sys.executable, "-I", "-S", os.path.join(ROOT, "hooks", script)],
        input=json.dumps({"hook_event_name": event, "session_id": "bench", **fields}).encode(),
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    output = json.loads(done.stdout) if done.stdout.strip() else {}
    return str(output.get("hookSpecificOutput", {}).get("additionalContext", ""))


def is_in(title: str, lines: list[str]) -> str:
    """Return the line that begins with a title or a shortened title; "" if there is none."""
    title = " ".join(title.split())[:120]
    for line in lines:
        kept = line.rstrip(SHORTENED) if line.endswith(SHORTENED) else line
        if line.startswith(title) or (len(kept) >= SHORTEST and title.startswith(kept)):
            return line
    return ""


def measure(name: str, corpus: list[dict[str, object]], tokens: int, show: bool) -> Reach:
    """Return the figures of one store."""
    folder = tempfile.mkdtemp(prefix="memory-catalog-")
    try:
        environment = make_project(folder, corpus, tokens)
        context = context_of("SessionStart", environment, source="startup")
        sub = context_of("SubagentStart", environment, agent_id="a1", agent_type="general-purpose")
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the refresh in the background may still write there
    if show:
        print(context)
    old = {one.get("supersedes") for one in corpus}
    current = [one for one in corpus if one["id"] not in old]
    rules = [str(one["title"]) for one in current if one["category"] in RULES and not one.get("files")]
    titles = [str(one["title"]) for one in current if one["category"] not in RULES or one.get("files")]
    lines = [html.unescape(line) for line in context.split("\n")]
    told = [line[2:] for line in lines if line.startswith("- ")]
    listed = [found for title in titles if (found := is_in(title, lines))]
    return Reach(
        name,
        len(current),
        len(rules),
        sum(bool(is_in(title, told)) for title in rules),
        len(titles),
        len(listed),
        sum(line.endswith(SHORTENED) for line in listed),
        estimated_tokens(context),
        estimated_tokens(sub) if sub else 0,
    )


def main() -> int:
    """Print a row for each store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", required=True, help="a folder of stores")
    parser.add_argument("--only", default="", help="names of stores, separated by commas")
    parser.add_argument(
        "--tokens", type=int, default=1500, help="retrieval.catalog.max_tokens (default: 900)"
    )
    parser.add_argument("--show", action="store_true", help="also print the catalogs")
    arguments = parser.parse_args()
    form = "%-20s %8s %12s %14s %10s %7s %10s"
    print(form % ("store", "memories", "rules told", "titles listed", "shortened", "tokens", "sub-agent"))
    for name in arguments.only.split(",") if arguments.only else sorted(os.listdir(arguments.data)):
        with open(os.path.join(arguments.data, name, "corpus.jsonl"), encoding="utf-8") as file:
            corpus = [json.loads(line) for line in file if line.strip()]
        found = measure(name, corpus, arguments.tokens, arguments.show)
        rules = "%d of %d" % (found.rules_told, found.rules)
        titles = "%d of %d" % (found.titles_told, found.titles)
        print(
            form
            % (name, found.memories, rules, titles, found.shortened, found.tokens, found.subagent_tokens),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
