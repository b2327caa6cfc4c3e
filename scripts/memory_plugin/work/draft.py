"""A memory as a draft in the user's editor."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any, Callable, TypeVar

from ..kernel.fastjson import loads
from ..kernel.files import error_text, make_folder, read_regular, replace_file
from ..memories import InvalidMemory
from ..memories.memory_files import MAX_BYTES, StoredMemory
from ..memories.record import (
    categories,
    parse_memory,
)
from .context import WorkContext, WorkError

Stored = TypeVar("Stored")
_FIXED = ("id", "category")


def edit_draft(
    context: WorkContext, stored: StoredMemory, store: Callable[[dict[str, Any]], Stored]
) -> Stored | None:
    """Open a memory in $VISUAL or $EDITOR and return what `store` returns for the user's edit; None if they changed nothing.

    Raises InvalidMemory, which names the draft that was kept, if the editor failed or the draft cannot be stored. The project cannot
    choose the editor, because its variables were dropped.
    """
    folder = context.paths.state("drafts")
    make_folder(folder)
    path = os.path.join(folder, "%s.%d.json" % (stored.memory.id, os.getpid()))
    text = json.dumps(stored.memory.data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    default = "notepad" if os.name == "nt" else "vi"
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or default
    words = editor.replace("\\", "\\\\") if os.name == "nt" else editor  # there they separate folders
    try:
        code = subprocess.run([*shlex.split(words), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidMemory("the editor could not be started (%s); set $EDITOR" % error_text(error)) from None
    try:
        if code:
            raise InvalidMemory("the editor ended with exit code %d" % code)
        data = _parsed(path, stored)
        result = None if data == stored.memory.data else store(data)
    except (WorkError, OSError, ValueError) as error:
        raise InvalidMemory("%s; your draft is %s" % (error_text(error), path)) from None
    os.unlink(path)
    return result


def _parsed(path: str, stored: StoredMemory) -> dict[str, Any]:
    """Return the data in a draft. Raises InvalidMemory, OSError and ValueError."""
    memory = stored.memory
    data: Any = loads(read_regular(path, MAX_BYTES)[0].decode("utf-8-sig"))
    parse_memory(data, memory.id, categories()[memory.category])
    for name in _FIXED:
        if data.get(name) != memory.data.get(name):
            text = "%s: must stay %r; to move a memory, save a new one"
            raise InvalidMemory(text % (name, memory.data.get(name)))
    return dict(data)
