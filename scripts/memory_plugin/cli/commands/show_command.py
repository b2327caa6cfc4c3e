"""`memory show`: print a memory in full, without secrets."""

from __future__ import annotations

import argparse

from ...memories.gone_files import gone_files
from ...memories.hygiene import shown, shown_line
from ...memories.memory_text import TEXT, TITLE, shown_fields
from ...memories.record import Memory, categories, date_text, quoted_name
from ...memories.survey import Item, choose, item_of
from ...memories.trust import TRUSTED, load_trust
from ...work.memory_facts import as_json, guard_as_json, shown_name
from ..command_context import CommandContext
from ..memory_view import status_text
from ..options import add_flag

HELP = "show one memory"
EXAMPLES = """\
  memory show use-postgres
  memory show decision/use-postgres --json
  memory show Use Postgres for billing
"""

_MAX_CHANGES, _MAX_GONE = 10, 500
_NEW_PHRASES = "pending search phrases (to accept them: memory review):"
_NOT_ACCEPTED = "changes, as the file has them (not part of what was accepted):"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    text = "a memory's id or title, or the start of one"
    parser.add_argument("id", metavar="ID|TITLE", nargs="+", help=text)
    text = "print the last changes, too, as the file has them; they are not part of what was accepted"
    add_flag(parser, "--history", text)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the memory, without secrets and hidden characters."""
    name = " ".join(arguments.id)
    item = choose(context.overview(names=[name]).items, name)
    # The index does not know a file that changed just now.
    trust = load_trust(context.paths, context.accept_from) if context.paths.state_dir else None
    item = item_of(item.stored, trust, context.paths.why_no_state)._replace(superseded_by=item.superseded_by)
    file = item.stored
    if item.trust == TRUSTED and trust is not None:
        item = item._replace(stored=trust.with_accepted_phrases(file))
    fields = shown_fields(item.stored.memory)
    new = [shown_line(text) for text in file.memory.asked_as if text not in item.stored.memory.asked_as]
    new = [] if context.inside_client else new  # nobody accepted them, so Claude does not read them
    history = _history(item.stored.memory) if arguments.history else []
    if arguments.json:
        record = {**as_json(item), "guard": guard_as_json(item.stored.memory)}
        record.update(body="\n".join(fields.get(TEXT, [])), asked_as=fields.get("asked as", []))
        record["content"] = _shown_content(item.stored.memory)
        record["new_phrases"] = new
        context.console.json({**record, **({"history": history} if arguments.history else {})})
        return
    _print_memory(item, fields, context)
    for line in ["", _NEW_PHRASES, *("  " + text for text in new)] if new else []:
        context.console.line(line)
    for line in ["", _NOT_ACCEPTED, *("  %s  %s" % entry for entry in history)] if history else []:
        context.console.line(line)


def _print_memory(item: Item, fields: dict[str, list[str]], context: CommandContext) -> None:
    memory, console = item.stored.memory, context.console
    console.line(console.style(shown_line(memory.title), "bold"))
    pending = " (%s)" % item.reason if item.reason else ""
    console.line("%s, %s, %s%s" % (memory.category, item.stored.store.scope, status_text(item), pending))
    for name, lines in fields.items():
        if name not in (TITLE, TEXT):
            console.line("%s: %s" % (name, "; ".join(lines)))
    if item.superseded_by and not memory.superseded_by:
        console.line("replaced by: " + shown_name(item.superseded_by, item.stored.key))
    for name, text in (("updated", memory.updated_at), ("path", item.stored.path)):
        if text:
            console.line("%s: %s" % (name, text))
    for gone in gone_files([item.stored]):
        console.paragraph(shown_line(str(gone), _MAX_GONE))
    console.line()
    for line in fields.get(TEXT, []):
        console.line(line)


def _shown_content(memory: Memory) -> dict[str, object]:
    """Return the content with the names that it is told under; no name hides another one."""
    shown_content: dict[str, object] = {}
    for name, value in memory.data["content"].items():
        is_known = name in categories()[memory.category].fields
        key = name if is_known else shown_line(quoted_name(name))
        while key in shown_content:
            key += "*"
        shown_content[key] = _shown_value(value)
    return shown_content


def _shown_value(value: object) -> object:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [_shown_value(item) for item in value]
    if isinstance(value, dict):
        return {shown_line(quoted_name(str(name))): _shown_value(item) for name, item in value.items()}
    return value


def _history(memory: Memory) -> list[tuple[str, str]]:
    """Return the date and the summary of the last changes, as the file has them."""
    changes = memory.data.get("changes")
    rows = [row for row in changes if isinstance(row, dict)] if isinstance(changes, list) else []
    last = [(row.get("date"), str(row.get("summary", ""))) for row in rows[-_MAX_CHANGES:]]
    return [(date_text(date)[:10], shown_line(summary)) for date, summary in last]
