"""Load the settings in effect for one project, from four layers of which the later ones win.

The layers are `config/defaults.json`, the user's `settings.json` in the host's config folder, the project's `.claude/settings.json` and
`.claude/settings.local.json`. In each file the block `memory` holds our settings. The blocks named by the schema's `x-top-level` are
also read at the top level, where `memory` takes precedence. `config/settings.schema.json` says for each key what a project may change.
"""

from __future__ import annotations

import os

from ..paths import config_folder, data_path
from .values import LOCAL, PROJECT, USER, Problem, Settings, SettingsFileError, content, defaults, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Contents = list[tuple[str, str, dict[str, Any]]]


def load(config_dir: str | None, project_root: str | None, trial: str = "") -> Settings:
    """Return the settings in effect; None for a folder means that its layer is missing.

    `trial` is another settings file of the user's, which takes precedence over the usual one.

    Never raises: an unusable file, an invalid key, and a key that a project may not set are recorded as problems.
    """
    settings = Settings({})
    contents: Contents = []
    try:
        settings = Settings(defaults())
        own = _user_file(config_dir) + ([(USER, trial)] if trial else [])
        _collect(own + _project_files(config_dir, project_root), settings, contents)
        if contents:
            from .schema import apply

            apply(settings, schema(), contents)
    except SettingsFileError as error:  # a damaged installation: no key has a value, so every feature is off
        settings.problems.append(Problem("file", data_path(), (), error.expected, error.got))
    return settings


def user_block(key: str) -> dict[str, Any]:
    """Return the object under a key that only the user sets, where no settings are at hand."""
    return load(config_folder(), None).block(key)


def _collect(files: list[tuple[str, str]], settings: Settings, contents: Contents) -> None:
    for layer, path in files:
        try:
            values = content(path, follow=layer == USER)
        except FileNotFoundError:
            continue
        except SettingsFileError as error:
            settings.problems.append(Problem("file", path, (), error.expected, error.got))
            continue
        settings.files[layer] = path
        if _may_have_keys(settings, values):
            contents.append((layer, path, values))


def _may_have_keys(settings: Settings, content: dict[str, Any]) -> bool:
    """Return whether a file may have a key of the plugin. Most have none, and then the schema is not loaded."""
    return (
        "memory" in content
        or "pluginConfigs" in content
        or any(name.partition(".")[0] in content for name in settings.all_keys())
    )


def _user_file(config_dir: str | None) -> list[tuple[str, str]]:
    return [] if config_dir is None else [(USER, os.path.join(config_dir, "settings.json"))]


def _project_files(config_dir: str | None, project_root: str | None) -> list[tuple[str, str]]:
    """Return the project's layers; in the home folder, `.claude/settings.json` is the user's own file."""
    if project_root is None:
        return []
    folder = os.path.join(project_root, ".claude")
    try:
        status = os.lstat(folder)
        own = config_dir is not None and os.path.samestat(status, os.stat(config_dir))
    except (OSError, ValueError):
        own = False
    local = (LOCAL, os.path.join(folder, "settings.local.json"))
    return [local] if own else [(PROJECT, os.path.join(folder, "settings.json")), local]
