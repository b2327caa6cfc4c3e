"""Fuzzing: the parsers of untrusted text in this process, and the hooks' standard input in forks that take many inputs each."""

from __future__ import annotations

import io
import json
import os
import random
import string
import sys
import traceback
from contextlib import suppress
from time import process_time
from typing import Any, Callable

from memory_plugin.hooks import entry
from memory_plugin.kernel import fastjson
from memory_plugin.kernel.hygiene import redact
from memory_plugin.kernel.settings import Settings, SettingsFileError, decoded, shipped, user_file
from memory_plugin.kernel.settings import schema as settings_schema
from memory_plugin.kernel.transcript.reader import Reader
from memory_plugin.memories import guard_file, guarded_commands, import_documents, import_facts
from memory_plugin.memories.grants import asks_to_save
from memory_plugin.memories.hygiene import clean_data, shown, shown_block
from memory_plugin.memories.record import category_named, parse_memory
from memory_plugin.memories.shell_commands import shell_commands
from memory_plugin.recall.gate import load_gate, visible_text
from memory_plugin.recall.query import analyze
from memory_plugin.replies.prose import Prose
from memory_plugin.replies.signals import find_filler, load_filler_rules
from memory_plugin.sessions.rubric import read_grade
from tests.campaigns.tally import Tally
from tests.campaigns.world import FORGED_MARK, SECRET, World, actions, is_answer

PLANTED = SECRET[:-4] + "Z9y8"
SLOW_SECONDS = 2.0
BATCH = 40
_WORDS = (
    "git push --force origin main", "rm -rf /", "$(", "`", "<<EOF", "\nEOF\n", "'", '"', "\\", ";",
    "&&", "|", "{", "}", "[[", "]]", "((", "if", "then", "fi", "for", "do", "done", "case", "esac",
    "# Heading\n", "---\n", "```\n", "- [x](y.md)", "| a | b |\n", "~~~", "title: ", "password = ",
    "api_key: ", SECRET, "alice@example.org", "+49 170 1234567", "DE89370400440532013000", "%20",
    "&#x41;", "\\u0041", "\u200b", "\u202e", "\ud800", "\u0000", "\u001b[2J", "\u2028", "\ufeff",
    "\u00df", "\u0130", "\uff11\uff12\uff13", "e\u0301", "\U0001f600", "\r\n", "\t", " ", "\n", ":",
    "=", "null", "true", "1e999", "-0", "999999999999999999999999999999", "[", "]", ",", '{"a":',
    '"type":"user"', '"message":', '"content":', "remember that ", "Great question!",
    "<memory-context>", "</memory>", "<system-reminder>", "**", "***/", "*.sql", "[!a-z]", "../", "~/",
    "Which database do we use?", "/memory:save x",
)  # fmt: skip
_KEYS = (
    "type", "message", "content", "role", "text", "id", "usage", "input", "name", "tool_use_id",
    "toolUseResult", "cwd", "title", "tags", "guard", "commands", "files", "action", "memory",
    "retrieval", "scoring", "judge", "enabled", "prompt", "session_id", "tool_name", "tool_input",
    "command", "file_path", "error", "last_assistant_message", "transcript_path", "agent_type", "source",
    "reason", "background_tasks", "isCompactSummary", "record_status", "supersedes", "related_files",
    "asked_as", "expires_at", "confidence", "updated_at", "changes", "is_interrupt", "env",
)  # fmt: skip
_TYPES = (
    "user", "assistant", "system", "attachment", "text", "tool_use", "tool_result", "Bash", "Edit",
    "decision", "active", "startup",
)  # fmt: skip


