"""What is known of a file or a record beside its text: the part of a project, titles, the status, related records and options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from .markdown import FENCED, Fields, form, headings, is_named, title_for, with_lead, without_markdown
from .record import DEFAULT_CATEGORY


def package_of(path: str, root: str) -> str | None:
    """Return the folder of a project that a file of agents is for, as `packages/web/`, empty for the whole; None for other files."""
    inside = os.path.relpath(path, root).split(os.sep)[:-1] if root and path.startswith(root + os.sep) else []
    folders = list(takewhile(lambda folder: not is_named(folder, "rule_folders"), inside))
    is_of_agents = folders != inside or is_named(path, "instructions") or is_named(path, "rules")
    is_of_agents |= is_named(path, "guides") and not is_named(os.path.dirname(path), "docs")
    return "".join(folder + "/" for folder in folders) if is_of_agents else None


def bind(data: dict[str, Any], package: str | None) -> None:
    """Let a memory name the part of a project that it is for in its title, and by its files unless it names some."""
    if package:
        data["title"] = below(package.split("/")[-2], data["title"])
        data["related_files"] = data["related_files"] or [package]


def below(name: str, title: str) -> str:
    """Return a title after a name, unless it says that."""
    return title if name.lower() in title.lower() else title_for(with_lead(name, title))


def title_of(title: str, answer: str) -> str:
    """Return the title of a record or note without its number; a single word is followed by the answer, unless that has it."""
    title = title_for(form("number").sub("", form("day").sub("", title)))
    title = title if " " in title else title.replace("-", " ")
    is_name = re.findall(r"[^\W\d_]+", title)[1:]
    return title if is_name else below(title, title_for(answer))


def is_record(title: str, text: str, is_runbook: bool) -> bool:
    """Return whether a document is one decision record by its title or the status below that: unless others have one too."""
    parts = headings(text)
    numbered = [part.heading for part in parts if form("called_record").match(part.heading)]
    told = ((part.heading, status_in(part.text)) for part in parts if not is_runbook)
    ended = (name for name, said in told if said and (form("accepted").search(said) or why_over(said)))
    return any(marked in ([""], [title]) for marked in (numbered, [*ended]))


def status_in(text: str) -> str:
    """Return the status in a line of a text, as in a record's head or an entry of a log."""
    text = FENCED.sub("", text) if form("status_line").search(text) else ""
    found = form("status_line").findall(text)
    return "\n".join(line.strip(" |") for line in found)


def relations(fields: Fields) -> Iterator[str]:
    """Yield what the fields say about other records, such as `Superseded by: ADR-7`, also in a list of relations with their types."""
    for name, value in fields.items():
        texts = value if isinstance(value, list) else re.split(r"(?m)^- ", value)
        for said in (re.sub(r"\A#?(?=\d+\Z)", "ADR-", text) for text in texts):
            line = re.sub(r"\b\w+:\s+", "", said) if "type:" in said else "%s: %s" % (name, said)
            line = re.sub(r"[-_]by\b", " by", " ".join(line.split()))
            if said and form("relation").match(line):
                yield line[0].upper() + line[1:]


def why_over(status: str, category: str = DEFAULT_CATEGORY) -> str:
    """Return why an entry is not in force: how a statement of its status begins, or that it is only proposed; empty for one that holds.

    Work to do holds until it is done.
    """
    text = form("wrapped").sub(r"\1 ", form("unsaid").sub("", status).replace("|", "\n"))
    lines = list(map(without_markdown, re.split(r"\n|(?<=[.;])\s+", text)))
    is_work = category == "tech_debt"
    if any(form("over").match(line) or (is_work and form("done").match(line)) for line in lines):
        return status[:200]
    words = " ".join(lines).strip()
    is_open = form("proposed").match(words) and not form("accepted").search(words)
    return "only proposed" if is_open and not is_work else ""


def with_options(answer: str, text: str) -> str:
    """Return an answer that says what the options are which it only numbers, as in `Option 2`, if a line of the text does."""
    for name, written in dict(reversed(form("option").findall(text))).items():
        title = without_markdown(written).strip("*: ")
        if title.lower() not in without_markdown(answer).lower():
            told = r"\g<0> (%s)" % title.replace("\\", r"\\")
            answer = re.sub(r"(?i)\b%s(?!\w|\.\d)" % re.escape(name), told, answer, count=1)
    return answer
