"""Load the settings in effect for one project, from four layers of which the later ones win.

The layers are `config/defaults.json`, the user's `settings.json` in the host's config folder, the project's `.claude/settings.json` and
`.claude/settings.local.json`. In each file the block `memory` holds our settings. The blocks named by the schema's `x-top-level` are
also read at the top level, where `memory` takes precedence. `config/settings.schema.json` says for each key what a project may change.
"""

from __future__ import annotations

import os

from ..paths import config_folder, data_path
from . import LOCAL, PROJECT, USER, Problem, Settings, SettingsFileError, content, shipped


def load(config_dir: str | None, project_root: str | None, trial: str = "") -> Settings:
    """Return the settings in effect; None for a folder means that its layer is missing.

    `trial` is another settings file of the user's, which takes precedence over the usual one.

    Never raises: an unusable file, an invalid key, and a key that a project may not set are recorded as problems.
    """
    settings = Settings({})
    try:
        settings = Settings(shipped("defaults.json"))
        own = [] if config_dir is None else [(USER, os.path.join(config_dir, "settings.json"))]
        own += [(USER, trial)] if trial else []
        contents = _contents(settings, own + _project_files(config_dir, project_root))
        if contents:
            from .schema import apply  # most users have no key of ours

            apply(settings, contents)
    except SettingsFileError as error:  # a damaged installation: no key has a value, so every feature is off
        settings.problems.append(Problem("file", data_path(), (), error.expected, error.got))
    return settings


def own_content(config_dir: str | None) -> dict[str, object]:
    """Return the JSON object in the user's own settings file; empty if there is none that can be read."""
    try:
        return content(os.path.join(config_dir or os.devnull, "settings.json"), follow=True)
    except (FileNotFoundError, SettingsFileError):
        return {}


def user_block(key: str) -> dict[str, object]:
    """Return the object under a key that only the user sets, where no settings are at hand."""
    return load(config_folder(), None).block(key)


def _contents(settings: Settings, files: list[tuple[str, str]]) -> list[tuple[str, str, dict[str, object]]]:
    """Return layer, path and content of the files that may have a key of the plugin. Most have none, and then no schema is loaded."""
    blocks = {"memory", "pluginConfigs", *(name.partition(".")[0] for name in settings.all_keys())}
    contents: list[tuple[str, str, dict[str, object]]] = []
    for layer, path in files:
        try:
            values = content(path, follow=layer == USER)
        except FileNotFoundError:
            continue
        except SettingsFileError as error:
            settings.problems.append(Problem("file", path, (), error.expected, error.got))
            continue
        settings.files[layer] = path
        if not blocks.isdisjoint(values):
            contents.append((layer, path, values))
    return contents


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