class InputGenerator:
    """Random texts and JSON values, made of pieces that the parsers look for."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.recent: list[str] = [""]

    def text(self) -> str:
        """Return a text: new pieces, or a mutated earlier text, or rarely a long repetition."""
        dice = self.dice
        chance = dice.random()
        if chance < 0.02:
            return dice.choice(_WORDS) * dice.choice((50, 500, 3000))
        text = self.mutated() if chance < 0.4 else "".join(self.piece() for _ in range(dice.randrange(1, 14)))
        self.recent[: len(self.recent) - 60] = []
        self.recent.append(text[:4000])
        return text

    def piece(self) -> str:
        """Return a word, some letters or any character."""
        chance = self.dice.random()
        if chance < 0.7:
            return self.dice.choice(_WORDS)
        if chance < 0.93:
            return "".join(
                self.dice.choices(string.ascii_letters + string.digits + " _-./", k=self.dice.randrange(1, 9))
            )
        return chr(self.dice.randrange(0x110000))

    def mutated(self) -> str:
        """Return an earlier text in which a few parts are deleted, replaced or doubled."""
        text = self.dice.choice(self.recent)
        for _ in range(self.dice.randrange(1, 4)):
            start, end = sorted((self.dice.randrange(len(text) + 1), self.dice.randrange(len(text) + 1)))
            new = self.dice.choice(("", self.piece(), text[start:end] * 2))
            text = text[:start] + new + text[end:]
        return text[:20_000]

    def value(self, depth: int = 4) -> Any:  # noqa: ANN401 (JSON)
        """Return a JSON value."""
        dice = self.dice
        kind = dice.randrange(10 if depth else 6)
        if kind < 3:
            return self.text() if dice.random() < 0.6 else dice.choice(_TYPES)
        if kind < 6:
            return dice.choice((None, True, False, 0, -1, 1.5, 10**25, dice.random(), [], {}))
        if kind < 8:
            return [self.value(depth - 1) for _ in range(dice.randrange(4))]
        return {dice.choice(_KEYS): self.value(depth - 1) for _ in range(dice.randrange(1, 6))}

    def data(self) -> bytes:
        """Return JSON as bytes, sometimes damaged; it may hold surrogates and invalid UTF-8."""
        text = json.dumps(self.value(), ensure_ascii=self.dice.random() < 0.5)
        data = text.encode("utf-8", "surrogatepass")
        if self.dice.random() < 0.3 and data:
            at = self.dice.randrange(len(data))
            noise = bytes(self.dice.randrange(256) for _ in range(self.dice.randrange(4)))
            data = data[:at] + noise + data[at + 1 :]
        return data


def _transcript(generator: InputGenerator) -> None:
    rows = b"\n".join(generator.data() for _ in range(generator.dice.randrange(1, 5)))
    list(Reader(io.BytesIO(rows)))


def _shell(generator: InputGenerator) -> None:
    text = generator.text()
    shell_commands(text)
    guarded_commands.run_by(text, [["git", "push", "--force"], ["rm"]])


def _patterns(generator: InputGenerator) -> None:
    pattern = generator.text()
    guarded_commands.guard_words(pattern)
    if not guard_file.pattern_problem(pattern):
        guard_file.covers(pattern, generator.text())


def _markdown(generator: InputGenerator) -> None:
    text = generator.text() + "\n" + generator.text()
    with suppress(import_facts.LeftOut):
        list(import_documents.document_entries("stem.md", text, import_facts.Reading([], [], [])))


def _hygiene(generator: InputGenerator) -> None:
    text = generator.text() + "\n" + PLANTED + "\n" + generator.text()
    once = redact(text).text
    assert PLANTED not in once, "a secret remains in %r" % text[-600:]
    twice = redact(once).text
    assert twice == once, "redacting twice changes %r" % once[-600:]


def _memory_data(generator: InputGenerator) -> None:
    value = generator.value()
    if isinstance(value, dict):
        cleaned = clean_data(
            {**value, "title": generator.text(), "content": {"decision": "It is " + PLANTED}}
        )[0]
        assert PLANTED not in json.dumps(cleaned), "a secret remains"


def _shown(generator: InputGenerator) -> None:
    for text in (shown(generator.text()), shown_block(generator.text(), 300)):
        assert "\x1b" not in text, "an escape sequence is shown"


def _json(generator: InputGenerator) -> None:
    fastjson.loads(generator.data().decode("utf-8", "replace"))


def _settings(generator: InputGenerator) -> None:
    content = {
        "memory": generator.value(),
        **{key: generator.value() for key in generator.dice.sample(_KEYS, 2)},
    }
    settings = Settings(shipped("defaults.json"))
    settings_schema.apply(settings, [("user", "a", content), ("project", "b", content)])
    decoded(generator.data())


def _settings_edit(generator: InputGenerator) -> None:
    value = decoded(generator.data())
    name = "retrieval.max_memories"
    before = set(value)
    user_file._set(value, name, 3)
    edited = decoded(user_file._in_style_of("{}", value).encode())
    user_file._remove(edited, ("memory", *name.split(".")))
    assert before <= set(edited) | {"memory", "retrieval"}, "another key is lost"


def _record(generator: InputGenerator) -> None:
    parse_memory(generator.value(), "an-id", category_named("decision"))
    data = {
        "title": generator.text(),
        "content": {"decision": generator.value()},
        generator.dice.choice(_KEYS): generator.value(),
    }
    parse_memory(data, "an-id", category_named("decision"))


def _prompt(generator: InputGenerator) -> None:
    text = generator.text()
    visible_text(text)
    asks_to_save(text)
    analyze(text, generator.text())
    load_gate().refusal(text)
    load_gate().is_followup(text, 60)


def _reply(generator: InputGenerator) -> None:
    find_filler(Prose(generator.text()), load_filler_rules(None))


def _scores(generator: InputGenerator) -> None:
    value = generator.value()
    if isinstance(value, dict):
        read_grade(value, 10)


# name -> (target, the errors by which it may refuse an input)
TARGETS: dict[str, tuple[Callable[[InputGenerator], None], tuple[type[Exception], ...]]] = {
    "json": (_json, (ValueError,)),
    "transcript": (_transcript, ()),
    "shell": (_shell, (ValueError,)),
    "patterns": (_patterns, (ValueError,)),
    "markdown": (_markdown, ()),
    "hygiene": (_hygiene, ()),
    "memory data": (_memory_data, (ValueError,)),
    "shown": (_shown, ()),
    "settings": (_settings, (SettingsFileError,)),
    "settings edit": (_settings_edit, (SettingsFileError, ValueError)),
    "record": (_record, (ValueError,)),
    "prompt": (_prompt, ()),
    "reply": (_reply, ()),
    "scores": (_scores, ()),
}


def try_input(name: str, generator: InputGenerator) -> str:
    """Give an input to a target; return a description of what went wrong, or ""."""
    target, refusals = TARGETS[name]
    start = process_time()
    try:
        target(generator)
    except refusals:
        pass
    except Exception as error:  # noqa: BLE001 (the campaign looks for these)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = "%s:%s" % (os.path.basename(frame.filename), frame.lineno)
        return "%s: %s: %s at %s" % (name, type(error).__name__, str(error)[:500], place)
    if process_time() - start > SLOW_SECONDS:
        return "%s: slow: %.1f s" % (name, process_time() - start)
    return ""


def run_fuzzing(world: World, tally: Tally, dice: random.Random, *, thorough: bool) -> None:
    """Give random inputs to each target in turn, and every few rounds a batch to a hook."""
    generator = InputGenerator(dice)
    rounds = 0
    while not tally.is_over:
        rounds += 1
        for name in TARGETS:
            for _ in range(50):
                tally.inputs += 1
                tally.extra[name] += 1
                problem = try_input(name, generator)
                if problem:
                    tally.fail("hang" if ": slow:" in problem else "traceback", problem)
        if rounds % (2 if thorough else 4) == 1:
            fuzz_hooks(world, tally, generator)
    tally.runs = tally.inputs


def fuzz_hooks(world: World, tally: Tally, generator: InputGenerator) -> None:
    """Give a batch of inputs to a random hook, in a fork."""
    action = generator.dice.choice(actions(world.project))
    event = json.loads(action.stdin)
    inputs = [_event(generator, event) for _ in range(BATCH)]
    world.reset("ready")
    outcome = world.run(action._replace(script=os.path.join("tests", "campaigns", "nothing.py"), stdin=b""),
                        lambda: _feed(event["hook_event_name"], inputs))  # fmt: skip
    tally.inputs += BATCH
    tally.extra["hook input"] += BATCH
    for line in outcome.stdout.split(b"\0"):
        if not is_answer(line):
            tally.fail("output", "%s: %r" % (action.name, line[:300]))
    if outcome.code or b"Traceback" in outcome.stderr:
        tally.fail("exit", "%s: %d: %r" % (action.name, outcome.code, outcome.stderr[-600:]))
    if FORGED_MARK.encode() in outcome.stdout:
        tally.fail("trust", action.name)
    if any(b" at " in line and b"Error" in line for line in outcome.stderr.splitlines()):
        tally.fail("exit", "%s: an internal error: %r" % (action.name, outcome.stderr[-300:]))


def _event(generator: InputGenerator, event: dict[str, object]) -> bytes:
    """Return an event with some fields changed, or any JSON."""
    if generator.dice.random() < 0.15:
        return generator.data()
    fields = {**event}
    for name in generator.dice.sample(sorted(fields), 2):
        fields[name] = generator.value(2)
    fields[generator.dice.choice(_KEYS)] = generator.value(2)
    return json.dumps(fields).encode("utf-8", "surrogatepass")


def _feed(event: str, inputs: list[bytes]) -> None:
    """Run the hook's entry on each input, then end the fork."""
    os.posix_spawn = lambda *_, **__: 1  # no background work
    environment = dict(os.environ)
    code = 0
    for data in inputs:
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        code |= entry.run(event)
        os.write(1, b"\0")
    sys.stderr.flush()
    os._exit(code)
