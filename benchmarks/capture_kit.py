"""Read a folder of transcripts for measuring capture: the client's session files, and SpecStory's Markdown sessions.

An item's id is a digest of its file name and position, so labels reveal nothing about anyone's text. The digest of the file name assigns a
file to the half `tuned` or `held`.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.transcript import PROMPT, kind_and_text
from memory_plugin.kernel.transcript.reader import Reader, open_transcript
from memory_plugin.kernel.transcript.turn import Call, Turn, UserText

_SPEAKER = re.compile(r"^_\*\*(User|Agent|Assistant)[^\n]*\*\*_$", re.MULTILINE)
_SHELL = re.compile(
    r"<tool-use data-tool-type=\"(\w+)\" data-tool-name=\"(\w+)\"><details>\n(.*?)</details></tool-use>",
    re.DOTALL,
)
_COMMAND = re.compile(r"^`([^`\n].*?)`$", re.MULTILINE | re.DOTALL)
_RESULT = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COPIES = ("derived-edge", "happy")  # mutations and fragments of other sessions in the folder


class Session(NamedTuple):
    """One transcript: its digest, its half, and its turns."""

    id: str
    half: str
    turns: list[Turn]


def sessions(folder: str) -> Iterator[Session]:
    """Yield the sessions of a folder, by name."""
    for path in sorted(glob.glob(os.path.join(folder, "*"))):
        name = os.path.basename(path)
        if name.startswith(_COPIES) or "subagent" in name:
            continue
        mark = hashlib.sha256(name.encode()).hexdigest()
        turns = _from_markdown(path) if name.endswith(".md") else _from_rows(path)
        yield Session(mark[:8], "held" if int(mark[:8], 16) % 2 else "tuned", turns)


def _from_rows(path: str) -> list[Turn]:
    with open_transcript(path) as file:
        return list(Reader(file))


def _from_markdown(path: str) -> list[Turn]:
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    starts = list(_SPEAKER.finditer(text))
    turns: list[Turn] = []
    said: list[UserText] = []
    for at, found in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        part = text[found.end() : end].strip().removesuffix("---").strip()
        if found[1] == "User":
            if part:
                said.append(UserText(*kind_and_text({}, part)))
            continue
        turn = Turn(len(turns) + 1)
        turn.answered, turn.user_texts, said = True, said, []
        for place, tool in enumerate(_SHELL.finditer(part)):
            turn.calls.append(_call("%d-%d" % (turn.number, place), tool, turn.number))
        turn.texts.append(_SHELL.sub("", part))
        turns.append(turn)
    if said:
        turn = Turn(len(turns) + 1)
        turn.user_texts = said
        turns.append(turn)
    return turns


def _call(identity: str, tool: re.Match[str], number: int) -> Call:
    command, result = _COMMAND.search(tool[3]), _RESULT.search(tool[3])
    given = {"command": command[1]} if command and tool[1] == "shell" else {}
    call = Call(identity, tool[2], dict(given), number)
    call.result = result[1] if result else ""
    call.failed = call.result.startswith("Exit code ")
    return call


def prompts(session: Session) -> Iterator[tuple[str, Turn, str]]:
    """Yield the id, the turn and the text of every prompt of a session."""
    for turn in session.turns:
        typed = [said.text for said in turn.user_texts if said.kind == PROMPT and not said.untyped]
        for place, text in enumerate(typed):
            yield "%s:%d.%d" % (session.id, turn.number, place), turn, text


def failed_commands(session: Session) -> Iterator[tuple[str, Turn, Call]]:
    """Yield the id, the turn and the call of every shell command of a session that failed."""
    for turn in session.turns:
        for place, call in enumerate(turn.calls):
            if call.name == "Bash" and call.failed:
                yield "%s:%d/%d" % (session.id, turn.number, place), turn, call
