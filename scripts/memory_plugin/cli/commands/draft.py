"""A memory in the user's editor: nothing that they wrote is lost, whatever is wrong with it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.files import in_words, make_folder, read_regular, replace_file
from ...memories.files import MAX_BYTES
from ...memories.record import InvalidMemory, categories, parse_memory

if TYPE_CHECKING:
    from ...memories.files import StoredMemory
    from ..command_context import Session

__all__ = ["Draft", "edited_draft"]

_FIXED = ("id", "category")


class Draft(NamedTuple):
    """What the user made of a memory, and the file in which they wrote it."""

    path: str
    data: dict[str, Any]

    def discard(self) -> None:
        """Delete the file, once its content is stored."""
        os.unlink(self.path)


def edited_draft(session: Session, stored: StoredMemory) -> Draft | None:
    """The memory as the user changed it in $VISUAL or $EDITOR; None when they changed nothing.

    Raises InvalidMemory, naming the draft that was kept, when it is not a memory any more or the editor failed.
    """
    path = _draft(session, stored)
    before = stored.memory.data
    try:
        code = subprocess.run([*_editor(), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidMemory("the editor could not be started (%s); set $EDITOR" % in_words(error)) from None
    if code:
        raise InvalidMemory(
            "the editor ended with exit code %d; nothing was changed, your draft is %s" % (code, path)
        )
    data = _parsed(path, stored)
    if data == before:
        os.unlink(path)
        return None
    return Draft(path, data)


def _draft(session: Session, stored: StoredMemory) -> str:
    folder = session.places.state("drafts")
    make_folder(folder)
    path = os.path.join(folder, "%s.%d.json" % (stored.memory.id, os.getpid()))
    text = json.dumps(stored.memory.data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    return path


def _editor() -> list[str]:
    """The user's editor with its own arguments; the environment holds no editor of the project's, since that was dropped."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return shlex.split(chosen)


def _parsed(path: str, stored: StoredMemory) -> dict[str, Any]:
    memory = stored.memory
    try:
        data = json.loads(read_regular(path, MAX_BYTES)[0].decode("utf-8-sig"))
        parse_memory(data, memory.id, categories()[memory.category])
        for name in _FIXED:
            if data.get(name) != memory.data.get(name):
                raise InvalidMemory(
                    "%s: stays %r; to move a memory, save it anew" % (name, memory.data.get(name))
                )
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMemory("%s; nothing was changed, your draft is %s" % (error, path)) from None
    assert isinstance(data, dict)
    return data
