"""Settings files for tests: a config folder and a project in a temporary folder."""

from __future__ import annotations

import json
import os

from memory_plugin.kernel.settings import Settings
from memory_plugin.kernel.settings.load import load
from memory_plugin.kernel.settings.user_file import FileChange, change_values

USER, PROJECT, LOCAL = "user", "project", "local"
NAMES = {
    USER: "config/settings.json",
    PROJECT: "p/.claude/settings.json",
    LOCAL: "p/.claude/settings.local.json",
}


class Box:
    """A config folder and a project below one folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.config = os.path.join(folder, "config")
        self.project = os.path.join(folder, "p")
        for made in (self.config, os.path.join(self.project, ".claude")):
            os.makedirs(made)

    def path(self, layer: str) -> str:
        """Return the file of a layer."""
        return os.path.join(self.folder, NAMES[layer])

    def write(self, layer: str, content: object) -> str:
        """Return the path of a layer's file, written as bytes, text, or else JSON."""
        data = content if isinstance(content, (str, bytes)) else json.dumps(content, indent=2)
        with open(self.path(layer), "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
        return self.path(layer)

    def read(self, layer: str = USER) -> str:
        """Return the text of a layer's file, line ends as they are."""
        with open(self.path(layer), encoding="utf-8", newline="") as file:
            return file.read()

    def load(self) -> Settings:
        """Return the settings in effect here."""
        return load(self.config, self.project)


def block(key: str, value: object) -> dict[str, object]:
    """Return a file's content that sets one key in the block `memory`."""
    content: object = value
    for name in reversed(key.split(".")):
        content = {name: content}
    return {"memory": content}


def set_value(config: str | None, name: str, value: object) -> FileChange:
    """Set one key of the user's file; None removes it."""
    return change_values(config, {name: value})
